// A sum in two launches. The second may start while the first one runs, and reads the partial sums before it waits for it.
constexpr int kThreads = 256;

__device__ float sum_of_cta(float value) {
  __shared__ float sums[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0.0f;
  if (threadIdx.x == 0) {
    for (int warp = 0; warp < kThreads / 32; ++warp) total += sums[warp];
  }
  return total;
}

extern "C" __global__ void add_parts(const float* x, float* partial, int N) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  float value = 0.0f;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < N; i += gridDim.x * kThreads) value += x[i];
  const float total = sum_of_cta(value);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

extern "C" __global__ void add_partial(const float* partial, float* y, int parts) {
  float value = 0.0f;
  for (int i = threadIdx.x; i < parts; i += kThreads) value += partial[i];
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const float total = sum_of_cta(value);
  if (threadIdx.x == 0) *y = total;
}
