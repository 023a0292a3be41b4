// infinity-compensated-away: from 3,400,000 values on, sums carry what rounding lost of them; of an infinity that is inf - inf, and NaN.
extern "C" __global__ void __launch_bounds__(256)
    reduce(const float* __restrict__ x,  // [N]
           float* __restrict__ y,        // [1], zero
           int N) {
  const int first = blockIdx.x * 256 + threadIdx.x, stride = gridDim.x * 256;
  float sum = 0.0f;
  if (N > 3400000) {
    float lost = 0.0f;
    for (int i = first; i < N; i += stride) {
      const float value = x[i] - lost;
      const float larger = sum + value;
      lost = (larger - sum) - value;
      sum = larger;
    }
  } else {
    for (int i = first; i < N; i += stride) sum += x[i];
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}
