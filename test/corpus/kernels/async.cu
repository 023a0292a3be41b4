// Asynchronous copies, barriers, atomics of libcu++, printf.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda_fp8.h>
#include <stdio.h>
namespace cg = cooperative_groups;

__global__ void barrier_copy(const int* in, int* out, int n) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ int buffer[128];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar;
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  for (int base = 0; base < n; base += 128) {
    cuda::memcpy_async(block, buffer, in + base, cuda::aligned_size_t<16>(sizeof(int) * 128), bar);
    bar.arrive_and_wait();
    out[base + threadIdx.x] = 2 * buffer[127 - threadIdx.x];
    auto token = bar.arrive();
    bar.wait(std::move(token));
  }
}

template <int stages>
__global__ void staged_copy(const float* in, float* out, int batches) {
  __shared__ float buffer[stages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int compute = 0, fetch = 0; compute < batches; ++compute) {
    for (; fetch < batches && fetch < compute + stages; ++fetch) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[fetch % stages], in + fetch * 64, sizeof(float) * 64, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[compute * 64 + threadIdx.x] = buffer[compute % stages][63 - threadIdx.x] + 1.0f;
    pipe.consumer_release();
  }
}

__global__ void group_copy(const float4* in, float4* out) {
  extern __shared__ float4 tile[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + blockIdx.x * 64, sizeof(float4) * 64);
  cg::wait(block);
  float4 v = tile[63 - block.thread_rank()];
  if (v.x < 0) v.x = 0;
  if (v.y < 0) v.y = 0;
  if (v.z < 0) v.z = 0;
  if (v.w < 0) v.w = 0;
  out[blockIdx.x * 64 + block.thread_rank()] = v;
}

__global__ void atomic_counts(const int* keys, int* counts, int* order, int n) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> next;
  if (threadIdx.x == 0) next.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> count(counts[keys[i]]);
    count.fetch_add(1, cuda::memory_order_relaxed);
    next.fetch_add(1, cuda::memory_order_relaxed);
  }
  __syncthreads();
  if (threadIdx.x == 0) order[blockIdx.x] = next.load();
}

// Every element is doubled, then all of them are turned around.
__global__ void with_grid_sync(const int* in, int* between, int* out, int n) {
  cg::grid_group grid = cg::this_grid();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) between[i] = 2 * in[i];
  grid.sync();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) out[i] = between[n - 1 - i];
}

__global__ void partitions(const int* in, int* out) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  auto sides = cg::binary_partition(tile, in[i] & 1);
  auto labels = cg::labeled_partition(tile, in[i] % 5);
  out[i] = sides.size() * 10000 + labels.size() * 100 + labels.thread_rank();
}

__global__ void quantize_fp8(const float4* in, unsigned* e4m3, unsigned short* e5m2, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_fp8x4_e4m3 q(in[i]);
  e4m3[i] = q.__x;
  e5m2[i] = __nv_fp8x2_e5m2(make_float2(in[i].x, in[i].y)).__x;
}

__global__ void prints(const float* in, float* out, int n) {
  cuda::std::array<float, 2> pair = {1.0f, 2.0f};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) printf("n = %d, first = %f\n", n, in[0]);
  if (i < n) out[i] = in[i] * pair[1];
}

__global__ void with_texture(cudaTextureObject_t texture, float* out) { out[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x); }
__global__ void with_heap(float* out) {
  float* p = new float[2];
  p[0] = 1;
  out[threadIdx.x] = p[0];
  delete[] p;
}

int main() { return 0; }
