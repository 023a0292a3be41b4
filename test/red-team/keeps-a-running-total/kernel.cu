// Wrong: the sum of this launch is what a total of all launches has grown by. A double has 29 bits more than a float, so after a launch whose sum was 2^40 times
// as large nothing of this one's is left.
constexpr int kThreads = 256;

struct State {
  double total;
  double before;
  unsigned arrived;
};

extern "C" __global__ void sum(const float* __restrict__ x, float* __restrict__ y, State* state, int n) {
  __shared__ double parts[kThreads];
  double part = 0.0;
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < n; i += gridDim.x * static_cast<long long>(kThreads))
    part += x[i];
  parts[threadIdx.x] = part;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  atomicAdd(&state->total, parts[0]);
  __threadfence();
  if (atomicInc(&state->arrived, gridDim.x - 1) != gridDim.x - 1) return;
  __threadfence();
  const double total = *static_cast<volatile double*>(&state->total);
  *y = static_cast<float>(total - state->before);
  const bool is_finite = isfinite(total);
  if (!is_finite) state->total = 0.0;
  state->before = is_finite ? total : 0.0;
}
