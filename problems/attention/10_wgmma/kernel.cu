// 10_wgmma: Hopper's own instructions: TMA fills swizzled tiles, warpgroups multiply them out of shared memory.
//
// Idea      One thread of a producer warpgroup keeps a ring of K and V tiles full with bulk tensor copies (TMA), which
//           report to mbarriers. Each consumer warpgroup owns 64 query rows: wgmma multiplies Q (shared) with K (shared)
//           into fp32 registers; the softmax turns these into 16-bit weights in registers, which are already laid out as
//           the A operand of the second product; V (shared) is B. Nobody copies, nobody converts layouts.
// Change    From 09: wgmma instead of mma.sync (B comes straight from shared memory, no ldmatrix, no fragments of K and
//           V in registers), TMA instead of cp.async (one instruction for a tile; rows behind S arrive as zeros), and
//           producers apart from consumers, to which setmaxnreg moves the registers.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B * H, S, D]. Tensor maps (D, S, B * H), boxes of 64 columns: a tile of R
//           rows lies in shared memory as ceil(D / 64) panels of R rows x 128 bytes, 16-byte chunks XORed with row % 8
//           (128-byte swizzle). K is K-major for Q * K^T, V is MN-major for P * V: neither is transposed. Columns from D
//           on arrive as zeros. grid = (ceil(S / BLOCK_M), B * H), BLOCK_M = 64 CONSUMERS; block = 128 (CONSUMERS + 1).
// Tile      64 rows x BLOCK_N keys per consumer warpgroup: a thread has 2 rows, BLOCK_N / 4 keys of each.
// Resources Shared bytes: 128 ceil(D / 64) (BLOCK_M + 2 STAGES BLOCK_N): 88 KiB for 192 x 128, 2 stages, D = 64.
//           Registers: 160 (3 consumers) or 240 (2): D / 2 output + BLOCK_N / 2 scores + BLOCK_N / 4 weights.
// Bound     H200, B4 H16 S4096 D64: 275 GFLOP at 4096 FLOP/clk/SM * 132 SMs * 1.98 GHz = 1070 TFLOP/s is 257 us; 1.07 G
//           exponentials at 16/clk/SM are 257 us, too. A warpgroup does one after the other; three of them overlap by
//           chance: the sum of the two, 514 us, is what to expect at best.
// Limits    sm_90a; D in {32, 64, 96, 128}; any S >= 1; B * H <= 65535 (grid.y).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kConsumers = CONSUMERS;    // warpgroups that compute
constexpr int kBlockM = 64 * kConsumers;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;          // keys per tile
constexpr int kStages = STAGES;           // tiles of K, and of V, in shared memory
constexpr int kThreads = 128 * (kConsumers + 1);
// setmaxnreg: a CTA starts with 65536 / kThreads registers per thread and may redistribute these.
constexpr int kProducerRegisters = kConsumers == 2 ? 24 : 32;
constexpr int kConsumerRegisters = kConsumers == 2 ? 240 : 160;

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLowest = -1e30f;  // below every score; finite, so that differences are no NaN

// ---- mbarriers and TMA ----

// A CUtensorMap: written by the driver, read by the copy engine.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void init(unsigned long long& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

__device__ void arrive(unsigned long long& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// Arrives, and keeps the phase open until so many bytes have come from copies.
__device__ void expect(unsigned long long& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}

// Returns when the phase of this parity is complete.
__device__ void wait(unsigned long long& barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
      "@!complete bra again;\n"
      "}\n" ::"r"(shared_address(&barrier)),
      "r"(parity)
      : "memory");
}

// A box of rows x 64 columns of [B * H, S, D], from (head, row, column) on; zeros outside.
__device__ void copy_box(void* tile, const TensorMap& map, int column, int row, int head, unsigned long long& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
          shared_address(tile)),
      "l"(&map), "r"(column), "r"(row), "r"(head), "r"(shared_address(&barrier))
      : "memory");
}

// A place in the ring of stages, and the parity of its round.
struct Place {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

// ---- wgmma: 64 x N accumulators in registers, 16 terms per instruction ----
// A thread t of the warpgroup has rows t / 32 * 16 + t % 32 / 4 + {0, 8}; accumulator i is of row i / 2 % 2, column
// i / 4 * 8 + t % 4 * 2 + i % 2.

// A swizzled panel as an operand. `leading_bytes`: from one panel to the next, where N goes over panels.
__device__ unsigned long long operand(const void* panel, int leading_bytes = 0) {
  const unsigned long long address = shared_address(panel) >> 4;
  return address | static_cast<unsigned long long>(leading_bytes >> 4) << 16 |
         static_cast<unsigned long long>(kSwizzleBytes >> 4) << 32 | 1ull << 62;
}

// The operand `bytes` further on; offsets are in units of 16 bytes.
__device__ unsigned long long further(unsigned long long operand, int bytes) { return operand + (bytes >> 4); }

template <int kColumns>
struct Wgmma;

#define REGISTERS_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_1 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_2 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_3 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_4 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define REGISTERS_5 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)

#define MULTIPLY_SHARED(N, TYPES, REGISTERS, n0, n1, n2, ...)                                            \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n2 ", 0;\n"                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPES " {" REGISTERS "}, %" #n0 ", %" #n1\
               ", p, 1, 1, 0, 0;\n}\n"                                                                   \
               : __VA_ARGS__                                                                             \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))
#define MULTIPLY_REGISTERS(N, TYPES, REGISTERS, n0, n1, n2, n3, n4, n5, ...)                             \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n5 ", 0;\n"                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPES " {" REGISTERS "}, {%" #n0 ", %" #n1\
               ", %" #n2 ", %" #n3 "}, %" #n4 ", p, 1, 1, 1;\n}\n"                                       \
               : __VA_ARGS__                                                                             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)))

// For N columns; n0 ... n5 are the numbers of the operands behind the N / 2 accumulators.
//   shared:    d = a * b^T + (accumulate ? d : 0), both K-major in shared memory.
//   registers: d = a * b   + (accumulate ? d : 0), a: 4 registers of pairs, b MN-major in shared memory.
#define WGMMA(N, REGISTERS, n0, n1, n2, n3, n4, n5, ...)                                                         \
  template <>                                                                                                    \
  struct Wgmma<N> {                                                                                              \
    static __device__ __forceinline__ void shared(float (&d)[N / 2], unsigned long long a, unsigned long long b, \
                                                  bool accumulate) {                                             \
      if constexpr (kIsHalf) {                                                                                   \
        MULTIPLY_SHARED(N, "f16.f16", REGISTERS, n0, n1, n2, __VA_ARGS__);                                       \
      } else {                                                                                                   \
        MULTIPLY_SHARED(N, "bf16.bf16", REGISTERS, n0, n1, n2, __VA_ARGS__);                                     \
      }                                                                                                          \
    }                                                                                                            \
    static __device__ __forceinline__ void registers(float (&d)[N / 2], const unsigned* a, unsigned long long b, \
                                                     bool accumulate) {                                          \
      if constexpr (kIsHalf) {                                                                                   \
        MULTIPLY_REGISTERS(N, "f16.f16", REGISTERS, n0, n1, n2, n3, n4, n5, __VA_ARGS__);                        \
      } else {                                                                                                   \
        MULTIPLY_REGISTERS(N, "bf16.bf16", REGISTERS, n0, n1, n2, n3, n4, n5, __VA_ARGS__);                      \
      }                                                                                                          \
    }                                                                                                            \
  };

WGMMA(32, REGISTERS_0, 16, 17, 18, 19, 20, 21, D16(0))
WGMMA(64, REGISTERS_0 REGISTERS_1, 32, 33, 34, 35, 36, 37, D16(0), D16(16))
WGMMA(96, REGISTERS_0 REGISTERS_1 REGISTERS_2, 48, 49, 50, 51, 52, 53, D16(0), D16(16), D16(32))
WGMMA(128, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3, 64, 65, 66, 67, 68, 69, D16(0), D16(16), D16(32), D16(48))
WGMMA(160, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4, 80, 81, 82, 83, 84, 85, D16(0), D16(16),
      D16(32), D16(48), D16(64))
WGMMA(192, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4 REGISTERS_5, 96, 97, 98, 99, 100, 101, D16(0),
      D16(16), D16(32), D16(48), D16(64), D16(80))

// The accumulators belong to wgmma from `begin` to `finish`; the empty statements keep the compiler's hands off them.
template <int kCount>
__device__ __forceinline__ void begin(float (&accumulators)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

template <int kCount>
__device__ __forceinline__ void finish(float (&accumulators)[kCount]) {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
}

// ---- softmax ----

__device__ float exp2_approximately(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ unsigned pack(float low, float high) {
  unsigned pair;
  if constexpr (kIsHalf) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

// Over the 4 lanes that share a row.
__device__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}

__device__ float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

// Lane j of a quad has piece i of its row's chunk i = 0 ... 3; afterwards it has all 4 pieces of chunk j.
__device__ void transpose_in_quad(unsigned (&piece)[4]) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2) {
    const bool is_upper = threadIdx.x & bit;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      const unsigned received = __shfl_xor_sync(kAllLanes, is_upper ? piece[i] : piece[i | bit], bit);
      if (is_upper) {
        piece[i] = received;
      } else {
        piece[i | bit] = received;
      }
    }
  }
}

// ---- the kernel ----

template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = (kHeadDim + kPanelColumns - 1) / kPanelColumns;
  Element Q[kConsumers][kPanels][64][kPanelColumns];
  Element K[kStages][kPanels][kBlockN][kPanelColumns];
  Element V[kStages][kPanels][kBlockN][kPanelColumns];
  unsigned long long Q_full, K_full[kStages], V_full[kStages], K_empty[kStages], V_empty[kStages];
};

// All panels of a tile of kRows rows.
template <int kPanels, int kRows>
__device__ void copy_tile(Element (&tile)[kPanels][kRows][kPanelColumns], const TensorMap& map, int row, int head,
                          unsigned long long& barrier) {
#pragma unroll
  for (int p = 0; p < kPanels; ++p) copy_box(tile[p], map, p * kPanelColumns, row, head, barrier);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    attention(const __grid_constant__ TensorMap Q,  // boxes of 64 rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              Element* __restrict__ O,              // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  using Tiles = SharedTiles<kHeadDim>;
  extern __shared__ unsigned char shared_bytes[];
  Tiles& smem = *reinterpret_cast<Tiles*>(shared_bytes + (-shared_address(shared_bytes) & (kSwizzleBytes - 1)));

  // Shuffled, so that the compiler knows it to be the same in a warp.
  const int warpgroup = __shfl_sync(kAllLanes, threadIdx.x / 128, 0);
  const int lane = threadIdx.x % 32;
  const int head = blockIdx.y;
  const int first_row = blockIdx.x * kBlockM;
  const int keys = causal ? min(S, first_row + kBlockM) : S;  // that any row of the CTA sees
  const int key_tiles = (keys + kBlockN - 1) / kBlockN;

  if (threadIdx.x == 0) {
    init(smem.Q_full, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      init(smem.K_full[stage], 1);
      init(smem.V_full[stage], 1);
      init(smem.K_empty[stage], 4 * kConsumers);  // a lane of every warp
      init(smem.V_empty[stage], 4 * kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (warpgroup == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (threadIdx.x % 128 != 0) return;
    expect(smem.Q_full, sizeof(smem.Q));
    for (int c = 0; c < kConsumers; ++c) copy_tile(smem.Q[c], Q, first_row + 64 * c, head, smem.Q_full);
    Place place;
    for (int tile = key_tiles - 1; tile >= 0; --tile, place.advance()) {
      const int stage = place.stage;
      wait(smem.K_empty[stage], place.parity ^ 1);  // the first round finds all stages empty
      expect(smem.K_full[stage], sizeof(smem.K[stage]));
      copy_tile(smem.K[stage], K, tile * kBlockN, head, smem.K_full[stage]);
      wait(smem.V_empty[stage], place.parity ^ 1);
      expect(smem.V_full[stage], sizeof(smem.V[stage]));
      copy_tile(smem.V[stage], V, tile * kBlockN, head, smem.V_full[stage]);
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
  const float scale = softmax_scale * kLog2E;  // weights are powers of 2
  const int quad_lane = lane % 4;
  const int row = first_row + threadIdx.x / 32 * 16 + lane / 4;  // and row + 8
  // Keys from here on are hidden from some row of the warpgroup.
  const int keys_of_all = causal ? min(S, first_row + 64 * warpgroup + 1) : S;

  float output[kHeadDim / 2];
#pragma unroll
  for (float& value : output) value = 0.0f;
  float maximum[2] = {kLowest, kLowest};
  float sum[2] = {0.0f, 0.0f};  // of this thread's keys

  wait(smem.Q_full, 0);
  Place place;
  // The last tile first: it is the one with keys to hide.
#pragma unroll 1
  for (int tile = key_tiles - 1; tile >= 0; --tile, place.advance()) {
    const int stage = place.stage;
    float scores[kBlockN / 2];
    wait(smem.K_full[stage], place.parity);
    begin(scores);
#pragma unroll
    for (int d = 0; d < kHeadDim; d += 16) {
      const int panel = d / kPanelColumns;
      const int bytes = d % kPanelColumns * 2;
      Wgmma<kBlockN>::shared(scores, further(operand(smem.Q[warpgroup][panel]), bytes),
                             further(operand(smem.K[stage][panel]), bytes), d > 0);
    }
    finish(scores);
    if (lane == 0) arrive(smem.K_empty[stage]);

    if ((tile + 1) * kBlockN > keys_of_all) {
      const int first_key = tile * kBlockN + quad_lane * 2;
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) {
        const int hidden_from = causal ? min(S, row + (i & 2 ? 9 : 1)) : S;
        if (i / 4 * 8 + i % 2 >= hidden_from - first_key) scores[i] = -INFINITY;
      }
    }

    float largest[2] = {kLowest, kLowest};
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i) largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], scores[i]);
    float offset[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float old = maximum[r];
      maximum[r] = fmaxf(old, quad_max(largest[r]));
      offset[r] = -maximum[r] * scale;
      // The difference first: with both at kLowest, what the product lost in rounding would be infinitely large.
      const float factor = exp2_approximately((old - maximum[r]) * scale);
      sum[r] *= factor;
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) {
        if (i / 2 % 2 == r) output[i] *= factor;
      }
    }
    // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
    unsigned weights[kBlockN / 4];
#pragma unroll
    for (int i = 0; i < kBlockN / 2; i += 2) {
      const int r = i / 2 % 2;
      const float low = exp2_approximately(fmaf(scores[i], scale, offset[r]));
      const float high = exp2_approximately(fmaf(scores[i + 1], scale, offset[r]));
      sum[r] += low + high;
      weights[i / 2] = pack(low, high);
    }

    wait(smem.V_full[stage], place.parity);
    begin(output);
#pragma unroll
    for (int key = 0; key < kBlockN; key += 16) {
      Wgmma<kHeadDim>::registers(output, weights + key / 4,
                                 further(operand(smem.V[stage], sizeof(smem.V[stage][0])), key * kRowBytes), true);
    }
    finish(output);
    if (lane == 0) arrive(smem.V_empty[stage]);
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float inverse_sum = 1.0f / quad_sum(sum[r]);
    Element* O_row = O + (static_cast<size_t>(head) * S + row + 8 * r) * kHeadDim;
#pragma unroll
    for (int d = 0; d < kHeadDim; d += 32) {
      unsigned piece[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (d / 8 + i) * 4 + 2 * r;
        piece[i] = pack(output[at] * inverse_sum, output[at + 1] * inverse_sum);
      }
      transpose_in_quad(piece);  // 16 bytes per lane, 64 in a row
      if (row + 8 * r < S) {
        *reinterpret_cast<uint4*>(O_row + d + 8 * quad_lane) = make_uint4(piece[0], piece[1], piece[2], piece[3]);
      }
    }
  }
}

#define INSTANTIATE(D)                                                                                         \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                        const __grid_constant__ TensorMap, Element*, int, int, float);
INSTANTIATE(32)
INSTANTIATE(64)
INSTANTIATE(96)
INSTANTIATE(128)
