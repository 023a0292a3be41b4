// Defect and remedy are the same code: what differs is the grid, 2 CTAs or 116.
extern "C" __global__ void iterate(float* values, int n, int rounds) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float value = values[i];
    for (int round = 0; round < rounds; ++round) value = value * 0.5f + 1.0f;
    values[i] = value;
  }
}
