// A long chain per warp, which only other warps could hide; the dynamic shared memory decides how many there are.
extern "C" __global__ void chain(float* values, int rounds) {
  extern __shared__ float scratch[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = values[i];
  for (int round = 0; round < rounds; ++round) value += __shfl_xor_sync(0xffffffffu, value, 1) * 0.25f;
  scratch[threadIdx.x] = value;
  values[i] = scratch[threadIdx.x];
}
