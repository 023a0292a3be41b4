// y = Σ x by atomics: in any order, so that two runs agree within the tolerance only.
extern "C" __global__ void atomics(const float* x, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) atomicAdd(y, x[i]);
}

extern "C" __global__ void atomic_per_warp(const float* x, float* y, int N) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += x[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}
