#include <cuda_fp16.h>
#include <cuda_pipeline.h>

// Transposes of rows × columns floats, as tiles of 32 × 32.

extern "C" __global__ void transpose(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[32][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 32; i += blockDim.y) {
    const int row = blockIdx.y * 32 + i;
    if (row < rows && column < columns) tile[i][threadIdx.x] = in[row * columns + column];
  }
  __syncthreads();
  const int to = blockIdx.y * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 32; i += blockDim.y) {
    const int from = blockIdx.x * 32 + i;
    if (from < columns && to < rows) out[size_t(from) * rows + to] = tile[threadIdx.x][i];
  }
}

__device__ const float& at(const float* start, unsigned bytes) {
  return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(start) + bytes);
}

extern "C" __global__ void transpose_short(const float* in, float* out, unsigned rows, unsigned columns) {
  __shared__ float tile[32][33];
  const unsigned column = blockIdx.x * 32 + threadIdx.x;
  for (unsigned i = threadIdx.y; i < 32; i += blockDim.y) {
    const unsigned row = blockIdx.y * 32 + i;
    if (row < rows && column < columns) tile[i][threadIdx.x] = at(in, (row * columns + column) * 4u);
  }
  __syncthreads();
  const unsigned to = blockIdx.y * 32 + threadIdx.x;
  for (unsigned i = threadIdx.y; i < 32; i += blockDim.y) {
    const unsigned from = blockIdx.x * 32 + i;
    if (from < columns && to < rows) const_cast<float&>(at(out, (from * rows + to) * 4u)) = tile[threadIdx.x][i];
  }
}

// Each thread copies one element, or some, from the same place.

template <class T>
__device__ void copy(const void* in, void* out, long long first) {
  const long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
  static_cast<T*>(out)[i] = static_cast<const T*>(in)[i];
}

extern "C" __global__ void copy_bytes(const void* in, void* out, long long first) { copy<unsigned char>(in, out, first); }
extern "C" __global__ void copy_halves(const void* in, void* out, long long first) { copy<__half>(in, out, first); }
extern "C" __global__ void copy_words(const void* in, void* out, long long first) { copy<float>(in, out, first); }
extern "C" __global__ void copy_doubles(const void* in, void* out, long long first) { copy<double>(in, out, first); }
extern "C" __global__ void copy_pairs(const void* in, void* out, long long first) { copy<float2>(in, out, first); }
extern "C" __global__ void copy_fours(const void* in, void* out, long long first) { copy<float4>(in, out, first); }

/** Adds 1 to each half of a pair. */
extern "C" __global__ void add_halves(const __half2* in, __half2* out, long long first) {
  const long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
  out[i] = __hadd2(in[i], __float2half2_rn(1.0f));
}

/** A page for each thread. */
extern "C" __global__ void touches(const float* in, float* out) {
  const float value = in[(blockIdx.x * (long long)blockDim.x + threadIdx.x) * 1024];
  if (value < 0) out[0] = value;
}

extern "C" __global__ void past_end(const float* in, float* out, long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) {
    out[i + 1] = in[i]; // line: past the end
  }
}

extern "C" __global__ void before_start(const float* in, float* out, int count) {
  out[threadIdx.x] = in[int(threadIdx.x) - 1];
}

extern "C" __global__ void misaligned(const float* in, float* out, long long bytes) {
  out[threadIdx.x] = *reinterpret_cast<const float*>(reinterpret_cast<const char*>(in) + bytes + threadIdx.x);
}

/** Lanes go apart, and take other elements and other buffers. */
extern "C" __global__ void diverging(const float* in, float* out, long long first) {
  const long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
  float sum = 0;
  for (unsigned turn = 0; turn <= threadIdx.x % 5; turn++) {
    if ((threadIdx.x + turn) % 3 == 0) sum += in[i - 3000000LL * turn];
    else if (turn % 2) sum += 2 * in[i + turn];
  }
  if (threadIdx.x % 7 != 2) out[i] = sum;
}

/** All lanes read one element, and one lane writes. */
extern "C" __global__ void same_for_all(const float* in, float* out, long long place) {
  const float value = in[place + blockIdx.x];
  const float next = in[place + blockIdx.x + 1];
  if (threadIdx.x == 0) out[place + blockIdx.x] = value + next;
}

/** By a pointer of which the compiler does not know where it points. */
extern "C" __global__ void generic(const float* in, float* out, long long first) {
  __shared__ float own[64];
  const long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
  own[threadIdx.x] = 1000 + threadIdx.x;
  __syncthreads();
  const float* source = threadIdx.x % 2 ? own + threadIdx.x : in + i;
  float value;
  asm volatile("ld.f32 %0, [%1];" : "=f"(value) : "l"(source));
  asm volatile("st.f32 [%0], %1;" :: "l"(out + i), "f"(value) : "memory");
}

/** cp.async of 4 and of 16 bytes; of the latter, some lanes take fewer, and some none, from an address that is none. */
extern "C" __global__ void copied(const float* in, float* out, long long first) {
  __shared__ float4 fours[32];
  __shared__ float ones[32];
  const long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
  __pipeline_memcpy_async(&ones[threadIdx.x], in + i, 4);
  const bool takes = threadIdx.x % 4 != 3;
  const float* source = takes ? in + 4 * i : nullptr;
  __pipeline_memcpy_async(&fours[threadIdx.x], source, 16, takes ? threadIdx.x % 4 * 4 : 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const float4 four = fours[31 - threadIdx.x];
  out[i] = ones[31 - threadIdx.x] + 1000 * (four.x + four.y + four.z + four.w);
}

__device__ const float table[4] = {1, 10, 100, 1000};

extern "C" __global__ void by_table(const float* in, float* out, long long first) {
  const long long i = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
  out[i] = in[i] * table[i % 4];
}

__device__ float state[4];

extern "C" __global__ void sets_state(float* out) {
  state[threadIdx.x % 4] = 1;
  out[threadIdx.x] = 1;
}

extern "C" __global__ void reads_state(float* out) { out[threadIdx.x] = state[threadIdx.x % 4]; }

extern "C" __global__ void counts(const float* in, float* out) { atomicAdd(out, in[threadIdx.x]); }

extern "C" __global__ void flags(const float* in, volatile float* out) { out[threadIdx.x] = in[threadIdx.x]; }

extern "C" __global__ void spins(const float* in, float* out, int count) {
  float x = in[0];
  for (int i = 0; i < count; i++) x = x * 1.5f + in[i % 32];
  out[0] = x;
}
