// The C and C++ library subset.
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include "math_constants.h"

static_assert(std::is_same<std::remove_cv_t<const int>, int>::value && !std::is_same_v<int, unsigned>, "");
static_assert(std::is_floating_point_v<double> && std::is_integral_v<char> && std::is_pointer_v<int*>, "");
static_assert(std::is_same_v<std::decay_t<const float&>, float> && std::is_same_v<std::conditional_t<true, int, char>, int>, "");
static_assert(std::numeric_limits<int>::max() == INT_MAX && std::numeric_limits<float>::digits == 24, "");
static_assert(sizeof(std::uint64_t) == 8 && sizeof(std::int8_t) == 1 && sizeof(size_t) == 8, "");

template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
__device__ T twice(T value) {
  return value << 1;
}
template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
__device__ T twice(T value) {
  return value * T(2);
}

template <size_t... indices>
__device__ float sum_of(const float* values, std::index_sequence<indices...>) {
  return (values[indices] + ...);
}

struct Pair {
  float value;
  int index;
};

extern "C" __global__ void library(const float* in, float* out) {
  const int i = threadIdx.x;
  assert(i < 32);
  float low = in[i], high = in[31 - i];
  if (high < low) {
    const float kept = low;
    low = high;
    high = kept;
  }
  float* const row = out + 8 * i;
  row[0] = twice(low) + twice(i);
  row[1] = sum_of(in, std::make_index_sequence<4>{});
  row[2] = std::sqrt(high) + std::fabs(low) + std::floor(1.5f) + std::fmax(low, high);
  row[3] = std::isnan(low * 0.0f + CUDART_NAN_F) + 2 * std::isinf(FLT_MAX * 2.0f) + 4 * std::isfinite(low);
  Pair pair;
  std::memcpy(&pair, &row[0], sizeof(float));
  pair.index = i;
  row[4] = pair.value + pair.index;
  row[5] = CUDART_PI_F + CUDART_INF_F * 0.0f == CUDART_PI_F ? 1.0f : 0.0f;
  row[6] = std::pow(2.0f, (float)(i & 3)) + std::abs(-i) + std::fmin(1.0f, 2.0f);
  std::memset(&row[7], 0, sizeof(float));
}
