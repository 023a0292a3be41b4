// Launches that never end, each in another way.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void waits_for_a_flag(volatile int* flag, int* out) {
  if (threadIdx.x == 32) flag[2] = 41;
  while (flag[2] != 42) {}  // line: flag
  out[threadIdx.x] = 1;
}

extern "C" __global__ void waits_for_later_ctas(int* flag, int* out) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&flag[0], 1);
    while (atomicAdd(&flag[0], 0) < gridDim.x) {}  // line: later CTAs
  }
  __syncthreads();  // line: behind it
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// Each waits for a word of the next one, which writes it when its own has come.
extern "C" __global__ void wait_in_a_ring(volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (flag[blockIdx.x] == 0) {}
    flag[(blockIdx.x + 1) % gridDim.x] = 1;
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// Nobody ever raises the flag.
extern "C" __global__ void gives_up(volatile int* flag, int* out) {
  int looks = 0;
  while (flag[0] == 0 && looks < 100000) looks++;
  if (threadIdx.x == 0) out[blockIdx.x] = looks;
}

extern "C" __global__ void leaves_its_grid(int* flag, int* out) {
  if (blockIdx.x == 2) return;
  cg::this_grid().sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

extern "C" __global__ void waits_for_shared(int* flag, int* out) {
  __shared__ int ready[4];
  if (threadIdx.x < 4) ready[threadIdx.x] = 5;
  __syncthreads();
  if (threadIdx.x < 32) while (*(volatile int*)&ready[1] == 5) {}  // line: shared
  else asm volatile("bar.sync 3, 64;" ::: "memory");  // line: named
  out[threadIdx.x] = ready[1];
}

extern "C" __global__ void two_barriers(int* flag, int* out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 96;" ::: "memory");  // line: first
  else asm volatile("bar.sync 2, 64;" ::: "memory");  // line: second
  out[threadIdx.x] = 1;
}

extern "C" __global__ void computes_for_ever(int* flag, int* out) {
  unsigned value = 2 * threadIdx.x;
  while (value != 1u) asm volatile("mad.lo.u32 %0, %0, 4, 2;" : "+r"(value));  // line: endless
  out[threadIdx.x] = value;
}

extern "C" __global__ void leaves_its_cluster_waiting(int* flag, int* out) {
  auto cluster = cg::this_cluster();
  if (cluster.block_rank() == 1)
    while (*(volatile int*)&flag[1] == 0) {}  // line: the CTA that is late
  cluster.sync();
  out[threadIdx.x] = 1;
}
