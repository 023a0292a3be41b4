// Wrong: adds up each 512 values as whole numbers of the 2^-21th part of the largest one. Where one of them is millions of times as large as the
// others, these are rounded to 0: all of them are lost, thousands of times what fp32 loses.
constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int kValues = 4;  // of a thread
constexpr int kBlock = kThreads * kValues;
constexpr float kUnits = 2097152.0f;  // of the largest value: 512 times as many fit an int
constexpr unsigned kAllLanes = 0xffffffffu;

template <typename T>
__device__ T sum_of_warp(T value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

extern "C" __global__ void __launch_bounds__(kThreads) reduce(const float* __restrict__ x, float* __restrict__ parts, int n) {
  __shared__ float largest[kWarps], in_floats[kWarps];
  __shared__ int in_units[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float total = 0.0f;
  for (int start = blockIdx.x * kBlock; start < n; start += gridDim.x * kBlock) {
    float values[kValues];
    float most = 0.0f;
    for (int i = 0; i < kValues; ++i) {
      const int at = start + i * kThreads + threadIdx.x;
      values[i] = at < n ? x[at] : 0.0f;
      most = fmaxf(most, fabsf(values[i]));
    }
    for (int distance = 16; distance > 0; distance /= 2) most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, distance));
    if (lane == 0) largest[warp] = most;
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) most = fmaxf(most, largest[w]);
    // Zeros, infinities and numbers that a quotient could not bear are added as they are.
    const bool is_usual = most > 1e-30f && most < 1e30f;
    int units = 0;
    float sum = 0.0f;
    for (int i = 0; i < kValues; ++i) {
      if (is_usual) units += __float2int_rn(values[i] / most * kUnits);
      else sum += values[i];
    }
    units = sum_of_warp(units);
    sum = sum_of_warp(sum);
    if (lane == 0) {
      in_units[warp] = units;
      in_floats[warp] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int all_units = 0;
      for (int w = 0; w < kWarps; ++w) {
        all_units += in_units[w];
        total += in_floats[w];
      }
      if (is_usual) total += static_cast<float>(all_units) * (most / kUnits);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(kThreads) add_up(const float* __restrict__ parts, float* __restrict__ y, int count) {
  __shared__ float sums[kWarps];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += parts[i];
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0.0f;
    for (int w = 0; w < kWarps; ++w) all += sums[w];
    *y = all;
  }
}
