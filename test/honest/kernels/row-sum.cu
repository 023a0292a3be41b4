// y[r] = Σ x[r, c]: the same sum in a dozen orders.
constexpr int WARP = 32;
constexpr int THREADS = 128;
constexpr int SPLITS = 4;

__device__ float warp_sum(float value) {
  for (int offset = WARP / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

extern "C" __global__ void serial(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float sum = 0.0f;
  for (int c = 0; c < N; ++c) sum += x[row * N + c];
  y[row] = sum;
}

extern "C" __global__ void reversed(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float sum = 0.0f;
  for (int c = N - 1; c >= 0; --c) sum += x[row * N + c];
  y[row] = sum;
}

// What an addition rounds off is carried over.
extern "C" __global__ void kahan(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float sum = 0.0f, carry = 0.0f;
  for (int c = 0; c < N; ++c) {
    const float term = __fsub_rn(x[row * N + c], carry);
    const float next = __fadd_rn(sum, term);
    carry = __fsub_rn(__fsub_rn(next, sum), term);
    sum = next;
  }
  y[row] = sum;
}

// Four independent sums hide the latency of an addition.
extern "C" __global__ void four_sums(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float sums[4] = {};
  int c = 0;
  for (; c + 4 <= N; c += 4) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] += x[row * N + c + i];
  }
  for (; c < N; ++c) sums[0] += x[row * N + c];
  y[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

extern "C" __global__ void warp_per_row(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += WARP) sum += x[row * N + c];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[row] = sum;
}

extern "C" __global__ void shared_tree(const float* x, float* y, int R, int N) {
  __shared__ float values[THREADS];
  const int row = blockIdx.x;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += THREADS) sum += x[row * N + c];
  values[threadIdx.x] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[row] = values[0];
}

// Vectors of four where the row begins on 16 bytes; what is left before and after one by one.
extern "C" __global__ void vectors(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x;
  const float* values = x + row * N;
  const int head = min(N, (4 - (row * N) % 4) % 4);
  const int count = (N - head) / 4;
  const float4* quads = reinterpret_cast<const float4*>(values + head);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < head; i += WARP) sum += values[i];
  for (int i = threadIdx.x; i < count; i += WARP) sum += (quads[i].x + quads[i].y) + (quads[i].z + quads[i].w);
  for (int i = head + 4 * count + threadIdx.x; i < N; i += WARP) sum += values[i];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[row] = sum;
}

// A few CTAs go over all rows.
extern "C" __global__ void persistent(const float* x, float* y, int R, int N) {
  for (int row = blockIdx.x; row < R; row += gridDim.x) {
    float sum = 0.0f;
    for (int c = threadIdx.x; c < N; c += WARP) sum += x[row * N + c];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) y[row] = sum;
  }
}

extern "C" __global__ void in_double(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  double sum = 0.0;
  for (int c = 0; c < N; ++c) sum += x[row * N + c];
  y[row] = static_cast<float>(sum);
}

__device__ float part_of(const float* x, int row, int part, int N) {
  const int length = (N + SPLITS - 1) / SPLITS;
  const int end = min(N, (part + 1) * length);
  float sum = 0.0f;
  for (int c = part * length + threadIdx.x; c < end; c += WARP) sum += x[row * N + c];
  return warp_sum(sum);
}

extern "C" __global__ void split(const float* x, float* partials, int R, int N) {
  const float sum = part_of(x, blockIdx.x, blockIdx.y, N);
  if (threadIdx.x == 0) partials[blockIdx.x * SPLITS + blockIdx.y] = sum;
}
extern "C" __global__ void join(const float* partials, float* y, int R) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float sum = 0.0f;
  for (int i = 0; i < SPLITS; ++i) sum += partials[row * SPLITS + i];
  y[row] = sum;
}

// The CTA that comes last adds up what the others left. Which one that is makes no difference to the sum.
extern "C" __global__ void last_block(const float* x, float* y, float* partials, unsigned* arrived, int R, int N) {
  const int row = blockIdx.x;
  const float sum = part_of(x, row, blockIdx.y, N);
  if (threadIdx.x != 0) return;
  partials[row * SPLITS + blockIdx.y] = sum;
  __threadfence();
  if (atomicAdd(&arrived[row], 1u) % SPLITS != SPLITS - 1) return;
  __threadfence();
  float total = 0.0f;
  for (int i = 0; i < SPLITS; ++i) total += __ldcg(&partials[row * SPLITS + i]);
  y[row] = total;
}
