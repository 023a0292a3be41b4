// y[r] = mean of (x[r, c] − mean)², four ways.
extern "C" __global__ void two_pass(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float sum = 0.0f;
  for (int c = 0; c < N; ++c) sum += x[row * N + c];
  const float mean = sum / N;
  float squares = 0.0f;
  for (int c = 0; c < N; ++c) squares += (x[row * N + c] - mean) * (x[row * N + c] - mean);
  y[row] = squares / N;
}

extern "C" __global__ void welford(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float mean = 0.0f, squares = 0.0f;
  for (int c = 0; c < N; ++c) {
    const float difference = x[row * N + c] - mean;
    mean += difference / (c + 1);
    squares += difference * (x[row * N + c] - mean);
  }
  y[row] = squares / N;
}

// Every lane its own mean and squares, joined as Chan, Golub and LeVeque do.
extern "C" __global__ void chunked(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x;
  float mean = 0.0f, squares = 0.0f, count = 0.0f;
  for (int c = threadIdx.x; c < N; c += 32) {
    count += 1.0f;
    const float difference = x[row * N + c] - mean;
    mean += difference / count;
    squares += difference * (x[row * N + c] - mean);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float otherMean = __shfl_xor_sync(0xffffffff, mean, offset);
    const float otherSquares = __shfl_xor_sync(0xffffffff, squares, offset);
    const float otherCount = __shfl_xor_sync(0xffffffff, count, offset);
    const float total = count + otherCount;
    if (total > 0.0f) {
      const float difference = otherMean - mean;
      // Both sides of an exchange do the same, in the same order.
      const bool isLower = (threadIdx.x & offset) == 0;
      const float first = isLower ? mean : otherMean, firstCount = isLower ? count : otherCount;
      const float second = isLower ? otherMean : mean, secondCount = isLower ? otherCount : count;
      mean = (first * firstCount + second * secondCount) / total;
      squares = squares + otherSquares + difference * difference * count * otherCount / total;
    }
    count = total;
  }
  if (threadIdx.x == 0) y[row] = squares / N;
}

// Differences from the mean of sixteen values, so that a large mean does no harm in one pass. From one value alone they may all
// be large.
extern "C" __global__ void shifted(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float shift = 0.0f;
  for (int c = 0; c < 16; ++c) shift += x[row * N + c] / 16;
  float sum = 0.0f, squares = 0.0f;
  for (int c = 0; c < N; ++c) {
    const float difference = x[row * N + c] - shift;
    sum += difference;
    squares += difference * difference;
  }
  y[row] = (squares - sum * sum / N) / N;
}
