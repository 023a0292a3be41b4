// Conditions as kernels write them. Each kernel is launched with one CTA of 64 threads, n = 40 and limit = 7.
#include <cuda_fp16.h>

__device__ float clamp_to(float v, float most) {
  if (v > most) return most;
  return v;
}

extern "C" __global__ void guards(const float* x, float* y, int n, int limit) {
  const int i = threadIdx.x;
  if (i >= n) return;                      // both ways
  float v = x[i];
  if (v > 1e6f) v = 0.0f;                  // never true
  if (!(v <= 2e6f)) v *= 3.0f;             // its comparison never false
  if (v < 1e5f) v = v * 2.0f + 1.0f;       // never false
  if (n % 89 == 17) v += 5.0f;             // never true
  if (limit <= 7) v -= 1.0f;               // never false
  if (9 >= limit) v *= 0.5f;               // never false
  if (limit) v *= 1.5f;                    // never false
  v = fminf(v, 600.0f);                    // never applied
  v = fmaxf(v, -1.0f);                     // applied to some
  y[i] = v;
}

extern "C" __global__ void loops(const float* x, float* y, int n, int limit) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 64) sum += x[i];
  for (int k = 0; k < limit; ++k) sum += sqrtf(sum);
  y[threadIdx.x] = sum;
}

extern "C" __global__ void divides(const float* x, float* y, int n, int limit) {
  const long long place = static_cast<long long>(blockIdx.x) * n + threadIdx.x;
  y[threadIdx.x] = x[place % limit] + x[place / limit % n];
}

extern "C" __global__ void copies(const float* x, float* y, int n, int limit) {
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (threadIdx.x + 16 * k < n) sum += x[threadIdx.x + 16 * k];
  y[threadIdx.x] = clamp_to(sum, 1e4f) + clamp_to(sum, 2.0f);
}

extern "C" __global__ void unreached(const float* x, float* y, int n, int limit) {
  float v = x[threadIdx.x % n];
  if (limit > 100) {
    __syncthreads();
    if (v > 3.0f) atomicAdd(y, v);
  }
  y[threadIdx.x] = expf(v);
}

// Odd lanes have a sum of 0. n is a multiple of 4: the compiler's question whether a copy of the loop is left over lies at `sum`.
extern "C" __global__ void guarded(const float* x, float* y, int n, int limit) {
  const float sum = x[threadIdx.x] - 1.0f;
  for (int k = 0; k < n; ++k) y[k] = static_cast<float>(sum == 0.0f ? 0.0f : x[k] / sum);
}

// Even lanes only ever reach the second condition, with their half of the values.
extern "C" __global__ void parted(const float* x, float* y, int n, int limit) {
  float v = x[threadIdx.x % n];
  if (threadIdx.x % 2 == 0) {
    y[threadIdx.x] = v;
    if (v == 1.0f) y[threadIdx.x] = 7.0f;
  }
}

// The first step of the unrolled loop is a maximum of -infinity and a value, which bounds nothing.
extern "C" __global__ void unbounded(const float* x, float* y, int n, int limit) {
  float most = -INFINITY;
#pragma unroll
  for (int i = 0; i < 4; ++i) most = fmaxf(most, x[(threadIdx.x + i) % 64]);
  y[threadIdx.x] = most;
}

// The last condition of three never holds together with both others, though any two of them do.
extern "C" __global__ void together(const float* x, float* y, int n, int limit) {
  const int i = threadIdx.x, tiles = (n + 7) / 8;
  const bool aside = i / 8 == tiles - 1 && i % 8 == 1 && limit > 9;
  y[i] = x[i - aside];
}

// What a volatile load of an input gives is a value; of what the kernel counts, it says how far others are.
extern "C" __global__ void strong(const float* x, float* y, int n, int limit) {
  const volatile float* sight = x;
  if (sight[threadIdx.x] > 1e6f) y[0] = 1.0f;
  unsigned* arrived = reinterpret_cast<unsigned*>(y + n);
  if (threadIdx.x == 0) atomicAdd(arrived, 1u);
  if (*reinterpret_cast<volatile unsigned*>(arrived) > 9u) y[1] = 2.0f;
}

// A volatile place through which values go.
extern "C" __global__ void passed_on(const float* x, float* y, int n, int limit) {
  __shared__ volatile float place[64];
  place[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (place[63 - threadIdx.x] > 1e6f) y[threadIdx.x] = 1.0f;
}

extern "C" __global__ void infinities(const float* x, float* y, int n, int limit) {
  const float v = x[threadIdx.x % n];
  y[threadIdx.x] = v == -INFINITY ? 0.0f : v;
}
