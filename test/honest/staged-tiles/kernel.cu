// Honest: tiles of K and V go through STAGES buffers in shared memory, copied while earlier ones are in use. STAGES
// changes when a tile is copied and nothing that is computed: every variant gives the same bits.
#include <cuda_fp16.h>

__device__ float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

constexpr int WARPS = 4, TILE = 32;  // query rows of a CTA, keys of a tile

__device__ void copy_16_bytes(half* to, const half* from) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}

extern "C" __global__ void attention(const half* Q, const half* K, const half* V, half* O, int S, int D, int causal,
                                     float scale) {
  extern __shared__ __align__(16) half stages[];  // STAGES × (K, V) × TILE × D
  const int lane = threadIdx.x % 32, row = blockIdx.x * WARPS + threadIdx.x / 32;  // one warp per query row
  const int matrix = blockIdx.y * S * D;                                           // of this head
  const int keys = row >= S ? 0 : causal ? row + 1 : S;
  const int tiles = ((causal ? min(S, (static_cast<int>(blockIdx.x) + 1) * WARPS) : S) + TILE - 1) / TILE;
  const auto copy_tile = [&](int tile) {
    half* const to = stages + tile % STAGES * 2 * TILE * D;
    for (int i = threadIdx.x * 8; tile < tiles && i < TILE * D; i += 32 * WARPS * 8) {
      const int key = min(tile * TILE + i / D, S - 1);  // rows beyond the end are never looked at
      copy_16_bytes(to + i, K + matrix + key * D + i % D);
      copy_16_bytes(to + TILE * D + i, V + matrix + key * D + i % D);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int tile = 0; tile < STAGES - 1; ++tile) copy_tile(tile);
  float maximum = -INFINITY, sum = 0.0f, column[4] = {};  // output column c * 32 + lane
  for (int tile = 0; tile < tiles; ++tile) {
    copy_tile(tile + STAGES - 1);
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    __syncthreads();
    const half* const key_tile = stages + tile % STAGES * 2 * TILE * D;
    const half* const value_tile = key_tile + TILE * D;
    const int first = tile * TILE;
    if (first < keys) {
      float score = -INFINITY;
      if (first + lane < keys) {
        score = 0.0f;
        for (int d = 0; d < D; ++d) {
          score += __half2float(Q[matrix + row * D + d]) * __half2float(key_tile[lane * D + d]);
        }
        score *= scale;
      }
      const float new_max = fmaxf(maximum, warp_max(score));
      const float correction = __expf(maximum - new_max), weight = __expf(score - new_max);
      maximum = new_max;
      sum = sum * correction + warp_sum(weight);
      for (int c = 0; c < 4; ++c) column[c] *= correction;
      for (int j = 0; j < TILE && first + j < keys; ++j) {
        const float weight_j = __shfl_sync(~0u, weight, j);
        for (int c = 0; c < 4; ++c) {
          if (c * 32 < D) column[c] += weight_j * __half2float(value_tile[j * D + c * 32 + lane]);
        }
      }
    }
    __syncthreads();
  }
  if (row >= S) return;
  for (int c = 0; c < 4; ++c) {
    if (c * 32 < D) O[matrix + row * D + c * 32 + lane] = __float2half(column[c] / sum);
  }
}
