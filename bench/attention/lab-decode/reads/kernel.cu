// K and V are only read, by plain loads: a floor for decoding. It writes nothing, so the lab times it unchecked.
// HINT = 1: lines are the first to be driven out of L2.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using Element = DTYPE;
__device__ uint4 load(const uint4* address) {
  uint4 x;
#if HINT == 0
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(address));
#else
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.relaxed.gpu.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "l"(address), "l"(policy));
#endif
  return x;
}
template <int kHeadDim>
__global__ void __launch_bounds__(THREADS) reads(const uint4* __restrict__ K, const uint4* __restrict__ V, Element* O,
                                                 int vectors,  // of 16 bytes, of K
                                                 float scale) {
  // Contiguous per CTA (MODE 0), or every grid-th piece (MODE 1), or by the SM's number (MODE 2).
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  const int cta = MODE == 2 ? (sm * (CTAS / 132) + blockIdx.x / 132) % CTAS : blockIdx.x;
  constexpr int kStep = THREADS * UNROLL;
  const int steps = (vectors + kStep - 1) / kStep;
  const int first = MODE == 1 ? cta : static_cast<int>(static_cast<long long>(steps) * cta / CTAS);
  const int last = MODE == 1 ? steps : static_cast<int>(static_cast<long long>(steps) * (cta + 1) / CTAS);
  unsigned all = 0;
  for (int s = first; s < last; s += MODE == 1 ? CTAS : 1) {
    uint4 k[UNROLL], v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      const int at = min(s * kStep + u * THREADS + static_cast<int>(threadIdx.x), vectors - 1);
      k[u] = load(K + at);
      v[u] = load(V + at);
    }
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");  // all are on their way before the first is waited for
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
      all = (all + v[u].x ^ v[u].y) + (v[u].z ^ v[u].w);
      all = (all + k[u].x ^ k[u].y) + (k[u].z ^ k[u].w);
    }
  }
  // Never; but the compiler does not know.
  if (all == 0x12345678) O[blockIdx.x * THREADS + threadIdx.x] = __ushort_as_half(all);
}
template __global__ void reads<128>(const uint4*, const uint4*, Element*, int, float);
