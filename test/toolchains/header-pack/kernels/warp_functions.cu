// Shuffles of every type and width, votes, matches, reductions, lane masks. One warp.
constexpr unsigned int kAll = 0xffffffffu;

template <typename T>
__device__ void shuffles(const T* in, T* out) {
  const int lane = threadIdx.x;
  const T value = in[lane];
  out[lane] = __shfl_sync(kAll, value, (lane * 7 + 3) & 31);
  out[32 + lane] = __shfl_up_sync(kAll, value, 3);
  out[64 + lane] = __shfl_down_sync(kAll, value, 5);
  out[96 + lane] = __shfl_xor_sync(kAll, value, 9);
  out[128 + lane] = __shfl_sync(kAll, value, 2, 8);
  out[160 + lane] = __shfl_up_sync(kAll, value, 1, 4);
  out[192 + lane] = __shfl_down_sync(kAll, value, 2, 16);
  out[224 + lane] = __shfl_xor_sync(kAll, value, 3, 8);
}
extern "C" __global__ void shuffle_int(const int* in, int* out) { shuffles(in, out); }
extern "C" __global__ void shuffle_unsigned(const unsigned int* in, unsigned int* out) { shuffles(in, out); }
extern "C" __global__ void shuffle_long(const long* in, long* out) { shuffles(in, out); }
extern "C" __global__ void shuffle_long_long(const long long* in, long long* out) { shuffles(in, out); }
extern "C" __global__ void shuffle_unsigned_long_long(const unsigned long long* in, unsigned long long* out) { shuffles(in, out); }
extern "C" __global__ void shuffle_float(const float* in, float* out) { shuffles(in, out); }
extern "C" __global__ void shuffle_double(const double* in, double* out) { shuffles(in, out); }

extern "C" __global__ void votes(const int* in, unsigned int* out) {
  const int lane = threadIdx.x;
  const int value = in[lane];
  unsigned int* const mine = out + 12 * lane;
  mine[0] = __ballot_sync(kAll, value > 3);
  mine[1] = __any_sync(kAll, value == 9);
  mine[2] = __all_sync(kAll, value < 100);
  mine[3] = __match_any_sync(kAll, value);
  int all_equal;
  mine[4] = __match_all_sync(kAll, value / 64, &all_equal) + (all_equal ? 1u : 0u);
  mine[5] = __reduce_add_sync(kAll, (unsigned int)value);
  mine[6] = (unsigned int)__reduce_min_sync(kAll, value - 5);
  mine[7] = (unsigned int)__reduce_max_sync(kAll, value);
  mine[8] = __reduce_or_sync(kAll, 1u << value) ^ __reduce_and_sync(kAll, (unsigned int)value | 16u) ^ __reduce_xor_sync(kAll, (unsigned int)lane);
  __syncwarp();
  if (value > 3) {
    mine[9] = __popc(__activemask());
    __syncwarp(__ballot_sync(__activemask(), 1));
  } else {
    mine[9] = 0;
  }
  mine[10] = __match_any_sync(kAll, value * 0x100000001ll);
  mine[11] = __match_any_sync(kAll, (float)value);
}

// The usual reductions, over one warp and over a block through shared memory.
__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(kAll, value, offset);
  return value;
}
extern "C" __global__ void block_sum(const float* in, float* out) {
  __shared__ float partial[32];
  const float sum = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    const float total = warp_sum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
  }
}

extern "C" __global__ void block_votes(const int* in, int* out) {
  const int value = in[threadIdx.x];
  out[3 * threadIdx.x] = __syncthreads_count(value > 3);
  out[3 * threadIdx.x + 1] = __syncthreads_and(value < 1000) != 0;
  out[3 * threadIdx.x + 2] = __syncthreads_or(value == 12345) != 0;
}
