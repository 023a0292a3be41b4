// 25_even_shares: all CTAs have equally much to do, wherever query tiles end.
//
// Idea      Where 2.42 query tiles come for each SM, some SMs take three and the others wait. All steps of all query tiles (a step is a
//           tile of keys) in a row are cut into as many equal shares as there are CTAs. A share begins and ends somewhere in a tile.
// Change    From 19: no queue. A CTA begins with the last tile of its share, or the part of it that it has. Such a part goes to L2 as
//           it lies in the registers, a warp's own rows from beginning to end, and waits there until the CTA behind, which has the rest
//           of the tile at the beginning of its share, comes to it last and merges it. So nobody waits for long. That a part lies there
//           is said a step later: a fence right behind the stores would wait for them. D = 256 has one place for queries, as in 19.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, S, D], K, V: [B, Hkv, Skv, D], contiguous, or with heads inside positions (bshd);
//           LSE: fp32 [B, H, S] or null. Tensor maps (D, S, H, B), panels of 64 columns with a 128-byte swizzle.
//           grid = min(SMs, 4 x tiles of BLOCK_M = 64 CONSUMERS queries); block = 128 (CONSUMERS + 1).
//           parts: [CTA][warp][D / 8 + 1][32 lanes] of 4 fp32, accumulators, then maxima and sums of two rows.
//           sent: one int for each CTA and warp, 0 before and after every launch.
//           Stage n % STAGES: K of step n, V of step n - 1. A CTA's first stage has no V, its last one no K.
// Tile      64 rows x BLOCK_N keys per consumer warpgroup.
// Resources Shared bytes: 128 ceil(D / 64) (PLACES BLOCK_M + 2 STAGES BLOCK_N), PLACES = 2, of D = 256 one. Registers: as 19. D = 256 reads a part in
//           two halves, which are 64 registers each.
// Bound     As 19 for tiles / SMs query tiles, not the next whole number, and one part more. A CTA sends and reads BLOCK_M (D + 2) fp32 at most once
//           where there are as many tiles as SMs: 64 KB with BLOCK_M D = 2^14.
// Accuracy  As 19; parts are added in one order, which depends on how many SMs there are. LSE is of weights that were not rounded.
// Limits    sm_90a; D in {32, 64, 96, 128, 256}; any S, Skv >= 1; B * H <= 65535, as 09_lean, and B * H * S below 2^31; STAGES a power of 2.
//           A CTA waits for CTAs before it, which begin before it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#pragma nv_diag_suppress 549  // "used before its value is set": what a query tile begins with is set first

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kConsumers = CONSUMERS;     // warpgroups that compute
constexpr int kBlockM = 64 * kConsumers;  // query rows per tile
constexpr int kBlockN = BLOCK_N;          // keys per tile
constexpr int kStages = STAGES;           // each a tile of K and one of V
// The last keys that a warpgroup's 64 rows see lie in two tiles at most. Products have as many columns.
static_assert(kBlockN % 64 == 0, "the last keys of 64 rows lie in two tiles");
constexpr int kLeastSteps = 2;            // of a part of a tile: a share with fewer at its end leaves them to the neighbour
constexpr int kPassEarly = 2;             // wgmma, each of 16 keys, that are asked for after the turn was passed
constexpr int kThreads = 128 * (kConsumers + 1);
// setmaxnreg: a CTA starts with 65536 / kThreads registers per thread and may redistribute these.
// D = 256 has more boxes to ask for.
template <int kHeadDim>
constexpr int kProducerRegisters = kHeadDim > 128 ? 40 : kConsumers == 2 ? 24 : 32;
template <int kHeadDim>
constexpr int kConsumerRegisters = kHeadDim > 128 ? 232 : kConsumers == 2 ? 240 : kConsumers == 3 ? 160 : 112;

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLargestSum = 32768.0f;    // of a thread's weights: fp16 holds 65504, bf16 any float
constexpr float kLowest = -3.0e38f;        // the maximum of a row that has seen no key: finite, so its weights are 0, not NaN
constexpr int kNoRow = -(1 << 30);         // so far up that it sees no key

// ---- mbarriers and TMA; everything in shared memory goes by its address there ----

// A CUtensorMap: written by the driver, read by the copy engine.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and keeps the phase open until so many bytes have come from copies.
__device__ void expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

#define WAIT(SCOPE)                                                            \
  asm volatile(                                                                \
      "{\n"                                                                    \
      ".reg .pred complete;\n"                                                 \
      "again:\n"                                                               \
      "mbarrier.try_wait.parity" SCOPE ".shared::cta.b64 complete, [%0], %1;\n" \
      "@complete bra done;\n"                                                  \
      "bra again;\n"                                                           \
      "done:\n"                                                                \
      "}\n" ::"r"(barrier),                                                    \
      "r"(parity)                                                              \
      : "memory")

// Returns when the phase of this parity is complete.
__device__ void wait(unsigned barrier, unsigned parity) { WAIT(""); }

// A box of rows x 64 columns of a head of a batch element, from (row, column) on; zeros outside.
__device__ void copy_box(unsigned tile, const TensorMap* map, int column, int row, int head, int batch, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(
          tile),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(batch), "r"(barrier)
      : "memory");
}

// A place in a ring, and the parity of its round.
template <int kCount>
struct Place {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance() {
    if (++stage == kCount) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// ---- wgmma: 64 x N accumulators in registers, 16 terms per instruction ----
// A thread t of the warpgroup has rows t / 32 * 16 + t % 32 / 4 + {0, 8}; accumulator i is of row i / 2 % 2, column
// i / 4 * 8 + t % 4 * 2 + i % 2.

// The same in all lanes of a warp, and not to be worked out again, which the compiler would do in every step to save a register.
__device__ unsigned uniform(unsigned value) {
  asm volatile("" : "+r"(value));
  return __shfl_sync(kAllLanes, value, 0);
}

// What addresses and offsets are counted in where operands are described.
__device__ constexpr unsigned units(unsigned bytes) { return bytes >> 4; }

// A swizzled panel as an operand. `low`: the panel's address in units and, where N goes over panels, from one to the next in units
// << 16. The upper word is the same for all.
__device__ unsigned long long operand(unsigned low) {
  return static_cast<unsigned long long>(units(kSwizzleBytes) | 1u << 30) << 32 | low;
}

template <int kColumns>
struct Wgmma;

#define REGISTERS_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_1 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_2 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_3 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_4 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define REGISTERS_5 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define REGISTERS_6 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define REGISTERS_7 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
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
WGMMA(256, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4 REGISTERS_5 REGISTERS_6 REGISTERS_7, 128, 129,
      130, 131, 132, 133, D16(0), D16(16), D16(32), D16(48), D16(64), D16(80), D16(96), D16(112))

// Accumulators belong to wgmma from `begin` to `wait_for_products`: these keep the compiler's hands off them.
template <int kCount>
__device__ void hands_off(float (&accumulators)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
}

__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ void wait_for_products() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

// Turns: warpgroup w waits at named barrier 1 + w (0 is __syncthreads) for the warpgroup before it.
__device__ void wait_for_turn(int warpgroup) { asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup) : "memory"); }

__device__ void pass_turn(int warpgroup) {
  asm volatile("bar.arrive %0, 256;" ::"r"(1 + (warpgroup + 1) % kConsumers) : "memory");
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

// Of a query tile, the part that a CTA has. Keys are counted from the part's first one.
struct alignas(16) Tile {
  int first_row;  // less the keys before the part, which is what decides which keys a row sees
  int rows;       // 0 behind the last part
  int key_tiles;  // that any row sees, but at least one; 0 behind the last part
  int keys;       // up to the end of the keys
};

// Where the results of a tile go, in rows of O and elements of LSE.
struct alignas(16) Results {
  int rows;
  int first_output;
  int first_sum;
  int senders;  // CTAs before this one that have parts of the tile, which this one merges; kSends: a later one merges
};
constexpr int kSends = -1;

// Where things lie in shared memory, in bytes.
template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = (kHeadDim + kPanelColumns - 1) / kPanelColumns;
  static constexpr int kQueryPlaces = kHeadDim > 128 ? 1 : 2;
  static constexpr int kQueryBytes = kPanels * 64 * kRowBytes;     // of a warpgroup
  static constexpr int kKeyBytes = kPanels * kBlockN * kRowBytes;  // of a tile of K or V
  static constexpr int kStageBytes = 2 * kKeyBytes;
  static constexpr size_t Q = 0;  // tiles of all warpgroups
  static constexpr size_t K = Q + kQueryPlaces * kConsumers * kQueryBytes;  // of the first stage
  static constexpr size_t V = K + kKeyBytes;
  // mbarriers
  static constexpr size_t Q_full = K + kStages * kStageBytes;
  static constexpr size_t Q_empty = Q_full + 2 * 8;
  static constexpr size_t full = Q_empty + 2 * 8;  // of the stages
  static constexpr size_t empty = full + kStages * 8;
  // Two of each, whatever places there are for queries: results are stored when the next tile has been taken up.
  static constexpr size_t tiles = empty + kStages * 8;
  static constexpr size_t results = tiles + 2 * sizeof(Tile);
};

// Query tiles, head by head. Each is as many steps as it has tiles of keys, and CTAs have equal shares of all steps, in the order of the
// tiles. One warpgroup alone can't overlap its products and exponentials: the first `short_tiles` tiles of a head are a warpgroup short.
struct Tiling {
  int S, Skv, diagonal, row_tiles, short_tiles;

  __device__ int first_row(int row_tile) const { return 64 * (kConsumers * row_tile - min(row_tile, short_tiles)); }
  __device__ int end_row(int row_tile) const { return min(S, first_row(row_tile + 1)); }
  __device__ int steps(int row_tile) const {
    return (max(1, min(Skv, end_row(row_tile) + diagonal)) + kBlockN - 1) / kBlockN;
  }
  __device__ int steps_of_head() const {
    if (diagonal >= Skv) return row_tiles * steps(0);
    int sum = 0;
    for (int t = 0; t < row_tiles; ++t) sum += steps(t);
    return sum;
  }
};

// Equal parts of the steps of all heads, for as many CTAs as get so many steps that each has some, wherever their borders move.
struct Shares {
  int heads, per_head, count;
  long long steps;  // of each
  unsigned rest;

  __device__ Shares(int heads, int per_head, int ctas) : heads(heads), per_head(per_head) {
    const long long all = static_cast<long long>(per_head) * heads;
    count = static_cast<int>(max(1LL, min(static_cast<long long>(ctas), all / (2 * kLeastSteps - 1))));
    // Divisions of 64 bits take long.
    steps = all >> 32 ? all / count : static_cast<unsigned>(all) / static_cast<unsigned>(count);
    rest = static_cast<unsigned>(all - steps * count);
  }
  __device__ long long begin(int index) const {
    return steps * index + rest * static_cast<unsigned>(index) / static_cast<unsigned>(count);
  }
};

// A place among all steps.
struct Border {
  int head, row_tile, step;

  // Where share `index` begins. Parts of fewer than kLeastSteps are avoided.
  __device__ Border(const Tiling& tiling, const Shares& shares, int index) {
    const long long place = shares.begin(min(index, shares.count));
    head = place >> 32 ? static_cast<int>(place / shares.per_head)
                       : static_cast<int>(static_cast<unsigned>(place) / static_cast<unsigned>(shares.per_head));
    step = static_cast<int>(place - static_cast<long long>(head) * shares.per_head);
    row_tile = tiling.diagonal >= tiling.Skv ? step / tiling.steps(0) : 0;
    if (row_tile > 0) step -= row_tile * tiling.steps(0);
    if (head == shares.heads) return;
    int steps = tiling.steps(row_tile);
    for (; step >= steps; steps = tiling.steps(row_tile)) {
      step -= steps;
      ++row_tile;
    }
    if (step < kLeastSteps) step = 0;
    if (step > 0 && steps - step < kLeastSteps) {
      step = 0;
      if (++row_tile == tiling.row_tiles) {
        row_tile = 0;
        ++head;
      }
    }
  }
};

// Settings have registers for some head dimensions only (`constraints` of kernel.json). For the others, which are never launched with
// them, the function of the smallest one is compiled: there is no setting whose compilation fails.
template <int kHeadDim>
constexpr int kCompiledHeadDim =
    kHeadDim / 2 + kBlockN * 3 / 4 <= (kConsumers == 2 ? 208 : kConsumers == 3 ? 128 : 80) ? kHeadDim : 32;

template <int kDeclaredHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    attention(const __grid_constant__ TensorMap Q,  // boxes of 64 rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              Element* __restrict__ O,              // [B, H, S, D]
              float* __restrict__ LSE,              // [B, H, S], or null
              unsigned char* __restrict__ parts,    // what each CTA sends: [CTA][warp][D / 8 + 1][32 lanes] of 16 bytes
              int* __restrict__ sent,               // [CTA][warp]: 1 when it lies there
              int S, int Skv, int H, int group,     // query heads that share a head of K and V
              int heads,                            // of all batch elements
              int diagonal,                         // row i sees keys up to i + diagonal
              int O_head, int O_row,                // from one head, or row, to the next, in rows of O
              float softmax_scale) {
  constexpr int kHeadDim = kCompiledHeadDim<kDeclaredHeadDim>;
  using Tiles = SharedTiles<kHeadDim>;
  constexpr int kPanels = Tiles::kPanels;
  constexpr int kQueryPlaces = Tiles::kQueryPlaces;
  constexpr int kQueryBytes = Tiles::kQueryBytes;
  constexpr int kKeyBytes = Tiles::kKeyBytes;
  extern __shared__ unsigned char shared_bytes[];
  const unsigned misaligned = shared_address(shared_bytes) & (kSwizzleBytes - 1);
  unsigned char* smem = shared_bytes + ((kSwizzleBytes - misaligned) & (kSwizzleBytes - 1));

  // Shuffled, so that the compiler knows it to be the same in a warp.
  const int warpgroup = __shfl_sync(kAllLanes, threadIdx.x / 128, 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kQueryPlaces; ++i) {
      init(shared_address(smem + Tiles::Q_full + 8 * i), 1);
      init(shared_address(smem + Tiles::Q_empty + 8 * i), 4 * kConsumers);  // a lane of every warp
    }
    for (int i = 0; i < kStages; ++i) {
      init(shared_address(smem + Tiles::full + 8 * i), 1);
      init(shared_address(smem + Tiles::empty + 8 * i), 4 * kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();

  if (warpgroup == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters<kHeadDim>));
    if (threadIdx.x != 128 * kConsumers) return;
    const int row_tiles = (S + kBlockM - 1) / kBlockM;
    const Tiling tiling{S, Skv, diagonal, row_tiles, kConsumers * row_tiles - (S + 63) / 64};
    const Shares shares(heads, tiling.steps_of_head(), gridDim.x);
    const Border begin(tiling, shares, blockIdx.x);
    Border end(tiling, shares, blockIdx.x + 1);
    Place<kStages> place;
    // For the tile and its results, and of two places for queries. If there is one place, a tile is a round of it: slot 1 is the odd ones.
    Place<2> slot;
    const auto Q_place = [&]() { return kQueryPlaces > 1 ? slot.stage : 0; };
    const auto Q_parity = [&]() { return kQueryPlaces > 1 ? slot.parity : static_cast<unsigned>(slot.stage); };
    const unsigned base = shared_address(smem);
    // Waits until the stage is empty and says how many tiles will come. The first round finds all stages empty.
    const auto open_stage = [&](int tiles) {
      wait(base + Tiles::empty + 8 * place.stage, place.parity ^ 1);
      expect(base + Tiles::full + 8 * place.stage, tiles * kKeyBytes);
    };
    // Into the stage, whose tile lies so many bytes from the first stage.
    const auto copy_tile = [&](const TensorMap* map, unsigned offset, int row, int head, int batch) {
      const unsigned tile = base + offset + place.stage * Tiles::kStageBytes;
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        copy_box(tile + p * kBlockN * kRowBytes, map, p * kPanelColumns, row, head, batch,
                 base + Tiles::full + 8 * place.stage);
      }
    };
    // Waits until the place is empty and says what comes.
    const auto announce = [&](const Tile& tile, const Results& results) {
      wait(base + Tiles::Q_empty + 8 * Q_place(), Q_parity() ^ 1);
      reinterpret_cast<Tile*>(smem + Tiles::tiles)[slot.stage] = tile;
      reinterpret_cast<Results*>(smem + Tiles::results)[slot.stage] = results;
    };
    int V_row = -1, V_head = 0, V_batch = 0;  // of the key tile before: its V is needed a step later than its K
    // From the last tile to the first. What belongs to the end of the share is sent first, so that who merges it, the CTA behind, never
    // waits for long.
#pragma unroll 1
    while (end.head > begin.head || end.row_tile > begin.row_tile || end.step > begin.step) {
      if (end.step == 0) {
        if (end.row_tile == 0) {
          --end.head;
          end.row_tile = row_tiles;
        }
        --end.row_tile;
        end.step = tiling.steps(end.row_tile);
      }
      int head = end.head;
      const int row_tile = end.row_tile;
      const bool begins_here = head == begin.head && row_tile == begin.row_tile;
      const int first_step = begins_here ? begin.step : 0;
      const int end_step = end.step;
      const int batch = head / H;
      const int first_row = tiling.first_row(row_tile);
      const int rows = tiling.end_row(row_tile) - first_row;
      int senders = end_step < tiling.steps(row_tile) ? kSends : 0;
      if (senders == 0 && first_step > 0) {
        // The CTAs before, back to the one in which the tile begins.
        for (bool is_first = false; !is_first;) {
          ++senders;
          const Border other(tiling, shares, blockIdx.x - senders);
          is_first = other.head < head || other.row_tile < row_tile || other.step == 0;
        }
      }
      const int skipped = first_step * kBlockN;
      const Tile tile = {first_row - skipped, rows, end_step - first_step, Skv - skipped};
      const Results results = {rows, batch * H * S + (head - batch * H) * O_head + first_row * O_row, head * S + first_row, senders};
      end.step = first_step;
      head -= batch * H;
      const auto copy_queries = [&]() {
        announce(tile, results);
        const unsigned barrier = base + Tiles::Q_full + 8 * Q_place();
        expect(barrier, kConsumers * kQueryBytes);
#pragma unroll 1
        for (int c = 0; c < kConsumers; ++c) {
#pragma unroll
          for (int p = 0; p < kPanels; ++p) {
            copy_box(base + Tiles::Q + (Q_place() * kConsumers + c) * kQueryBytes + p * 64 * kRowBytes, &Q,
                     p * kPanelColumns, first_row + 64 * c, head, batch, barrier);
          }
        }
        slot.advance();
      };
      if constexpr (kQueryPlaces > 1) copy_queries();
      const int K_head = head / group;
      const int first_key = (end_step - 1) * kBlockN;
#pragma unroll 1
      for (int row = first_key; row >= skipped; row -= kBlockN) {
        const bool has_V = V_row >= 0;
        open_stage(has_V ? 2 : 1);
        copy_tile(&K, Tiles::K, row, K_head, batch);
        if (has_V) copy_tile(&V, Tiles::V, V_row, V_head, V_batch);
        place.advance();
        V_row = row;
        V_head = K_head;
        V_batch = batch;
        // The only place gets empty late, so keys come first.
        if constexpr (kQueryPlaces == 1) {
          if (row == first_key) copy_queries();
        }
      }
    }
    announce(Tile{}, Results{});
    arrive(base + Tiles::Q_full + 8 * Q_place());
    open_stage(1);
    copy_tile(&V, Tiles::V, max(V_row, 0), V_head, V_batch);  // a CTA without a share waits for nothing else, either
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters<kHeadDim>));
    const unsigned base = uniform(shared_address(smem));
    const unsigned operands = uniform(units(base));
    const int lane = threadIdx.x % 32;
    const int quad_lane = lane % 4;
    const int row_in_tile = 64 * warpgroup + (threadIdx.x % 128) / 32 * 16 + lane / 4;  // and + 8
    const float scale = softmax_scale * kLog2E;  // weights are powers of 2

    unsigned step = 0;  // counts stages: the one that comes next
    unsigned turn = 0;  // counts query tiles: the one that comes next
    // A tile, or its results. Shuffled, so that the compiler knows it to be the same in a warp; read by the lane that releases
    // the queries' place: racecheck does not see that __syncwarp orders other lanes' reads before that.
    const auto words_at = [&](size_t offset, int slot) {
      int4 words = {};
      if (lane == 0) {
        asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                     : "r"(base + static_cast<unsigned>(offset) + 16 * slot)
                     : "memory");
      }
      return int4{__shfl_sync(kAllLanes, words.x, 0), __shfl_sync(kAllLanes, words.y, 0),
                  __shfl_sync(kAllLanes, words.z, 0), __shfl_sync(kAllLanes, words.w, 0)};
    };
    const auto release = [&](unsigned barrier) {
      if (lane == 0) arrive(barrier);
    };
    const auto wait_for_stage = [&]() { wait(base + Tiles::full + 8 * (step % kStages), step / kStages & 1); };
    const auto release_stage = [&]() { release(base + Tiles::empty + 8 * (step % kStages)); };

    float scores[kBlockN / 2];
    float output[kHeadDim / 2];
    // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
    unsigned weights[kBlockN / 4];
    float maximum[2];  // what the weights are relative to
    float sum[2];      // of this thread's keys

    const auto issue_scores = [&]() {
      const unsigned place = kQueryPlaces > 1 ? ~turn & 1 : 0;
      unsigned first = operands;
      // Or branches would share 2 D / 16 operands, for which there are no registers.
      if constexpr (kHeadDim > 128) asm volatile("" : "+r"(first));
      const unsigned queries = first + units(Tiles::Q) + (place * kConsumers + warpgroup) * units(kQueryBytes);
      const unsigned keys = first + units(Tiles::K) + step % kStages * units(Tiles::kStageBytes);
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        const unsigned column_bytes = d % 4 * 32;
        Wgmma<kBlockN>::shared(scores, operand(queries + units(d / 4 * 64 * kRowBytes + column_bytes)),
                               operand(keys + units(d / 4 * kBlockN * kRowBytes + column_bytes)), d > 0);
      }
    };
    const auto issue_output = [&]() {
      const unsigned values = operands + units(Tiles::V) + (units(kBlockN * kRowBytes) << 16) +
                              step % kStages * units(Tiles::kStageBytes);
#pragma unroll
      for (int key = 0; key < kBlockN; key += 16) {
        if (key == kBlockN - 16 * kPassEarly) pass_turn(warpgroup);
        Wgmma<kHeadDim>::registers(output, &weights[key / 4], operand(values + units(key * kRowBytes)), true);
      }
    };
    // The two products of a step, or one of them, to the end. issue_output passes the turn.
    const auto multiply_both = [&]() {
      hands_off(scores);
      hands_off(output);
      begin();
      issue_scores();
      issue_output();
      commit();
      wait_for_products();
      hands_off(scores);
      hands_off(output);
    };
    const auto multiply_scores = [&]() {
      hands_off(scores);
      begin();
      issue_scores();
      commit();
      pass_turn(warpgroup);
      wait_for_products();
      hands_off(scores);
    };
    const auto multiply_output = [&]() {
      hands_off(output);
      begin();
      issue_output();
      commit();
      wait_for_products();
      hands_off(output);
    };

    int first_row = kNoRow;  // of the warpgroup in its query tile
    int row = 0;             // of this thread, and + 8
    int tile = 0;            // of the part's keys, counted down; -1 behind the last part
    int keys = 0;            // up to the end of them all, from the part's first one
    const auto hide_keys = [&]() {
      const int first_key = tile * kBlockN + 2 * quad_lane;
      const int upper_end = min(keys, row + 1 + diagonal) - first_key;
      const int lower_end = min(keys, row + 9 + diagonal) - first_key;
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) {
        if (i / 4 * 8 + i % 2 >= (i & 2 ? lower_end : upper_end)) scores[i] = -INFINITY;
      }
    };

    // Weights relative to the maximum as it is, and their sums.
    const auto exponentials = [&](float (&part)[2]) {
      const float offset[2] = {maximum[0] * scale, maximum[1] * scale};
      part[0] = part[1] = 0.0f;
#pragma unroll
      for (int i = 0; i < kBlockN / 2; i += 2) {
        const int r = i >> 1 & 1;
        const float low = exp2_approximately(fmaf(scores[i], scale, -offset[r]));
        const float high = exp2_approximately(fmaf(scores[i + 1], scale, -offset[r]));
        part[r] += low;
        part[r] += high;
        weights[i / 2] = pack(low, high);
      }
    };
    // Takes the scores into `largest`.
    const auto find_largest = [&](float (&largest)[2]) {
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) largest[i >> 1 & 1] = fmaxf(largest[i >> 1 & 1], scores[i]);
#pragma unroll
      for (int r = 0; r < 2; ++r) largest[r] = quad_max(largest[r]);
    };
    // Takes them into the maximum; the sums and the output are made relative to it.
    const auto raise_maximum = [&]() {
      float largest[2] = {maximum[0], maximum[1]};
      find_largest(largest);
      float factor[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        factor[r] = exp2_approximately((maximum[r] - largest[r]) * scale);
        maximum[r] = largest[r];
        sum[r] *= factor[r];
      }
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] *= factor[i >> 1 & 1];
    };
    // Of keys that all rows see, each of which has seen some before.
    const auto softmax = [&]() {
      float part[2];
      exponentials(part);
      // "Not at most" is true of NaN, too.
      if (__any_sync(kAllLanes, !(part[0] <= kLargestSum && part[1] <= kLargestSum))) {
        raise_maximum();
        exponentials(part);
      }
      sum[0] += part[0];
      sum[1] += part[1];
    };
    // Of the first keys of a query tile: there is no maximum yet, and some rows may see none of them.
    const auto start_softmax = [&]() {
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] = 0.0f;
      maximum[0] = maximum[1] = kLowest;
      find_largest(maximum);
      exponentials(sum);
    };
    // Of the next ones, while some row has not seen any.
    const auto continue_softmax = [&]() {
      raise_maximum();
      float part[2];
      exponentials(part);
      sum[0] += part[0];
      sum[1] += part[1];
    };

    // What rows have that see no key.
    const auto clear = [&]() {
      maximum[0] = maximum[1] = kLowest;
      sum[0] = sum[1] = 0.0f;
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] = 0.0f;
    };

    const auto store_results = [&](const Results& results) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = row_in_tile + 8 * r;
        const bool is_row = row < results.rows;
        const float total = quad_sum(sum[r]);
        const float inverse_sum = total == 0.0f ? 0.0f : 1.0f / total;
        Element* O_row_start = O + static_cast<size_t>(results.first_output + row * O_row) * kHeadDim;
#pragma unroll
        for (int d = 0; d < kHeadDim; d += 32) {
          unsigned piece[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = (d / 8 + i) * 4 + 2 * r;
            piece[i] = pack(output[at] * inverse_sum, output[at + 1] * inverse_sum);
          }
          transpose_in_quad(piece);  // 16 bytes per lane, 64 in a row
          if (is_row) {
            *reinterpret_cast<uint4*>(O_row_start + d + 8 * quad_lane) =
                make_uint4(piece[0], piece[1], piece[2], piece[3]);
          }
        }
        if (LSE != nullptr && is_row && quad_lane == 0) {
          LSE[results.first_sum + row] = (maximum[r] * scale + log2f(total)) / kLog2E;
        }
      }
    };

    // What a warp has of its rows, register by register: [D / 8 + 1][32 lanes] of 16 bytes. The last ones are maxima and sums.
    constexpr int kWarpBytes = (kHeadDim / 8 + 1) * 512;
    const auto part_of = [&](int cta) {
      return parts + (static_cast<size_t>(cta) * (4 * kConsumers) + threadIdx.x / 32) * kWarpBytes + lane * 16;
    };
    const auto sent_of = [&](int cta) { return sent + cta * (4 * kConsumers) + threadIdx.x / 32; };
    bool is_unsaid = false;  // whether a part was stored and nobody told
    const auto send = [&]() {
      is_unsaid = true;
      unsigned char* part = part_of(blockIdx.x);
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; i += 4) {
        __stcg(reinterpret_cast<float4*>(part + i * 128), make_float4(output[i], output[i + 1], output[i + 2], output[i + 3]));
      }
      __stcg(reinterpret_cast<float4*>(part + kHeadDim * 64), make_float4(maximum[0], maximum[1], sum[0], sum[1]));
    };
    const auto say_if_sent = [&]() {
      if (!is_unsaid) return;
      is_unsaid = false;
      __syncwarp();
      if (lane == 0) {
        __threadfence();
        atomicExch(sent_of(blockIdx.x), 1);
      }
    };
    // Adds what the CTAs before have of the tile, the nearest first.
    const auto merge = [&](int senders) {
#pragma unroll 1
      for (int cta = blockIdx.x - 1; cta >= static_cast<int>(blockIdx.x) - senders; --cta) {
        if (lane == 0) {
          int is_sent;
          do {
            asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(is_sent) : "l"(sent_of(cta)) : "memory");
          } while (!is_sent);
          *sent_of(cta) = 0;  // for the next launch
        }
        __syncwarp();
        const unsigned char* part = part_of(cta);
        const float4 theirs = __ldcg(reinterpret_cast<const float4*>(part + kHeadDim * 64));
        float own[2], other[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float their_maximum = r ? theirs.y : theirs.x;
          const float largest = fmaxf(maximum[r], their_maximum);
          own[r] = exp2_approximately((maximum[r] - largest) * scale);
          other[r] = exp2_approximately((their_maximum - largest) * scale);
          maximum[r] = largest;
          sum[r] = fmaf(other[r], r ? theirs.w : theirs.z, own[r] * sum[r]);
        }
#pragma unroll
        for (int i = 0; i < kHeadDim / 2; i += 4) {
          // Of 256 columns: there are no registers for all of the part beside the output, and ptxas would read it at once.
          if (i == 64) __syncwarp();
          const float4 piece = __ldcg(reinterpret_cast<const float4*>(part + i * 128));
          output[i] = fmaf(other[0], piece.x, own[0] * output[i]);
          output[i + 1] = fmaf(other[0], piece.y, own[0] * output[i + 1]);
          output[i + 2] = fmaf(other[1], piece.z, own[1] * output[i + 2]);
          output[i + 3] = fmaf(other[1], piece.w, own[1] * output[i + 3]);
        }
      }
    };

    // Of the part before the one just taken up: of two places the other one.
    const auto last_results = [&]() {
      const int4 words = words_at(Tiles::results, turn & 1);
      return Results{words.x, words.y, words.z, words.w};
    };

    if (warpgroup == kConsumers - 1) pass_turn(warpgroup);  // the first one's
    bool has_weights = false;
#pragma unroll 1
    for (;;) {
      // Steps at the border of query tiles: the warpgroup sees none of these keys, or has no weights yet, or a row of it has
      // seen no key yet.
      say_if_sent();
      const bool ends_tile = tile == 0;
      if (ends_tile) {
        wait(base + Tiles::Q_full + 8 * (turn % kQueryPlaces), turn / kQueryPlaces & 1);
        const int4 next_words = words_at(Tiles::tiles, turn & 1);
        const Tile next = {next_words.x, next_words.y, next_words.z, next_words.w};
        first_row = 64 * warpgroup < next.rows ? next.first_row + 64 * warpgroup : kNoRow;
        row = next.first_row + row_in_tile;
        tile = next.key_tiles;
        keys = next.keys;
        ++turn;
      }
      --tile;
      const bool is_end = tile < 0;
      const bool sees = tile * kBlockN < first_row + 64 + diagonal;
      wait_for_stage();
      wait_for_turn(warpgroup);
      if (sees && has_weights) {
        multiply_both();
      } else if (sees) {
        multiply_scores();
      } else if (has_weights) {
        multiply_output();
      } else {
        pass_turn(warpgroup);
      }
      release_stage();
      if (is_end) break;
      if (ends_tile && step > 0) {
        const Results results = last_results();
        if (!has_weights) clear();  // its rows have seen no key
        if (64 * warpgroup < results.rows) {
          if (results.senders == kSends) {
            send();
          } else {
            store_results(results);
          }
        }
        __syncwarp();
        if constexpr (kQueryPlaces > 1) release(base + Tiles::Q_empty + 8 * (turn & 1));
      }
      if constexpr (kQueryPlaces == 1) {
        if (tile == 0) release(base + Tiles::Q_empty);
      }
      ++step;
      const bool starts = ends_tile || !has_weights;
      has_weights = sees;
      if (!sees) continue;

      const int visible = min(keys, first_row + 1 + diagonal);  // keys that all rows of the warpgroup see
      if ((tile + 1) * kBlockN > visible) hide_keys();
      if (starts) {
        start_softmax();
      } else {
        continue_softmax();
      }
      say_if_sent();
      if (tile * kBlockN >= visible) continue;  // its first row has seen no key yet
#pragma unroll 1
      for (; tile > 0; --tile) {
        wait_for_stage();
        wait_for_turn(warpgroup);
        multiply_both();
        release_stage();
        if constexpr (kQueryPlaces == 1) {
          if (tile == 1) release(base + Tiles::Q_empty);  // these were the last scores
        }
        ++step;
        softmax();
      }
    }
    if (step == 0) return;  // no share
    say_if_sent();
    const Results results = last_results();
    if (64 * warpgroup >= results.rows) return;
    if (!has_weights) clear();
    if (results.senders == kSends) {
      send();
      say_if_sent();
    } else {
      merge(results.senders);
      store_results(results);
    }
  }
}

#define INSTANTIATE(D)                                                                                         \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                        const __grid_constant__ TensorMap, Element*, float*, unsigned char*, int*, int, int, int, \
                                        int, int, int, int, int, float);
INSTANTIATE(32)
INSTANTIATE(64)
INSTANTIATE(96)
INSTANTIATE(128)
INSTANTIATE(256)
