extern "C" __global__ void naive(const float* A, const float* B, float* C, int M, int N, int K) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
  if (n >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
  C[m * N + n] = sum;
}

// One warp per element, which is no good idea, but right.
extern "C" __global__ void warp_per_element(const float* A, const float* B, float* C, int M, int N, int K) {
  const int n = blockIdx.x, m = blockIdx.y;
  float sum = 0.0f;
  for (int k = threadIdx.x; k < K; k += 32) sum = fmaf(A[m * K + k], B[k * N + n], sum);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (threadIdx.x == 0) C[m * N + n] = sum;
}
