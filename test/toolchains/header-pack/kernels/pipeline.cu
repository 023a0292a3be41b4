// Asynchronous copies into a ring of shared tiles.
#include <cuda_pipeline.h>

constexpr int kStages = 2;
constexpr int kTile = 64;  // floats

extern "C" __global__ void pipelined_sum(const float* in, float* out, int tiles) {
  __shared__ __align__(16) float ring[kStages][kTile];
  const int i = threadIdx.x;
  const auto load = [&](int tile) {
    if (i < kTile / 4) __pipeline_memcpy_async(&ring[tile % kStages][4 * i], &in[tile * kTile + 4 * i], 16);
    __pipeline_commit();
  };
  load(0);
  float sum = 0.0f;
  for (int tile = 0; tile < tiles; tile++) {
    if (tile + 1 < tiles) {
      load(tile + 1);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    sum += ring[tile % kStages][i] + ring[tile % kStages][kTile - 1 - i];
    __syncthreads();
  }
  out[i] = sum;
}
