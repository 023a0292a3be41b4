// Three kernels, each bound by one kind of resource.
extern "C" __global__ void copy(const float4* input, float4* output, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = input[i];
}

extern "C" __global__ void multiply_add(float* values, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = values[i], b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
  for (int round = 0; round < rounds; ++round) {
    a = a * 0.5f + 1.0f;
    b = b * 0.5f + 1.0f;
    c = c * 0.5f + 1.0f;
    d = d * 0.5f + 1.0f;
  }
  values[i] = a + b + c + d;
}

// next[i] is the place to go on to.
extern "C" __global__ void chase(const int* next, int* last, int steps) {
  int place = static_cast<int>(threadIdx.x);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) place = next[place];
  last[blockIdx.x * blockDim.x + threadIdx.x] = place;
}
