// Row sums or column sums of a matrix [rows, columns], several passes over it: lane i reads row i, or column i.
extern "C" __global__ void lane_reads_row(const float* matrix, float* sums, int rows, int columns, int passes) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < passes * columns; ++i) sum += matrix[row * columns + i % columns];
  sums[row] = sum;
}

extern "C" __global__ void lane_reads_column(const float* matrix, float* sums, int rows, int columns, int passes) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0.0f;
  for (int i = 0; i < passes * rows; ++i) sum += matrix[i % rows * columns + column];
  sums[column] = sum;
}
