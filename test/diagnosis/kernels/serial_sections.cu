// Row sums of a tile in shared memory: one thread walks them all, or every thread takes a part and shuffles.
constexpr int kRows = 16;
constexpr int kColumns = 128;

__device__ void load(float (&tile)[kRows][kColumns], const float* values) {
  for (int i = threadIdx.x; i < kRows * kColumns; i += blockDim.x) tile[i / kColumns][i % kColumns] = values[i];
}

extern "C" __global__ void one_thread(const float* values, float* sums) {
  __shared__ float tile[kRows][kColumns];
  load(tile, values);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int row = 0; row < kRows; ++row) {
      float sum = 0.0f;
      for (int column = 0; column < kColumns; ++column) sum += tile[row][column];
      sums[blockIdx.x * kRows + row] = sum;
    }
  }
  __syncthreads();
}

extern "C" __global__ void every_lane(const float* values, float* sums) {
  __shared__ float tile[kRows][kColumns];
  load(tile, values);
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int row = warp; row < kRows; row += blockDim.x / 32) {
    float sum = 0.0f;
    for (int column = lane; column < kColumns; column += 32) sum += tile[row][column];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    sums[blockIdx.x * kRows + row] = sum;
  }
  __syncthreads();
}
