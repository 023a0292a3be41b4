// Right as long as numbers of elements fit 31 bits.
template <typename Offset>
__device__ Offset in_bytes(unsigned element) { return sizeof(Offset) == 8 ? (Offset)4 * element : (Offset)(4 * element); }

template <typename Offset>
__device__ void transpose(const char* X, char* Y, unsigned M, unsigned N) {
  __shared__ float tile[32][33];
  const unsigned first_m = blockIdx.y * 32, first_n = blockIdx.x * 32;
  for (unsigned i = threadIdx.y; i < 32; i += 8) {
    const unsigned m = first_m + i, n = first_n + threadIdx.x;
    if (m < M && n < N) tile[i][threadIdx.x] = *(const float*)(X + in_bytes<Offset>(m * N + n));
  }
  __syncthreads();
  for (unsigned i = threadIdx.y; i < 32; i += 8) {
    const unsigned n = first_n + i, m = first_m + threadIdx.x;
    if (m < M && n < N) *(float*)(Y + in_bytes<Offset>(n * M + m)) = tile[threadIdx.x][i];
  }
}
extern "C" __global__ void of_64_bits(const char* X, char* Y, unsigned M, unsigned N) { transpose<size_t>(X, Y, M, N); }
extern "C" __global__ void of_32_bits(const char* X, char* Y, unsigned M, unsigned N) { transpose<unsigned>(X, Y, M, N); }
extern "C" __global__ void of_31_bits(const char* X, char* Y, unsigned M, unsigned N) { transpose<int>(X, Y, M, N); }

// An element too far.
extern "C" __global__ void too_far(const char* X, char* Y, unsigned M, unsigned N) { transpose<size_t>(X, Y + 4, M, N); }
