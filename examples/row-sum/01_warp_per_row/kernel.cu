// 01_warp_per_row: lane l of a warp sums columns l, l + 32, ...; a butterfly of shuffles adds the 32 partial sums.
//
// Layouts   x: fp32 [rows, columns], row-major; y: fp32 [rows]. grid = ceil(rows / WARPS), block = 32 * WARPS.
// Bound     DRAM: 4 bytes per element and one addition; 4096 x 4096 is 64 MiB, 0.22 ms at 300 GB/s.
// Limits    None.
__global__ void row_sum(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  const int row = blockIdx.x * WARPS + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;  // the same for all lanes of a warp
  float sum = 0.0f;
  for (int c = lane; c < columns; c += 32) sum += x[static_cast<size_t>(row) * columns + c];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane == 0) y[row] = sum;
}
