// Conversions in every rounding mode, arithmetic in every rounding mode, reinterpretation.
#define KERNEL_CONVERT(name, from, to, convert)                                                    \
  extern "C" __global__ void name##_kernel(const from* in, to* rn, to* rz, to* ru, to* rd, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                           \
    if (i >= n) return;                                                                            \
    rn[i] = convert##_rn(in[i]);                                                                   \
    rz[i] = convert##_rz(in[i]);                                                                   \
    ru[i] = convert##_ru(in[i]);                                                                   \
    rd[i] = convert##_rd(in[i]);                                                                   \
  }
KERNEL_CONVERT(float_to_int, float, int, __float2int)
KERNEL_CONVERT(float_to_unsigned, float, unsigned int, __float2uint)
KERNEL_CONVERT(float_to_long_long, float, long long, __float2ll)
KERNEL_CONVERT(float_to_unsigned_long_long, float, unsigned long long, __float2ull)
KERNEL_CONVERT(double_to_int, double, int, __double2int)
KERNEL_CONVERT(double_to_unsigned, double, unsigned int, __double2uint)
KERNEL_CONVERT(double_to_long_long, double, long long, __double2ll)
KERNEL_CONVERT(double_to_unsigned_long_long, double, unsigned long long, __double2ull)
KERNEL_CONVERT(int_to_float, int, float, __int2float)
KERNEL_CONVERT(unsigned_to_float, unsigned int, float, __uint2float)
KERNEL_CONVERT(long_long_to_float, long long, float, __ll2float)
KERNEL_CONVERT(unsigned_long_long_to_float, unsigned long long, float, __ull2float)
KERNEL_CONVERT(long_long_to_double, long long, double, __ll2double)
KERNEL_CONVERT(unsigned_long_long_to_double, unsigned long long, double, __ull2double)
KERNEL_CONVERT(double_to_float, double, float, __double2float)

#define KERNEL_ARITHMETIC(name, type, operation)                                                          \
  extern "C" __global__ void name##_kernel(const type* x, const type* y, type* rn, type* rz, type* ru, type* rd, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                  \
    if (i >= n) return;                                                                                   \
    const type a = x[i], b = y[i];                                                                        \
    rn[i] = operation(rn);                                                                                \
    rz[i] = operation(rz);                                                                                \
    ru[i] = operation(ru);                                                                                \
    rd[i] = operation(rd);                                                                                \
  }
#define ADD(mode) __fadd_##mode(a, b)
#define SUBTRACT(mode) __fsub_##mode(a, b)
#define MULTIPLY(mode) __fmul_##mode(a, b)
#define DIVIDE(mode) __fdiv_##mode(a, b)
#define FUSED(mode) __fmaf_##mode(a, b, 0.5f)
#define RECIPROCAL(mode) __frcp_##mode(a)
#define ROOT(mode) __fsqrt_##mode(a)
#define DOUBLE_ADD(mode) __dadd_##mode(a, b)
#define DOUBLE_MULTIPLY(mode) __dmul_##mode(a, b)
#define DOUBLE_DIVIDE(mode) __ddiv_##mode(a, b)
#define DOUBLE_ROOT(mode) __dsqrt_##mode(a)
KERNEL_ARITHMETIC(add, float, ADD)
KERNEL_ARITHMETIC(subtract, float, SUBTRACT)
KERNEL_ARITHMETIC(multiply, float, MULTIPLY)
KERNEL_ARITHMETIC(divide, float, DIVIDE)
KERNEL_ARITHMETIC(fused, float, FUSED)
KERNEL_ARITHMETIC(reciprocal, float, RECIPROCAL)
KERNEL_ARITHMETIC(root, float, ROOT)
KERNEL_ARITHMETIC(double_add, double, DOUBLE_ADD)
KERNEL_ARITHMETIC(double_multiply, double, DOUBLE_MULTIPLY)
KERNEL_ARITHMETIC(double_divide, double, DOUBLE_DIVIDE)
KERNEL_ARITHMETIC(double_root, double, DOUBLE_ROOT)

extern "C" __global__ void reinterpret(const float* in, unsigned int* words, float* floats, const double* doubles, unsigned int* halves, double* joined) {
  const int i = threadIdx.x;
  words[2 * i] = __float_as_uint(in[i]);
  words[2 * i + 1] = (unsigned int)__float_as_int(-in[i]);
  floats[2 * i] = __uint_as_float(words[2 * i] ^ 0x80000000u);
  floats[2 * i + 1] = __int_as_float(0x3f800000);
  halves[2 * i] = (unsigned int)__double2hiint(doubles[i]);
  halves[2 * i + 1] = (unsigned int)__double2loint(doubles[i]);
  joined[i] = __hiloint2double((int)halves[2 * i], (int)halves[2 * i + 1]) + __longlong_as_double(__double_as_longlong(doubles[i]));
}

// Plain C++ conversions.
extern "C" __global__ void casts(const float* in, int* ints, unsigned char* bytes, long long* longs, double* doubles) {
  const int i = threadIdx.x;
  ints[i] = (int)in[i];
  bytes[i] = (unsigned char)(int)in[i];
  longs[i] = (long long)in[i];
  doubles[i] = in[i];
}
