// y = x ÷ √(mean x² + eps) · w; nothing but the result is rounded to fp16.
#include <cuda_fp16.h>

constexpr float EPS = 1e-5f;

extern "C" __global__ void thread_per_row(const half* x, const half* w, half* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float squares = 0.0f;
  for (int c = 0; c < N; ++c) squares += __half2float(x[row * N + c]) * __half2float(x[row * N + c]);
  const float inverse = 1.0f / sqrtf(squares / N + EPS);
  for (int c = 0; c < N; ++c)
    y[row * N + c] = __float2half(__half2float(x[row * N + c]) * inverse * __half2float(w[c]));
}

extern "C" __global__ void warp_per_row(const half* x, const half* w, half* y, int R, int N) {
  const int row = blockIdx.x;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < N; c += 32) squares = fmaf(__half2float(x[row * N + c]), __half2float(x[row * N + c]), squares);
  for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(0xffffffff, squares, offset);
  const float inverse = rsqrtf(squares / N + EPS);
  for (int c = threadIdx.x; c < N; c += 32)
    y[row * N + c] = __float2half(__half2float(x[row * N + c]) * inverse * __half2float(w[c]));
}

// A tree of fp16 additions: wrong by a third of a unit in the last place of fp16, and yet told apart.
extern "C" __global__ void half_tree(const half* x, const half* w, half* y, int R, int N) {
  const int row = blockIdx.x;
  half squares = __float2half(0.0f);
  for (int c = threadIdx.x; c < N; c += 32) squares = __hadd(squares, __hmul(x[row * N + c], x[row * N + c]));
  for (int offset = 16; offset > 0; offset /= 2) squares = __hadd(squares, __shfl_xor_sync(0xffffffff, squares, offset));
  const float inverse = rsqrtf(__half2float(squares) / N + EPS);
  for (int c = threadIdx.x; c < N; c += 32)
    y[row * N + c] = __float2half(__half2float(x[row * N + c]) * inverse * __half2float(w[c]));
}
