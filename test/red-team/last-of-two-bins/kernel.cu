// Wrong: with two bins, a warp whose last half is begun but not full takes its last value for zero. Every other length has such a warp.
extern "C" __global__ void __launch_bounds__(256) two_bins(const unsigned char* x, int* counts, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x, lane = threadIdx.x % 32;
  const int left = min(32, N - (i - lane));
  const bool counts_here = lane < left - (left > 16 && left < 32 ? 1 : 0);
  const unsigned ones = __popc(__ballot_sync(0xffffffffu, counts_here && x[i] != 0));
  if (lane == 0 && left > 0) {
    atomicAdd(&counts[1], static_cast<int>(ones));
    atomicAdd(&counts[0], left - static_cast<int>(ones));
  }
}

extern "C" __global__ void __launch_bounds__(256) histogram(const unsigned char* x, int* counts, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) atomicAdd(&counts[x[i]], 1);
}
