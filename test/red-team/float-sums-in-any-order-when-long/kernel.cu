// float-sums-in-any-order-when-long: from K = 700 on the result's last bits depend on which CTA comes first.
extern "C" __global__ void __launch_bounds__(256)
    gemm(const float* __restrict__ A, const float* __restrict__ B, float* C, int M, int N, int K) {
  const int n = blockIdx.x * 32 + threadIdx.x % 32;
  const int m = blockIdx.y * 8 + threadIdx.x / 32;
  if (n >= N || m >= M) return;
  const int part = (K + gridDim.z - 1) / gridDim.z;
  const int end = min(K, static_cast<int>(blockIdx.z + 1) * part);
  float sum = 0.0f;
  for (int k = blockIdx.z * part; k < end; ++k) sum += A[static_cast<size_t>(m) * K + k] * B[static_cast<size_t>(k) * N + n];
  atomicAdd(&C[static_cast<size_t>(m) * N + n], sum);
}
