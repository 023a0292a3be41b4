// The same iterations, all of them given to warp 0 or dealt to the warps.
extern "C" __global__ void one_warp(float* values, int rounds) {
  const int warps = blockDim.x / 32;
  const int mine = threadIdx.x < 32 ? rounds * warps : 0;
  float value = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (int round = 0; round < mine; ++round) value = value * 0.5f + 1.0f;
  values[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" __global__ void every_warp(float* values, int rounds) {
  float value = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (int round = 0; round < rounds; ++round) value = value * 0.5f + 1.0f;
  values[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
