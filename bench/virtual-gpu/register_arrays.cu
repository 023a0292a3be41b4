// Kernels that keep a tile in an array of their own and loop over it, without `#pragma unroll`. Where a compiler unrolls the
// loops, the array becomes registers; elsewhere it is indexed by a variable and lies in local memory.

// One query row per thread, head size 64. Q, K, V, O: [rows, 64].
extern "C" __global__ void attention_row(const float *Q, const float *K, const float *V, float *O, int rows, float scale) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float query[64], sum[64];
  for (int d = 0; d < 64; ++d) {
    query[d] = Q[row * 64 + d] * scale;
    sum[d] = 0.0f;
  }
  float maximum = -1e30f, total = 0.0f;
  for (int key = 0; key < rows; ++key) {
    float score = 0.0f;
    for (int d = 0; d < 64; ++d) score += query[d] * K[key * 64 + d];
    const float larger = fmaxf(maximum, score);
    const float correction = __expf(maximum - larger), weight = __expf(score - larger);
    total = total * correction + weight;
    for (int d = 0; d < 64; ++d) sum[d] = sum[d] * correction + weight * V[key * 64 + d];
    maximum = larger;
  }
  for (int d = 0; d < 64; ++d) O[row * 64 + d] = sum[d] / total;
}

// A tile of 64 × 64 of C = A·B per CTA of 64 threads, 8 × 8 per thread. A: [M, K], B: [K, N], multiples of the tile.
extern "C" __global__ void sgemm_8x8(const float *A, const float *B, float *C, int N, int K) {
  __shared__ float tileA[64][8], tileB[8][64];
  const int row = threadIdx.x / 8 * 8, column = threadIdx.x % 8 * 8;
  float sums[8][8] = {}, left[8], right[8];
  for (int first = 0; first < K; first += 8) {
    for (int i = threadIdx.x; i < 64 * 8; i += 64) {
      tileA[i / 8][i % 8] = A[(blockIdx.y * 64 + i / 8) * K + first + i % 8];
      tileB[i / 64][i % 64] = B[(first + i / 64) * N + blockIdx.x * 64 + i % 64];
    }
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
      for (int i = 0; i < 8; ++i) left[i] = tileA[row + i][k];
      for (int j = 0; j < 8; ++j) right[j] = tileB[k][column + j];
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) sums[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) C[(blockIdx.y * 64 + row + i) * N + blockIdx.x * 64 + column + j] = sums[i][j];
}

// A warp per row of 1024 values, 32 of them per lane.
extern "C" __global__ void softmax_row(const float *x, float *y) {
  float values[32], maximum = -1e30f, total = 0.0f;
  for (int i = 0; i < 32; ++i) {
    values[i] = x[blockIdx.x * 1024 + i * 32 + threadIdx.x];
    maximum = fmaxf(maximum, values[i]);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, lanes));
  for (int i = 0; i < 32; ++i) {
    values[i] = expf(values[i] - maximum);
    total += values[i];
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) total += __shfl_xor_sync(0xffffffffu, total, lanes);
  for (int i = 0; i < 32; ++i) y[blockIdx.x * 1024 + i * 32 + threadIdx.x] = values[i] / total;
}

// 32 taps, kept by every thread.
extern "C" __global__ void filter_32(const float *x, const float *taps, float *y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float own[32], sum = 0.0f;
  for (int k = 0; k < 32; ++k) own[k] = taps[k];
  if (i + 32 > count) return;
  for (int k = 0; k < 32; ++k) sum += own[k] * x[i + k];
  y[i] = sum;
}

// Odd-even transposition of 16 values per thread.
extern "C" __global__ void sort_16(int *x) {
  int values[16];
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  for (int i = 0; i < 16; ++i) values[i] = x[first + i];
  for (int round = 0; round < 16; ++round)
    for (int j = round & 1; j + 1 < 16; j += 2)
      if (values[j] > values[j + 1]) {
        const int larger = values[j];
        values[j] = values[j + 1];
        values[j + 1] = larger;
      }
  for (int i = 0; i < 16; ++i) x[first + i] = values[i];
}

// 5 × 5 weights, kept by every thread; zeros beyond the edges.
extern "C" __global__ void convolve_5x5(const float *x, const float *weights, float *y, int width, int height) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float own[25], sum = 0.0f;
  for (int i = 0; i < 25; ++i) own[i] = weights[i];
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) {
      const int r = row + i - 2, c = column + j - 2;
      if (r >= 0 && r < height && c >= 0 && c < width) sum += own[i * 5 + j] * x[r * width + c];
    }
  if (row < height && column < width) y[row * width + column] = sum;
}

// 16 counters per thread.
extern "C" __global__ void histogram_16(const unsigned char *data, unsigned *counts, int size) {
  unsigned own[16] = {};
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
    for (int bin = 0; bin < 16; ++bin) own[bin] += (data[i] >> 4) == bin;
  for (int bin = 0; bin < 16; ++bin) atomicAdd(&counts[bin], own[bin]);
}

// No array: nothing to unroll into registers.
extern "C" __global__ void row_sum(const float *x, float *y, int columns) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += x[blockIdx.x * columns + i];
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
