// Whether one launch sequence of a replay overlaps the next, told as in dependent-launches.cu. It takes a variable, since
// sequences share no buffer.

__device__ __forceinline__ void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Whether the word grows above `known` within the time.
__device__ bool grows(volatile unsigned *word, unsigned known, unsigned long long patience) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < patience)
    if (*word > known) return true;
  return false;
}

// First launches of a sequence that have started, over all sequences of a replay.
__device__ unsigned sequences;

// The first launch of a sequence: lets dependents start at once, and sees whether the next sequence begins meanwhile.
extern "C" __global__ void linger(const unsigned *x, unsigned *y) {
  __shared__ bool overlapped;
  if (threadIdx.x == 0) {
    const unsigned before = atomicAdd(&sequences, 1u);
    launch_dependents();
    overlapped = grows(&sequences, before + 1, 20'000'000);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 64; i += blockDim.x) y[i] = x[i] + (overlapped ? 1u : 0u);
}

// Overtakes the launch before it, and ends without having waited.
extern "C" __global__ void hurry(unsigned *y) { y[64 + threadIdx.x] = threadIdx.x; }
