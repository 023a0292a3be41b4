// Wrong in launch 256: the generation has 8 bits and is 0 again, every flag counts as up, and CTAs take their neighbours' sums of the launch before.
constexpr int kThreads = 256;
constexpr int kTile = 1024;
__device__ unsigned warp_scan(unsigned v) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int o = 1; o < 32; o *= 2) {
    const unsigned b = __shfl_up_sync(0xffffffffu, v, o);
    if (lane >= o) v += b;
  }
  return v;
}
extern "C" __global__ void __launch_bounds__(kThreads)
scan(const unsigned* __restrict__ x, unsigned* __restrict__ y, volatile unsigned* sums, volatile unsigned* flags,
     unsigned* state,  // launches, arrivals
     int N, int parts) {
  __shared__ unsigned warp_sums[8];
  __shared__ unsigned before_all;
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int part = blockIdx.x;
  const unsigned generation = (*(volatile unsigned*)state + 1) & 0xffu;
  const int tiles = (N + kTile - 1) / kTile;
  const int per = (tiles + parts - 1) / parts;
  const int begin = part * per * kTile;
  const int end = min(N, begin + per * kTile);
  unsigned own = 0;
  for (int i = begin + tid; i < end; i += kThreads) own += x[i];
#pragma unroll
  for (int o = 16; o > 0; o /= 2) own += __shfl_xor_sync(0xffffffffu, own, o);
  if (lane == 0) warp_sums[warp] = own;
  __syncthreads();
  if (tid == 0) {
    unsigned total = 0;
    for (int w = 0; w < 8; ++w) total += warp_sums[w];
    sums[part] = total;
    __threadfence();
    flags[part] = generation;
    before_all = 0;
  }
  __syncthreads();
  unsigned carry = 0;
  for (int p = tid; p < part; p += kThreads) {
    while (flags[p] < generation) { }
    __threadfence();
    carry += sums[p];
  }
  if (carry) atomicAdd(&before_all, carry);
  __syncthreads();
  unsigned running = before_all;
  for (int base = begin; base < end; base += kThreads) {
    const int i = base + tid;
    unsigned v = i < end ? x[i] : 0;
    unsigned s = warp_scan(v);
    __syncthreads();
    if (lane == 31) warp_sums[warp] = s;
    __syncthreads();
    unsigned w = 0, all = 0;
    for (int k = 0; k < 8; ++k) { const unsigned t = warp_sums[k]; if (k < warp) w += t; all += t; }
    if (i < end) y[i] = running + w + s;
    running += all;
  }
  __syncthreads();
  if (tid == 0) {
    __threadfence();
    if (atomicAdd(state + 1, 1u) == (unsigned)parts - 1) {
      state[1] = 0;
      __threadfence();
      atomicAdd(state, 1u);
    }
  }
}
