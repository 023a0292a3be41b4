// Single-precision functions. Polynomial coefficients are minimax fits of our own (weighted by relative error, each
// coefficient rounded to float before the next was fitted). The table in docs/device-headers.md states the largest error
// of each function; tests hold them to it. Steps that must not be fused or reordered use the __f*_rn intrinsics.
#pragma once

// c0 + c1 x + c2 x^2 + …, by Horner's rule with fused steps.
__WS_BOTH float __ws_horner(float, float c0) { return c0; }
template <typename... __ws_rest>
__WS_BOTH float __ws_horner(float x, float c0, __ws_rest... rest) {
  return __nvvm_fma_rn_f(__ws_horner(x, rest...), x, c0);
}

__WS_BOTH float __ws_power_of_two(int exponent) { return __int_as_float((exponent + 127) << 23); }

// --- Roots ----------------------------------------------------------------------------------------------------------
__WS_BOTH float rsqrtf(float x) { return __WS_FTZ(rsqrt_approx)(x); }
__WS_BOTH float __frsqrt_rn(float x) { return (float)(1.0 / __nvvm_sqrt_rn_d((double)x)); }

// exp2(log2(x) / 3) is right to about 2^-21; one Newton step for y^-3 = 1/x makes it right to the last place.
__WS_BOTH float cbrtf(float x) {
  const float magnitude = fabsf(x);
  const bool subnormal = magnitude < 0x1p-126f;
  const float scaled = subnormal ? magnitude * 0x1p24f : magnitude;
  const float estimate = __nvvm_ex2_approx_ftz_f(__nvvm_lg2_approx_ftz_f(scaled) * 0x1.555556p-2f);
  const float reciprocal = __nvvm_rcp_approx_ftz_f(__fmul_rn(estimate, estimate));
  const float residual = __nvvm_fma_rn_f(scaled, reciprocal, -estimate);
  const float root = __nvvm_fma_rn_f(residual, 0x1.555556p-2f, estimate);
  const float result = copysignf(subnormal ? root * 0x1p-8f : root, x);
  return magnitude == 0.0f || !(magnitude < INFINITY) ? x + x : result;
}
__WS_BOTH float rcbrtf(float x) {
  const float magnitude = fabsf(x);
  const bool subnormal = magnitude < 0x1p-126f;
  const float scaled = subnormal ? magnitude * 0x1p24f : magnitude;
  const float estimate = __nvvm_ex2_approx_ftz_f(__nvvm_lg2_approx_ftz_f(scaled) * -0x1.555556p-2f);
  const float residual = __nvvm_fma_rn_f(__fmul_rn(scaled, estimate), -__fmul_rn(estimate, estimate), 1.0f);
  const float root = __nvvm_fma_rn_f(__fmul_rn(estimate, residual), 0x1.555556p-2f, estimate);
  const float result = copysignf(subnormal ? root * 0x1p8f : root, x);
  return magnitude == 0.0f || !(magnitude < INFINITY) ? 1.0f / x : result;
}

// The largest component is scaled to [1, 2), so that no square over- or underflows; tiny ones are lifted first.
__WS_BOTH float __ws_norm(float x, float y, float z, float w) {
  const float largest = fmaxf(fmaxf(fabsf(x), fabsf(y)), fmaxf(fabsf(z), fabsf(w)));
  if (largest == INFINITY) return INFINITY;
  const float lift = largest < 0x1p-60f ? 0x1p100f : 1.0f;
  const int exponent = (__float_as_int(largest * lift) >> 23) - 127;
  const float down = __ws_power_of_two(-(exponent < 126 ? exponent : 126));
  const float a = x * lift * down, b = y * lift * down, c = z * lift * down, d = w * lift * down;
  const float sum = __nvvm_fma_rn_f(a, a, __nvvm_fma_rn_f(b, b, __nvvm_fma_rn_f(c, c, d * d)));
  return largest == 0.0f ? fabsf(x + y + z + w) : __nvvm_sqrt_rn_f(sum) / down / lift;
}
__WS_BOTH float hypotf(float x, float y) { return __ws_norm(x, y, 0.0f, 0.0f); }
__WS_BOTH float norm3df(float x, float y, float z) { return __ws_norm(x, y, z, 0.0f); }
__WS_BOTH float norm4df(float x, float y, float z, float w) { return __ws_norm(x, y, z, w); }
__WS_BOTH float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
__WS_BOTH float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
__WS_BOTH float rnorm4df(float x, float y, float z, float w) { return 1.0f / norm4df(x, y, z, w); }

// --- Exponentials ---------------------------------------------------------------------------------------------------
// b^x = 2^(j + f) with integer j kept in float's exponent range. What is left over goes to ex2, which over- and underflows
// by itself, so that the one final product rounds subnormal results correctly. log2(b) = high + low.
__WS_BOTH float __ws_exponential(float x, float log2_high, float log2_low, float scale) {
  const float magic = 0x1.8p23f;  // Adding it leaves the rounded integer in the low bits.
  const float shifted = fminf(fmaxf(__nvvm_fma_rn_f(x, log2_high, magic), magic - 126.0f), magic + 127.0f);
  const float j = __fadd_rn(shifted, -magic);
  const float f = __nvvm_fma_rn_f(x, log2_low, __nvvm_fma_rn_f(x, log2_high, -j));
  const float power = __int_as_float((__float_as_int(shifted) << 23) + 0x3f800000);
  return __fmul_rn(__fmul_rn(__nvvm_ex2_approx_ftz_f(f), scale), power);
}
__WS_BOTH float exp2f(float x) { return __ws_exp2_approx(x); }
__WS_BOTH float expf(float x) {
#ifdef __USE_FAST_MATH__
  return __expf(x);
#else
  return __ws_exponential(x, 0x1.715476p+0f, 0x1.4ae0cp-26f, 1.0f);
#endif
}
__WS_BOTH float exp10f(float x) {
#ifdef __USE_FAST_MATH__
  return __exp10f(x);
#else
  return __ws_exponential(x, 0x1.a934fp+1f, 0x1.2f346ep-24f, 1.0f);
#endif
}
// e^x - 1 = 2^j (e^r - 1) + (2^j - 1) with x = j ln 2 + r, |r| <= ln 2 / 2.
__WS_BOTH float expm1f(float x) {
  const float j = rintf(fminf(fmaxf(x, -30.0f), 89.0f) * 0x1.715476p+0f);
  const float r = __nvvm_fma_rn_f(j, 0x1.05c61p-29f, __nvvm_fma_rn_f(j, -0x1.62e43p-1f, x));
  const float p = __ws_horner(r, 0x1p-1f, 0x1.555554p-3f, 0x1.5554f8p-5f, 0x1.1112dap-7f, 0x1.6d3a44p-10f, 0x1.9e6e7cp-13f);
  const float q = __nvvm_fma_rn_f(__fmul_rn(r, r), p, r);
  // One power of two is kept back, so that 2^128 is never needed.
  const float scale = __ws_power_of_two((int)j - 1);
  const float half_result = __nvvm_fma_rn_f(q, scale, scale - 0.5f);
  const float result = half_result + half_result;
  return x > 88.73f ? INFINITY : x < -25.0f ? -1.0f : x == 0.0f ? x : result;
}

// --- Logarithms -----------------------------------------------------------------------------------------------------
// log(1 + f) for f in [-1/3, 1/3].
__WS_BOTH float __ws_log1p_small(float f) {
  const float p = __ws_horner(f, 0x1.555556p-2f, -0x1.ffff18p-3f, 0x1.9997eep-3f, -0x1.55978cp-3f, 0x1.24eb6ep-3f,
                              -0x1.f3b02cp-4f, 0x1.b91efap-4f, -0x1.06c2bap-3f, 0x1.e9d18ap-4f);
  const float square = __fmul_rn(f, f);
  return __nvvm_fma_rn_f(square, __nvvm_fma_rn_f(p, f, -0.5f), f);
}
// x = 2^k (1 + f), 1 + f in [2/3, 4/3).
struct __ws_split_float {
  float f, k;
};
__WS_BOTH __ws_split_float __ws_split(float x) {
  const bool subnormal = x < 0x1p-126f;
  const int bits = __float_as_int(subnormal ? x * 0x1p23f : x);
  const int exponent = (bits - 0x3f2aaaab) & (int)0xff800000;
  const float k = __nvvm_fma_rn_f((float)exponent, 0x1p-23f, subnormal ? -23.0f : 0.0f);
  return {__int_as_float(bits - exponent) - 1.0f, k};
}
__WS_BOTH float __ws_log_special(float x, float result) {
  // Infinity and NaN pass through, negative numbers give NaN, zero gives -infinity.
  if ((unsigned int)__float_as_int(x) >= 0x7f800000u) result = __nvvm_fma_rn_f(x, INFINITY, INFINITY);
  return x == 0.0f ? -INFINITY : result;
}
__WS_BOTH float logf(float x) {
#ifdef __USE_FAST_MATH__
  return __logf(x);
#else
  const __ws_split_float s = __ws_split(x);
  return __ws_log_special(x, __nvvm_fma_rn_f(s.k, 0x1.62e43p-1f, __nvvm_fma_rn_f(s.k, -0x1.05c61p-29f, __ws_log1p_small(s.f))));
#endif
}
__WS_BOTH float log2f(float x) {
#ifdef __USE_FAST_MATH__
  return __log2f(x);
#else
  const __ws_split_float s = __ws_split(x);
  const float natural = __ws_log1p_small(s.f);
  const float low = __fmul_rn(natural, 0x1.4ae0cp-26f);
  return __ws_log_special(x, __fadd_rn(s.k, __nvvm_fma_rn_f(natural, 0x1.715476p+0f, low)));
#endif
}
__WS_BOTH float log10f(float x) {
#ifdef __USE_FAST_MATH__
  return __log10f(x);
#else
  const __ws_split_float s = __ws_split(x);
  const float natural = __ws_log1p_small(s.f);
  const float low = __nvvm_fma_rn_f(natural, -0x1.5b235ep-27f, __fmul_rn(s.k, -0x1.ec10cp-27f));
  return __ws_log_special(x, __nvvm_fma_rn_f(s.k, 0x1.344136p-2f, __nvvm_fma_rn_f(natural, 0x1.bcb7b2p-2f, low)));
#endif
}
// log(1 + x) = k ln 2 + log(1 + f), where f = (1 + x) 2^-k - 1 is formed without rounding 1 + x.
__WS_BOTH float log1pf(float x) {
  const float sum = __fadd_rn(1.0f, x);
  const int exponent = (__float_as_int(sum) - 0x3f400000) & (int)0xff800000;
  const float down = __int_as_float(0x3f800000 - exponent);
  const float f = __nvvm_fma_rn_f(x, down, down - 1.0f);
  const float k = (float)exponent * 0x1p-23f;
  const float p = __ws_horner(f, 0x1.555556p-2f, -0x1.ffff18p-3f, 0x1.9997eep-3f, -0x1.55978cp-3f, 0x1.24eb6ep-3f,
                              -0x1.f3b02cp-4f, 0x1.b91efap-4f, -0x1.06c2bap-3f, 0x1.e9d18ap-4f);
  const float small_log = f >= 0x1.555554p-2f ? __ws_log1p_small(__nvvm_fma_rn_f(0.5f, f, -0.5f)) + 0x1.62e43p-1f
                                         : __nvvm_fma_rn_f(__fmul_rn(f, f), __nvvm_fma_rn_f(p, f, -0.5f), f);
  const float result = __nvvm_fma_rn_f(k, 0x1.62e43p-1f, __nvvm_fma_rn_f(k, -0x1.05c61p-29f, small_log));
  if (x >= 0x1p64f) return logf(x);
  if (!(x > -1.0f)) return x == -1.0f ? -INFINITY : NAN;
  return x == 0.0f ? x : result;
}

// --- Powers ---------------------------------------------------------------------------------------------------------
// x^y for x > 0 finite: log2(x) and its product with y are carried as sums of two floats.
__WS_BOTH float __ws_pow_positive(float x, float y) {
  const bool subnormal = x < 0x1p-126f;
  const int bits = __float_as_int(subnormal ? x * 0x1p24f : x);
  const int exponent = (bits - 0x3f3504f3) & (int)0xff800000;
  const float k = __nvvm_fma_rn_f((float)exponent, 0x1p-23f, subnormal ? -24.0f : 0.0f);
  const float f = __int_as_float(bits - exponent) - 1.0f;
  // log(1 + f) = 2 atanh(f / (2 + f)) = u + u^3/12 + …, u = 2 f / (2 + f) = u_high + u_low.
  const float reciprocal = __nvvm_rcp_approx_ftz_f(2.0f + f);
  const float u_high = __fmul_rn(__fmul_rn(2.0f, f), reciprocal);
  const float u_low = __fmul_rn(reciprocal, __nvvm_fma_rn_f(-u_high, f, 2.0f * __fadd_rn(f, -u_high)));
  const float z = __fmul_rn(u_high, u_high);
  const float p = __ws_horner(z, 0x1.555554p-4f, 0x1.999c24p-7f, 0x1.23d4e2p-9f, 0x1.f1026ap-12f);
  const float tail = __nvvm_fma_rn_f(__fmul_rn(u_high, z), p, u_low);
  const float log_high = __fadd_rn(u_high, tail);
  const float log_low = __fadd_rn(tail, __fadd_rn(u_high, -log_high));
  // Times log2(e), plus k.
  const float scaled = __fmul_rn(log_high, 0x1.715476p+0f);
  const float scaled_low = __nvvm_fma_rn_f(log_low, 0x1.715476p+0f,
                                           __nvvm_fma_rn_f(log_high, 0x1.4ae0cp-26f, __nvvm_fma_rn_f(log_high, 0x1.715476p+0f, -scaled)));
  const float sum = __fadd_rn(k, scaled);
  const float sum_low = __fadd_rn(__fadd_rn(__fadd_rn(k, -sum), scaled), scaled_low);
  // Times y; then 2 to that power, in two steps that keep subnormal results right.
  const float product = __fmul_rn(y, sum);
  if (product >= 129.0f) return INFINITY;
  if (product <= -152.0f) return 0.0f;
  const float product_low = __nvvm_fma_rn_f(y, sum_low, __nvvm_fma_rn_f(y, sum, -product));
  const float j = rintf(product);
  const float power = __nvvm_ex2_approx_ftz_f(__fadd_rn(__fadd_rn(product, -j), product_low));
  const int whole = (int)j, first = whole >> 1;
  return __fmul_rn(__fmul_rn(power, __ws_power_of_two(first)), __ws_power_of_two(whole - first));
}
__WS_BOTH float powf(float x, float y) {
#ifdef __USE_FAST_MATH__
  return __powf(x, y);
#else
  if (x == 1.0f || y == 0.0f) return 1.0f;
  if (x != x || y != y) return x + y;
  const float magnitude = fabsf(x);
  const bool integer = truncf(y) == y;
  const bool odd = integer && fabsf(y) < 0x1p24f && truncf(y * 0.5f) != y * 0.5f;
  float result;
  if (fabsf(y) == INFINITY) {
    result = magnitude == 1.0f ? 1.0f : (magnitude > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f;
  } else if (magnitude == 0.0f || magnitude == INFINITY) {
    result = (magnitude == 0.0f) == (y > 0.0f) ? 0.0f : INFINITY;
  } else {
    result = __ws_pow_positive(magnitude, y);
    if (x < 0.0f && !integer) return NAN;
  }
  return odd ? copysignf(result, x) : result;
#endif
}
__WS_BOTH float powif(float x, int n) { return powf(x, (float)n); }

// --- Trigonometry ---------------------------------------------------------------------------------------------------
struct __ws_reduced_float {
  float r;       // In [-pi/4, pi/4], up to rounding.
  int quadrant;  // x = quadrant * pi/2 + r.
};
// 2/pi in binary, after one word of zeros. Enough for the largest float.
static __device__ __constant__ const unsigned int __ws_two_over_pi[] = {
    0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

// Payne and Hanek: only the bits of 2/pi that matter modulo 4 are multiplied with the 24-bit significand.
__WS_DEVICE __ws_reduced_float __ws_reduce_large(float x) {
  const int bits = __float_as_int(x);
  const int shift = ((bits >> 23) & 0xff) - 150;          // |x| = significand * 2^shift
  const unsigned int significand = (bits & 0x7fffff) | 0x800000;
  const int position = shift - 2 + 32;                    // Bits before this one contribute multiples of 4.
  const int word = position >> 5, offset = position & 31;
  const unsigned int w0 = __ws_two_over_pi[word], w1 = __ws_two_over_pi[word + 1];
  const unsigned int w2 = __ws_two_over_pi[word + 2], w3 = __ws_two_over_pi[word + 3];
  const unsigned int high = __funnelshift_l(w1, w0, offset), middle = __funnelshift_l(w2, w1, offset);
  const unsigned int low = __funnelshift_l(w3, w2, offset);
  const unsigned long long p0 = (unsigned long long)significand * low;
  const unsigned long long p1 = (unsigned long long)significand * middle + (p0 >> 32);
  const unsigned int p2 = significand * high + (unsigned int)(p1 >> 32);
  const unsigned long long product = ((unsigned long long)p2 << 32) | (unsigned int)p1;
  // Two bits of quadrant, then the fraction; more than a half counts towards the next quadrant.
  const long long fraction = (long long)((product << 2) | ((unsigned int)p0 >> 30));
  const int quadrant = (int)(p2 >> 30) + (fraction < 0 ? 1 : 0);
  const float r = (float)((double)fraction * 0x1.921fb54442d18p-64);
  return x < 0.0f ? __ws_reduced_float{-r, -quadrant} : __ws_reduced_float{r, quadrant};
}
__WS_DEVICE __ws_reduced_float __ws_reduce(float x) {
  const float magnitude = fabsf(x);
  if (magnitude >= 0x1p16f) {
    if (magnitude == INFINITY || x != x) return {NAN, 0};
    return __ws_reduce_large(x);
  }
  const int quadrant = __float2int_rn(x * 0x1.45f306p-1f);
  const float j = (float)quadrant;
  const float r = __nvvm_fma_rn_f(j, 0x1.ee59dap-50f, __nvvm_fma_rn_f(j, 0x1.777a5cp-25f, __nvvm_fma_rn_f(j, -0x1.921fb6p+0f, x)));
  return {r, quadrant};
}
__WS_BOTH float __ws_sin_polynomial(float r) {
  const float z = __fmul_rn(r, r);
  const float p = __ws_horner(z, -0x1.555556p-3f, 0x1.111174p-7f, -0x1.a05958p-13f, 0x1.7c2eep-19f);
  return __nvvm_fma_rn_f(__fmul_rn(r, z), p, r);
}
__WS_BOTH float __ws_cos_polynomial(float r) {
  const float z = __fmul_rn(r, r);
  const float p = __ws_horner(z, 0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e808p-16f);
  return __nvvm_fma_rn_f(z, __nvvm_fma_rn_f(z, p, -0.5f), 1.0f);
}
__WS_BOTH float __ws_sin_of_quadrant(float r, int quadrant) {
  const float value = (quadrant & 1) != 0 ? __ws_cos_polynomial(r) : __ws_sin_polynomial(r);
  return (quadrant & 2) != 0 ? -value : value;
}
__WS_DEVICE float sinf(float x) {
#ifdef __USE_FAST_MATH__
  return __sinf(x);
#else
  const __ws_reduced_float reduced = __ws_reduce(x);
  return x == 0.0f ? x : __ws_sin_of_quadrant(reduced.r, reduced.quadrant);
#endif
}
__WS_DEVICE float cosf(float x) {
#ifdef __USE_FAST_MATH__
  return __cosf(x);
#else
  const __ws_reduced_float reduced = __ws_reduce(x);
  return __ws_sin_of_quadrant(reduced.r, reduced.quadrant + 1);
#endif
}
__WS_DEVICE void sincosf(float x, float* sine, float* cosine) {
#ifdef __USE_FAST_MATH__
  __sincosf(x, sine, cosine);
#else
  const __ws_reduced_float reduced = __ws_reduce(x);
  *sine = x == 0.0f ? x : __ws_sin_of_quadrant(reduced.r, reduced.quadrant);
  *cosine = __ws_sin_of_quadrant(reduced.r, reduced.quadrant + 1);
#endif
}
__WS_DEVICE float tanf(float x) {
#ifdef __USE_FAST_MATH__
  return __tanf(x);
#else
  const __ws_reduced_float reduced = __ws_reduce(x);
  const float r = reduced.r, z = __fmul_rn(r, r);
  const float p = __ws_horner(z, 0x1.55556p-2f, 0x1.110d98p-3f, 0x1.badb68p-5f, 0x1.5cabd4p-6f, 0x1.634734p-7f, 0x1.45d85ap-14f, 0x1.1f486p-8f);
  const float tangent = __nvvm_fma_rn_f(__fmul_rn(r, z), p, r);
  const float value = (reduced.quadrant & 1) != 0 ? __nvvm_div_rn_f(-1.0f, tangent) : tangent;
  return x == 0.0f ? x : value;
#endif
}
// sin(pi x), cos(pi x): the reduction is exact.
__WS_BOTH float __ws_sinpi_of(float x, int quadrants) {
  // From 2^24 on every float is an even integer.
  const float bounded = fabsf(x) < 0x1p24f ? x : 0.0f;
  const float nearest = rintf(bounded + bounded);
  const float r = __nvvm_fma_rn_f(nearest, -0.5f, bounded);
  const int quadrant = (int)nearest + quadrants;
  const float z = __fmul_rn(r, r);
  const float sine_tail = __ws_horner(z, -0x1.4abbcep+2f, 0x1.466b78p+1f, -0x1.32adbp-1f, 0x1.443e78p-4f);
  const float sine = __nvvm_fma_rn_f(r, 0x1.921fb6p+1f, __nvvm_fma_rn_f(__fmul_rn(r, z), sine_tail, r * -0x1.777a5cp-24f));
  const float cosine = __ws_cos_polynomial(__fmul_rn(r, 0x1.921fb6p+1f));
  const float value = (quadrant & 1) != 0 ? cosine : sine;
  const float signed_value = (quadrant & 2) != 0 ? -value : value;
  return fabsf(x) < INFINITY ? signed_value : NAN;
}
__WS_BOTH float sinpif(float x) {
  const float value = __ws_sinpi_of(x, 0);
  return truncf(x) == x && fabsf(x) < INFINITY ? copysignf(0.0f, x) : value;
}
__WS_BOTH float cospif(float x) {
  const float value = __ws_sinpi_of(x, 1);
  return value == 0.0f ? 0.0f : value;
}
__WS_BOTH void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

// asin(x) for |x| <= 1/2.
__WS_BOTH float __ws_asin_small(float x) {
  const float z = __fmul_rn(x, x);
  const float p = __ws_horner(z, 0x1.55554cp-3f, 0x1.3338aap-4f, 0x1.6ca7fap-5f, 0x1.04caaap-5f, 0x1.d5c6fcp-7f, 0x1.347f56p-5f);
  return __nvvm_fma_rn_f(__fmul_rn(x, z), p, x);
}
__WS_BOTH float asinf(float x) {
  const float magnitude = fabsf(x);
  if (magnitude <= 0.5f) return __ws_asin_small(x);
  // asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2))
  const float half_angle = __ws_asin_small(__nvvm_sqrt_rn_f(__nvvm_fma_rn_f(magnitude, -0.5f, 0.5f)));
  return copysignf(__nvvm_fma_rn_f(half_angle, -2.0f, 0x1.921fb6p+0f), x) + (magnitude <= 1.0f ? 0.0f : NAN);
}
__WS_BOTH float acosf(float x) {
  const float magnitude = fabsf(x);
  if (magnitude <= 0.5f) return __fadd_rn(0x1.921fb6p+0f, __fadd_rn(-0x1.777a5cp-25f, -__ws_asin_small(x)));
  const float half_angle = __ws_asin_small(__nvvm_sqrt_rn_f(__nvvm_fma_rn_f(magnitude, -0.5f, 0.5f)));
  const float angle = half_angle + half_angle;
  const float result = x < 0.0f ? __fadd_rn(0x1.921fb6p+1f, __fadd_rn(-0x1.777a5cp-24f, -angle)) : angle;
  return magnitude <= 1.0f ? result : NAN;
}
// atan(x) for |x| <= 1.
__WS_BOTH float __ws_atan_small(float x) {
  const float z = __fmul_rn(x, x);
  const float p = __ws_horner(z, -0x1.55553ep-2f, 0x1.9991e6p-3f, -0x1.2420b6p-3f, 0x1.c08f64p-4f, -0x1.58155ep-4f,
                              0x1.da5ed4p-5f, -0x1.fdfc1cp-6f, 0x1.64c1cep-7f, -0x1.d4984ap-10f);
  return __nvvm_fma_rn_f(__fmul_rn(x, z), p, x);
}
__WS_BOTH float atanf(float x) {
  const float magnitude = fabsf(x);
  const bool large = magnitude > 1.0f;
  const float angle = __ws_atan_small(large ? __nvvm_rcp_rn_f(magnitude) : magnitude);
  const float result = large ? __fadd_rn(0x1.921fb6p+0f, __fadd_rn(-0x1.777a5cp-25f, -angle)) : angle;
  return copysignf(result, x) + (x != x ? x : 0.0f);
}
__WS_BOTH float atan2f(float y, float x) {
  const float ay = fabsf(y), ax = fabsf(x);
  if (y != y || x != x) return x + y;
  const float smaller = fminf(ax, ay), larger = fmaxf(ax, ay);
  float ratio = larger == 0.0f ? 0.0f : __nvvm_div_rn_f(smaller, larger);
  if (smaller == INFINITY) ratio = 1.0f;
  float angle = __ws_atan_small(ratio);
  if (ay > ax) angle = __fadd_rn(0x1.921fb6p+0f, __fadd_rn(-0x1.777a5cp-25f, -angle));
  if (signbit(x)) angle = __fadd_rn(0x1.921fb6p+1f, __fadd_rn(-0x1.777a5cp-24f, -angle));
  return copysignf(angle, y);
}

// --- Hyperbolic functions -------------------------------------------------------------------------------------------
__WS_BOTH float coshf(float x) {
  // e^|x| / 2, halved before the last product so that it overflows only where cosh does.
  const float half_power = __ws_exponential(fabsf(x), 0x1.715476p+0f, 0x1.4ae0cp-26f, 0.5f);
  return __nvvm_fma_rn_f(0.25f, __nvvm_rcp_rn_f(half_power), half_power);
}
__WS_BOTH float sinhf(float x) {
  const float magnitude = fabsf(x);
  const float z = __fmul_rn(x, x);
  const float p = __ws_horner(z, 0x1.555556p-3f, 0x1.1110ep-7f, 0x1.a022bcp-13f, 0x1.756c1ep-19f);
  const float small_result = __nvvm_fma_rn_f(__fmul_rn(x, z), p, x);
  const float half_power = __ws_exponential(magnitude, 0x1.715476p+0f, 0x1.4ae0cp-26f, 0.5f);
  const float large_result = copysignf(__nvvm_fma_rn_f(-0.25f, __nvvm_rcp_rn_f(half_power), half_power), x);
  return magnitude < 1.0f ? small_result : x != x ? x : large_result;
}
__WS_BOTH float tanhf(float x) {
  const float magnitude = fabsf(x);
  const float z = __fmul_rn(x, x);
  const float p = __ws_horner(z, -0x1.55553ep-2f, 0x1.1109bep-3f, -0x1.b89abap-5f, 0x1.54c3c2p-6f, -0x1.828776p-8f);
  const float small_result = __nvvm_fma_rn_f(__fmul_rn(x, z), p, x);
  // tanh(x) = 1 - 2 / (e^2x + 1)
  const float power = __nvvm_ex2_approx_ftz_f(fminf(magnitude, 20.0f) * 0x1.715476p+1f);
  const float large_result = copysignf(__nvvm_fma_rn_f(__nvvm_rcp_approx_ftz_f(power + 1.0f), -2.0f, 1.0f), x);
  return magnitude < 0.6f ? small_result : x != x ? x : large_result;
}
__WS_BOTH float asinhf(float x) {
  const float magnitude = fabsf(x);
  // log(x + sqrt(x^2 + 1)) = log1p(x + x^2 / (1 + sqrt(x^2 + 1)))
  const float square = __fmul_rn(magnitude, magnitude);
  const float root = __nvvm_sqrt_rn_f(__nvvm_fma_rn_f(magnitude, magnitude, 1.0f));
  const float moderate = log1pf(__fadd_rn(magnitude, __nvvm_div_rn_f(square, 1.0f + root)));
  const float large = logf(magnitude) + 0x1.62e43p-1f;
  return copysignf(magnitude < 0x1p20f ? moderate : large, x);
}
__WS_BOTH float acoshf(float x) {
  const float t = x - 1.0f;
  const float moderate = log1pf(__fadd_rn(t, __nvvm_sqrt_rn_f(__nvvm_fma_rn_f(t, t, t + t))));
  const float large = logf(x) + 0x1.62e43p-1f;
  return !(x >= 1.0f) ? NAN : x < 0x1p20f ? moderate : large;
}
__WS_BOTH float atanhf(float x) {
  const float magnitude = fabsf(x);
  const float quotient = __nvvm_div_rn_f(magnitude + magnitude, 1.0f - magnitude);
  return copysignf(0.5f * log1pf(quotient), x) + (magnitude <= 1.0f ? 0.0f : NAN);
}

// --- Error function and gamma ---------------------------------------------------------------------------------------
__WS_BOTH float erff(float x) {
  const float magnitude = fabsf(x);
  const float z = __fmul_rn(x, x);
  const float p = __ws_horner(z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ce6p-4f, -0x1.b7f71ap-6f, 0x1.53f224p-8f, -0x1.a3515ep-11f, 0x1.4771fep-14f);
  const float small_result = __nvvm_fma_rn_f(x, p, x);
  // log2(erfc(x)) is nearly a parabola.
  const float q = __ws_horner(fminf(magnitude, 4.0f), 0x1.31ada4p-12f, -0x1.a1369cp+0f, -0x1.d39ec6p-1f, -0x1.40e4c6p-3f, 0x1.2b96c6p-5f,
                              -0x1.93c9a4p-8f, 0x1.5c394ap-11f, -0x1.2b9fd4p-15f, 0x1.48fe36p-22f);
  const float large_result = copysignf(1.0f - __nvvm_ex2_approx_ftz_f(q), x);
  return magnitude < 1.0f ? small_result : x != x ? x : large_result;
}
// erfc(x) e^(x^2) (1 + 2x) for x >= 0, as a polynomial in (x - 4) / (x + 4).
__WS_BOTH float __ws_scaled_erfc(float x) {
  const float q = __nvvm_div_rn_f(x - 4.0f, x + 4.0f);
  const float p = __ws_horner(q, 0x1.3ba592p+0f, -0x1.1df1acp-3f, 0x1.f7d66ep-7f, 0x1.16e7bcp-4f, -0x1.9d8de6p-4f, 0x1.807bc8p-4f,
                              -0x1.1172bap-4f, 0x1.275b22p-5f, -0x1.04a6p-6f, 0x1.fc07c8p-8f, 0x1.b12452p-10f, 0x1.0029dap-12f);
  return __nvvm_div_rn_f(p, __nvvm_fma_rn_f(2.0f, x, 1.0f));
}
__WS_BOTH float erfcf(float x) {
  if (fabsf(x) < 0.46875f) return 1.0f - erff(x);
  const float magnitude = fminf(fabsf(x), 10.5f);
  // x^2 = high + low exactly; e^-low is 1 - low.
  const float high = __fmul_rn(magnitude, magnitude);
  const float low = __nvvm_fma_rn_f(magnitude, magnitude, -high);
  const float power = expf(-high);
  const float tail = __fmul_rn(__nvvm_fma_rn_f(-power, low, power), __ws_scaled_erfc(magnitude));
  const float result = x < 0.0f ? 2.0f - tail : tail;
  return x != x ? x : result;
}
__WS_BOTH float erfcxf(float x) {
  if (x >= 10.5f) {
    // Asymptotic series: (1 - 1/(2 x^2) + 3/(4 x^4)) / (x sqrt(pi)).
    const float inverse = __nvvm_rcp_rn_f(x), z = inverse * inverse;
    return 0x1.20dd76p-1f * inverse * __ws_horner(z, 1.0f, -0.5f, 0.75f, -1.875f);
  }
  if (x >= 0.0f) return __ws_scaled_erfc(x);
  const float high = __fmul_rn(x, x), low = __nvvm_fma_rn_f(x, x, -high), power = expf(high);
  return x != x ? x : 2.0f * __nvvm_fma_rn_f(power, low, power) - __ws_scaled_erfc(fminf(-x, 10.5f));
}
__WS_BOTH float erfinvf(float x) {
  // In w = -log(1 - x^2): erfinv(x) / x is smooth.
  const float w = -logf(__nvvm_fma_rn_f(-x, x, 1.0f));
  const float v = w - 2.5f, t = __nvvm_sqrt_rn_f(w) - 3.0f;
  const float central = __ws_horner(v, 0x1.805c5ep+0f, 0x1.f91e8ap-3f, -0x1.11c99ap-8f, -0x1.4866fap-10f, 0x1.ca617cp-13f, -0x1.4bcbf8p-18f, -0x1.d8bcdcp-19f, 0x1.ee159p-22f, 0x1.e1cfa2p-26f, -0x1.1b9bfep-27f);
  const float tail = __ws_horner(t, 0x1.6a9efcp+1f, 0x1.006dc2p+0f, 0x1.3578aep-7f, -0x1.f4552p-8f, 0x1.753cf8p-8f, -0x1.d925eap-9f, 0x1.7fc128p-10f, -0x1.1878d6p-15f, -0x1.32f22ep-12f, 0x1.a0b89ep-14f);
  const float magnitude = fabsf(x);
  if (!(magnitude < 1.0f)) return magnitude == 1.0f ? copysignf(INFINITY, x) : NAN;
  return x * (w < 5.0f ? central : tail);
}
// Phi(x) = erfc(-x / sqrt 2) / 2; the argument's rounding error is corrected to first order.
__WS_BOTH float normcdff(float x) {
  const float clamped = fmaxf(fminf(x, 14.5f), -14.5f);
  const float high = __fmul_rn(clamped, -0x1.6a09e6p-1f);
  const float low = __nvvm_fma_rn_f(clamped, -0x1.9fcef4p-27f, __nvvm_fma_rn_f(clamped, -0x1.6a09e6p-1f, -high));
  const float tail = erfcf(high);
  // d erfc / erfc = -2 high for large arguments, where the correction counts.
  const float corrected = high > 1.0f ? __nvvm_fma_rn_f(-2.0f * high * low, tail, tail) : tail;
  return x != x ? x : 0.5f * corrected;
}

// 1 / Gamma(1 + x) for |x| <= 1/2.
__WS_BOTH float __ws_reciprocal_gamma(float x) {
  const float p = __ws_horner(x, 0x1.2788dp-1f, -0x1.4fcf4p-1f, -0x1.58163cp-5f, 0x1.55127ep-3f, -0x1.59ad7cp-5f, -0x1.3bad3cp-7f, 0x1.d932dp-8f, -0x1.1f3934p-10f, -0x1.e268c8p-13f);
  return __nvvm_fma_rn_f(x, p, 1.0f);
}
__WS_BOTH float tgammaf(float x) {
  if (x != x || x == INFINITY) return x;
  if (x == 0.0f) return copysignf(INFINITY, x);
  if (x < 0.0f && truncf(x) == x) return NAN;
  if (x > 36.0f) return INFINITY;
  if (x < -42.5f) return (truncf(x) * 0.5f == truncf(truncf(x) * 0.5f)) ? -0.0f : 0.0f;
  // Gamma(x + 1) = x Gamma(x), up or down to |r| <= 1/2; the product is kept in double.
  double product = 1.0;
  double r = (double)x;
  while (r > 1.5) {
    r -= 1.0;
    product *= r;
  }
  double quotient = 1.0;
  while (r < 0.5) {
    quotient *= r;
    r += 1.0;
  }
  return (float)(product / (quotient * (double)__ws_reciprocal_gamma((float)(r - 1.0))));
}
__WS_BOTH float __ws_lgamma_positive(float x) {
  if (x >= 3.0f) {
    if (x >= 0x1p40f) return __fmul_rn(x, logf(x) - 1.0f);
    const float inverse = __nvvm_rcp_rn_f(x), z = inverse * inverse;
    const float series = inverse * __ws_horner(z, 0x1.555554p-4f, -0x1.6c052p-9f, 0x1.981572p-11f, -0x1.b8ad26p-12f);
    return __nvvm_fma_rn_f(x - 0.5f, logf(x) - 1.0f, 0x1.acfe3ap-2f + series);
  }
  if (x >= 1.5f) {
    const float y = x - 2.0f;
    return y * __ws_horner(y, 0x1.b0ee6p-2f, 0x1.4a34ccp-2f, -0x1.13dfc6p-4f, 0x1.513394p-6f, -0x1.e41108p-8f, 0x1.7a47d2p-9f, -0x1.392c68p-10f, 0x1.183e4ep-11f, -0x1.df995p-13f, 0x1.d423cep-15f);
  }
  if (x >= 0.7f) {
    const float y = 1.0f - x;
    return y * __ws_horner(y, 0x1.2788dp-1f, 0x1.a51a66p-1f, 0x1.9a4ce4p-2f, 0x1.15130ap-2f, 0x1.a8e08cp-3f, 0x1.5b495p-3f, 0x1.24411ep-3f, 0x1.ff173ap-4f, 0x1.f8aeb8p-4f, 0x1.d6d04cp-4f, 0x1.ce87a2p-5f);
  }
  // Gamma(x) = 1 / (x g(x)), and for x > 1/2 one step up: Gamma(x) = Gamma(1 + x) / x.
  const float g = x <= 0.5f ? __ws_reciprocal_gamma(x) : __ws_reciprocal_gamma(x - 1.0f) / x;
  return -logf(x * g);
}
__WS_BOTH float lgammaf(float x) {
  if (!(fabsf(x) < INFINITY)) return x * x;
  if (x > 0.0f) return __ws_lgamma_positive(x);
  if (truncf(x) == x) return INFINITY;
  // Gamma(x) Gamma(-x) = -pi / (x sin(pi x))
  const float reflected = __nvvm_div_rn_f(0x1.921fb6p+1f, fabsf(x * sinpif(x)));
  return fabsf(x) < 0x1p-20f ? -logf(-x) : logf(reflected) - __ws_lgamma_positive(-x);
}

// --- Remainders, parts ----------------------------------------------------------------------------------------------
// Long division of the significands, up to 40 bits of quotient at a time: exact.
__WS_BOTH float fmodf(float x, float y) {
  const int x_bits = __float_as_int(x) & 0x7fffffff, y_bits = __float_as_int(y) & 0x7fffffff;
  if (x_bits >= 0x7f800000 || y_bits > 0x7f800000 || y_bits == 0) return NAN;
  if (x_bits < y_bits) return x;
  // |x| = x_significand * 2^(x_exponent - 150); a subnormal has exponent 1 and no hidden bit.
  const int x_exponent = x_bits < 0x800000 ? 1 : x_bits >> 23, y_exponent = y_bits < 0x800000 ? 1 : y_bits >> 23;
  const unsigned long long x_significand = x_bits < 0x800000 ? x_bits : (x_bits & 0x7fffff) | 0x800000;
  const unsigned long long y_significand = y_bits < 0x800000 ? y_bits : (y_bits & 0x7fffff) | 0x800000;
  unsigned long long rest = x_significand % y_significand;
  for (int left = x_exponent - y_exponent; left > 0; left -= 40) {
    rest = (rest << (left < 40 ? left : 40)) % y_significand;
  }
  return copysignf(__fmul_rn(__fmul_rn((float)rest, 0x1p-23f), __ws_power_of_two(y_exponent - 127)), x);
}
__WS_BOTH float remquof(float x, float y, int* quotient) {
  const float divisor = fabsf(y);
  *quotient = 0;
  if (!(fabsf(x) < INFINITY) || !(divisor > 0.0f)) return NAN;
  // Modulo 8 y: three bits of the quotient survive. Where 8 y overflows the quotient is below 8 anyway.
  float rest = divisor < 0x1p125f ? fmodf(fabsf(x), 8.0f * divisor) : fabsf(x);
  int count = 0;
  for (int bit = 4; bit >= 1; bit >>= 1) {
    const float multiple = divisor * (float)bit;
    if (rest >= multiple) {
      rest -= multiple;
      count += bit;
    }
  }
  const float other = divisor - rest;
  if (rest > other || (rest == other && (count & 1) != 0)) {
    rest -= divisor;
    count++;
  }
  *quotient = signbit(x) != signbit(y) ? -count : count;
  return signbit(x) ? -rest : rest;
}
__WS_BOTH float remainderf(float x, float y) {
  int quotient;
  return remquof(x, y, &quotient);
}
__WS_BOTH float modff(float x, float* integer) {
  *integer = truncf(x);
  return copysignf(fabsf(x) == INFINITY ? 0.0f : x - *integer, x);
}
__WS_BOTH float frexpf(float x, int* exponent) {
  *exponent = 0;
  if (x == 0.0f || !(fabsf(x) < INFINITY)) return x + x;
  const bool subnormal = fabsf(x) < 0x1p-126f;
  const int bits = __float_as_int(subnormal ? x * 0x1p24f : x);
  *exponent = ((bits >> 23) & 0xff) - 126 - (subnormal ? 24 : 0);
  return __int_as_float((bits & (int)0x807fffff) | 0x3f000000);
}
// Products with powers of two, of which only the last can round: on the way down 24 bits are kept in hand.
__WS_BOTH float ldexpf(float x, int exponent) {
  int left = exponent < -300 ? -300 : exponent > 300 ? 300 : exponent;
  for (int step = 0; step < 2; step++) {
    const int part = left > 127 ? 127 : left < -126 ? -102 : 0;
    x = __fmul_rn(x, __ws_power_of_two(part));
    left -= part;
  }
  return __fmul_rn(x, __ws_power_of_two(left < -126 ? -126 : left > 127 ? 127 : left));
}
__WS_BOTH float scalbnf(float x, int n) { return ldexpf(x, n); }
__WS_BOTH float scalblnf(float x, long n) { return ldexpf(x, n < -400 ? -400 : n > 400 ? 400 : (int)n); }
__WS_BOTH int ilogbf(float x) {
  if (x == 0.0f || x != x) return (int)0x80000000;
  if (fabsf(x) == INFINITY) return 0x7fffffff;
  int exponent;
  (void)frexpf(x, &exponent);
  return exponent - 1;
}
__WS_BOTH float logbf(float x) {
  return x == 0.0f ? -INFINITY : fabsf(x) < INFINITY ? (float)ilogbf(x) : x * x;
}
__WS_BOTH float nextafterf(float x, float y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0.0f) return copysignf(0x1p-149f, y);
  const int bits = __float_as_int(x);
  return __int_as_float((x < y) == (x > 0.0f) ? bits + 1 : bits - 1);
}
