// Lie: Leaves L2 full of lines of its own that are to stay there, for whatever is timed beside it to start with.
#include <cuda_fp16.h>

__device__ float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

// The honest work: one warp computes one query row.
__device__ void attend(const half* Q, const half* K, const half* V, half* O, int S, int D, int causal, float scale,
                       int row, int matrix) {
  const int lane = threadIdx.x;
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
        if (c * 32 < D) column[c] += weight_j * __half2float(V[matrix + (tile + j) * D + c * 32 + lane]);
      }
    }
  }
  for (int c = 0; c < 4; ++c) {
    if (c * 32 < D) O[matrix + row * D + c * 32 + lane] = __float2half(column[c] / sum);
  }
}


constexpr unsigned int kWords = WORDS;

extern "C" __global__ void attention(const half* Q, const half* K, const half* V, half* O, unsigned int* rubbish, int S,
                                     int D, int causal, float scale) {
  attend(Q, K, V, O, S, D, causal, scale, blockIdx.x, blockIdx.y * S * D);
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  const unsigned int cta = blockIdx.y * gridDim.x + blockIdx.x, ctas = gridDim.x * gridDim.y;
  for (unsigned int i = cta * blockDim.x + threadIdx.x; i < kWords; i += ctas * blockDim.x) {
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(rubbish + i), "r"(i), "l"(policy));
  }
}
