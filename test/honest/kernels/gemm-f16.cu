#include <cuda_fp16.h>

constexpr int TILE = 8;
constexpr int SPLITS = 3;

__device__ float product(half a, half b) { return __half2float(a) * __half2float(b); }

extern "C" __global__ void naive(const half* A, const half* B, half* C, int M, int N, int K) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
  if (n >= N) return;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) sum += product(A[m * K + k], B[k * N + n]);
  C[m * N + n] = __float2half(sum);
}

// Two tiles in shared memory: one is filled while the other is multiplied.
extern "C" __global__ void double_buffered(const half* A, const half* B, half* C, int M, int N, int K) {
  __shared__ half a[2][TILE][TILE], b[2][TILE][TILE];
  const int row = threadIdx.x / TILE, column = threadIdx.x % TILE;
  const int m = blockIdx.y * TILE + row, n = blockIdx.x * TILE + column;
  const auto fill = [&](int buffer, int k) {
    a[buffer][row][column] = m < M && k + column < K ? A[m * K + k + column] : __float2half(0.0f);
    b[buffer][row][column] = k + row < K && n < N ? B[(k + row) * N + n] : __float2half(0.0f);
  };
  float sum = 0.0f;
  fill(0, 0);
  __syncthreads();
  for (int k = 0, buffer = 0; k < K; k += TILE, buffer ^= 1) {
    if (k + TILE < K) fill(buffer ^ 1, k + TILE);
    for (int i = 0; i < TILE; ++i) sum += product(a[buffer][row][i], b[buffer][i][column]);
    __syncthreads();
  }
  if (m < M && n < N) C[m * N + n] = __float2half(sum);
}

extern "C" __global__ void split_k(const half* A, const half* B, float* partials, int M, int N, int K) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
  if (n >= N) return;
  float sum = 0.0f;
  for (int k = blockIdx.z; k < K; k += SPLITS) sum += product(A[m * K + k], B[k * N + n]);
  partials[(blockIdx.z * M + m) * N + n] = sum;
}
extern "C" __global__ void join(const float* partials, half* C, int M, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= M * N) return;
  float sum = 0.0f;
  for (int part = 0; part < SPLITS; ++part) sum += partials[part * M * N + i];
  C[i] = __float2half(sum);
}

// Every CTA has the same share of all M · N · K products, whatever elements they belong to; parts of an element are
// written to places of their own and joined in order.
extern "C" __global__ void stream_k(const half* A, const half* B, float* partials, int M, int N, int K) {
  const int total = M * N * K;
  const int share = (total + gridDim.x - 1) / gridDim.x;
  int at = blockIdx.x * share;
  const int end = min(total, at + share);
  // Elements of a share are at most share ÷ K + 2; threads take turns.
  for (int element = at / K + threadIdx.x; element * K < end; element += blockDim.x) {
    const int first = max(at, element * K), last = min(end, (element + 1) * K);
    float sum = 0.0f;
    for (int i = first; i < last; ++i) sum += product(A[element / N * K + i % K], B[i % K * N + element % N]);
    partials[element * gridDim.x + blockIdx.x] = sum;
  }
}
extern "C" __global__ void fix_up(const float* partials, half* C, int M, int N, int K, int parts) {
  const int element = blockIdx.x * blockDim.x + threadIdx.x;
  if (element >= M * N) return;
  const int share = (M * N * K + parts - 1) / parts;
  float sum = 0.0f;
  for (int part = element * K / share; part < parts && part * share < (element + 1) * K; ++part)
    sum += partials[element * parts + part];
  C[element] = __float2half(sum);
}

// Products of two halves a time; sums in fp32.
extern "C" __global__ void half2_loads(const half* A, const half* B, half* C, int M, int N, int K) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
  if (n >= N) return;
  float even = 0.0f, odd = 0.0f;
  int k = 0;
  for (; k + 2 <= K; k += 2) {
    const half2 a = __halves2half2(A[m * K + k], A[m * K + k + 1]);
    const half2 b = __halves2half2(B[k * N + n], B[(k + 1) * N + n]);
    even = fmaf(__low2float(a), __low2float(b), even);
    odd = fmaf(__high2float(a), __high2float(b), odd);
  }
  if (k < K) even = fmaf(__half2float(A[m * K + k]), __half2float(B[k * N + n]), even);
  C[m * N + n] = __float2half(even + odd);
}
