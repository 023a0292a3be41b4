// Sorting, searching, sparse matrices, graphs, particles.
#include <algorithm>
#include <cub/block/block_radix_sort.cuh>
#include <thrust/device_vector.h>
#include <utility>

__global__ void bitonic_sort(int* values, int n) {
  extern __shared__ int shared[];
  const unsigned int tid = threadIdx.x;
  shared[tid] = values[tid];
  __syncthreads();
  for (unsigned int k = 2; k <= n; k *= 2) {
    for (unsigned int j = k / 2; j > 0; j /= 2) {
      unsigned int ixj = tid ^ j;
      if (ixj > tid) {
        if ((tid & k) == 0) {
          if (shared[tid] > shared[ixj]) std::swap(shared[tid], shared[ixj]);
        } else {
          if (shared[tid] < shared[ixj]) std::swap(shared[tid], shared[ixj]);
        }
      }
      __syncthreads();
    }
  }
  values[tid] = shared[tid];
}

__global__ void odd_even_registers(int* x) {
  int v[8], b = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  for (int i = 0; i < 8; i++) v[i] = x[b + i];
  for (int i = 0; i < 8; i++)
    for (int j = i & 1; j + 1 < 8; j += 2)
      if (v[j] > v[j + 1]) { int t = v[j]; v[j] = v[j + 1]; v[j + 1] = t; }
  for (int i = 0; i < 8; i++) x[b + i] = v[i];
}

__global__ void radix_sort_block(const float* in, float* out, int* order) {
  typedef cub::BlockRadixSort<float, 64, 2, int> Sort;
  __shared__ typename Sort::TempStorage temp;
  float keys[2];
  int values[2];
  for (int i = 0; i < 2; i++) { keys[i] = in[threadIdx.x * 2 + i]; values[i] = threadIdx.x * 2 + i; }
  Sort(temp).Sort(keys, values);
  for (int i = 0; i < 2; i++) { out[threadIdx.x * 2 + i] = keys[i]; order[threadIdx.x * 2 + i] = values[i]; }
}

__global__ void radix_pass(const unsigned* in, unsigned* out, int n, int bit) {
  __shared__ unsigned scan[256];
  int t = threadIdx.x;
  unsigned v = in[t], one = (v >> bit) & 1;
  scan[t] = one;
  for (int d = 1; d < n; d *= 2) {
    __syncthreads();
    unsigned add = t >= d ? scan[t - d] : 0;
    __syncthreads();
    scan[t] += add;
  }
  __syncthreads();
  unsigned ones = scan[n - 1], before = scan[t] - one;
  out[one ? n - ones + before : t - before] = v;
}

__global__ void merge_ranks(const int* a, const int* b, int* out, int na, int nb) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= na + nb) return;
  bool left = i < na;
  int v = left ? a[i] : b[i - na];
  const int* other = left ? b : a;
  int lo = 0, hi = left ? nb : na;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (other[mid] < v || (!left && other[mid] == v)) lo = mid + 1;
    else hi = mid;
  }
  out[(left ? i : i - na) + lo] = v;
}

__global__ void lower_bound(const int* keys, const int* queries, int* at, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int first = 0, count = n;
  while (count > 0) {
    int step = count / 2;
    if (keys[first + step] < queries[i]) { first += step + 1; count -= step + 1; }
    else count = step;
  }
  at[i] = first;
}

__global__ void spmv_csr_scalar(int rows, const int* ptr, const int* cols, const float* vals, const float* x, float* y) {
  int row = blockDim.x * blockIdx.x + threadIdx.x;
  if (row < rows) {
    float dot = 0;
    for (int jj = ptr[row]; jj < ptr[row + 1]; jj++) dot += vals[jj] * x[cols[jj]];
    y[row] = dot;
  }
}

__global__ void spmv_csr_vector(int rows, const int* ptr, const int* cols, const float* vals, const float* x, float* y) {
  __shared__ volatile float sums[128 + 16];
  int thread_id = blockDim.x * blockIdx.x + threadIdx.x, warp_id = thread_id / 32, lane = thread_id & 31;
  if (warp_id >= rows) return;
  float sum = 0;
  for (int jj = ptr[warp_id] + lane; jj < ptr[warp_id + 1]; jj += 32) sum += vals[jj] * x[cols[jj]];
  sums[threadIdx.x] = sum;
  for (int w = 16; w > 0; w /= 2) {
    __syncwarp();
    float other = sums[threadIdx.x + w];
    __syncwarp();
    sums[threadIdx.x] = sum = sum + (lane < w ? other : 0);
  }
  if (lane == 0) y[warp_id] = sum;
}

__global__ void bfs_level(const int* ptr, const int* edges, int* level, int* changed, int n, int depth) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || level[v] != depth) return;
  for (int e = ptr[v]; e < ptr[v + 1]; e++)
    if (atomicCAS(&level[edges[e]], -1, depth + 1) == -1) *changed = 1;
}

__device__ float iou(const float4 a, const float4 b) {
  float w = fmaxf(fminf(a.z, b.z) - fmaxf(a.x, b.x), 0.f), h = fmaxf(fminf(a.w, b.w) - fmaxf(a.y, b.y), 0.f);
  float s = w * h;
  return s / ((a.z - a.x) * (a.w - a.y) + (b.z - b.x) * (b.w - b.y) - s);
}
__global__ void nms_mask(int n, float threshold, const float4* boxes, unsigned long long* mask) {
  const int row_start = blockIdx.y, col_start = blockIdx.x, blocks = gridDim.x;
  const int row_size = min(n - row_start * 64, 64), col_size = min(n - col_start * 64, 64);
  __shared__ float4 block_boxes[64];
  if (threadIdx.x < col_size) block_boxes[threadIdx.x] = boxes[64 * col_start + threadIdx.x];
  __syncthreads();
  if (threadIdx.x < row_size) {
    const int cur = 64 * row_start + threadIdx.x;
    const float4 box = boxes[cur];
    unsigned long long t = 0;
    int start = row_start == col_start ? threadIdx.x + 1 : 0;
    for (int i = start; i < col_size; i++)
      if (iou(box, block_boxes[i]) > threshold) t |= 1ULL << i;
    mask[cur * blocks + col_start] = t;
  }
}

__global__ void nbody(const float4* pos, float4* acc, int n) {
  __shared__ float4 tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 me = pos[i], a = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int base = 0; base < n; base += 64) {
    tile[threadIdx.x] = pos[base + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < 64; j++) {
      float3 r = make_float3(tile[j].x - me.x, tile[j].y - me.y, tile[j].z - me.z);
      float inv = rsqrtf(r.x * r.x + r.y * r.y + r.z * r.z + 0.01f), s = tile[j].w * inv * inv * inv;
      a.x += r.x * s; a.y += r.y * s; a.z += r.z * s;
    }
    __syncthreads();
  }
  acc[i] = a;
}

__global__ void fft_shared(float2* data, int n, int log2n) {
  extern __shared__ float2 s[];
  int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) s[__brev(i) >> (32 - log2n)] = data[blockIdx.x * n + i];
  for (int half = 1; half < n; half *= 2) {
    __syncthreads();
    int k = t & (half - 1), i = (t - k) * 2 + k;
    float sn, cs;
    sincospif(-(float)k / half, &sn, &cs);
    float2 a = s[i], b = s[i + half];
    float2 w = {b.x * cs - b.y * sn, b.x * sn + b.y * cs};
    s[i] = {a.x + w.x, a.y + w.y};
    s[i + half] = {a.x - w.x, a.y - w.y};
  }
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) data[blockIdx.x * n + i] = s[i];
}

__global__ void kmeans_assign(const float* points, const float* centers, int* cluster, int* sizes, int n, int k, int dim) {
  extern __shared__ float c[];
  for (int i = threadIdx.x; i < k * dim; i += blockDim.x) c[i] = centers[i];
  __syncthreads();
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  float best = INFINITY;
  int which = 0;
  for (int j = 0; j < k; j++) {
    float d = 0;
    for (int m = 0; m < dim; m++) { float x = points[p * dim + m] - c[j * dim + m]; d += x * x; }
    if (d < best) { best = d; which = j; }
  }
  cluster[p] = which;
  atomicAdd(&sizes[which], 1);
}

__global__ void mandelbrot(int* out, int w, int h, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  double cr = -2.0 + 3.0 * x / w, ci = -1.5 + 3.0 * y / h, zr = 0, zi = 0;
  int i = 0;
  while (i < limit && zr * zr + zi * zi < 4.0) { double t = zr * zr - zi * zi + cr; zi = 2 * zr * zi + ci; zr = t; i++; }
  out[y * w + x] = i;
}

__device__ float cnd(float d) { return 0.5f * erfcf(-d * (float)M_SQRT1_2); }
__global__ void black_scholes(float* call, float* put, const float* S, const float* X, const float* T, float r, float v, int n) {
  for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    float sq = sqrtf(T[i]), d1 = (logf(S[i] / X[i]) + (r + 0.5f * v * v) * T[i]) / (v * sq), d2 = d1 - v * sq;
    float e = expf(-r * T[i]);
    call[i] = S[i] * cnd(d1) - X[i] * e * cnd(d2);
    put[i] = X[i] * e * (1.0f - cnd(d2)) - S[i] * (1.0f - cnd(d1));
  }
}

__global__ void lcg_pi(unsigned* hits, unsigned seed, int tries) {
  unsigned s = seed + 7919u * (blockIdx.x * blockDim.x + threadIdx.x);
  unsigned inside = 0;
  for (int i = 0; i < tries; i++) {
    s = s * 1664525u + 1013904223u;
    float x = (s >> 8) * 0x1p-24f;
    s = s * 1664525u + 1013904223u;
    float y = (s >> 8) * 0x1p-24f;
    inside += __fmul_rn(x, x) + __fmul_rn(y, y) <= 1.0f;
  }
  inside = __reduce_add_sync(0xffffffffu, inside);
  if ((threadIdx.x & 31) == 0) atomicAdd(hits, inside);
}

int main() {
  thrust::device_vector<int> v(1024);
  thrust::sequence(v.begin(), v.end());
  bitonic_sort<<<1, 1024, 4096>>>(thrust::raw_pointer_cast(v.data()), 1024);
  cudaDeviceSynchronize();
}
