constexpr int D = 64;

// Step 1: all scores Q K^T / 8 of a head go to global memory. One thread each.
__global__ void scores(const float* __restrict__ Q, const float* __restrict__ K, float* __restrict__ P, int S) {
  const int j = blockIdx.x * 32 + threadIdx.x;
  const int i = blockIdx.y * 4 + threadIdx.y;
  const int head = blockIdx.z;
  if (i >= S || j >= S) return;
  const float* q = Q + (head * S + i) * D;
  const float* k = K + (head * S + j) * D;
  float dot = 0.0f;
  for (int d = 0; d < D; d++) dot += q[d] * k[d];
  P[(head * S + i) * S + j] = dot * 0.125f;
}

// Step 2: softmax of each row, in place. One warp per row.
__global__ void softmax(float* __restrict__ P, int S, int rows) {
  const int row = blockIdx.x * 4 + threadIdx.y;
  const int lane = threadIdx.x;
  if (row >= rows) return;
  float* p = P + static_cast<size_t>(row) * S;
  float largest = -INFINITY;
  for (int j = lane; j < S; j += 32) largest = fmaxf(largest, p[j]);
  for (int o = 16; o > 0; o /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, o));
  float total = 0.0f;
  for (int j = lane; j < S; j += 32) total += expf(p[j] - largest);
  for (int o = 16; o > 0; o /= 2) total += __shfl_xor_sync(0xffffffffu, total, o);
  for (int j = lane; j < S; j += 32) p[j] = expf(p[j] - largest) / total;
}

// Step 3: O = P V. One thread per element of O.
__global__ void output(const float* __restrict__ P, const float* __restrict__ V, float* __restrict__ O, int S) {
  const int d = threadIdx.x;
  const int i = blockIdx.x * 4 + threadIdx.y;
  const int head = blockIdx.y;
  if (i >= S) return;
  float sum = 0.0f;
  for (int j = 0; j < S; j++) sum += P[(head * S + i) * S + j] * V[(head * S + j) * D + d];
  O[(head * S + i) * D + d] = sum;
}
