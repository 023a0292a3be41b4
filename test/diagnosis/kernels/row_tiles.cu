// A CTA takes `tile` rows, one after the other, each a chain; rows beyond the last one are skipped.
extern "C" __global__ void row_tiles(float* values, int rows, int tile, int rounds) {
  const int first = blockIdx.x * tile;
  for (int row = first; row < first + tile && row < rows; ++row) {
    const int i = row * blockDim.x + threadIdx.x;
    float value = values[i];
    for (int round = 0; round < rounds; ++round) value = value * 0.5f + 1.0f;
    values[i] = value;
  }
}
