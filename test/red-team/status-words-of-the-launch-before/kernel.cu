// Wrong: a look-back over tiles whose words are zeroed once only. From the second launch on, a tile may take what the launch before left in its
// neighbour's word for what this launch will write there. Right where all tiles run in order, or x is the same again.
constexpr int kThreads = 128;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr unsigned kPrefix = 1;  // upper half of a word: the lower one is the sum up to the end of the tile
using Word = unsigned long long;

__device__ unsigned scan_warp(unsigned value) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned before = __shfl_up_sync(kAllLanes, value, distance);
    if (threadIdx.x % 32 >= distance) value += before;
  }
  return value;
}

// One element per thread; tiles are numbered in the order in which their CTAs begin.
extern "C" __global__ void __launch_bounds__(kThreads)
    scan(const unsigned* __restrict__ x, unsigned* __restrict__ y, volatile Word* words, unsigned* tickets, int n) {
  __shared__ unsigned of_warps[kThreads / 32], shared_tile, shared_before;
  if (threadIdx.x == 0) {
    shared_tile = atomicAdd(tickets, 1u);
    if (shared_tile == gridDim.x - 1) *tickets = 0;  // for the next launch
  }
  __syncthreads();
  const unsigned tile = shared_tile;
  const int i = tile * kThreads + threadIdx.x, warp = threadIdx.x / 32;
  unsigned sum = scan_warp(i < n ? x[i] : 0);
  if (threadIdx.x % 32 == 31) of_warps[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += of_warps[w];
  if (threadIdx.x == kThreads - 1) {
    unsigned before = 0;
    if (tile > 0) {
      Word word;
      do word = words[tile - 1];
      while (static_cast<unsigned>(word >> 32) != kPrefix);
      before = static_cast<unsigned>(word);
    }
    words[tile] = static_cast<Word>(kPrefix) << 32 | (before + sum);
    shared_before = before;
  }
  __syncthreads();
  if (i < n) y[i] = shared_before + sum;
}
