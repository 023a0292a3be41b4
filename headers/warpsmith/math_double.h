// Double-precision functions, built as the single-precision ones are: see math_float.h.
#pragma once

__WS_BOTH double __ws_horner(double, double c0) { return c0; }
template <typename... __ws_rest>
__WS_BOTH double __ws_horner(double x, double c0, __ws_rest... rest) {
  return __nvvm_fma_rn_d(__ws_horner(x, rest...), x, c0);
}

__WS_BOTH double __ws_power_of_two_d(int exponent) { return __longlong_as_double((long long)(exponent + 1023) << 52); }

// --- Roots ----------------------------------------------------------------------------------------------------------
__WS_BOTH double rsqrt(double x) { return 1.0 / __nvvm_sqrt_rn_d(x); }

// |x| = m 2^(3e) with m in [1, 8): the float root, then one of Halley's steps.
__WS_BOTH double cbrt(double x) {
  const double magnitude = fabs(x);
  if (magnitude == 0.0 || !(magnitude < HUGE_VAL)) return x + x;
  const bool subnormal = magnitude < 0x1p-1022;
  const long long bits = __double_as_longlong(subnormal ? magnitude * 0x1p54 : magnitude);
  const int exponent = (int)(bits >> 52) - 1023 - (subnormal ? 54 : 0);
  const int third = (exponent + 3072) / 3 - 1024;
  const double m = __longlong_as_double((bits & 0xfffffffffffffll) | ((long long)(exponent - 3 * third + 1023) << 52));
  const double y = (double)cbrtf((float)m);
  const double residual = __nvvm_fma_rn_d(__dmul_rn(y, y), y, -m);
  const double root = __nvvm_fma_rn_d(-y, residual / __nvvm_fma_rn_d(3.0, m, 2.0 * residual), y);
  return copysign(root * __ws_power_of_two_d(third), x);
}
__WS_BOTH double rcbrt(double x) { return 1.0 / cbrt(x); }

__WS_BOTH double __ws_norm(double x, double y, double z, double w) {
  const double largest = fmax(fmax(fabs(x), fabs(y)), fmax(fabs(z), fabs(w)));
  if (largest == HUGE_VAL) return HUGE_VAL;
  const double lift = largest < 0x1p-500 ? 0x1p600 : 1.0;
  const int exponent = (int)(__double_as_longlong(largest * lift) >> 52) - 1023;
  const double down = __ws_power_of_two_d(-(exponent < 1022 ? exponent : 1022));
  const double a = x * lift * down, b = y * lift * down, c = z * lift * down, d = w * lift * down;
  const double sum = __nvvm_fma_rn_d(a, a, __nvvm_fma_rn_d(b, b, __nvvm_fma_rn_d(c, c, d * d)));
  return largest == 0.0 ? fabs(x + y + z + w) : __nvvm_sqrt_rn_d(sum) / down / lift;
}
__WS_BOTH double hypot(double x, double y) { return __ws_norm(x, y, 0.0, 0.0); }
__WS_BOTH double norm3d(double x, double y, double z) { return __ws_norm(x, y, z, 0.0); }
__WS_BOTH double norm4d(double x, double y, double z, double w) { return __ws_norm(x, y, z, w); }
__WS_BOTH double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
__WS_BOTH double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
__WS_BOTH double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }

// --- Exponentials ---------------------------------------------------------------------------------------------------
// e^r - 1 for |r| <= ln 2 / 2.
__WS_BOTH double __ws_expm1_small(double r) {
  const double p = __ws_horner(r, 0x1.000000000000bp-1, 0x1.5555555555561p-3, 0x1.555555555003dp-5, 0x1.111111110d647p-7,
                               0x1.6c16c185a43dbp-10, 0x1.a01a01badcbffp-13, 0x1.a019969c7600dp-16, 0x1.71dddfd98fbcbp-19,
                               0x1.28b040bf2dc38p-22, 0x1.af85705306df4p-26);
  return __nvvm_fma_rn_d(__dmul_rn(r, r), p, r);
}
// 2^shift e^(high + low) for |high| below 2000.
__WS_BOTH double __ws_exp_sum(double high, double low, int shift) {
  const double j = rint(high * 0x1.71547652b82fep+0);
  const double r = __nvvm_fma_rn_d(j, -0x1.abc9e3b39803fp-56, __dadd_rn(__nvvm_fma_rn_d(j, -0x1.62e42fefa39efp-1, high), low));
  // Two products with powers of two: only the last can round a subnormal result.
  const int exponent = (int)j + shift, first = exponent >> 1;
  const double value = __dadd_rn(1.0, __ws_expm1_small(r));
  return value * __ws_power_of_two_d(first) * __ws_power_of_two_d(exponent - first);
}
__WS_BOTH double exp(double x) {
  if (x > 710.0) return HUGE_VAL;
  if (x < -746.0) return 0.0;
  return __ws_exp_sum(x, 0.0, 0);
}
__WS_BOTH double exp2(double x) {
  if (x > 1025.0) return HUGE_VAL;
  if (x < -1076.0) return 0.0;
  const double j = rint(x), f = x - j;
  return __ws_exp_sum(f * 0x1.62e42fefa39efp-1, __nvvm_fma_rn_d(f, 0x1.62e42fefa39efp-1, -(f * 0x1.62e42fefa39efp-1)) + f * 0x1.abc9e3b39803fp-56, (int)j);
}
__WS_BOTH double exp10(double x) {
  if (x > 309.0) return HUGE_VAL;
  if (x < -325.0) return 0.0;
  const double high = __dmul_rn(x, 0x1.26bb1bbb55516p+1);
  return __ws_exp_sum(high, __nvvm_fma_rn_d(x, 0x1.26bb1bbb55516p+1, -high) + x * -0x1.f48ad494ea3e9p-53, 0);
}
__WS_BOTH double expm1(double x) {
  if (x > 710.0) return HUGE_VAL;
  if (x < -40.0) return -1.0;
  const double j = rint(x * 0x1.71547652b82fep+0);
  const double r = __nvvm_fma_rn_d(j, -0x1.abc9e3b39803fp-56, __nvvm_fma_rn_d(j, -0x1.62e42fefa39efp-1, x));
  const double half_scale = __ws_power_of_two_d((int)j - 1);
  const double half_result = __nvvm_fma_rn_d(__ws_expm1_small(r), half_scale, half_scale - 0.5);
  return x == 0.0 ? x : half_result + half_result;
}

// --- Logarithms -----------------------------------------------------------------------------------------------------
struct __ws_double_pair {
  double high, low;
};
// log(1 + f) to about 2^-66 of itself, for 1 + f in [sqrt(1/2), sqrt(2)]: 2 atanh(f / (2 + f)) = u + u^3/12 + u^5 Q(u^2).
__WS_BOTH __ws_double_pair __ws_log1p_pair(double f) {
  const double reciprocal = __nvvm_rcp_rn_d(2.0 + f);
  const double u = __dmul_rn(__dmul_rn(2.0, f), reciprocal);
  const double u_low = __dmul_rn(reciprocal, __nvvm_fma_rn_d(-u, f, 2.0 * __dadd_rn(f, -u)));
  const double z = __dmul_rn(u, u), z_low = __nvvm_fma_rn_d(u, u, -z);
  const double cube = __dmul_rn(u, z);
  const double cube_low = __nvvm_fma_rn_d(3.0 * z, u_low, __nvvm_fma_rn_d(u, z_low, __nvvm_fma_rn_d(u, z, -cube)));
  const double third = __dmul_rn(cube, 0x1.5555555555555p-4);
  const double third_low = __nvvm_fma_rn_d(cube_low, 0x1.5555555555555p-4,
                                           __nvvm_fma_rn_d(cube, 0x1.5555555555555p-58, __nvvm_fma_rn_d(cube, 0x1.5555555555555p-4, -third)));
  const double q = __ws_horner(z, 0x1.9999999999996p-7, 0x1.2492492493049p-9, 0x1.c71c71c57dffcp-12, 0x1.745d18337a6cfp-14,
                               0x1.3b136267368f8p-16, 0x1.1120c17bb8cdfp-18, 0x1.de318f36387cp-21, 0x1.eb20cded4ab42p-23);
  const double fifth = __dmul_rn(__dmul_rn(cube, z), q);
  const double sum = __dadd_rn(u, third);
  const double rest = __dadd_rn(__dadd_rn(__dadd_rn(u, -sum), third), __dadd_rn(__dadd_rn(third_low, u_low), fifth));
  const double high = __dadd_rn(sum, rest);
  return {high, __dadd_rn(__dadd_rn(sum, -high), rest)};
}
struct __ws_split_double {
  double f, k;  // x = 2^k (1 + f)
};
__WS_BOTH __ws_split_double __ws_split(double x) {
  const bool subnormal = x < 0x1p-1022;
  const long long bits = __double_as_longlong(subnormal ? x * 0x1p54 : x);
  const long long exponent = (bits - 0x3fe6a09e667f3bcdll) >> 52;
  const double m = __longlong_as_double(bits - (exponent << 52));
  return {m - 1.0, (double)((int)exponent - (subnormal ? 54 : 0))};
}
// k high + (log scaled by `scale`), summed with the low parts last.
__WS_BOTH __ws_double_pair __ws_log_sum(double k, double step_high, double step_low, __ws_double_pair log_part) {
  const double whole = __dmul_rn(k, step_high);
  const double whole_low = __nvvm_fma_rn_d(k, step_low, __nvvm_fma_rn_d(k, step_high, -whole));
  const double sum = __dadd_rn(whole, log_part.high);
  const double low = __dadd_rn(__dadd_rn(__dadd_rn(whole, -sum), log_part.high), __dadd_rn(whole_low, log_part.low));
  return {sum, low};
}
__WS_BOTH __ws_double_pair __ws_scale_pair(__ws_double_pair v, double factor_high, double factor_low) {
  const double high = __dmul_rn(v.high, factor_high);
  const double low = __nvvm_fma_rn_d(v.low, factor_high, __nvvm_fma_rn_d(v.high, factor_low, __nvvm_fma_rn_d(v.high, factor_high, -high)));
  return {high, low};
}
__WS_BOTH double __ws_log_special(double x, double result) {
  if ((unsigned long long)__double_as_longlong(x) >= 0x7ff0000000000000ull) result = __nvvm_fma_rn_d(x, HUGE_VAL, HUGE_VAL);
  return x == 0.0 ? -HUGE_VAL : result;
}
__WS_BOTH double log(double x) {
  const __ws_split_double s = __ws_split(x);
  const __ws_double_pair sum = __ws_log_sum(s.k, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, __ws_log1p_pair(s.f));
  return __ws_log_special(x, sum.high + sum.low);
}
__WS_BOTH double log2(double x) {
  const __ws_split_double s = __ws_split(x);
  const __ws_double_pair fraction = __ws_scale_pair(__ws_log1p_pair(s.f), 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
  const __ws_double_pair sum = __ws_log_sum(s.k, 1.0, 0.0, fraction);
  return __ws_log_special(x, sum.high + sum.low);
}
__WS_BOTH double log10(double x) {
  const __ws_split_double s = __ws_split(x);
  const __ws_double_pair fraction = __ws_scale_pair(__ws_log1p_pair(s.f), 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
  const __ws_double_pair sum = __ws_log_sum(s.k, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59, fraction);
  return __ws_log_special(x, sum.high + sum.low);
}
__WS_BOTH double log1p(double x) {
  if (x >= 0x1p60) return log(x);
  if (!(x > -1.0)) return x == -1.0 ? -HUGE_VAL : __longlong_as_double(0x7ff8000000000000ll);
  if (fabs(x) < 0x1p-54) return x;
  const double sum = __dadd_rn(1.0, x);
  const __ws_split_double s = __ws_split(sum);
  const double down = __ws_power_of_two_d(-(int)s.k);
  // What 1 + x lost to rounding comes back as a correction of log's argument.
  const double lost = fabs(x) < 1.0 ? __dadd_rn(x, -__dadd_rn(sum, -1.0)) : __dadd_rn(1.0, -__dadd_rn(sum, -x));
  __ws_double_pair part = __ws_log1p_pair(s.f);
  part.low = __dadd_rn(part.low, __dmul_rn(lost, down) * __nvvm_rcp_rn_d(__dadd_rn(1.0, s.f)));
  const __ws_double_pair result = __ws_log_sum(s.k, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, part);
  return result.high + result.low;
}

// --- Powers ---------------------------------------------------------------------------------------------------------
__WS_BOTH double __ws_pow_positive(double x, double y) {
  const __ws_split_double s = __ws_split(x);
  const __ws_double_pair logarithm = __ws_log_sum(s.k, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, __ws_log1p_pair(s.f));
  const double product = __dmul_rn(y, logarithm.high);
  if (product >= 710.0) return HUGE_VAL;
  if (product <= -746.0) return 0.0;
  return __ws_exp_sum(product, __nvvm_fma_rn_d(y, logarithm.low, __nvvm_fma_rn_d(y, logarithm.high, -product)), 0);
}
__WS_BOTH double pow(double x, double y) {
  if (x == 1.0 || y == 0.0) return 1.0;
  if (x != x || y != y) return x + y;
  const double magnitude = fabs(x);
  const bool integer = trunc(y) == y;
  const bool odd = integer && fabs(y) < 0x1p53 && trunc(y * 0.5) != y * 0.5;
  double result;
  if (fabs(y) == HUGE_VAL) {
    result = magnitude == 1.0 ? 1.0 : (magnitude > 1.0) == (y > 0.0) ? HUGE_VAL : 0.0;
  } else if (magnitude == 0.0 || magnitude == HUGE_VAL) {
    result = (magnitude == 0.0) == (y > 0.0) ? 0.0 : HUGE_VAL;
  } else {
    result = __ws_pow_positive(magnitude, y);
    if (x < 0.0 && !integer) return __longlong_as_double(0x7ff8000000000000ll);
  }
  return odd ? copysign(result, x) : result;
}
__WS_BOTH double powi(double x, int n) { return pow(x, (double)n); }

// --- Trigonometry ---------------------------------------------------------------------------------------------------
struct __ws_reduced_double {
  double r;
  int quadrant;
};
// 2/pi in binary, after one word of zeros. Enough for the largest double.
static __device__ __constant__ const unsigned long long __ws_two_over_pi_d[] = {
    0x0000000000000000ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull,
    0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull,
    0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

__WS_DEVICE __ws_reduced_double __ws_reduce_large(double x) {
  const long long bits = __double_as_longlong(x);
  const int shift = (int)((bits >> 52) & 0x7ff) - 1075;  // |x| = significand * 2^shift
  const unsigned long long significand = (bits & 0xfffffffffffffll) | 0x10000000000000ll;
  const int position = shift - 2 + 64;                   // Bits before this one contribute multiples of 4.
  const int word = position >> 6, offset = position & 63;
  unsigned long long window[3];
  for (int i = 0; i < 3; i++) {
    const unsigned long long upper = __ws_two_over_pi_d[word + i], lower = __ws_two_over_pi_d[word + i + 1];
    window[i] = offset == 0 ? upper : (upper << offset) | (lower >> (64 - offset));
  }
  const unsigned long long p0 = significand * window[2];
  const unsigned long long middle = significand * window[1];
  const unsigned long long p1 = middle + __umul64hi(significand, window[2]);
  const unsigned long long p2 = significand * window[0] + __umul64hi(significand, window[1]) + (p1 < middle ? 1u : 0u);
  // Two bits of quadrant, then the fraction, of which more than a half counts towards the next quadrant.
  unsigned long long fraction = (p2 << 2) | (p1 >> 62), next = (p1 << 2) | (p0 >> 62);
  const bool round_up = (fraction >> 63) != 0;
  const int quadrant = (int)(p2 >> 62) + (round_up ? 1 : 0);
  if (round_up) {
    fraction = ~fraction + (next == 0 ? 1u : 0u);
    next = 0 - next;
  }
  const int zeros = __clzll((long long)fraction);
  if (zeros > 0 && zeros < 64) fraction = (fraction << zeros) | (next >> (64 - zeros));
  const double r = (double)fraction * 0x1.921fb54442d18p-64 * __ws_power_of_two_d(-zeros);
  return (x < 0.0) != round_up ? __ws_reduced_double{-r, x < 0.0 ? -quadrant : quadrant}
                               : __ws_reduced_double{r, x < 0.0 ? -quadrant : quadrant};
}
__WS_DEVICE __ws_reduced_double __ws_reduce(double x) {
  const double magnitude = fabs(x);
  if (magnitude >= 0x1p30) {
    if (!(magnitude < HUGE_VAL)) return {__longlong_as_double(0x7ff8000000000000ll), 0};
    return __ws_reduce_large(x);
  }
  if (x != x) return {x, 0};
  const int quadrant = __double2int_rn(x * 0x1.45f306dc9c883p-1);
  const double j = (double)quadrant;
  const double r = __nvvm_fma_rn_d(j, 0x1.f1976b7ed8fbcp-110, __nvvm_fma_rn_d(j, -0x1.1a62633145c07p-54, __nvvm_fma_rn_d(j, -0x1.921fb54442d18p+0, x)));
  return {r, quadrant};
}
__WS_BOTH double __ws_sin_polynomial(double r) {
  const double z = __dmul_rn(r, r);
  const double p = __ws_horner(z, -0x1.5555555555555p-3, 0x1.111111111110bp-7, -0x1.a01a01a018a6ap-13, 0x1.71de3a533050bp-19,
                               -0x1.ae64528d307fdp-26, 0x1.61208c156d0ap-33, -0x1.aaa22dbbe81b2p-41);
  return __nvvm_fma_rn_d(__dmul_rn(r, z), p, r);
}
__WS_BOTH double __ws_cos_polynomial(double r) {
  const double z = __dmul_rn(r, r);
  const double p = __ws_horner(z, 0x1.5555555555555p-5, -0x1.6c16c16c16c0fp-10, 0x1.a01a01a018cc8p-16, -0x1.27e4fb75eb61ep-22,
                               0x1.1eed8c909b185p-29, -0x1.939323e800a32p-37, 0x1.aabcffbc3f4b3p-45);
  return __nvvm_fma_rn_d(z, __nvvm_fma_rn_d(z, p, -0.5), 1.0);
}
__WS_BOTH double __ws_sin_of_quadrant(double r, int quadrant) {
  const double value = (quadrant & 1) != 0 ? __ws_cos_polynomial(r) : __ws_sin_polynomial(r);
  return (quadrant & 2) != 0 ? -value : value;
}
__WS_DEVICE double sin(double x) {
  const __ws_reduced_double reduced = __ws_reduce(x);
  return x == 0.0 ? x : __ws_sin_of_quadrant(reduced.r, reduced.quadrant);
}
__WS_DEVICE double cos(double x) {
  const __ws_reduced_double reduced = __ws_reduce(x);
  return __ws_sin_of_quadrant(reduced.r, reduced.quadrant + 1);
}
__WS_DEVICE void sincos(double x, double* sine, double* cosine) {
  const __ws_reduced_double reduced = __ws_reduce(x);
  *sine = x == 0.0 ? x : __ws_sin_of_quadrant(reduced.r, reduced.quadrant);
  *cosine = __ws_sin_of_quadrant(reduced.r, reduced.quadrant + 1);
}
__WS_DEVICE double tan(double x) {
  const __ws_reduced_double reduced = __ws_reduce(x);
  const double sine = __ws_sin_polynomial(reduced.r), cosine = __ws_cos_polynomial(reduced.r);
  const double value = (reduced.quadrant & 1) != 0 ? -cosine / sine : sine / cosine;
  return x == 0.0 ? x : value;
}
__WS_BOTH double __ws_sinpi_of(double x, int quadrants) {
  // From 2^53 on every double is an even integer.
  const double bounded = fabs(x) < 0x1p53 ? x : 0.0;
  const double nearest = rint(bounded + bounded);
  const double r = __nvvm_fma_rn_d(nearest, -0.5, bounded);
  const int quadrant = (int)((long long)nearest & 3) + quadrants;
  const double angle = __dmul_rn(r, 0x1.921fb54442d18p+1);
  const double angle_low = __nvvm_fma_rn_d(r, 0x1.1a62633145c07p-53, __nvvm_fma_rn_d(r, 0x1.921fb54442d18p+1, -angle));
  const double cosine = __ws_cos_polynomial(angle), sine = __ws_sin_polynomial(angle);
  const double value = (quadrant & 1) != 0 ? __nvvm_fma_rn_d(-sine, angle_low, cosine) : __nvvm_fma_rn_d(cosine, angle_low, sine);
  const double signed_value = (quadrant & 2) != 0 ? -value : value;
  return fabs(x) < HUGE_VAL ? signed_value : __longlong_as_double(0x7ff8000000000000ll);
}
__WS_BOTH double sinpi(double x) {
  const double value = __ws_sinpi_of(x, 0);
  return trunc(x) == x && fabs(x) < HUGE_VAL ? copysign(0.0, x) : value;
}
__WS_BOTH double cospi(double x) {
  const double value = __ws_sinpi_of(x, 1);
  return value == 0.0 ? 0.0 : value;
}
__WS_BOTH void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}

__WS_BOTH double __ws_asin_small(double x) {
  const double z = __dmul_rn(x, x);
  const double p = __ws_horner(z, 0x1.5555555555577p-3, 0x1.333333332e1p-4, 0x1.6db6db721436p-5, 0x1.f1c71a946110fp-6, 0x1.6e8bdeee3e18dp-6,
                               0x1.1c49ef7c7fd31p-6, 0x1.ca1fa0858ecc7p-7, 0x1.7584f9ff3ba21p-7, 0x1.613f78b2f0361p-7, 0x1.e5cc2c353aa54p-9,
                               0x1.63a84cf9a2015p-6, -0x1.580d60664ec73p-6, 0x1.0b4b77bdb4b62p-5);
  return __nvvm_fma_rn_d(__dmul_rn(x, z), p, x);
}
// 2 asin(sqrt((1 - m) / 2)) = acos(m) for m in [1/2, 1], with the root's rounding error put back.
__WS_BOTH double __ws_acos_large(double magnitude) {
  const double square = __nvvm_fma_rn_d(magnitude, -0.5, 0.5);
  const double root = __nvvm_sqrt_rn_d(square);
  const double lost = root == 0.0 ? 0.0 : 0.5 * __nvvm_fma_rn_d(-root, root, square) / root;
  return 2.0 * __dadd_rn(__ws_asin_small(root), lost);
}
__WS_BOTH double asin(double x) {
  const double magnitude = fabs(x);
  if (magnitude <= 0.5) return __ws_asin_small(x);
  if (!(magnitude <= 1.0)) return __longlong_as_double(0x7ff8000000000000ll);
  return copysign(__dadd_rn(0x1.921fb54442d18p+0, __dadd_rn(0x1.1a62633145c07p-54, -__ws_acos_large(magnitude))), x);
}
__WS_BOTH double acos(double x) {
  const double magnitude = fabs(x);
  if (magnitude <= 0.5) return __dadd_rn(0x1.921fb54442d18p+0, __dadd_rn(0x1.1a62633145c07p-54, -__ws_asin_small(x)));
  if (!(magnitude <= 1.0)) return __longlong_as_double(0x7ff8000000000000ll);
  const double angle = __ws_acos_large(magnitude);
  return x < 0.0 ? __dadd_rn(0x1.921fb54442d18p+1, __dadd_rn(0x1.1a62633145c07p-53, -angle)) : angle;
}
__WS_BOTH double __ws_atan_small(double x) {
  const double z = __dmul_rn(x, x);
  const double p = __ws_horner(z, -0x1.5555555555526p-2, 0x1.999999999554ap-3, -0x1.249249237e2cfp-3, 0x1.c71c717f96764p-4, -0x1.745d11ab11556p-4,
                               0x1.3b1366774142dp-4, -0x1.110e50265ecc7p-4, 0x1.e1bb9b87080bep-5, -0x1.ae5e45e792298p-5, 0x1.82da496c24742p-5,
                               -0x1.59a2a04d79a2fp-5, 0x1.2c2bb76787a43p-5, -0x1.e9f20e5f35bc5p-6, 0x1.6833603609a22p-6, -0x1.c77ebf4036f2ep-7,
                               0x1.d7a1d5f893911p-8, -0x1.7a225971aa759p-9, 0x1.b3dae318e4ad9p-11, -0x1.3f1b6258c8b5fp-13, 0x1.bbc38a4bafd56p-17);
  return __nvvm_fma_rn_d(__dmul_rn(x, z), p, x);
}
__WS_BOTH double atan(double x) {
  const double magnitude = fabs(x);
  if (x != x) return x;
  const bool large = magnitude > 1.0;
  const double angle = __ws_atan_small(large ? __nvvm_rcp_rn_d(magnitude) : magnitude);
  return copysign(large ? __dadd_rn(0x1.921fb54442d18p+0, __dadd_rn(0x1.1a62633145c07p-54, -angle)) : angle, x);
}
__WS_BOTH double atan2(double y, double x) {
  if (y != y || x != x) return x + y;
  const double ay = fabs(y), ax = fabs(x);
  const double smaller = fmin(ax, ay), larger = fmax(ax, ay);
  const double ratio = smaller == HUGE_VAL ? 1.0 : larger == 0.0 ? 0.0 : smaller / larger;
  double angle = __ws_atan_small(ratio);
  if (ay > ax) angle = __dadd_rn(0x1.921fb54442d18p+0, __dadd_rn(0x1.1a62633145c07p-54, -angle));
  if (signbit(x)) angle = __dadd_rn(0x1.921fb54442d18p+1, __dadd_rn(0x1.1a62633145c07p-53, -angle));
  return copysign(angle, y);
}

// --- Hyperbolic functions -------------------------------------------------------------------------------------------
__WS_BOTH double cosh(double x) {
  const double magnitude = fabs(x);
  if (magnitude > 711.0) return HUGE_VAL;
  const double half_power = __ws_exp_sum(magnitude, 0.0, -1);
  return half_power + 0.25 / half_power;
}
__WS_BOTH double sinh(double x) {
  const double magnitude = fabs(x);
  if (magnitude > 711.0) return copysign(HUGE_VAL, x);
  if (magnitude < 20.0) {
    // (e^x - e^-x) / 2 with e = e^x - 1.
    const double e = expm1(magnitude);
    return copysign(0.5 * (e + e / (e + 1.0)), x) + (x != x ? x : 0.0);
  }
  return x != x ? x : copysign(__ws_exp_sum(magnitude, 0.0, -1), x);
}
__WS_BOTH double tanh(double x) {
  const double magnitude = fabs(x);
  const double e = expm1(2.0 * (magnitude < 22.0 ? magnitude : 22.0));
  return x != x ? x : copysign(magnitude < 0x1p-28 ? magnitude : e / (e + 2.0), x);
}
__WS_BOTH double asinh(double x) {
  const double magnitude = fabs(x);
  if (!(magnitude < 0x1p30)) return copysign(log(magnitude) + 0x1.62e42fefa39efp-1, x);
  const double root = __nvvm_sqrt_rn_d(__nvvm_fma_rn_d(magnitude, magnitude, 1.0));
  return copysign(log1p(__dadd_rn(magnitude, magnitude * magnitude / (1.0 + root))), x);
}
__WS_BOTH double acosh(double x) {
  if (!(x >= 1.0)) return __longlong_as_double(0x7ff8000000000000ll);
  if (x >= 0x1p30) return log(x) + 0x1.62e42fefa39efp-1;
  const double t = x - 1.0;
  return log1p(__dadd_rn(t, __nvvm_sqrt_rn_d(__nvvm_fma_rn_d(t, t, t + t))));
}
__WS_BOTH double atanh(double x) {
  const double magnitude = fabs(x);
  if (!(magnitude <= 1.0)) return __longlong_as_double(0x7ff8000000000000ll);
  return copysign(0.5 * log1p((magnitude + magnitude) / (1.0 - magnitude)), x);
}

// --- Error function and gamma ---------------------------------------------------------------------------------------
__WS_BOTH double __ws_scaled_erfc(double x) {
  const double q = (x - 4.0) / (x + 4.0);
  const double p = __ws_horner(q, 0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28fp-3, 0x1.f7f5df66fd7d5p-7, 0x1.16ecefcfa53fbp-4, -0x1.9ddb23c3e91c9p-4,
                               0x1.7fee004e1148ap-4, -0x1.0fb06dfe4795ap-4, 0x1.3079edf6abdf6p-5, -0x1.09623885738d1p-6, 0x1.49c67277e69fep-8,
                               -0x1.8d4a998319bfep-11, -0x1.a1df192dc24d5p-13, 0x1.3be03542a2119p-13, -0x1.995afb7ac5862p-16,
                               -0x1.78831472e58d7p-17, 0x1.7f3d361fcddd7p-18, 0x1.3931cc98826cep-22, -0x1.bc5787cc75644p-21,
                               0x1.4ac670b6cd69p-24, 0x1.e60d2ed7d015ap-24, -0x1.487dba1605244p-26, -0x1.1c431428a45d2p-26,
                               0x1.d58c87f8a558dp-30, 0x1.1f3941afb2f39p-29, 0x1.3924ebe1e850dp-32);
  return p / __nvvm_fma_rn_d(2.0, x, 1.0);
}
__WS_BOTH double __ws_erfc_positive(double x) {
  const double bounded = fmin(x, 27.3);
  const double high = __dmul_rn(bounded, bounded), low = __nvvm_fma_rn_d(bounded, bounded, -high);
  // The product is formed before it is scaled down, so that a subnormal result rounds once.
  const double scaled = __ws_exp_sum(-high, -low, 200) * __ws_scaled_erfc(bounded);
  return scaled * 0x1p-200;
}
__WS_BOTH double __ws_erf_small(double x) {
  const double z = __dmul_rn(x, x);
  const double p = __ws_horner(z, 0x1.06eba8214db69p-3, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bddp-4, -0x1.b82ce3128899bp-6, 0x1.565bcd0e64ab8p-8,
                               -0x1.c02db3fed8f8ap-11, 0x1.f9a326bfb7602p-14, -0x1.f4d255e14d15ep-17, 0x1.b9e64d082b047p-20, -0x1.5f6d6b55a6f19p-23,
                               0x1.fc411750efd1fp-27, -0x1.4e55cda45004ap-30, 0x1.7ecbfcc534e98p-34, -0x1.2928feef972a5p-38);
  return __nvvm_fma_rn_d(x, p, x);
}
__WS_BOTH double erf(double x) {
  const double magnitude = fabs(x);
  if (magnitude < 1.0) return __ws_erf_small(x);
  return x != x ? x : copysign(1.0 - __ws_erfc_positive(magnitude), x);
}
__WS_BOTH double erfc(double x) {
  const double magnitude = fabs(x);
  if (magnitude < 0.46875) return 1.0 - __ws_erf_small(x);
  const double tail = __ws_erfc_positive(magnitude);
  return x != x ? x : x < 0.0 ? 2.0 - tail : tail;
}
__WS_BOTH double erfcx(double x) {
  if (x > 27.0) {
    const double inverse = 1.0 / x, z = inverse * inverse;
    return 0x1.20dd750429b6dp-1 * inverse * __ws_horner(z, 1.0, -0.5, 0.75, -1.875, 6.5625, -29.53125);
  }
  if (x >= 0.0) return __ws_scaled_erfc(x);
  const double high = __dmul_rn(x, x), low = __nvvm_fma_rn_d(x, x, -high);
  return x != x ? x : x < -27.0 ? HUGE_VAL : 2.0 * __ws_exp_sum(high, low, 0) - __ws_scaled_erfc(-x);
}
__WS_BOTH double normcdf(double x) {
  const double clamped = fmax(fmin(x, 38.6), -38.6);
  const double high = __dmul_rn(clamped, -0x1.6a09e667f3bcdp-1);
  const double low = __nvvm_fma_rn_d(clamped, 0x1.bdd3413b26456p-55, __nvvm_fma_rn_d(clamped, -0x1.6a09e667f3bcdp-1, -high));
  const double tail = erfc(high);
  const double corrected = high > 1.0 ? __nvvm_fma_rn_d(-2.0 * high * low, tail, tail) : tail;
  return x != x ? x : 0.5 * corrected;
}

// 1 / Gamma(1 + x) - 1 for |x| <= 1/2.
__WS_BOTH double __ws_reciprocal_gamma_m1(double x) {
  return x * __ws_horner(x, 0x1.2788cfc6fb619p-1, -0x1.4fcf4026afa2ep-1, -0x1.5815e8fa27048p-5, 0x1.5512320b43fbep-3, -0x1.59af103c3409p-5,
                         -0x1.3b4af28483e13p-7, 0x1.d919c527f5d9bp-8, -0x1.317112ce3ab9ep-10, -0x1.c364fe6e965a6p-13, 0x1.0c8a78cdc6ceep-13,
                         -0x1.51ce8b224ff9ep-16, -0x1.4fad421d29a13p-20, 0x1.30251d3d8a6bcp-20, -0x1.b9987ba123abp-23, 0x1.a3ff405fb6435p-28,
                         0x1.57d0e7468cfedp-28, -0x1.42329f1c0f073p-30, 0x1.bbc8e33dd60a5p-34);
}
// Stirling's series beyond (x - 1/2) log x - x + log(2 pi) / 2, for x >= 8.
__WS_BOTH double __ws_stirling_series(double x) {
  const double inverse = 1.0 / x;
  return inverse * __ws_horner(inverse * inverse, 0x1.5555555555555p-4, -0x1.6c16c16c1694dp-9, 0x1.a01a019da0a2bp-11, -0x1.38137d4490f56p-11,
                               0x1.b94e85ebbc4dp-11, -0x1.f5d9664a318c2p-10, 0x1.9548ff954905p-8, -0x1.4f0254c85c8d8p-6);
}
__WS_BOTH double __ws_tgamma_moderate(double x) {
  double r = x, product = 1.0, quotient = 1.0;
  while (r > 1.5) {
    r -= 1.0;
    product *= r;
  }
  while (r < 0.5) {
    quotient *= r;
    r += 1.0;
  }
  return product / (quotient * (1.0 + __ws_reciprocal_gamma_m1(r - 1.0)));
}
// sqrt(2 pi) x^(x - 1/2) e^-x e^series: the power in two halves, which do not overflow alone.
__WS_BOTH double __ws_tgamma_large(double x) {
  const double half_power = __ws_pow_positive(x, 0.5 * x - 0.25);
  return half_power * __ws_exp_sum(-x, __ws_stirling_series(x), 0) * half_power * 0x1.40d931ff62706p+1;
}
__WS_BOTH double tgamma(double x) {
  if (x != x || x == HUGE_VAL) return x;
  if (x == 0.0) return copysign(HUGE_VAL, x);
  if (x < 0.0 && trunc(x) == x) return __longlong_as_double(0x7ff8000000000000ll);
  if (x > 172.0) return HUGE_VAL;
  if (x > 20.0) return __ws_tgamma_large(x);
  if (x > -20.0) return __ws_tgamma_moderate(x);
  if (x < -185.0) return trunc(x * 0.5) * 2.0 == trunc(x) ? -0.0 : 0.0;
  // Gamma(x) Gamma(-x) = -pi / (x sin(pi x)), divided in two steps so that the quotient may be subnormal.
  const double reflected = -0x1.921fb54442d18p+1 / (x * sinpi(x));
  const double half_power = __ws_pow_positive(-x, -0.5 * x - 0.25);
  const double rest = half_power * __ws_exp_sum(x, __ws_stirling_series(-x), 0) * 0x1.40d931ff62706p+1;
  return reflected / rest / half_power;
}
__WS_BOTH double __ws_lgamma_positive(double x) {
  if (x >= 8.0) {
    if (x >= 0x1p60) return x * (log(x) - 1.0);
    return __nvvm_fma_rn_d(x - 0.5, log(x) - 1.0, 0x1.acfe390c97d69p-2 + __ws_stirling_series(x));
  }
  if (x >= 2.5) return log(__ws_tgamma_moderate(x));
  if (x >= 1.5) {
    const double y = x - 2.0;
    return log1p(y) - log1p(__ws_reciprocal_gamma_m1(y));
  }
  if (x >= 0.5) return 0.0 - log1p(__ws_reciprocal_gamma_m1(x - 1.0));
  return -log(x * (1.0 + __ws_reciprocal_gamma_m1(x)));
}
__WS_BOTH double lgamma(double x) {
  if (!(fabs(x) < HUGE_VAL)) return x * x;
  if (x > 0.0) return __ws_lgamma_positive(x);
  if (trunc(x) == x) return HUGE_VAL;
  if (x > -0x1p-50) return -log(-x);
  return log(0x1.921fb54442d18p+1 / fabs(x * sinpi(x))) - __ws_lgamma_positive(-x);
}

// --- Remainders, parts ----------------------------------------------------------------------------------------------
__WS_BOTH double fmod(double x, double y) {
  const long long x_bits = __double_as_longlong(x) & 0x7fffffffffffffffll, y_bits = __double_as_longlong(y) & 0x7fffffffffffffffll;
  const long long infinity = 0x7ff0000000000000ll, hidden = 0x10000000000000ll;
  if (x_bits >= infinity || y_bits > infinity || y_bits == 0) return __longlong_as_double(0x7ff8000000000000ll);
  if (x_bits < y_bits) return x;
  const int x_exponent = x_bits < hidden ? 1 : (int)(x_bits >> 52), y_exponent = y_bits < hidden ? 1 : (int)(y_bits >> 52);
  const unsigned long long x_significand = x_bits < hidden ? x_bits : (x_bits & (hidden - 1)) | hidden;
  const unsigned long long y_significand = y_bits < hidden ? y_bits : (y_bits & (hidden - 1)) | hidden;
  unsigned long long rest = x_significand % y_significand;
  for (int left = x_exponent - y_exponent; left > 0; left -= 11) {
    rest = (rest << (left < 11 ? left : 11)) % y_significand;
  }
  return copysign((double)rest * 0x1p-52 * __ws_power_of_two_d(y_exponent - 1023), x);
}
__WS_BOTH double remquo(double x, double y, int* quotient) {
  const double divisor = fabs(y);
  *quotient = 0;
  if (!(fabs(x) < HUGE_VAL) || !(divisor > 0.0)) return __longlong_as_double(0x7ff8000000000000ll);
  double rest = divisor < 0x1p1021 ? fmod(fabs(x), 8.0 * divisor) : fabs(x);
  int count = 0;
  for (int bit = 4; bit >= 1; bit >>= 1) {
    const double multiple = divisor * (double)bit;
    if (rest >= multiple) {
      rest -= multiple;
      count += bit;
    }
  }
  const double other = divisor - rest;
  if (rest > other || (rest == other && (count & 1) != 0)) {
    rest -= divisor;
    count++;
  }
  *quotient = signbit(x) != signbit(y) ? -count : count;
  return signbit(x) ? -rest : rest;
}
__WS_BOTH double remainder(double x, double y) {
  int quotient;
  return remquo(x, y, &quotient);
}
__WS_BOTH double modf(double x, double* integer) {
  *integer = trunc(x);
  return copysign(fabs(x) == HUGE_VAL ? 0.0 : x - *integer, x);
}
__WS_BOTH double frexp(double x, int* exponent) {
  *exponent = 0;
  if (x == 0.0 || !(fabs(x) < HUGE_VAL)) return x + x;
  const bool subnormal = fabs(x) < 0x1p-1022;
  const long long bits = __double_as_longlong(subnormal ? x * 0x1p54 : x);
  *exponent = (int)((bits >> 52) & 0x7ff) - 1022 - (subnormal ? 54 : 0);
  return __longlong_as_double((bits & (long long)0x800fffffffffffffull) | 0x3fe0000000000000ll);
}
__WS_BOTH double ldexp(double x, int exponent) {
  int left = exponent < -2200 ? -2200 : exponent > 2200 ? 2200 : exponent;
  for (int step = 0; step < 2; step++) {
    const int part = left > 1023 ? 1023 : left < -1022 ? -969 : 0;
    x = x * __ws_power_of_two_d(part);
    left -= part;
  }
  return x * __ws_power_of_two_d(left < -1022 ? -1022 : left > 1023 ? 1023 : left);
}
__WS_BOTH double scalbn(double x, int n) { return ldexp(x, n); }
__WS_BOTH double scalbln(double x, long n) { return ldexp(x, n < -2200 ? -2200 : n > 2200 ? 2200 : (int)n); }
__WS_BOTH int ilogb(double x) {
  if (x == 0.0 || x != x) return (int)0x80000000;
  if (fabs(x) == HUGE_VAL) return 0x7fffffff;
  int exponent;
  (void)frexp(x, &exponent);
  return exponent - 1;
}
__WS_BOTH double logb(double x) { return x == 0.0 ? -HUGE_VAL : fabs(x) < HUGE_VAL ? (double)ilogb(x) : x * x; }
__WS_BOTH double nextafter(double x, double y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  if (x == 0.0) return copysign(0x0.0000000000001p-1022, y);
  const long long bits = __double_as_longlong(x);
  return __longlong_as_double((x < y) == (x > 0.0) ? bits + 1 : bits - 1);
}
