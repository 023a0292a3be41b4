extern "C" __global__ void add(float* x, int times) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = x[i];
  for (int k = 0; k < times; ++k) value = fmaf(value, 1.0001f, 1.0f);
  x[i] = value;
}
