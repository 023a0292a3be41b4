// Reads a tile of 32 × 32 floats by columns; rows of 32 floats put a column into one bank, rows of 33 do not.
template <int kStride>
__device__ void transpose(const float* input, float* output, int rounds) {
  __shared__ float tile[32][kStride];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int row = warp; row < 32; row += blockDim.x / 32) tile[row][lane] = input[row * 32 + lane];
  __syncthreads();
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) sum += tile[lane][(round + warp) % 32];
  output[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void rows_of_32(const float* input, float* output, int rounds) {
  transpose<32>(input, output, rounds);
}
extern "C" __global__ void rows_of_33(const float* input, float* output, int rounds) {
  transpose<33>(input, output, rounds);
}
