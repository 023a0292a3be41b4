// Lanes of a warp in the shared memory of another CTA. racy_* do not meet. Clusters of two CTAs of 32 threads; y has 64 words.
#include <cooperative_groups.h>

template <bool meets>
__device__ void exchange(int* y) {
  __shared__ int words[32];
  auto cluster = cooperative_groups::this_cluster();
  words[threadIdx.x] = 0;
  cluster.sync();
  int* other = cluster.map_shared_rank(words, cluster.block_rank() ^ 1);
  other[threadIdx.x] = threadIdx.x + 1;
  if (meets) __syncwarp();
  y[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x ^ 1];
  cluster.sync();
}

extern "C" __global__ void meeting(int* y) { exchange<true>(y); }

extern "C" __global__ void racy_lanes(int* y) { exchange<false>(y); }
