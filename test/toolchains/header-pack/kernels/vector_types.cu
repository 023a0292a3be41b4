// The built-in vector types: sizes, alignment, construction, whole-value loads and stores.
#include <vector_types.h>
static_assert(sizeof(char3) == 3 && alignof(char4) == 4 && alignof(short3) == 2 && alignof(ushort4) == 8, "");
static_assert(sizeof(int3) == 12 && alignof(int2) == 8 && alignof(int4) == 16 && alignof(float4) == 16, "");
static_assert(sizeof(float3) == 12 && alignof(float3) == 4 && alignof(double2) == 16 && sizeof(double4) == 32, "");
static_assert(alignof(longlong2) == 16 && alignof(ulonglong2) == 16 && sizeof(dim3) == 12, "");

// float4 is a plain struct: users give it operators.
__device__ inline float4 operator+(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ inline float4& operator+=(float4& a, const float4& b) { return a = a + b; }

extern "C" __global__ void vectors(const float4* a, const float4* b, float4* sum, const int2* pairs, int* flat, double2* doubles,
                                   const uchar4* bytes, uchar4* reversed, float3* triples) {
  const int i = threadIdx.x;
  float4 total = a[i] + b[i];
  total += make_float4(1, 2, 3, 4);
  float* const components = &total.x;
  components[2] = -components[2];
  sum[i] = total;
  const int2 pair = pairs[i];
  *reinterpret_cast<int2*>(&flat[2 * i]) = make_int2(pair.y, pair.x);
  doubles[i] = double2{pair.x * 0.5, pair.y * 2.0};
  const uchar4 four = bytes[i];
  reversed[i] = {four.w, four.z, four.y, four.x};
  const float3 triple = {a[i].x, b[i].y, 7.0f};
  triples[i] = triple;
}

union Bits {
  float4 floats;
  unsigned int words[4];
  uint2 halves[2];
};
extern "C" __global__ void reinterpreted(const float4* in, unsigned int* out) {
  Bits bits;
  bits.floats = in[threadIdx.x];
  bits.words[0] ^= 0x80000000u;
  const Bits copy = bits;
  for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = copy.words[i] + (i == 3 ? copy.halves[1].x : 0);
}
