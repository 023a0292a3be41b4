#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cub/cub.cuh>
#include <iostream>
namespace cg = cooperative_groups;

__global__ void hillis_steele(const int* in, int* out, int n) {
  extern __shared__ int temp[];
  int t = threadIdx.x, pout = 0, pin = 1;
  temp[t] = t > 0 ? in[t - 1] : 0;
  __syncthreads();
  for (int offset = 1; offset < n; offset *= 2) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (t >= offset) temp[pout * n + t] = temp[pin * n + t] + temp[pin * n + t - offset];
    else temp[pout * n + t] = temp[pin * n + t];
    __syncthreads();
  }
  out[t] = temp[pout * n + t];
}

__global__ void blelloch(const int* in, int* out, int n) {
  extern __shared__ int temp[];
  int t = threadIdx.x, offset = 1;
  temp[2 * t] = in[2 * t];
  temp[2 * t + 1] = in[2 * t + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  if (t == 0) temp[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
      int swap = temp[ai];
      temp[ai] = temp[bi];
      temp[bi] += swap;
    }
  }
  __syncthreads();
  out[2 * t] = temp[2 * t];
  out[2 * t + 1] = temp[2 * t + 1];
}

__global__ void scan_cub(const int* in, int* out, int* sums) {
  using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<int, 64>;
  using Store = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union { typename Load::TempStorage load; typename Scan::TempStorage scan; typename Store::TempStorage store; } temp;
  int items[4], total;
  Load(temp.load).Load(in + blockIdx.x * 256, items);
  __syncthreads();
  Scan(temp.scan).ExclusiveSum(items, items, total);
  __syncthreads();
  Store(temp.store).Store(out + blockIdx.x * 256, items);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void scan_cg(const int* in, int* inclusive, int* exclusive) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  inclusive[i] = cg::inclusive_scan(tile, in[i]);
  exclusive[i] = cg::exclusive_scan(tile, in[i], cg::plus<int>());
}

__global__ void warp_scan_cub(const int* in, int* out) {
  typedef cub::WarpScan<int> WarpScan;
  __shared__ typename WarpScan::TempStorage temp[4];
  int warp = threadIdx.x / 32, v;
  WarpScan(temp[warp]).InclusiveSum(in[threadIdx.x], v);
  out[threadIdx.x] = v;
}

__global__ void segmented_scan(const int* value, const int* head, int* out, int n) {
  __shared__ int v[256], f[256];
  int t = threadIdx.x;
  v[t] = value[t];
  f[t] = head[t];
  for (int d = 1; d < n; d *= 2) {
    __syncthreads();
    int add = 0, flag = 0;
    if (t >= d) { add = f[t] ? 0 : v[t - d]; flag = f[t - d]; }
    __syncthreads();
    v[t] += add;
    f[t] |= flag;
  }
  out[t] = v[t];
}

__device__ int warp_inclusive(int x) {
  int lane = threadIdx.x & 31;
  for (int d = 1; d < 32; d <<= 1) {
    int y = __shfl_up_sync(~0u, x, d);
    if (lane >= d) x += y;
  }
  return x;
}
__global__ void compact(const float* in, float* out, int* count, int n) {
  __shared__ int warps[8];
  __shared__ int base;
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int keep = i < n && in[i] > 0;
  int inclusive = warp_inclusive(keep);
  if (lane == 31) warps[warp] = inclusive;
  __syncthreads();
  if (warp == 0) {
    int w = lane < 8 ? warps[lane] : 0;
    int s = warp_inclusive(w);
    if (lane < 8) warps[lane] = s - w;
    if (lane == 7) base = atomicAdd(count, s);
  }
  __syncthreads();
  if (keep) out[base + warps[warp] + inclusive - 1] = in[i];
}

__global__ void aggregated_filter(const int* in, int* out, int* count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (in[i] % 3 == 0) {
    auto g = cg::coalesced_threads();
    int at = 0;
    if (g.thread_rank() == 0) at = atomicAdd(count, g.size());
    at = g.shfl(at, 0);
    out[at + g.thread_rank()] = in[i];
  }
}

int main(int argc, char** argv) {
  int* d;
  cudaMalloc(&d, 4096);
  hillis_steele<<<1, 256, 2 * 256 * sizeof(int)>>>(d, d, 256);
  std::cout << "ok" << std::endl;
}
