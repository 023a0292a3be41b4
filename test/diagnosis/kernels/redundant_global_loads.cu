// Sum over all sources of a function of (target, source): each thread reads every source, or tiles are shared.
__device__ float interact(float target, float source) {
  const float difference = source - target;
  return difference * difference + 1.0f;
}

extern "C" __global__ void from_global(const float* sources, float* sums, int n) {
  const float target = static_cast<float>(blockIdx.x * blockDim.x + threadIdx.x);
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += interact(target, sources[i]);
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void from_shared(const float* sources, float* sums, int n) {
  __shared__ float tile[256];
  const float target = static_cast<float>(blockIdx.x * blockDim.x + threadIdx.x);
  float sum = 0.0f;
  for (int first = 0; first < n; first += 256) {
    tile[threadIdx.x] = sources[first + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 256; ++i) sum += interact(target, tile[i]);
    __syncthreads();
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
