// Programmatic dependent launch. Whether two launches overlap is told by one waiting for a sign of the other, not by a
// clock: who waits in vain gives up after a while, which only a wrong overlap or a missing one makes happen.

__device__ __forceinline__ void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void wait_for_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

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

// One CTA. Lets its dependents start, then hands over its results as late as it can: after the dependent has started.
extern "C" __global__ void produce(const unsigned *x, unsigned *made, unsigned *started, unsigned *y) {
  launch_dependents();
  __shared__ bool met;
  if (threadIdx.x == 0) met = grows(started, 0, 500'000'000);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 4096; i += blockDim.x) made[i] = x[i] * 3u + 1u;
  if (threadIdx.x == 0) y[4096] = met ? 1u : 0u;
}

// Says that it has started before it waits; what it reads must nevertheless be what `produce` made.
extern "C" __global__ void consume(const unsigned *made, unsigned *started, unsigned *y) {
  if (threadIdx.x == 0) atomicAdd(started, 1u);
  wait_for_launch_before();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = made[i] ^ 0x5a5a5a5au;
}
