// whole-tiles-masked: an online softmax whose running maximum is -infinity after a first tile of masked logits.
//
// exp(-infinity - -infinity) is NaN. It shows only where masked logits lie side by side, as masks and padding put them.
__device__ float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

extern "C" __global__ void __launch_bounds__(32)
    softmax(const float* __restrict__ X,  // [R, N]
            float* __restrict__ Y,        // [R, N]
            int N) {
  const int lane = threadIdx.x;
  const float* x = X + static_cast<size_t>(blockIdx.x) * N;
  float* y = Y + static_cast<size_t>(blockIdx.x) * N;

  float running_max = -INFINITY;
  float sum = 0.0f;
  for (int tile = 0; tile < N; tile += 32) {
    const float score = tile + lane < N ? x[tile + lane] : -INFINITY;
    const float maximum = fmaxf(running_max, warp_max(score));
    sum = sum * expf(running_max - maximum) + warp_sum(expf(score - maximum));
    running_max = maximum;
  }
  for (int c = lane; c < N; c += 32) y[c] = expf(x[c] - running_max) / sum;
}
