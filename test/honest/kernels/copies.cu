// Transposes, and y = a · x + y in place.
constexpr int TILE = 16;

extern "C" __global__ void transpose_direct(const float* x, float* y, int M, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < M * N) y[i % N * (M + 3) + i / N] = x[i];
}

extern "C" __global__ void transpose_tile(const float* x, float* y, int M, int N) {
  __shared__ float tile[TILE][TILE + 1];
  const int row = threadIdx.x / TILE, column = threadIdx.x % TILE;
  const int m = blockIdx.y * TILE + row, n = blockIdx.x * TILE + column;
  if (m < M && n < N) tile[row][column] = x[m * N + n];
  __syncthreads();
  const int toRow = blockIdx.x * TILE + row, toColumn = blockIdx.y * TILE + column;
  if (toRow < N && toColumn < M) y[toRow * (M + 3) + toColumn] = tile[column][row];
}

extern "C" __global__ void axpy(const float* x, float* y, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 0.75f * x[i] + y[i];
}

extern "C" __global__ void axpy_grid_stride(const float* x, float* y, int N) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) y[i] = fmaf(0.75f, x[i], y[i]);
}

// Pairs, and one left over.
extern "C" __global__ void axpy_pairs(const float* x, float* y, int N) {
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 < N) {
    const float2 from = *reinterpret_cast<const float2*>(x + i);
    float2* to = reinterpret_cast<float2*>(y + i);
    *to = make_float2(0.75f * from.x + to->x, 0.75f * from.y + to->y);
  } else if (i < N) {
    y[i] = 0.75f * x[i] + y[i];
  }
}

// One of many launches: each does 64 elements and counts itself in a workspace that was zeroed before.
extern "C" __global__ void axpy_step(const float* x, float* y, int* position, int N) {
  const int first = *position;
  __syncthreads();
  const int i = first + threadIdx.x;
  if (i < N) y[i] = 0.75f * x[i] + y[i];
  if (threadIdx.x == 0) *position = first + 64;
}

// The workspace is zeroed once and left as it was found.
extern "C" __global__ void axpy_scratch(const float* x, float* y, int* claimed, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    atomicAdd(&claimed[i], 1);
    y[i] = 0.75f * x[i] + y[i];
    atomicSub(&claimed[i], 1);
  }
}
