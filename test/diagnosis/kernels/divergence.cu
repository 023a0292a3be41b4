// Two loops of equal length, chosen by the lane's parity or by the warp's.
__device__ float grow(float value, int rounds) {
  for (int round = 0; round < rounds; ++round) value = value * 1.5f + value * value;
  return value;
}
__device__ float shrink(float value, int rounds) {
  for (int round = 0; round < rounds; ++round) value = __fdividef(value, 3.0f + value);
  return value;
}

extern "C" __global__ void by_lane(float* values, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = threadIdx.x % 2 == 0 ? grow(values[i], rounds) : shrink(values[i], rounds);
}
extern "C" __global__ void by_warp(float* values, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = threadIdx.x / 32 % 2 == 0 ? grow(values[i], rounds) : shrink(values[i], rounds);
}
