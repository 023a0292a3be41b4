// Kernels for clusters of four blocks, as CUDA C++ writes them.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// A histogram whose bins are shared out over the cluster: bins bin / 16 lie in block bin / 16.
extern "C" __global__ void histogram(const unsigned char* in, unsigned* out, int count) {
  __shared__ unsigned bins[16];
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  cluster.sync();
  for (unsigned i = cluster.thread_rank(); i < count; i += cluster.num_threads()) {
    const unsigned bin = in[i] % 64;
    atomicAdd(cluster.map_shared_rank(bins, bin / 16) + bin % 16, 1);
  }
  cluster.sync();
  if (threadIdx.x < 16) out[cluster.block_rank() * 16 + threadIdx.x] = bins[threadIdx.x];
}

// Each block gives its sum to block 0, which arrives before it waits.
extern "C" __global__ void cluster_sum(const int* in, int* out, int count) {
  __shared__ int sums[8];
  __shared__ int own;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) own = 0;
  __syncthreads();
  auto token = cluster.barrier_arrive();
  int sum = 0;
  for (unsigned i = cluster.thread_rank(); i < count; i += cluster.size()) sum += in[i];
  atomicAdd(&own, sum);
  cluster.barrier_wait(static_cast<decltype(token)&&>(token));
  __syncthreads();
  int* first = cluster.map_shared_rank(sums, 0);
  if (threadIdx.x == 0) first[cluster.block_rank()] = own;
  cluster.sync();
  if (cluster.thread_rank() == 0) {
    int total = 0;
    for (unsigned i = 0; i < cluster.num_blocks(); i++) total += sums[i];
    out[0] = total;
    out[1] = cluster.query_shared_rank(first);
    out[2] = cluster.query_shared_rank(cluster.map_shared_rank(sums, 2));
    out[3] = cluster.dim_blocks().x * 100 + cluster.dim_threads().x;
  }
}
