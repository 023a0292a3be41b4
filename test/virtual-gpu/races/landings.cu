// Asynchronous copies, which may land at any time until somebody waits for them. Those named early_* do not wait.
// All are launched with 4 CTAs of 64 threads; x and y have 256 words.
#include <cuda_pipeline_primitives.h>

extern "C" __global__ void waits(const int* x, int* y) {
  __shared__ int tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  for (int round = 0; round < 4; ++round) {
    tile[threadIdx.x] = -1;
    __pipeline_memcpy_async(&tile[threadIdx.x], &x[(i + round) % 256], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[i] += tile[threadIdx.x];
  }
}

extern "C" __global__ void early_read(const int* x, int* y) {
  __shared__ volatile int tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  for (int round = 0; round < 4; ++round) {
    tile[threadIdx.x] = -1;
    __pipeline_memcpy_async((int*)&tile[threadIdx.x], &x[(i + round) % 256], 4);
    __pipeline_commit();
    y[i] += tile[threadIdx.x];
    __pipeline_wait_prior(0);
  }
}

__device__ unsigned shared(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }

__device__ void copy_in(int* tile, const int* x, unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(shared(barrier)) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(shared(tile)),
               "l"(x), "r"(shared(barrier)) : "memory");
}

__device__ void wait(unsigned long long* barrier, unsigned parity) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(
                   shared(barrier)), "r"(parity) : "memory");
}

template <bool waits_first>
__device__ void bulk_in(const int* x, int* y) {
  __shared__ __align__(16) int tile[64];
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&barrier)) : "memory");
  for (int round = 0; round < 4; ++round) {
    tile[threadIdx.x] = -1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) copy_in(tile, x + (blockIdx.x + round) % 4 * 64, &barrier);
    if (waits_first) wait(&barrier, round & 1);
    else __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] += tile[threadIdx.x];
    __syncthreads();
    if (!waits_first) wait(&barrier, round & 1);
    __syncthreads();
  }
}

extern "C" __global__ void bulk_waits(const int* x, int* y) { bulk_in<true>(x, y); }

extern "C" __global__ void early_bulk_read(const int* x, int* y) { bulk_in<false>(x, y); }

// The copy out may read what the tile holds now, or what it holds later.
template <bool waits_first>
__device__ void bulk_out(const int* x, int* y) {
  __shared__ __align__(16) int tile[64];
  tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(y + blockIdx.x * 64), "r"(shared(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    if (waits_first) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  __syncthreads();
  tile[threadIdx.x] = 7;
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

extern "C" __global__ void bulk_out_waits(const int* x, int* y) { bulk_out<true>(x, y); }

extern "C" __global__ void early_overwrite(const int* x, int* y) { bulk_out<false>(x, y); }
