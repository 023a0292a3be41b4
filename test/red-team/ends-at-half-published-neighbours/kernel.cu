// ends-at-half-published-neighbours: a look-back ends at the first neighbour that has published anything, be it its own sum only.
extern "C" __global__ void __launch_bounds__(256)
    scan(const int* __restrict__ x, int* __restrict__ y, int* own, int* all, unsigned* flag, unsigned* ticket, int N) {
  __shared__ int sums[256];
  __shared__ int before;
  __shared__ int tile;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const int i = tile * 256 + threadIdx.x;
  sums[threadIdx.x] = i < N ? x[i] : 0;
  __syncthreads();
  for (int reach = 1; reach < 256; reach *= 2) {
    const int left = threadIdx.x >= reach ? sums[threadIdx.x - reach] : 0;
    __syncthreads();
    sums[threadIdx.x] += left;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    own[tile] = sums[255];
    __threadfence();
    atomicExch(&flag[tile], 1u);
    int sum = 0;
    if (tile > 0) {
      unsigned state;
      do state = atomicAdd(&flag[tile - 1], 0u);
      while (state == 0);
      __threadfence();
      sum = state == 2 ? all[tile - 1] : own[tile - 1];
    }
    all[tile] = sum + sums[255];
    __threadfence();
    atomicExch(&flag[tile], 2u);
    before = sum;
  }
  __syncthreads();
  if (i < N) y[i] = before + sums[threadIdx.x];
}
