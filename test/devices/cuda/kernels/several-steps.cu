// Pieces of launch sequences that show in the result which steps ran, how often, in which order and on what.

// x[i] * (index + 1) is added to what lies there.
extern "C" __global__ void accumulate(const unsigned *x, unsigned index, unsigned *sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] = sums[i] * 3u + x[i] * (index + 1u);
}

// `filled` comes from a memset; `scratch` holds anything and is written before it is read.
extern "C" __global__ void finish(const unsigned *sums, const unsigned *filled, unsigned *scratch, unsigned *y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  scratch[i] = sums[i] + filled[i];
  y[i] = scratch[i];
}

extern "C" __global__ void spoil(unsigned *y) { y[threadIdx.x] = 0xdeadbeefu; }

// The last CTA to arrive adds up. The counter is zeroed once; each launch leaves it as it found it.
extern "C" __global__ void last_adds_up(const unsigned *x, unsigned *partial, unsigned *arrived, unsigned *y) {
  __shared__ bool isLast;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  partial[i] = x[i] >> 8;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) isLast = atomicAdd(arrived, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!isLast) return;
  __threadfence();
  const volatile unsigned *written = partial;
  const unsigned count = gridDim.x * blockDim.x;
  for (unsigned k = threadIdx.x; k < count; k += blockDim.x) y[k] = written[k] + written[count - 1 - k];
  if (threadIdx.x == 0) *arrived = 0;
}
