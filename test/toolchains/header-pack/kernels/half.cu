// half and half2: conversions, arithmetic, comparisons, functions, memory and atomics.
#include <cuda_fp16.h>

#define KERNEL_UNARY(name, expression)                                          \
  extern "C" __global__ void name##_kernel(const half* in, half* out, int n) {    \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                        \
    if (i >= n) return;                                                         \
    const half a = in[i];                                                        \
    out[i] = expression;                                                        \
  }
#define KERNEL_BINARY(name, expression)                                                      \
  extern "C" __global__ void name##_kernel(const half* x, const half* y, half* out, int n) {    \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    if (i >= n) return;                                                                      \
    const half a = x[i], b = y[i];                                                            \
    out[i] = expression;                                                                     \
  }
// Two results at a time, through the pair type.
#define KERNEL_PAIR(name, expression)                                                        \
  extern "C" __global__ void name##_kernel(const half* x, const half* y, half* out, int n) {    \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    if (2 * i >= n) return;                                                                  \
    const half2 a = reinterpret_cast<const half2*>(x)[i], b = reinterpret_cast<const half2*>(y)[i]; \
    reinterpret_cast<half2*>(out)[i] = expression;                                             \
  }

KERNEL_BINARY(add, __hadd(a, b))
KERNEL_BINARY(subtract, __hsub(a, b))
KERNEL_BINARY(multiply, __hmul(a, b))
KERNEL_BINARY(divide, __hdiv(a, b))
KERNEL_BINARY(add_rn, __hadd_rn(a, b))
KERNEL_BINARY(multiply_rn, __hmul_rn(a, b))
KERNEL_BINARY(plus, a + b)
KERNEL_BINARY(minus, a - b)
KERNEL_BINARY(times, a * b)
KERNEL_BINARY(over, a / b)
KERNEL_BINARY(fused, __hfma(a, b, a))
KERNEL_BINARY(fused_relu, __hfma_relu(a, b, a))
KERNEL_BINARY(fused_saturated, __hfma_sat(a, b, a))
KERNEL_BINARY(add_saturated, __hadd_sat(a, b))
KERNEL_BINARY(maximum, __hmax(a, b))
KERNEL_BINARY(minimum, __hmin(a, b))
KERNEL_BINARY(maximum_nan, __hmax_nan(a, b))
KERNEL_BINARY(minimum_nan, __hmin_nan(a, b))
KERNEL_UNARY(negate, __hneg(a))
KERNEL_UNARY(minus_of, -a)
KERNEL_UNARY(absolute, __habs(a))
KERNEL_PAIR(add_pair, __hadd2(a, b))
KERNEL_PAIR(subtract_pair, a - b)
KERNEL_PAIR(multiply_pair, a* b)
KERNEL_PAIR(divide_pair, __h2div(a, b))
KERNEL_PAIR(fused_pair, __hfma2(a, b, a))
KERNEL_PAIR(maximum_pair, __hmax2(a, b))
KERNEL_PAIR(minimum_pair, __hmin2(a, b))
KERNEL_PAIR(absolute_pair, __habs2(a))
KERNEL_PAIR(equal_pair, __heq2(a, b))
KERNEL_PAIR(less_pair, __hlt2(a, b))
KERNEL_PAIR(not_equal_unordered_pair, __hneu2(a, b))
KERNEL_PAIR(swapped_pair, __lowhigh2highlow(a))
KERNEL_PAIR(lows_pair, __lows2half2(a, b))
KERNEL_PAIR(highs_pair, __highs2half2(a, b))

KERNEL_UNARY(ceiling, hceil(a))
KERNEL_UNARY(floored, hfloor(a))
KERNEL_UNARY(truncated, htrunc(a))
KERNEL_UNARY(rounded, hrint(a))
KERNEL_UNARY(square_root, hsqrt(a))
KERNEL_UNARY(reciprocal_root, hrsqrt(a))
KERNEL_UNARY(reciprocal, hrcp(a))
KERNEL_UNARY(exponential, hexp(a))
KERNEL_UNARY(exponential_2, hexp2(a))
KERNEL_UNARY(exponential_10, hexp10(a))
KERNEL_UNARY(logarithm, hlog(a))
KERNEL_UNARY(logarithm_2, hlog2(a))
KERNEL_UNARY(logarithm_10, hlog10(a))
KERNEL_UNARY(sine, hsin(a))
KERNEL_UNARY(cosine, hcos(a))

// Each conversion from float, by rounding mode.
extern "C" __global__ void from_float(const float* in, half* nearest, half* towards_zero, half* down, half* up, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nearest[i] = __float2half_rn(in[i]);
  towards_zero[i] = __float2half_rz(in[i]);
  down[i] = __float2half_rd(in[i]);
  up[i] = __float2half_ru(in[i]);
}

extern "C" __global__ void to_float(const half* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = __half2float(in[i]);
}

extern "C" __global__ void float_pairs(const float2* in, half2* out, float2* back, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = i % 2 == 0 ? __floats2half2_rn(in[i].x, in[i].y) : __float22half2_rn(in[i]);
  back[i] = __half22float2(out[i]);
}

extern "C" __global__ void to_int(const half* in, int* nearest, int* towards_zero, int* down, int* up, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nearest[i] = __half2int_rn(in[i]);
  towards_zero[i] = __half2int_rz(in[i]);
  down[i] = __half2int_rd(in[i]);
  up[i] = __half2int_ru(in[i]);
}

extern "C" __global__ void from_int(const int* in, half* nearest, half* towards_zero, half* down, half* up, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nearest[i] = __int2half_rn(in[i]);
  towards_zero[i] = __int2half_rz(in[i]);
  down[i] = __int2half_rd(in[i]);
  up[i] = __int2half_ru(in[i]);
}

extern "C" __global__ void from_long_long(const long long* in, half* nearest, half* towards_zero, half* down, half* up, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nearest[i] = __ll2half_rn(in[i]);
  towards_zero[i] = __ll2half_rz(in[i]);
  down[i] = __ll2half_rd(in[i]);
  up[i] = __ll2half_ru(in[i]);
}

// One bit per comparison.
extern "C" __global__ void compare(const half* x, const half* y, unsigned int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const half a = x[i], b = y[i];
  const bool results[] = {__heq(a, b),  __hne(a, b),  __hlt(a, b),  __hle(a, b),  __hgt(a, b),  __hge(a, b),  __hequ(a, b),
                          __hneu(a, b), __hltu(a, b), __hleu(a, b), __hgtu(a, b), __hgeu(a, b), a == b,       a != b,
                          a < b,        a <= b,       a > b,        a >= b,       __hisnan(a),  __hisinf(a) != 0};
  unsigned int bits = 0;
  for (int bit = 0; bit < sizeof(results); bit++) bits |= (unsigned int)results[bit] << bit;
  out[i] = bits;
}

// Shuffles and the read-only path, scalar and in pairs; 32 threads.
extern "C" __global__ void move(const half* in, half* out, const half2* pairs_in, half2* pairs_out) {
  const half value = __ldg(in + threadIdx.x);
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, value, 5);
  out[32 + threadIdx.x] = __shfl_down_sync(0xffffffffu, value, 3);
  const half2 pair = __ldg(pairs_in + threadIdx.x);
  pairs_out[threadIdx.x] = __shfl_sync(0xffffffffu, pair, 31 - threadIdx.x);
}

// Every thread adds 1 to one scalar and (1, 2) to one pair.
extern "C" __global__ void accumulate(half* total, half2* pair_total) {
  atomicAdd(total, half(1.0f));
  atomicAdd(pair_total, __floats2half2_rn(1.0f, 2.0f));
}

// Implicit conversions, compound assignment, arrays in shared memory: what ordinary code does.
extern "C" __global__ void ordinary(const half* in, half* out, float scale) {
  __shared__ half tile[32];
  half value = in[threadIdx.x];
  value += half(1.0f);
  value *= half(2);
  value -= half(0.5);
  tile[threadIdx.x] = value;
  __syncthreads();
  const float sum = float(tile[threadIdx.x]) + static_cast<float>(tile[31 - threadIdx.x]);
  out[threadIdx.x] = scale * sum;
}
