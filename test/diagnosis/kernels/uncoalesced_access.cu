// Column sums or row sums of a matrix [rows, columns]: lane i reads row i, or column i.
extern "C" __global__ void lane_reads_row(const float* matrix, float* sums, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int column = 0; column < columns; ++column) sum += matrix[row * columns + column];
  sums[row] = sum;
}

extern "C" __global__ void lane_reads_column(const float* matrix, float* sums, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0.0f;
  for (int row = 0; row < rows; ++row) sum += matrix[row * columns + column];
  sums[column] = sum;
}
