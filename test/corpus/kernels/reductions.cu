// Sums, maxima and norms, the way tutorials build them up.
#include <cstdio>
#include <vector>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>
namespace cg = cooperative_groups;

#define CUDA_CHECK(call)                                              \
  do {                                                                \
    cudaError_t err = call;                                           \
    if (err != cudaSuccess) {                                         \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
      exit(EXIT_FAILURE);                                             \
    }                                                                 \
  } while (0)

__global__ void reduce_interleaved(const float* in, float* out, int n) {
  extern __shared__ float sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockDim.x + tid;
  sdata[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned int s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sdata[0];
}

__global__ void reduce_two_loads(const float* in, float* out, int n) {
  extern __shared__ float sdata[];
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * (blockDim.x * 2) + tid;
  float mine = i < n ? in[i] : 0;
  if (i + blockDim.x < n) mine += in[i + blockDim.x];
  sdata[tid] = mine;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
    if (tid < s) sdata[tid] = mine = mine + sdata[tid + s];
    __syncthreads();
  }
  if (tid < 32) {
    mine += sdata[tid + 32];
    for (int offset = 16; offset > 0; offset >>= 1) mine += __shfl_down_sync(0xffffffff, mine, offset);
  }
  if (tid == 0) out[blockIdx.x] = mine;
}

__inline__ __device__ float warp_sum(float v) {
  for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
  return v;
}
__inline__ __device__ float block_sum(float v) {
  static __shared__ float shared[32];
  int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
  v = warp_sum(v);
  if (lane == 0) shared[wid] = v;
  __syncthreads();
  v = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
  if (wid == 0) v = warp_sum(v);
  return v;
}
__global__ void reduce_atomic(const float* in, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

__global__ void reduce_cg(const float* in, float* out, int n) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  __shared__ float partial[32];
  float v = 0;
  for (int i = block.thread_rank(); i < n; i += block.size()) v += in[i];
  v = cg::reduce(tile, v, cg::plus<float>());
  if (tile.thread_rank() == 0) partial[tile.meta_group_rank()] = v;
  block.sync();
  if (tile.meta_group_rank() == 0) {
    v = tile.thread_rank() < tile.meta_group_size() ? partial[tile.thread_rank()] : 0.f;
    v = cg::reduce(tile, v, cg::plus<float>());
    if (tile.thread_rank() == 0) *out = v;
  }
}

__device__ int reduce_group(cg::thread_group g, int* temp, int val) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = val;
    g.sync();
    if (lane < i) val += temp[lane + i];
    g.sync();
  }
  return val;
}
__global__ void reduce_thread_group(const int* in, int* out) {
  __shared__ int temp[256];
  auto block = cg::this_thread_block();
  int whole = reduce_group(block, temp, in[block.thread_rank()]);
  if (block.thread_rank() == 0) out[0] = whole;
  cg::thread_group tile = cg::tiled_partition(block, 16);
  int part = reduce_group(tile, temp + block.thread_rank() / 16 * 16, in[block.thread_rank()]);
  if (tile.thread_rank() == 0) out[1 + block.thread_rank() / 16] = part;
}

__global__ void reduce_cub(const int* in, int* out, int n) {
  typedef cub::BlockReduce<int, 128> BlockReduce;
  __shared__ typename BlockReduce::TempStorage temp;
  int items[4];
  cub::BlockLoad<int, 128, 4>().Load(in + blockIdx.x * 512, items, n - (int)blockIdx.x * 512, 0);
  int sum = BlockReduce(temp).Sum(items);
  __syncthreads();
  int largest = BlockReduce(temp).Reduce(items, cub::Max());
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = sum;
    out[2 * blockIdx.x + 1] = largest;
  }
}

__global__ void argmax(const float* x, int* where, float* best, int n) {
  __shared__ float v[256];
  __shared__ int k[256];
  int t = threadIdx.x;
  float mv = -INFINITY;
  int mi = -1;
  for (int i = t; i < n; i += blockDim.x)
    if (x[blockIdx.x * n + i] > mv) { mv = x[blockIdx.x * n + i]; mi = i; }
  v[t] = mv; k[t] = mi;
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    __syncthreads();
    if (t < s && (v[t + s] > v[t] || (v[t + s] == v[t] && k[t + s] < k[t]))) { v[t] = v[t + s]; k[t] = k[t + s]; }
  }
  if (t == 0) { where[blockIdx.x] = k[0]; best[blockIdx.x] = v[0]; }
}

__global__ void dot_last_block(const float* a, const float* b, float* partial, unsigned int* count, float* out, int n) {
  __shared__ float s[128];
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int w = blockDim.x / 2; w > 0; w >>= 1) {
    if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < gridDim.x; i++) total += *(volatile float*)&partial[i];
    *out = total;
    *count = 0;
  }
}

__global__ void guarded_block_max(const int* in, int* out, int n) {
  __shared__ int m[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;  // the threads that go on still meet below
  m[threadIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    int best = m[0];
    for (int j = 1; j < std::min((int)blockDim.x, n - (int)(blockIdx.x * blockDim.x)); j++) best = std::max(best, m[j]);
    out[blockIdx.x] = best;
  }
}

int main() {
  std::vector<float> h(1 << 20, 1.0f);
  float *d_in, *d_out;
  CUDA_CHECK(cudaMalloc(&d_in, h.size() * sizeof(float)));
  CUDA_CHECK(cudaMalloc(&d_out, sizeof(float)));
  reduce_atomic<<<256, 256>>>(d_in, d_out, (int)h.size());
  CUDA_CHECK(cudaDeviceSynchronize());
  printf("done\n");
}
