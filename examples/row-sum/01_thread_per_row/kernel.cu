// 01_thread_per_row: thread t adds up row t.
//
// Layouts   x: fp32 [rows, columns], row-major; y: fp32 [rows]. grid = ceil(rows / 128), block = 128.
// Bound     Neighbouring lanes read addresses one row apart: each request of 32 lanes touches 32 sectors, of which it
//           uses 4 bytes each. A warp has 32 rows, so 1024 rows are 8 CTAs: most SMs of a large GPU have nothing to do.
// Limits    None.
__global__ void row_sum(const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < columns; c++) sum += x[static_cast<size_t>(row) * columns + c];
  y[row] = sum;
}
