// Cache-hinted loads and stores, constant, shared and local memory, address-space conversions, fences.
#define KERNEL_COPY(name, type)                                                        \
  extern "C" __global__ void name##_kernel(const type* in, type* out) {                \
    const int i = threadIdx.x, n = blockDim.x;                                         \
    __stwb(out + i, __ldg(in + i));                                                    \
    __stcg(out + n + i, __ldcg(in + i));                                               \
    __stcs(out + 2 * n + i, __ldcs(in + i));                                           \
    __stwt(out + 3 * n + i, __ldca(in + i));                                           \
    out[4 * n + i] = __ldlu(in + i);                                                   \
    out[5 * n + i] = __ldcv(in + i);                                                   \
  }
KERNEL_COPY(char, char)
KERNEL_COPY(signed_char, signed char)
KERNEL_COPY(unsigned_char, unsigned char)
KERNEL_COPY(short, short)
KERNEL_COPY(unsigned_short, unsigned short)
KERNEL_COPY(int, int)
KERNEL_COPY(unsigned_int, unsigned int)
KERNEL_COPY(long, long)
KERNEL_COPY(long_long, long long)
KERNEL_COPY(unsigned_long_long, unsigned long long)
KERNEL_COPY(float, float)
KERNEL_COPY(double, double)
KERNEL_COPY(char2, char2)
KERNEL_COPY(uchar4, uchar4)
KERNEL_COPY(short2, short2)
KERNEL_COPY(ushort4, ushort4)
KERNEL_COPY(int2, int2)
KERNEL_COPY(int4, int4)
KERNEL_COPY(uint2, uint2)
KERNEL_COPY(uint4, uint4)
KERNEL_COPY(longlong2, longlong2)
KERNEL_COPY(float2, float2)
KERNEL_COPY(float4, float4)
KERNEL_COPY(double2, double2)

__constant__ float kWeights[4] = {1.0f, 10.0f, 100.0f, 1000.0f};
__device__ int counters[2] = {5, 7};
extern __shared__ __align__(16) unsigned char dynamic_memory[];

template <typename T>
struct Tile {
  T values[32];
};

extern "C" __global__ void spaces(const float* in, float* out, int rows) {
  __shared__ Tile<float> tile;
  float* const scratch = reinterpret_cast<float*>(dynamic_memory);
  const int i = threadIdx.x;
  tile.values[i] = in[i];
  scratch[i] = in[i] * kWeights[i & 3];
  __threadfence_block();
  __syncthreads();
  float local[8];
  for (int j = 0; j < 8; j++) local[(j * rows) & 7] = tile.values[(i + j) & 31];
  // A generic pointer whose space only the run decides.
  const float* const either = (i & 1) != 0 ? scratch : in;
  out[i] = local[rows & 7] + either[31 - i] + counters[i & 1];
  out[32 + i] = __isShared(scratch) + 2 * __isGlobal(in) + 4 * __isLocal(local) + 8 * __isGlobal(tile.values);
  const size_t shared_address = __cvta_generic_to_shared(&tile.values[i]);
  float through_address;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(through_address) : "r"((unsigned int)shared_address));
  out[64 + i] = through_address + *static_cast<const float*>(__cvta_shared_to_generic(shared_address));
  __threadfence();
}
