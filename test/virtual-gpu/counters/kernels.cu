// One access pattern per kernel; test/virtual-gpu/counters derives what each one costs. One warp or a few.
#include <cuda_fp16.h>

extern "C" __global__ void coalesced(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

extern "C" __global__ void misaligned(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x + 1]; }

extern "C" __global__ void stride2(const float *in, float *out) { out[threadIdx.x] = in[2 * threadIdx.x]; }

extern "C" __global__ void stride32(const float *in, float *out) { out[threadIdx.x] = in[32 * threadIdx.x]; }

extern "C" __global__ void vector4(const float4 *in, float4 *out) { out[threadIdx.x] = in[threadIdx.x]; }

extern "C" __global__ void broadcast(const float *in, float *out) { out[threadIdx.x] = in[blockIdx.x]; }

extern "C" __global__ void halves(const __half *in, __half *out) { out[threadIdx.x] = in[threadIdx.x]; }

extern "C" __global__ void gather(const float *in, const int *index, float *out) { out[threadIdx.x] = in[index[threadIdx.x]]; }

extern "C" __global__ void guarded(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

// Shared memory: every thread stores word t, then loads word t * stride.
extern "C" __global__ void shared_stride(const float *in, float *out, int stride) {
  extern __shared__ float words[];
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[threadIdx.x * stride];
}

extern "C" __global__ void shared_store_stride(const float *in, float *out, int stride) {
  extern __shared__ float words[];
  words[threadIdx.x * stride] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[threadIdx.x];
}

extern "C" __global__ void shared_vector4(const float4 *in, float4 *out) {
  __shared__ float4 words[32];
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[31 - threadIdx.x];
}

// All lanes load the same 16 bytes: through an address all can be seen to share, and through indices that are all 0.
extern "C" __global__ void shared_vector4_first(const float4 *in, float4 *out, const int *index) {
  __shared__ float4 words[32];
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[blockIdx.x];
}

extern "C" __global__ void shared_vector4_index(const float4 *in, float4 *out, const int *index) {
  __shared__ float4 words[32];
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[index[threadIdx.x]];
}

extern "C" __global__ void shared_vector2(const double *in, double *out, int stride) {
  extern __shared__ double pairs[];
  pairs[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = pairs[threadIdx.x * stride];
}

extern "C" __global__ void shared_halves(const __half *in, __half *out) {
  __shared__ __half words[32];
  words[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = words[31 - threadIdx.x];
}

// 32 x 32 threads; columns of the tile are read, so a row of WIDTH words decides the banks.
template <int WIDTH> __device__ void transpose(const float *in, float *out) {
  __shared__ float tile[32][WIDTH];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 32 + x];
  __syncthreads();
  out[y * 32 + x] = tile[x][y];
}
extern "C" __global__ void transpose_plain(const float *in, float *out) { transpose<32>(in, out); }
extern "C" __global__ void transpose_padded(const float *in, float *out) { transpose<33>(in, out); }

// Each lane loads four neighbours.
extern "C" __global__ void sums_of_four(const float *in, float *out) {
  __shared__ float tile[128];
  const int t = threadIdx.x;
  for (int i = 0; i < 4; i++) tile[32 * i + t] = in[32 * i + t];
  __syncthreads();
  out[t] = tile[4 * t] + tile[4 * t + 1] + tile[4 * t + 2] + tile[4 * t + 3];
}

extern "C" __global__ void count_up(int *total, int *perCta) {
  __shared__ int inCta;
  if (threadIdx.x == 0) inCta = 0;
  __syncthreads();
  atomicAdd(&inCta, 1);
  atomicAdd(total, 1);
  __syncthreads();
  if (threadIdx.x == 0) perCta[blockIdx.x] = inCta;
}

extern "C" __global__ void barriers(float *out, int rounds) {
  __shared__ float word;
  float sum = 0;
  for (int round = 0; round < rounds; round++) {
    if (threadIdx.x == 0) word = round;
    __syncthreads();
    sum += word;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

extern "C" __global__ void by_line(const float *in, float *out) {
  __shared__ float words[64];
  int t = threadIdx.x;
  float a = in[t];           // line: coalesced load
  float b = in[t * 8];       // line: strided load
  words[t] = a;              // line: shared store
  __syncthreads();           // line: barrier
  out[t] = words[t ^ 1] + b; // line: result
}

// CTAs that take numbers in turn; each waits for what the 32 before it have published.
extern "C" __global__ void look_back(unsigned *next, volatile unsigned long long *published) {
  const int lane = threadIdx.x;
  const int tile = __shfl_sync(~0u, lane == 0 ? atomicAdd(next, 1u) : 0, 0);
  if (lane == 0) published[tile] = 1;
  const int mine = tile - 1 - lane;
  while (!__all_sync(~0u, mine < 0 || published[mine] != 0)) {
  }
}

// All CTAs wait for one word.
extern "C" __global__ void wait_for_one(volatile unsigned *flag) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *flag = 1;
  while (*flag == 0) {
  }
}

// One cp.async of 16 bytes by each lane, `count` times: neighbours side by side, from another sector each time, and a sector apart, in turn.
extern "C" __global__ void async_copies(const char *in, char *out, int count) {
  __shared__ __align__(128) char tile[1024];
  unsigned target = __cvta_generic_to_shared(tile);
#pragma unroll 1
  for (int i = 0; i < count; i++) {
    int apart = i & 1 ? 32 : 16;
    const char *from = in + threadIdx.x * apart + i * 16;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target + threadIdx.x * apart), "l"(from));
    asm volatile("cp.async.wait_all;");
  }
  out[threadIdx.x] = tile[threadIdx.x];
}

// Four loads at distances from one address; one of them begins in the middle of a sector if the others begin with one.
extern "C" __global__ void side_by_side(const float *in, float *out, int first) {
  const float *at = in + first + threadIdx.x;
  out[threadIdx.x] = at[0] + at[36] + at[64] + at[128];
}
