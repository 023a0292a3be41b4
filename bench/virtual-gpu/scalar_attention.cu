// FlashAttention forward in fp32, one query row per thread, K and V tiles in shared memory read by broadcast.
// The work an attention kernel without tensor cores does, in its densest form: 2 × 64 FMA per key and row.
// Q, K, V, O: [heads, S, 64] row-major. grid (S / 64, heads), block 64.

constexpr int kHeadDim = 64;
constexpr int kBlockM = 64;
constexpr int kBlockN = 32;

extern "C" __global__ void __launch_bounds__(kBlockM)
    scalar_attention(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                     float* __restrict__ O, int S, float scale) {
  __shared__ float K_smem[kBlockN][kHeadDim];
  __shared__ float V_smem[kBlockN][kHeadDim];
  const size_t head = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  const int row = blockIdx.x * kBlockM + threadIdx.x;
  const float* Q_row = Q + head + static_cast<size_t>(row) * kHeadDim;

  float q[kHeadDim];
  float accumulator[kHeadDim];
#pragma unroll
  for (int d = 0; d < kHeadDim; ++d) {
    q[d] = Q_row[d] * scale;
    accumulator[d] = 0.0f;
  }
  float running_max = -INFINITY;
  float running_sum = 0.0f;
  for (int first_key = 0; first_key < S; first_key += kBlockN) {
    for (int i = threadIdx.x; i < kBlockN * kHeadDim; i += kBlockM) {
      const size_t element = head + static_cast<size_t>(first_key) * kHeadDim + i;
      K_smem[i / kHeadDim][i % kHeadDim] = K[element];
      V_smem[i / kHeadDim][i % kHeadDim] = V[element];
    }
    __syncthreads();
    for (int j = 0; j < kBlockN; ++j) {
      float score = 0.0f;
#pragma unroll
      for (int d = 0; d < kHeadDim; ++d) score += q[d] * K_smem[j][d];
      const float new_max = fmaxf(running_max, score);
      const float correction = __expf(running_max - new_max);
      const float weight = __expf(score - new_max);
      running_sum = running_sum * correction + weight;
      running_max = new_max;
#pragma unroll
      for (int d = 0; d < kHeadDim; ++d) accumulator[d] = accumulator[d] * correction + weight * V_smem[j][d];
    }
    __syncthreads();
  }
  float* O_row = O + head + static_cast<size_t>(row) * kHeadDim;
#pragma unroll
  for (int d = 0; d < kHeadDim; ++d) O_row[d] = accumulator[d] / running_sum;
}
