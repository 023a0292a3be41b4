// TYPE is half or __nv_bfloat16. One thread a query; D = 32.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int D = 32;
constexpr int KEYS = 16;  // of a tile

__device__ float to_float(half x) { return __half2float(x); }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ void store(half* to, float x) { *to = __float2half(x); }
__device__ void store(__nv_bfloat16* to, float x) { *to = __float2bfloat16(x); }
template <typename T>
__device__ float rounded(float x) {
  T narrow;
  store(&narrow, x);
  return to_float(narrow);
}

template <typename T>
__device__ float score(const T* q, const T* k, float scale) {
  float sum = 0.0f;
  for (int d = 0; d < D; ++d) sum = fmaf(to_float(q[d]), to_float(k[d]), sum);
  return sum * scale;
}

// Online softmax over tiles of keys; the weights enter P · V rounded, as tensor cores take them.
template <typename T>
__global__ void flash(const T* Q, const T* K, const T* V, T* O, int S, float scale) {
  const int query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= S) return;
  float maximum = -INFINITY, sum = 0.0f, out[D] = {};
  for (int tile = 0; tile < S; tile += KEYS) {
    const int end = min(S, tile + KEYS);
    float largest = maximum;
    for (int key = tile; key < end; ++key) largest = fmaxf(largest, score(Q + query * D, K + key * D, scale));
    const float correction = expf(maximum - largest);
    maximum = largest;
    sum *= correction;
    for (int d = 0; d < D; ++d) out[d] *= correction;
    for (int key = tile; key < end; ++key) {
      const float weight = expf(score(Q + query * D, K + key * D, scale) - maximum);
      sum += weight;
      const float p = rounded<T>(weight);
      for (int d = 0; d < D; ++d) out[d] = fmaf(p, to_float(V[key * D + d]), out[d]);
    }
  }
  for (int d = 0; d < D; ++d) store(&O[query * D + d], out[d] / sum);
}

template <typename T>
__global__ void two_passes(const T* Q, const T* K, const T* V, T* O, int S, float scale) {
  const int query = blockIdx.x * blockDim.x + threadIdx.x;
  if (query >= S) return;
  float maximum = -INFINITY, sum = 0.0f, out[D] = {};
  for (int key = 0; key < S; ++key) maximum = fmaxf(maximum, score(Q + query * D, K + key * D, scale));
  for (int key = 0; key < S; ++key) {
    const float weight = exp2f((score(Q + query * D, K + key * D, scale) - maximum) * 1.44269504f);
    sum += weight;
    for (int d = 0; d < D; ++d) out[d] += weight * to_float(V[key * D + d]);
  }
  for (int d = 0; d < D; ++d) store(&O[query * D + d], out[d] * (1.0f / sum));
}
