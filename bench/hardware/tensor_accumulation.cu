// Bits that the tensor cores give for mma.sync with f32 accumulators, on inputs that tell summation orders apart.
//
// Prints one JSON line per case: {"form", "kind", "index", "d": [128 hexadecimal words, row-major 16 × 8]}. Inputs follow
// from the case alone (see fill), so test/virtual-gpu/tensor draws them again and compares the virtual GPU's bits.
//   nvcc -std=c++17 -arch=sm_90 -o tensor_accumulation tensor_accumulation.cu && ./tensor_accumulation > cases.jsonl
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

constexpr int kM = 16, kN = 8, kMaxK = 16;

struct Inputs {
  float a[kM * kMaxK];  // [16, K]
  float b[kMaxK * kN];  // [K, 8]
  float c[kM * kN];
};

__device__ uint32_t pack(float low, float high, bool bf16) {
  if (bf16)
    return static_cast<uint32_t>(__bfloat16_as_ushort(__float2bfloat16(low))) |
           static_cast<uint32_t>(__bfloat16_as_ushort(__float2bfloat16(high))) << 16;
  return static_cast<uint32_t>(__half_as_ushort(__float2half_rn(low))) |
         static_cast<uint32_t>(__half_as_ushort(__float2half_rn(high))) << 16;
}

// kForm: 0 = m16n8k16 f16, 1 = m16n8k8 f16, 2 = m16n8k16 bf16, 3 = m16n8k8 tf32.
template <int kForm>
__global__ void multiply(const Inputs* in, float* d_out) {
  constexpr int kK = kForm == 0 || kForm == 2 ? 16 : 8;
  const int group = threadIdx.x / 4, quad = threadIdx.x % 4;
  uint32_t a[4] = {}, b[2] = {};
  for (int r = 0; r < 4; ++r) {
    const int row = group + (r % 2) * 8;
    if (kForm == 3) {
      a[r] = __float_as_uint(in->a[row * kK + quad + (r / 2) * 4]);
    } else if (r < kK / 4) {
      const int column = quad * 2 + (r / 2) * 8;
      a[r] = pack(in->a[row * kK + column], in->a[row * kK + column + 1], kForm == 2);
    }
  }
  for (int r = 0; r < 2; ++r) {
    if (kForm == 3) {
      b[r] = __float_as_uint(in->b[(quad + r * 4) * kN + group]);
    } else if (r < kK / 8) {
      const int row = quad * 2 + r * 8;
      b[r] = pack(in->b[row * kN + group], in->b[(row + 1) * kN + group], kForm == 2);
    }
  }
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = in->c[(group + (i / 2) * 8) * kN + quad * 2 + i % 2];
  if constexpr (kForm == 0)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (kForm == 1)
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  else if constexpr (kForm == 2)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) d_out[(group + (i / 2) * 8) * kN + quad * 2 + i % 2] = d[i];
}

uint32_t state;
uint32_t next_random() {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

float quantise(float value, int form) {
  if (form < 2) return __half2float(__float2half_rn(value));
  uint32_t bits;
  memcpy(&bits, &value, 4);
  bits &= form == 2 ? 0xffff0000u : 0xffffe000u;
  memcpy(&value, &bits, 4);
  return value;
}

// Kind 0: uniform in [-1, 1). Kind 1: magnitudes from 2^-8 to 2^7. Kind 2: as 1, and C cancels the exact product.
float draw(int kind) {
  const uint32_t r = next_random(), s = next_random();
  if (kind == 0) return static_cast<float>(r) / 8388608.0f - 1.0f;
  const float magnitude = (1.0f + static_cast<float>(r) / 16777216.0f) * static_cast<float>(1 << (s % 16)) / 256.0f;
  return (s >> 8) & 1 ? -magnitude : magnitude;
}

void fill(Inputs& in, int form, int kind, int index) {
  const int K = form == 0 || form == 2 ? 16 : 8;
  state = 1 + form * 1000 + kind * 100 + index;
  for (int i = 0; i < kM * K; ++i) in.a[i] = quantise(draw(kind), form);
  for (int i = 0; i < K * kN; ++i) in.b[i] = quantise(draw(kind), form);
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column) {
      double exact = 0;
      for (int k = 0; k < K; ++k) exact += static_cast<double>(in.a[row * K + k]) * in.b[k * kN + column];
      in.c[row * kN + column] = kind == 2 ? static_cast<float>(-exact) : draw(kind);
    }
}

int main() {
  Inputs host, *device;
  float result[kM * kN], *out;
  cudaMalloc(&device, sizeof(Inputs));
  cudaMalloc(&out, sizeof(result));
  const char* names[] = {"m16n8k16.f16", "m16n8k8.f16", "m16n8k16.bf16", "m16n8k8.tf32"};
  for (int form = 0; form < 4; ++form)
    for (int kind = 0; kind < 3; ++kind)
      for (int index = 0; index < 8; ++index) {
        fill(host, form, kind, index);
        cudaMemcpy(device, &host, sizeof(Inputs), cudaMemcpyHostToDevice);
        if (form == 0) multiply<0><<<1, 32>>>(device, out);
        if (form == 1) multiply<1><<<1, 32>>>(device, out);
        if (form == 2) multiply<2><<<1, 32>>>(device, out);
        if (form == 3) multiply<3><<<1, 32>>>(device, out);
        cudaMemcpy(result, out, sizeof(result), cudaMemcpyDeviceToHost);
        printf("{\"form\":\"%s\",\"kind\":%d,\"index\":%d,\"d\":[", names[form], kind, index);
        for (int i = 0; i < kM * kN; ++i) {
          uint32_t bits;
          memcpy(&bits, &result[i], 4);
          printf("%s\"%08x\"", i ? "," : "", bits);
        }
        printf("]}\n");
      }
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
