// Kernels of neural networks.
#include <assert.h>
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "common.h"

__global__ void softmax_forward(const float* inp, float* out, int N, int C) {
  extern __shared__ float shared[];
  int idx = blockIdx.x, tid = threadIdx.x;
  const float* x = inp + idx * C;
  float maxval = -INFINITY;
  for (int i = tid; i < C; i += blockDim.x) maxval = fmaxf(maxval, x[i]);
  shared[tid] = maxval;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
    if (tid < stride) shared[tid] = fmaxf(shared[tid], shared[tid + stride]);
    __syncthreads();
  }
  float offset = shared[0];
  __syncthreads();
  float sumval = 0.0f;
  for (int i = tid; i < C; i += blockDim.x) { float e = expf(x[i] - offset); out[idx * C + i] = e; sumval += e; }
  shared[tid] = sumval;
  __syncthreads();
  for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
    if (tid < stride) shared[tid] += shared[tid + stride];
    __syncthreads();
  }
  float sum = shared[0];
  for (int i = tid; i < C; i += blockDim.x) out[idx * C + i] /= sum;
}

struct __align__(8) MD { float m, d; };
__device__ __forceinline__ MD md_op(MD a, MD b) {
  MD big = a.m > b.m ? a : b, small = a.m > b.m ? b : a;
  MD r;
  r.d = big.d + small.d * __expf(small.m - big.m);
  r.m = big.m;
  return r;
}
__global__ void softmax_online(const float* x, float* y, int C) {
  x += blockIdx.x * C;
  y += blockIdx.x * C;
  MD p = {-FLT_MAX, 0.0f};
  for (int i = threadIdx.x; i < C; i += 32) { MD n = {x[i], 1.0f}; p = md_op(p, n); }
  for (int o = 16; o > 0; o /= 2) {
    MD q;
    q.m = __shfl_xor_sync(~0u, p.m, o);
    q.d = __shfl_xor_sync(~0u, p.d, o);
    p = md_op(p, q);
  }
  for (int i = threadIdx.x; i < C; i += 32) y[i] = __fdividef(__expf(x[i] - p.m), p.d);
}

__global__ void layernorm(float* out, const float* inp, const float* w, const float* b, int N, int C) {
  int lane = threadIdx.x % warpSize, row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  if (row >= N) return;
  const float* x = inp + row * C;
  float sum = 0;
  for (int i = lane; i < C; i += warpSize) sum += x[i];
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  float mean = sum / C;
  sum = 0;
  for (int i = lane; i < C; i += warpSize) { float d = x[i] - mean; sum += d * d; }
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  float s = rsqrtf(sum / C + 1e-5f);
  for (int c = lane; c < C; c += warpSize) out[row * C + c] = s * (x[c] - mean) * w[c] + b[c];
}

__global__ void rmsnorm(float* o, const float* x, const float* weight, int size) {
  __shared__ float shared_ss;
  __shared__ float part[8];
  float ss = 0;
  for (int j = threadIdx.x; j < size; j += blockDim.x) { float v = x[blockIdx.x * size + j]; ss += v * v; }
  for (int k = 16; k > 0; k /= 2) ss += __shfl_down_sync(0xffffffffu, ss, k);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = ss;
  __syncthreads();
  if (threadIdx.x == 0) {
    float t = 0;
    for (int k = 0; k < blockDim.x / 32; k++) t += part[k];
    shared_ss = 1.0f / sqrtf(t / size + 1e-5f);
  }
  __syncthreads();
  for (int j = threadIdx.x; j < size; j += blockDim.x) o[blockIdx.x * size + j] = weight[j] * (shared_ss * x[blockIdx.x * size + j]);
}

__global__ void rope(float* q, int pos, int heads, int head_size) {
  int i = threadIdx.x * 2, h = blockIdx.x;
  float freq = 1.0f / powf(10000.0f, i / (float)head_size);
  float fcr, fci;
  sincosf(pos * freq, &fci, &fcr);
  float* v = q + h * head_size;
  float v0 = v[i], v1 = v[i + 1];
  v[i] = v0 * fcr - v1 * fci;
  v[i + 1] = v0 * fci + v1 * fcr;
}

#define GELU_SCALE sqrtf(2.0f / M_PI)
__global__ void gelu(float* out, const float* inp, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    float xi = inp[i], cube = 0.044715f * xi * xi * xi;
    out[i] = 0.5f * xi * (1.0f + tanhf(GELU_SCALE * (xi + cube)));
  }
}

__global__ void swiglu_half2(const half2* gate, const half2* up, half2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 g = __half22float2(gate[i]), u = __half22float2(up[i]);
  g.x = g.x / (1.0f + __expf(-g.x)) * u.x;
  g.y = g.y / (1.0f + __expf(-g.y)) * u.y;
  out[i] = __float22half2_rn(g);
}

__global__ void cross_entropy(float* losses, float* dlogits, const float* logits, const int* targets, int V) {
  __shared__ float s[128];
  const float* x = logits + blockIdx.x * V;
  int t = threadIdx.x;
  float m = -FLT_MAX;
  for (int i = t; i < V; i += blockDim.x) m = fmaxf(m, x[i]);
  s[t] = m;
  for (int k = blockDim.x / 2; k > 0; k >>= 1) { __syncthreads(); if (t < k) s[t] = fmaxf(s[t], s[t + k]); }
  __syncthreads();
  m = s[0];
  __syncthreads();
  float sum = 0;
  for (int i = t; i < V; i += blockDim.x) sum += expf(x[i] - m);
  s[t] = sum;
  for (int k = blockDim.x / 2; k > 0; k >>= 1) { __syncthreads(); if (t < k) s[t] += s[t + k]; }
  __syncthreads();
  sum = s[0];
  int target = targets[blockIdx.x];
  assert(0 <= target && target < V);
  if (t == 0) losses[blockIdx.x] = logf(sum) - (x[target] - m);
  for (int i = t; i < V; i += blockDim.x) dlogits[blockIdx.x * V + i] = expf(x[i] - m) / sum - (i == target ? 1.0f : 0.0f);
}

__device__ inline float lerp(float start, float end, float weight) { return fma(weight, end, fma(-weight, start, start)); }
__global__ void adamw(float* params, const float* grads, float* m_memory, float* v_memory, long n, float lr, float b1, float b2,
                      float b1_correction, float b2_correction, float eps, float decay) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float grad = grads[i], m = m_memory[i], v = v_memory[i];
  m = lerp(grad, m, b1);
  m_memory[i] = m;
  v = lerp(grad * grad, v, b2);
  v_memory[i] = v;
  m /= b1_correction;
  v /= b2_correction;
  params[i] -= lr * (m / (sqrtf(v) + eps) + decay * params[i]);
}

__global__ void encoder_forward(float4* out, const int* inp, const float4* wte, const float4* wpe, int B, int T, int C4) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= B * T * C4) return;
  int bt = idx / C4, t = bt % T, c = idx % C4;
  float4 a = wte[inp[bt] * C4 + c], b = wpe[t * C4 + c];
  out[idx] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

__global__ void bias_grad(float* dbias, const float* dout, int rows, int C) {
  __shared__ float s[4][32];
  int c = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  if (c < C)
    for (int r = threadIdx.y; r < rows; r += 4) sum += dout[r * C + c];
  s[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && c < C) dbias[c] += s[0][threadIdx.x] + s[1][threadIdx.x] + s[2][threadIdx.x] + s[3][threadIdx.x];
}

template <int D>
__global__ void attention_row(const float* Q, const float* K, const float* V, float* O, int S, float scale) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= S) return;
  float q[D], acc[D], m = -INFINITY, l = 0;
  for (int d = 0; d < D; d++) { q[d] = Q[r * D + d] * scale; acc[d] = 0; }
  for (int j = 0; j <= r; j++) {
    float s = 0;
    for (int d = 0; d < D; d++) s += q[d] * K[j * D + d];
    float mn = fmaxf(m, s), c = __expf(m - mn), p = __expf(s - mn);
    l = l * c + p;
    for (int d = 0; d < D; d++) acc[d] = acc[d] * c + p * V[j * D + d];
    m = mn;
  }
  for (int d = 0; d < D; d++) O[r * D + d] = acc[d] / l;
}

__global__ void decode_attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, float* out, int len, int D) {
  extern __shared__ float att[];
  int h = blockIdx.x, t = threadIdx.x;
  for (int j = t; j < len; j += blockDim.x) {
    float s = 0;
    for (int d = 0; d < D; d++) s += __bfloat162float(q[h * D + d]) * __bfloat162float(k[(h * len + j) * D + d]);
    att[j] = s * rsqrtf((float)D);
  }
  __syncthreads();
  if (t == 0) {
    float m = att[0], sum = 0;
    for (int j = 1; j < len; j++) m = max(m, att[j]);
    for (int j = 0; j < len; j++) sum += att[j] = expf(att[j] - m);
    for (int j = 0; j < len; j++) att[j] /= sum;
  }
  __syncthreads();
  for (int d = t; d < D; d += blockDim.x) {
    float o = 0;
    for (int j = 0; j < len; j++) o += att[j] * __bfloat162float(v[(h * len + j) * D + d]);
    out[h * D + d] = o;
  }
}

__global__ void top_k(const float* x, float* values, int* indices, int n, int k) {
  __shared__ float best[128];
  __shared__ int at[128];
  __shared__ float bound;
  __shared__ int bound_at;
  int t = threadIdx.x;
  if (t == 0) { bound = INFINITY; bound_at = -1; }
  __syncthreads();
  for (int round = 0; round < k; round++) {
    float b = -INFINITY;
    int a = n;
    for (int i = t; i < n; i += blockDim.x) {
      float v = x[i];
      bool open = v < bound || (v == bound && i > bound_at);
      if (open && (v > b)) { b = v; a = i; }
    }
    best[t] = b;
    at[t] = a;
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
      __syncthreads();
      if (t < s && (best[t + s] > best[t] || (best[t + s] == best[t] && at[t + s] < at[t]))) { best[t] = best[t + s]; at[t] = at[t + s]; }
    }
    __syncthreads();
    if (t == 0) { values[round] = bound = best[0]; indices[round] = bound_at = at[0]; }
    __syncthreads();
  }
}

int main(int argc, char* argv[]) {
  if (argc > 1) printf("block size %d\n", atoi(argv[1]));
  float* d = make_random_float(1024);
  gelu<<<CEIL_DIV(1024, 128), 128>>>(d, d, 1024);
  cudaCheck(cudaGetLastError());
}
