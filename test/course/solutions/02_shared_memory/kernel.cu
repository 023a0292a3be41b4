constexpr int RADIUS = 16;
constexpr int BLOCK = 256;

// The block loads what its threads need together, once; each thread then adds up 33 elements of shared memory.
__global__ void blur(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float tile[BLOCK + 2 * RADIUS];
  const int first = blockIdx.x * BLOCK - RADIUS;
  for (int t = threadIdx.x; t < BLOCK + 2 * RADIUS; t += BLOCK) {
    const int j = first + t;
    tile[t] = j >= 0 && j < n ? x[j] : 0.0f;
  }
  __syncthreads();
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = 0; k <= 2 * RADIUS; k++) sum += tile[threadIdx.x + k];
  y[i] = sum / (2 * RADIUS + 1);
}
