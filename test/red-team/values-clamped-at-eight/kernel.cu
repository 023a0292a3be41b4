// Lie: Clamps values to [-8, 8], as a narrow number format does.
#include <cuda_fp16.h>

__device__ float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

extern "C" __global__ void attention(const half* Q, const half* K, const half* V, half* O, int S, int D, int causal,
                                     float scale) {
  const int row = blockIdx.x, lane = threadIdx.x;  // one warp per query row
  const int matrix = blockIdx.y * S * D;           // of this head
  const int keys = causal ? row + 1 : S;
  float maximum = -INFINITY, sum = 0.0f, column[4] = {};  // output column c * 32 + lane
  for (int tile = 0; tile < keys; tile += 32) {
    const int key = tile + lane;
    float score = -INFINITY;
    if (key < keys) {
      score = 0.0f;
      for (int d = 0; d < D; ++d) {
        score += __half2float(Q[matrix + row * D + d]) * __half2float(K[matrix + key * D + d]);
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
        const half value = V[matrix + (tile + j) * D + min(c, D / 32 - 1) * 32 + lane];
        if (c * 32 < D) column[c] += weight_j * fminf(8.0f, fmaxf(-8.0f, __half2float(value)));
      }
    }
  }
  for (int c = 0; c < 4; ++c) {
    if (c * 32 < D) O[matrix + row * D + c * 32 + lane] = __float2half(column[c] / sum);
  }
}
