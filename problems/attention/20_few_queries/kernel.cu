// 20_few_queries: a few queries of each sequence, as when guesses of a smaller model are checked, behind long keys.
//
// Idea      All query heads that share a head of K and V, for all queries, are rows of one tile: 4 queries of 8 grouped heads are 32
//           of 64 rows, and K and V are read once. That leaves fewer tiles than SMs, so SPLIT CTAs share the keys of a tile. Of a
//           CTA, WARPGROUPS take its key tiles in turn, so that one's exponentials run beside the other's products.
// Change    From 19: a tensor map of rank 5 brings the rows of a tile together, whatever the layout. Warps without rows have no
//           softmax. Each CTA leaves its part in a workspace; a second launch, resident before the first one ends, merges them.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, S, D], K, V: [B, Hkv, Skv, D], contiguous, or with heads inside positions (bshd);
//           LSE: fp32 [B, H, S] or null. Tensor maps: Q (D, group, S, Hkv, B), group = H / Hkv, K and V (D, Skv, Hkv, B);
//           panels of 64 columns with a 128-byte swizzle. Row r of a tile is query r / group, head r % group, of as many queries as
//           fit 64 rows. attention: grid = row tiles x splits; block = 160: a warpgroup that computes, a warp that copies; or
//           block = 256: two warpgroups that compute, of each of which the last warp copies.
//           parts: fp32 [grid][64][D], sums: fp32 [grid][64][2] (maximum, sum).
//           merge: grid = (row tiles, blocks of 128 threads for their pieces of 4 columns), up to 8 lanes per piece. It asks for 56 KB of shared memory
//           that it does not use: with little, SMs would first have to be divided anew between L1 and shared memory, 2 to 4 us.
// Tile      64 rows x BLOCK_N keys. Of two warpgroups, w takes tiles w, w + 2, ... of the CTA's share, each with its own maxima, sums
//           and output, which warpgroup 0 adds at the end. Each has a ring of STAGES / WARPGROUPS stages, at least 3, in which its
//           tiles lie as K 0, K 1, V 0, K 2, V 1, ..., V of the last: a stage is emptied and filled again without the other warpgroup.
// Resources Shared bytes: 128 ceil(D / 64) (64 + STAGES BLOCK_N). Registers: D / 2 output + BLOCK_N / 2 scores
//           + BLOCK_N / 4 weights + 26, or + 34 to 42 in warpgroups that copy, of 255; of 128 where two CTAs have two warpgroups each.
// Bound     Memory: 4 D bytes per key and head of K and V, once, and 256 D FLOP for 64 rows: at 4.8 TB/s, an H200's tensor cores
//           need 0.3 of the time in which the keys come.
// Accuracy  Weights are 2^14 times as large where they meet V: else equal ones below 2^-24 would vanish in fp16 behind one that
//           outweighs them all. The maximum is that of the keys so far.
// Limits    sm_90a; D in {32, 64, 96, 128, 256}; S <= 64; H / Hkv <= 64; any Skv >= 1. All
//           row tiles read the keys that the last query sees: 19 is faster where they are many.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kRows = 64;             // of a tile, those that are not there included
constexpr int kBlockN = BLOCK_N;      // keys per tile
constexpr int kStages = STAGES;       // each a tile of K or of V
constexpr int kCtasPerSm = CTAS_PER_SM;
constexpr int kWarpgroups = WARPGROUPS;  // that compute, each with a ring of its own
constexpr int kRing = kStages / kWarpgroups;
static_assert(kRing * kWarpgroups == kStages && kRing >= 3, "V of the last tile comes while those of K and V before it are read");
constexpr int kWarpgroupThreads = 128;
constexpr int kComputing = kWarpgroups * kWarpgroupThreads;
// One warpgroup has a warp beside it that copies. Of two, the last warp of each copies, the one that most often has no rows: of nine
// warps, an SM's quarter with 512 registers for each of 32 lanes would have three, whose threads have no more than 168; of eight it has two.
constexpr bool kCopyingWarp = kWarpgroups == 1;
constexpr int kThreads = kComputing + (kCopyingWarp ? 32 : 0);

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kWeightExponent = 14.0f;   // of the largest weight: fp16 ends at 2^16
constexpr float kLowest = -3.0e38f;        // the maximum of a row that has seen no key: finite, so its weights are 0, not NaN

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

// Boxes from a place in the tensor on, innermost coordinate first; zeros outside.
__device__ void copy_box(unsigned tile, const TensorMap* map, int column, int row, int head, int batch, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(
          tile),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(batch), "r"(barrier)
      : "memory");
}

__device__ void copy_box(unsigned tile, const TensorMap* map, int column, int head, int row, int group, int batch,
                         unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::
          "r"(tile),
      "l"(map), "r"(column), "r"(head), "r"(row), "r"(group), "r"(batch), "r"(barrier)
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
  // The same from a stage of even number: a ring of even length does not end there.
  __device__ void advance_from_even() {
    if constexpr (kCount % 2 == 0) {
      ++stage;
    } else {
      advance();
    }
  }
};

// ---- wgmma: 64 x N accumulators in registers, 16 terms per instruction ----
// A thread t of the warpgroup has rows t / 32 * 16 + t % 32 / 4 + {0, 8}; accumulator i is of row i / 2 % 2, column
// i / 4 * 8 + t % 4 * 2 + i % 2.

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

// ---- the kernel ----

// Where things lie in shared memory, in bytes.
template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = (kHeadDim + kPanelColumns - 1) / kPanelColumns;
  static constexpr int kKeyBytes = kPanels * kBlockN * kRowBytes;  // of a tile of K or V
  static constexpr unsigned Q = 0;
  static constexpr unsigned stages = Q + kPanels * kRows * kRowBytes;
  // mbarriers
  static constexpr unsigned Q_full = stages + kStages * kKeyBytes;
  static constexpr unsigned full = Q_full + 8;  // of the stages
  static constexpr unsigned empty = full + kStages * 8;
};

// How rows are dealt out. A row tile is all heads of a group, for as many queries as fit.
struct Work {
  int S, Hkv;
  int group;         // query heads that share a head of K and V
  int tile_queries;  // of a row tile
  int query_tiles;   // of a group
};

// Rows that are multiplied at once: the heads of a group for each query.
struct RowTile {
  int batch, group, first_query, rows;

  __device__ RowTile(const Work& work, int index) {
    const int groups = index / work.query_tiles;
    first_query = (index - groups * work.query_tiles) * work.tile_queries;
    batch = groups / work.Hkv;
    group = groups - batch * work.Hkv;
    rows = min(work.tile_queries, work.S - first_query) * work.group;
  }
};

// Where the results of a row lie.
struct Places {
  int O_head, O_row;  // from one head, or query, to the next, in rows of O

  // In rows of O.
  __device__ size_t of_output(const Work& work, const RowTile& tile, int row) const {
    const int query = row / work.group;
    const int head = tile.group * work.group + row - query * work.group;
    return static_cast<size_t>(tile.batch) * work.Hkv * work.group * work.S + head * O_head +
           (tile.first_query + query) * O_row;
  }
  __device__ static size_t of_sum(const Work& work, const RowTile& tile, int row) {
    return Places{work.S, 1}.of_output(work, tile, row);
  }
};

__device__ float logarithm(float largest, float sum, float scale) {
  return (fmaf(largest, scale, -kWeightExponent) + log2f(sum)) / kLog2E;
}

// Settings have registers for some head dimensions only (`constraints` of kernel.json). For the others, which are never launched with
// them, the function of the smallest one is compiled.
template <int kHeadDim>
constexpr int kCompiledHeadDim =
    kHeadDim / 2 + kBlockN * 3 / 4 <= (kCtasPerSm == 1 ? 208 : kWarpgroups == 1 ? 128 : 80) ? kHeadDim : 32;

template <int kDeclaredHeadDim>
__global__ void __launch_bounds__(kThreads, kCtasPerSm)
    attention(const __grid_constant__ TensorMap Q,  // boxes of tile_queries x group rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              Element* __restrict__ O,              // [B, H, S, D]
              float* __restrict__ LSE,              // [B, H, S], or null
              float* __restrict__ parts, float2* __restrict__ sums,
              int S, int Hkv, int group, int tile_queries, int query_tiles,
              int Skv, int key_tiles,               // those that any query sees
              int splits,                           // CTAs of a row tile
              int diagonal,                         // query i sees keys up to i + diagonal
              int O_head, int O_row,                // from one head, or query, to the next, in rows of O
              float softmax_scale) {
  constexpr int kHeadDim = kCompiledHeadDim<kDeclaredHeadDim>;
  using Tiles = SharedTiles<kHeadDim>;
  constexpr int kPanels = Tiles::kPanels;
  constexpr int kKeyBytes = Tiles::kKeyBytes;
  extern __shared__ unsigned char shared_bytes[];
  const unsigned misaligned = shared_address(shared_bytes) & (kSwizzleBytes - 1);
  unsigned char* smem = shared_bytes + ((kSwizzleBytes - misaligned) & (kSwizzleBytes - 1));
  const unsigned base = shared_address(smem);

  const Work work{S, Hkv, group, tile_queries, query_tiles};
  const int row_tile = blockIdx.x / splits;
  const int split = blockIdx.x - row_tile * splits;
  const RowTile rows(work, row_tile);
  // splits <= key_tiles: each has some.
  const int first_tile = key_tiles * split / splits, end_tile = key_tiles * (split + 1) / splits;
  const int box_rows = tile_queries * group;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");  // its CTAs wait for this launch's end

  // Shuffled, so that the compiler knows it to be the same in a warp.
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0);
  const int lane = threadIdx.x % 32;
  const int warpgroup = kWarpgroups == 1 ? 0 : warp / 4;
  // A warpgroup takes every kWarpgroups-th tile; of fewer tiles than warpgroups, some have none.
  const int own_first = first_tile + warpgroup;
  const int own_tiles = (end_tile - own_first + kWarpgroups - 1) / kWarpgroups;
  const bool has_tiles = kWarpgroups == 1 || own_tiles > 0;
  const unsigned stages = base + Tiles::stages + warpgroup * kRing * kKeyBytes;
  const unsigned full = base + Tiles::full + 8 * warpgroup * kRing;
  const unsigned empty = base + Tiles::empty + 8 * warpgroup * kRing;

  const bool copies = lane == 0 && (kCopyingWarp ? warp == kComputing / 32 : warp % 4 == 3);
  Place<kRing> filled;
  // Waits until the stage is empty. The first round finds all of them empty.
  const auto copy_tile = [&](const TensorMap* map, int tile) {
    const unsigned barrier = full + 8 * filled.stage;
    wait(empty + 8 * filled.stage, filled.parity ^ 1);
    expect(barrier, kKeyBytes);
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
      copy_box(stages + filled.stage * kKeyBytes + p * kBlockN * kRowBytes, map, p * kPanelColumns, tile * kBlockN, rows.group,
               rows.batch, barrier);
    }
    filled.advance();
  };
  // Copy 0 is K of the warpgroup's tile 0. K of tile i and V of tile i - 1 follow in turn, as copies 2 i - 1 and 2 i, and V of the last.
  int copied = 1;
  const auto copy_next = [&] {
    const int next = (copied + 1) / 2;
    const bool keys = copied % 2 == 1 && next < own_tiles;
    copy_tile(keys ? &K : &V, own_first + (keys ? next : next - 1) * kWarpgroups);
    ++copied;
  };
  if (copies) {
    if (warpgroup == 0) init(base + Tiles::Q_full, 1);
    for (int i = 0; i < kRing; ++i) {
      init(full + 8 * i, 1);
      init(empty + 8 * i, kWarpgroupThreads / 32);  // a lane of every warp
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    // Copies need not wait until the other threads have started.
    if (warpgroup == 0) {
      expect(base + Tiles::Q_full, kPanels * box_rows * kRowBytes);
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        copy_box(base + Tiles::Q + p * kRows * kRowBytes, &Q, p * kPanelColumns, 0, rows.first_query, rows.group, rows.batch,
                 base + Tiles::Q_full);
      }
    }
    if (has_tiles) copy_tile(&K, own_first);
  }
  __syncwarp();
  const bool is_copying_warp = kCopyingWarp && warp == kComputing / 32;
  if (!is_copying_warp) {
    // Rows behind those of a box stay as they are: zeros.
    const int rows_behind = kRows - box_rows;
    for (int i = threadIdx.x; i < kPanels * rows_behind * (kRowBytes / 16); i += kComputing) {
      const int row = i / (kRowBytes / 16);
      const int panel = row / rows_behind;
      const int at = (panel * kRows + box_rows + row - panel * rows_behind) * kRowBytes + i % (kRowBytes / 16) * 16;
      *reinterpret_cast<uint4*>(smem + Tiles::Q + at) = uint4{};
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();  // one for all warps: CUDA C++ promises nothing of two at which parts of a CTA meet
  if (is_copying_warp) {
    if (!copies) return;
#pragma unroll 1
    while (copied < 2 * own_tiles) copy_next();
    return;
  }

  // Fills as many stages as have become empty, where no other warp does.
  const auto refill = [&](int count) {
    if (kCopyingWarp) return;
    if (copies) {
      const int end = min(copied + count, 2 * own_tiles);
#pragma unroll 1
      while (copied < end) copy_next();
    }
    __syncwarp();
  };
  refill(kRing - 1);

  const int quad_lane = lane % 4;
  const int first_row = 16 * (warp - 4 * warpgroup);  // of the warp
  const int row_in_tile = first_row + lane / 4;       // and + 8
  const float scale = softmax_scale * kLog2E;         // weights are powers of 2

  Place<kRing> place;
  float scores[kBlockN / 2];
  float output[kHeadDim / 2];
  // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
  unsigned weights[kBlockN / 4];
  float maximum[2];  // of the keys so far
  float sum[2];      // of this thread's weights

  const auto release = [&](unsigned barrier) {
    if (lane == 0) arrive(barrier);
  };
  const auto wait_for_stage = [&](const Place<kRing>& at) { wait(full + 8 * at.stage, at.parity); };
  const auto release_stage = [&](const Place<kRing>& at) { release(empty + 8 * at.stage); };
  const auto issue_scores = [&](const Place<kRing>& at) {
    const unsigned queries = units(base + Tiles::Q);
    const unsigned tile = units(stages) + at.stage * units(kKeyBytes);
#pragma unroll
    for (int d = 0; d < kHeadDim / 16; ++d) {
      const unsigned column_bytes = d % 4 * 32;
      Wgmma<kBlockN>::shared(scores, operand(queries + units(d / 4 * kRows * kRowBytes + column_bytes)),
                             operand(tile + units(d / 4 * kBlockN * kRowBytes + column_bytes)), d > 0);
    }
  };
  const auto issue_output = [&](const Place<kRing>& at) {
    const unsigned values = units(stages) + (units(kBlockN * kRowBytes) << 16) + at.stage * units(kKeyBytes);
#pragma unroll
    for (int key = 0; key < kBlockN; key += 16) {
      Wgmma<kHeadDim>::registers(output, &weights[key / 4], operand(values + units(key * kRowBytes)), true);
    }
  };

  const bool has_rows = first_row < rows.rows;
  const int first_visible = min(Skv, rows.first_query + 1 + diagonal);  // keys that all rows see
  int end_key[2];                                                       // of the keys that a row sees
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    end_key[r] = min(Skv, rows.first_query + (row_in_tile + 8 * r) / group + 1 + diagonal);
    maximum[r] = kLowest;
    sum[r] = 0.0f;
  }
#pragma unroll
  for (int i = 0; i < kHeadDim / 2; ++i) output[i] = 0.0f;
#pragma unroll
  for (int i = 0; i < kBlockN / 4; ++i) weights[i] = 0;

  // All rows see all keys but the last S - 1 <= 63, which are in the last two tiles: of two warpgroups, in the last one of each.
  const auto softmax = [&](int tile, bool last) {
    if (!has_rows) return;
    if ((kWarpgroups == 1 || last) && (tile + 1) * kBlockN > first_visible) {
      const int first_key = tile * kBlockN + 2 * quad_lane;
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) {
        if (first_key + i / 4 * 8 + i % 2 >= end_key[i >> 1 & 1]) scores[i] = -INFINITY;
      }
    }
    float largest[2] = {maximum[0], maximum[1]};
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i) largest[i >> 1 & 1] = fmaxf(largest[i >> 1 & 1], scores[i]);
#pragma unroll
    for (int r = 0; r < 2; ++r) largest[r] = quad_max(largest[r]);
    if (__any_sync(kAllLanes, largest[0] > maximum[0] || largest[1] > maximum[1])) {
      float factor[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        factor[r] = exp2_approximately((maximum[r] - largest[r]) * scale);
        maximum[r] = largest[r];
        sum[r] *= factor[r];
      }
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] *= factor[i >> 1 & 1];
    }
    const float offset[2] = {fmaf(-maximum[0], scale, kWeightExponent), fmaf(-maximum[1], scale, kWeightExponent)};
#pragma unroll
    for (int i = 0; i < kBlockN / 2; i += 2) {
      const int r = i >> 1 & 1;
      const float low = exp2_approximately(fmaf(scores[i], scale, offset[r]));
      const float high = exp2_approximately(fmaf(scores[i + 1], scale, offset[r]));
      sum[r] += low + high;
      weights[i / 2] = pack(low, high);
    }
  };

  // Scores of the first keys; then those of the next keys and the output of the ones before; then the output of the last.
  if (has_tiles) {
    wait(base + Tiles::Q_full, 0);
    wait_for_stage(place);
    hands_off(scores);
    begin();
    issue_scores(place);
    commit();
    wait_for_products();
    hands_off(scores);
    release_stage(place);
    place.advance();
    int tile = own_first;
    int emptied = 1;
#pragma unroll 1
    for (; tile + kWarpgroups < end_tile; tile += kWarpgroups) {
      refill(emptied);
      emptied = 2;
      softmax(tile, false);
      Place<kRing> values = place;
      values.advance();
      wait_for_stage(place);
      wait_for_stage(values);
      hands_off(scores);
      hands_off(output);
      begin();
      issue_scores(place);
      issue_output(values);
      commit();
      wait_for_products();
      hands_off(scores);
      hands_off(output);
      release_stage(place);
      release_stage(values);
      place = values;
      place.advance_from_even();  // K of tile 0 has stage 0, then come pairs of K and V
    }
    softmax(tile, true);
    wait_for_stage(place);
    hands_off(output);
    begin();
    issue_output(place);
    commit();
    wait_for_products();
    hands_off(output);
  }

  if constexpr (kWarpgroups == 2) {
    // Warpgroup 1 hands what it has to warpgroup 0, where the stages were: [D / 8 + 1][128], so that no two threads meet in a bank.
    constexpr int kVectors = kHeadDim / 8;
    static_assert((kVectors + 1) * kWarpgroupThreads * sizeof(float4) <= kStages * kKeyBytes);
    float4* const handed = reinterpret_cast<float4*>(smem + Tiles::stages) + threadIdx.x % kWarpgroupThreads;
    __syncthreads();  // whatever was copied has been read
    if (warpgroup == 1 && has_rows) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        handed[i * kWarpgroupThreads] = make_float4(output[4 * i], output[4 * i + 1], output[4 * i + 2], output[4 * i + 3]);
      }
      handed[kVectors * kWarpgroupThreads] = make_float4(maximum[0], maximum[1], sum[0], sum[1]);
    }
    __syncthreads();
    if (warpgroup == 1) return;
    if (has_rows) {
      const float4 other = handed[kVectors * kWarpgroupThreads];
      const float others_maximum[2] = {other.x, other.y}, others_sum[2] = {other.z, other.w};
      float own_factor[2], others_factor[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float largest = fmaxf(maximum[r], others_maximum[r]);
        own_factor[r] = exp2_approximately((maximum[r] - largest) * scale);
        others_factor[r] = exp2_approximately((others_maximum[r] - largest) * scale);
        sum[r] = fmaf(sum[r], own_factor[r], others_sum[r] * others_factor[r]);
        maximum[r] = largest;
      }
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const float4 part = handed[i * kWarpgroupThreads];
        output[4 * i] = fmaf(output[4 * i], own_factor[0], part.x * others_factor[0]);
        output[4 * i + 1] = fmaf(output[4 * i + 1], own_factor[0], part.y * others_factor[0]);
        output[4 * i + 2] = fmaf(output[4 * i + 2], own_factor[1], part.z * others_factor[1]);
        output[4 * i + 3] = fmaf(output[4 * i + 3], own_factor[1], part.w * others_factor[1]);
      }
    }
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = row_in_tile + 8 * r;
    const float total = quad_sum(sum[r]);
    if (row >= rows.rows) continue;
    if (splits == 1) {
      const Places places{O_head, O_row};
      const float inverse = total == 0.0f ? 0.0f : 1.0f / total;  // rows that see no key have outputs of 0
      Element* start = O + places.of_output(work, rows, row) * kHeadDim + 2 * quad_lane;
#pragma unroll
      for (int d = 0; d < kHeadDim; d += 8) {
        const int at = d / 2 + 2 * r;
        *reinterpret_cast<unsigned*>(start + d) = pack(output[at] * inverse, output[at + 1] * inverse);
      }
      if (LSE != nullptr && quad_lane == 0) LSE[places.of_sum(work, rows, row)] = logarithm(maximum[r], total, scale);
    } else {
      const size_t at_row = static_cast<size_t>(blockIdx.x) * kRows + row;
      float* start = parts + at_row * kHeadDim + 2 * quad_lane;
#pragma unroll
      for (int d = 0; d < kHeadDim; d += 8) {
        const int at = d / 2 + 2 * r;
        *reinterpret_cast<float2*>(start + d) = make_float2(output[at], output[at + 1]);
      }
      if (quad_lane == 0) sums[at_row] = make_float2(maximum[r], total);
    }
  }
}

// ---- parts of a row tile that several CTAs share ----

// Four columns of a row over some parts, relative to `largest`.
struct Merged {
  float4 total;
  float largest, weight;

  __device__ void add(float4 part, float of_part, float its_weight, float scale) {
    const float next = fmaxf(largest, of_part);
    const float old = exp2_approximately((largest - next) * scale);
    const float own = exp2_approximately((of_part - next) * scale);
    total.x = fmaf(total.x, old, part.x * own);
    total.y = fmaf(total.y, old, part.y * own);
    total.z = fmaf(total.z, old, part.z * own);
    total.w = fmaf(total.w, old, part.w * own);
    weight = fmaf(weight, old, its_weight * own);
    largest = next;
  }
  __device__ Merged of_lane(int distance) const {
    const auto from = [&](float value) { return __shfl_xor_sync(kAllLanes, value, distance); };
    return {make_float4(from(total.x), from(total.y), from(total.z), from(total.w)), from(largest), from(weight)};
  }
};

constexpr int kShares = SPLIT < 8 ? SPLIT : 8;  // of the parts: lanes that add one each
constexpr int kParts = SPLIT / kShares;         // of a lane, whose loads are on their way together
constexpr int kMergeThreads = 128;

// A block adds the parts of kMergeThreads / kShares pieces, each four columns of a row.
template <int kHeadDim>
__global__ void __launch_bounds__(kMergeThreads)
    merge(Element* __restrict__ O, float* __restrict__ LSE, const float* __restrict__ parts,
          const float2* __restrict__ sums, int S, int Hkv, int group, int tile_queries, int query_tiles, int splits,
          int O_head, int O_row, float softmax_scale) {
  constexpr int kPieces = kHeadDim / 4;  // of a row
  const Work work{S, Hkv, group, tile_queries, query_tiles};
  const RowTile rows(work, blockIdx.x);
  const int piece = (blockIdx.y * kMergeThreads + threadIdx.x) / kShares;
  const int row = piece / kPieces, column = piece % kPieces * 4;
  // Also where there is nothing to merge: what comes next waits for this launch alone.
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (splits == 1 || row >= rows.rows) return;
  const float scale = softmax_scale * kLog2E;
  float4 part[kParts];
  float2 of_part[kParts];
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    const int split = min(static_cast<int>(threadIdx.x % kShares) + i * kShares, splits - 1);
    const size_t at = static_cast<size_t>(blockIdx.x * splits + split) * kRows + row;
    of_part[i] = sums[at];
    part[i] = *reinterpret_cast<const float4*>(parts + at * kHeadDim + column);
  }
  Merged merged = {{}, kLowest, 0.0f};
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    // Of two splits there are two: with one, nothing is merged.
    if (SPLIT == 2 || threadIdx.x % kShares + i * kShares < splits) merged.add(part[i], of_part[i].x, of_part[i].y, scale);
  }
#pragma unroll
  for (int distance = 1; distance < kShares; distance *= 2) {
    const Merged other = merged.of_lane(distance);
    merged.add(other.total, other.largest, other.weight, scale);
  }
  if (threadIdx.x % kShares != 0) return;
  const Places places{O_head, O_row};
  const float inverse = 1.0f / merged.weight;  // keys of several tiles: each row sees some
  *reinterpret_cast<uint2*>(O + places.of_output(work, rows, row) * kHeadDim + column) =
      make_uint2(pack(merged.total.x * inverse, merged.total.y * inverse),
                 pack(merged.total.z * inverse, merged.total.w * inverse));
  if (LSE != nullptr && column == 0) LSE[places.of_sum(work, rows, row)] = logarithm(merged.largest, merged.weight, scale);
}

#define INSTANTIATE(D)                                                                                               \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,       \
                                        const __grid_constant__ TensorMap, Element*, float*, float*, float2*, int, int, \
                                        int, int, int, int, int, int, int, int, int, float);                         \
  template __global__ void merge<D>(Element*, float*, const float*, const float2*, int, int, int, int, int, int, int, int, \
                                    float);
INSTANTIATE(32)
INSTANTIATE(64)
INSTANTIATE(96)
INSTANTIATE(128)
INSTANTIATE(256)
