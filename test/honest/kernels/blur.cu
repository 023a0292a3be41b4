// y[r, c] = mean of x[r, c − 3 … c + 3], zeros beyond the row's ends.
constexpr int RADIUS = 3;

__device__ float at(const float* row, int c, int N) { return c >= 0 && c < N ? row[c] : 0.0f; }

extern "C" __global__ void window(const float* x, float* y, int R, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= R * N) return;
  float sum = 0.0f;
  for (int offset = -RADIUS; offset <= RADIUS; ++offset) sum += at(x + i / N * N, i % N + offset, N);
  y[i] = sum / (2 * RADIUS + 1);
}

// One addition and one subtraction an element; errors stay in the sum until the row ends.
extern "C" __global__ void running_sum(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float sum = 0.0f;
  for (int c = 0; c < RADIUS; ++c) sum += at(x + row * N, c, N);
  for (int c = 0; c < N; ++c) {
    sum += at(x + row * N, c + RADIUS, N);
    y[row * N + c] = sum * (1.0f / (2 * RADIUS + 1));
    sum -= at(x + row * N, c - RADIUS, N);
  }
}

// Differences of prefix sums.
extern "C" __global__ void prefix_sums(const float* x, float* y, int R, int N) {
  extern __shared__ float prefix[];  // prefix[c] = Σ x[0 … c − 1]
  const int row = blockIdx.x;
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int c = 0; c < N; ++c) {
      prefix[c] = sum;
      sum += x[row * N + c];
    }
    prefix[N] = sum;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < N; c += 32)
    y[row * N + c] = (prefix[min(N, c + RADIUS + 1)] - prefix[max(0, c - RADIUS)]) / (2 * RADIUS + 1);
}
