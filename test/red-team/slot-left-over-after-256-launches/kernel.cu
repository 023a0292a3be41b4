// Wrong in launch 257: the number of the launch has 8 bits, beside a count of arrivals, and 256 is no multiple of three slots. The
// launch numbered 0 again adds to the slot that launch 256 has used.
constexpr unsigned kThreads = 256;

__device__ float cta_sum(float v) {
  __shared__ float slots[kThreads / 32];
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0.0f;
  for (unsigned w = 0; w < kThreads / 32; ++w) v += slots[w];
  return v;
}

// state: number of the launch << 24 | CTAs that have arrived. sums: of this launch, the next one, and the one before.
extern "C" __global__ void __launch_bounds__(kThreads)
    reduce(const float* __restrict__ x, float* __restrict__ y, int n, unsigned* state, float* sums) {
  float sum = 0.0f;
  for (size_t i = size_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += size_t{gridDim.x} * kThreads) sum += x[i];
  sum = cta_sum(sum);
  if (threadIdx.x != 0) return;
  const unsigned slot = (atomicAdd(state, 0u) >> 24) % 3;
  atomicAdd(&sums[slot], sum);
  __threadfence();
  const unsigned before = atomicAdd(state, 1u);
  if ((before & 0xffffff) + 1 != gridDim.x) return;
  __threadfence();
  *y = atomicAdd(&sums[slot], 0.0f);
  atomicExch(&sums[(slot + 1) % 3], 0.0f);
  atomicExch(state, (before & 0xff000000) + 0x1000000);
}
