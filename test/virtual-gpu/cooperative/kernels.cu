// Kernels whose CTAs meet in the middle of the grid.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Each CTA adds up what all others have published, round after round.
extern "C" __global__ void rounds(unsigned* values, unsigned* out, unsigned count) {
  cg::grid_group grid = cg::this_grid();
  const unsigned threads = grid.num_threads();
  const unsigned thread = grid.thread_rank();
  unsigned own = thread + 1;
  for (unsigned round = 0; round < count; round++) {
    values[thread] = own;
    grid.sync();
    unsigned sum = 0;
    for (unsigned i = 0; i < threads; i++) sum += values[i];
    grid.sync();
    own = sum + thread;
  }
  out[thread] = own;
}

// The same without the second barrier: some write before others have read.
extern "C" __global__ void too_early(unsigned* values, unsigned* out, unsigned count) {
  cg::grid_group grid = cg::this_grid();
  const unsigned threads = grid.num_threads();
  const unsigned thread = grid.thread_rank();
  unsigned own = thread + 1;
  for (unsigned round = 0; round < count; round++) {
    values[thread] = own;
    grid.sync();
    unsigned sum = 0;
    for (unsigned i = 0; i < threads; i++) sum += values[i];
    own = sum + thread;
  }
  out[thread] = own;
}

// Without any barrier.
extern "C" __global__ void never(unsigned* values, unsigned* out, unsigned) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  values[thread] = thread + 1;
  unsigned sum = 0;
  for (unsigned i = 0; i < gridDim.x * blockDim.x; i++) sum += values[i];
  out[thread] = sum;
}

// A barrier as people write it: a counter that only grows.
__device__ void meet(unsigned* counter, unsigned goal) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1u);
    while (atomicAdd(counter, 0u) < goal) {
    }
    __threadfence();
  }
  __syncthreads();
}
extern "C" __global__ void by_hand(unsigned* values, unsigned* out, unsigned count, unsigned* counter) {
  const unsigned threads = gridDim.x * blockDim.x;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned own = thread + 1;
  for (unsigned round = 0; round < count; round++) {
    values[thread] = own;
    meet(counter, (2 * round + 1) * gridDim.x);
    unsigned sum = 0;
    for (unsigned i = 0; i < threads; i++) sum += values[i];
    meet(counter, (2 * round + 2) * gridDim.x);
    own = sum + thread;
  }
  out[thread] = own;
}

// The same with a volatile flag and no fence: what is published may come later than the flag.
extern "C" __global__ void unfenced(unsigned* values, unsigned* out, unsigned, unsigned* counter) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  values[thread] = thread + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(counter, 1u);
    while (*(volatile unsigned*)counter < gridDim.x) {
    }
  }
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = 0; i < gridDim.x * blockDim.x; i++) sum += values[i];
  out[thread] = sum;
}

// One CTA leaves before the barrier.
extern "C" __global__ void one_leaves(unsigned* values, unsigned* out, unsigned) {
  if (blockIdx.x == 1) return;
  cg::this_grid().sync();
  out[threadIdx.x] = values[threadIdx.x];
}

// What a barrier in two parts, and is_valid(), say; shared memory keeps what it holds while other CTAs run.
extern "C" __global__ void in_parts(unsigned* values, unsigned* out, unsigned) {
  __shared__ unsigned kept[64];
  cg::grid_group grid = cg::this_grid();
  kept[threadIdx.x] = 1000 * blockIdx.x + threadIdx.x;
  values[grid.thread_rank()] = grid.is_valid();
  auto token = grid.barrier_arrive();
  kept[threadIdx.x] += 7;
  grid.barrier_wait(static_cast<cg::grid_group::arrival_token&&>(token));
  unsigned valid = 0;
  for (unsigned i = 0; i < grid.num_threads(); i++) valid += values[i];
  out[grid.thread_rank()] = kept[63 - threadIdx.x] + 100000 * valid;
}
