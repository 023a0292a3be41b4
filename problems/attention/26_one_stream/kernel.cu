// 26_one_stream: any number of rows may share keys, and all of them read these once, as one stream.
//
// Idea      Where many heads share one head of K and V (multi-query attention), or a few queries of each are more than 64 rows, a launch
//           for each tile of rows reads the keys again. Here a CTA has several warpgroups with rows of their own for the same keys, and
//           as many CTAs as the GPU holds have equal shares: whole units of rows, whose keys are one stream, or equal parts of one unit.
// Change    From 21: two or three warpgroups, whose rows need not be whole queries. The warp that copies goes on to the next unit's keys
//           while the others end this one's. Parts of a unit go to L2, as registers have them, and the CTA with the last keys merges
//           them. One launch. Queries come by loads of warps that do nothing else, a unit ahead.
//           Weights have no swizzle but whole matrices of 8 x 8, so that ROWS may be any multiple of 8: 71 heads are three times 24.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, S, D], K, V: [B, Hkv, Skv, D], contiguous, or with heads inside positions (bshd);
//           LSE: fp32 [B, H, S] or null. Tensor maps: K and V (D, Skv, Hkv, B), panels of 64 columns with a 128-byte swizzle.
//           A group is a sequence's head of K and V; its row r is query r / (H / Hkv), head r % (H / Hkv). A unit is
//           ROWS x WARPGROUPS rows of a group.
//           block = 128 (WARPGROUPS + 1): of the last warpgroup, a warp copies keys, the others bring queries. grid: where units are as
//           many as SMs, the fewest CTAs that make as many rounds; where they are fewer, as many for each as there is room for.
//           weights in shared memory: [warpgroup][2][BLOCK_N / 64][ROWS / 8][8] matrices of 8 keys x 16 bytes: an N-major B operand.
//           parts: [CTA][warp][ROWS D / 128 / 4 x 32 lanes x 4 accumulators, then ROWS / 2 x 2 rows' reference and sum] of fp32.
//           sent: one int for each CTA and warp, 0 before and after every launch.
// Tile      ROWS rows x BLOCK_N keys per warpgroup. Stages hold K 0, K 1, V 0, K 2, V 1, ..., V of the last, then K 0 of the next unit.
// Resources Shared bytes: 2 D (2 WARPGROUPS ROWS + STAGES BLOCK_N) + 4 WARPGROUPS ROWS BLOCK_N. Registers: 224 or 152 of a thread that
//           computes, by setmaxnreg.
// Bound     Products and exponentials, of more than some 64 rows of a group; below, memory: 4 D bytes per key and head of K and V. Parts:
//           some 2 us, and more the fewer units there are, since one CTA adds the parts of all others.
// Accuracy  As 21, HEADROOM = 8; parts are added in one order, which depends on how many SMs there are.
// Limits    sm_90a; D in {64, 128}; S <= 64; any Skv >= 1, any heads. A CTA waits for CTAs before it, which are on the GPU with it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kRows = ROWS;           // of a warpgroup, those that are not there included
constexpr int kGroups = WARPGROUPS;   // that compute
constexpr int kUnitRows = kRows * kGroups;
constexpr int kBlockN = BLOCK_N;      // keys per tile
constexpr int kKeyBlocks = kBlockN / 64;  // of 64 keys, the rows of a product
constexpr int kStages = STAGES;       // each a tile of K or of V
static_assert(kStages >= 3, "V of the tile before is held while K of the next one and V of this one come");
static_assert(kRows % 8 == 0, "columns of products come in eights");
constexpr int kWarps = 4;  // of a warpgroup
constexpr int kComputing = 32 * kWarps;
constexpr int kThreads = kComputing * (kGroups + 1);
constexpr int kBringing = 96;  // threads that bring queries
// setmaxnreg: a CTA starts with 65536 / kThreads registers per thread and may redistribute these.
constexpr int kHelperRegisters = 56;
constexpr int kComputingRegisters = kGroups == 2 ? 224 : 152;
static_assert(kGroups == 2 || kGroups == 3, "that have as many registers");

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr int kThreadRows = kRows / 4;        // of a tile, of which a thread has scores
constexpr int kMatrixBytes = 128;             // of 8 keys x 8 rows of weights
constexpr int kWeightBytes = 2 * kBlockN * kRows;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLargestExponent = 15.0f;                         // of any weight: fp16 ends at 2^16
constexpr float kWeightExponent = kLargestExponent - 8.0f;       // of a weight whose score is the reference
constexpr float kLowest = -3.0e38f;        // the reference of a row that has seen no key: finite, so its weights are 0, not NaN

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
  // The same from a stage of even number, where a ring of even length does not end.
  __device__ void advance_from_even() {
    static_assert(kCount % 2 == 0);
    ++stage;
  }
};

// ---- wgmma: 64 x N accumulators in registers, 16 terms per instruction ----
// A thread t of the warpgroup has rows t / 32 * 16 + t % 32 / 4 + {0, 8}; accumulator i is of row i / 2 % 2, column
// i / 4 * 8 + t % 4 * 2 + i % 2.

// What addresses and offsets are counted in where operands are described.
__device__ constexpr unsigned units(unsigned bytes) { return bytes >> 4; }

// A swizzled panel as an operand, K-major, or MN-major of one panel's width. `low`: its address in units.
__device__ unsigned long long operand(unsigned low) {
  return static_cast<unsigned long long>(units(kSwizzleBytes) | 1u << 30) << 32 | low;
}

// Weights of 16 keys as an operand, N-major, matrices of 8 x 8 without a swizzle: from 8 keys to the next, and from 8 rows to the next.
__device__ unsigned long long weights_operand(unsigned low) {
  constexpr unsigned kKeys = units(kMatrixBytes), kNextRows = units(8 * kMatrixBytes);
  return static_cast<unsigned long long>(kNextRows) << 32 | kKeys << 16 | low;
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define REGISTERS_16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define REGISTERS_24 REGISTERS_16 ", %8, %9, %10, %11"
#define REGISTERS_32 REGISTERS_24 ", %12, %13, %14, %15"

#define MULTIPLY(N, TYPES, REGISTERS, n0, n1, n2, n3, ...)                                                \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n2 ", 0;\n"                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPES " {" REGISTERS "}, %" #n0 ", %" #n1 \
               ", p, 1, 1, %" #n3 ", %" #n3 ";\n}\n"                                                     \
               : __VA_ARGS__                                                                              \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(kTransposed))

template <int kColumns>
struct Wgmma;

// For N columns: d = a * b + (accumulate ? d : 0), both in shared memory, K-major, or M-major and N-major (kTransposed = 1).
// n0 ... n3 are the numbers of the operands behind the N / 2 accumulators.
#define WGMMA(N, n0, n1, n2, n3, ...)                                                                                  \
  template <>                                                                                                      \
  struct Wgmma<N> {                                                                                                \
    template <int kTransposed>                                                                                     \
    static __device__ __forceinline__ void multiply(float (&d)[N / 2], unsigned long long a, unsigned long long b, \
                                                    bool accumulate) {                                             \
      if constexpr (kIsHalf) {                                                                                     \
        MULTIPLY(N, "f16.f16", REGISTERS_##N, n0, n1, n2, n3, __VA_ARGS__);                                        \
      } else {                                                                                                     \
        MULTIPLY(N, "bf16.bf16", REGISTERS_##N, n0, n1, n2, n3, __VA_ARGS__);                                      \
      }                                                                                                            \
    }                                                                                                              \
  };

WGMMA(16, 8, 9, 10, 11, D4(0), D4(4))
WGMMA(24, 12, 13, 14, 15, D4(0), D4(4), D4(8))
WGMMA(32, 16, 17, 18, 19, D16(0))

// Accumulators belong to wgmma from `begin` to `wait_for_products`: these keep the compiler's hands off them.
template <int kBlocks, int kCount>
__device__ void hands_off(float (&accumulators)[kBlocks][kCount]) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[block][i])::"memory");
  }
}

__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Of groups that were committed, all but the last kUnderWay are complete.
template <int kUnderWay>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kUnderWay) : "memory");
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

// Over the 8 lanes of a warp that share a row.
__device__ float max_of_lanes(float value) {
#pragma unroll
  for (int distance = 4; distance < 32; distance *= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  return value;
}

__device__ float sum_of_lanes(float value) {
#pragma unroll
  for (int distance = 4; distance < 32; distance *= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

// The threads of a warpgroup meet at named barrier 1 + warpgroup (0 is __syncthreads).
__device__ void meet(int warpgroup) {
  asm volatile("barrier.cta.sync %0, %1;" ::"r"(1 + warpgroup), "n"(kComputing) : "memory");
}

// They meet, and learn whether it holds for any of them.
__device__ bool meet_any(int warpgroup, bool value) {
  int any;
  asm volatile(
      "{\n"
      ".reg .pred own, any;\n"
      "setp.ne.b32 own, %1, 0;\n"
      "barrier.cta.red.or.pred any, %2, %3, own;\n"
      "selp.b32 %0, 1, 0, any;\n"
      "}\n"
      : "=r"(any)
      : "r"(static_cast<int>(value)), "r"(1 + warpgroup), "n"(kComputing)
      : "memory");
  return any != 0;
}

// Two or four matrices of 8 x 8 elements; lanes 8 i ... 8 i + 7 have the addresses of the lines of matrix i.
template <int kMatrices>
__device__ void store_matrices(unsigned address, const unsigned* words) {
  if constexpr (kMatrices == 4) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]), "r"(words[1]),
                 "r"(words[2]), "r"(words[3])
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(words[0]), "r"(words[1])
                 : "memory");
  }
}

// ---- the kernel ----

// Where things lie in shared memory, in bytes.
template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = kHeadDim / kPanelColumns;
  static constexpr int kKeyBytes = kPanels * kBlockN * kRowBytes;  // of a tile of K or V
  static constexpr int kQueryBytes = kPanels * kRows * kRowBytes;  // of a warpgroup
  static constexpr unsigned Q = 0;  // of all warpgroups, for two units
  static constexpr unsigned stages = Q + 2 * kGroups * kQueryBytes;
  static constexpr unsigned weights = stages + kStages * kKeyBytes;             // of each warpgroup two, in turn
  static constexpr unsigned of_warps = weights + kGroups * 2 * kWeightBytes;    // maxima, sums: a float per warp and row each
  static constexpr unsigned end_keys = of_warps + kGroups * 2 * kWarps * kRows * 4;  // an int per row, for two units
  // mbarriers
  static constexpr unsigned Q_full = end_keys + 2 * kUnitRows * 4;
  static constexpr unsigned Q_empty = Q_full + 16;
  static constexpr unsigned full = Q_empty + 16;  // of the stages
  static constexpr unsigned empty = full + kStages * 8;
};

struct Work {
  int S, Hkv;
  int group;      // query heads that share a head of K and V
  int row_tiles;  // units of a group
};

// What a CTA does: all tiles of keys for some units, in steps of stride, or a part of the tiles for one unit.
struct Share {
  int first_unit, stride;
  int first_tile, end_tile;
  int first_cta;  // of those with parts of the same unit
  bool merges;    // is the last of them

  __device__ Share(int unit_count, int key_tiles) {
    const int ctas = gridDim.x, cta = blockIdx.x;
    const int sharers = max(ctas / unit_count, 1);  // CTAs for a unit
    first_unit = cta / sharers;
    stride = ctas / sharers;
    first_cta = first_unit * sharers;
    const int part = cta - first_cta;
    first_tile = key_tiles * part / sharers;
    end_tile = key_tiles * (part + 1) / sharers;
    merges = part + 1 == sharers;
  }
};

// Rows of a unit.
struct Rows {
  int batch, group, first, count;

  __device__ Rows(const Work& work, int unit) {
    const int groups = unit / work.row_tiles;
    first = (unit - groups * work.row_tiles) * kUnitRows;
    batch = groups / work.Hkv;
    group = groups - batch * work.Hkv;
    count = work.S * work.group - first;
  }
};

// Where a row lies.
struct Places {
  int O_head, O_row;  // from one head, or query, to the next, in rows of O

  // In rows of O, as in those of Q.
  __device__ size_t of_output(const Work& work, const Rows& rows, int row) const {
    const int query = (rows.first + row) / work.group;
    const int head = rows.group * work.group + rows.first + row - query * work.group;
    return static_cast<size_t>(rows.batch) * work.Hkv * work.group * work.S + head * O_head + query * O_row;
  }
  __device__ static size_t of_sum(const Work& work, const Rows& rows, int row) {
    return Places{work.S, 1}.of_output(work, rows, row);
  }
};

__device__ float logarithm(float largest, float sum, float scale) {
  return (fmaf(largest, scale, -kWeightExponent) + log2f(sum)) / kLog2E;
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    attention(const Element* __restrict__ Q,        // [B, H, S, D]
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              Element* __restrict__ O,              // [B, H, S, D]
              float* __restrict__ LSE,              // [B, H, S], or null
              unsigned char* __restrict__ parts,    // what each CTA sends
              int* __restrict__ sent,               // [CTA][warp]: 1 when it lies there
              int S, int Hkv, int group, int row_tiles,
              int unit_count,                       // of all groups of all batch elements
              int Skv, int key_tiles,               // those that any query sees
              int diagonal,                         // query i sees keys up to i + diagonal
              int O_head, int O_row,                // from one head, or query, to the next, in rows of O
              float softmax_scale) {
  using Tiles = SharedTiles<kHeadDim>;
  constexpr int kPanels = Tiles::kPanels;
  constexpr int kKeyBytes = Tiles::kKeyBytes;
  extern __shared__ unsigned char shared_bytes[];
  const unsigned misaligned = shared_address(shared_bytes) & (kSwizzleBytes - 1);
  unsigned char* smem = shared_bytes + ((kSwizzleBytes - misaligned) & (kSwizzleBytes - 1));
  const unsigned base = shared_address(smem);

  const Work work{S, Hkv, group, row_tiles};
  const Share share(unit_count, key_tiles);
  const Places places{O_head, O_row};

  // Shuffled, so that the compiler knows it to be the same in a warp.
  const int cta_warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0);
  const int lane = threadIdx.x % 32;
  const unsigned stages = base + Tiles::stages;
  const unsigned full = base + Tiles::full;
  const unsigned empty = base + Tiles::empty;
  const unsigned Q_full = base + Tiles::Q_full;
  const unsigned Q_empty = base + Tiles::Q_empty;

  const bool copies = cta_warp == kWarps * kGroups && lane == 0;
  Place<kStages> filled;
  // Waits until the stage is empty. The first round finds all of them empty.
  const auto copy_tile = [&](const TensorMap* map, int tile, const Rows& rows) {
    const unsigned barrier = full + 8 * filled.stage;
    wait(empty + 8 * filled.stage, filled.parity ^ 1);
    expect(barrier, kKeyBytes);
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
      copy_box(stages + filled.stage * kKeyBytes + p * kBlockN * kRowBytes, map, p * kPanelColumns, tile * kBlockN, rows.group,
               rows.batch, barrier);
    }
  };
  if (copies) {
    for (int i = 0; i < 2; ++i) {
      init(Q_full + 8 * i, kBringing);
      init(Q_empty + 8 * i, kComputing * kGroups);
    }
    for (int i = 0; i < kStages; ++i) {
      init(full + 8 * i, 1);
      init(empty + 8 * i, kWarps * kGroups);  // a lane of every warp
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    copy_tile(&K, share.first_tile, Rows(work, share.first_unit));  // need not wait until the other threads have started
    filled.advance_from_even();
  }

  // 16 bytes of a row of queries: piece i % (D / 8) of row i / (D / 8). Zeros behind the last row.
  constexpr int kPieces = kHeadDim / 8;
  const auto query_piece = [&](const Rows& rows, int i) {
    const int row = i / kPieces;
    if (row >= rows.count) return uint4{};
    return __ldg(reinterpret_cast<const uint4*>(Q + places.of_output(work, rows, row) * kHeadDim + i % kPieces * 8));
  };
  const auto put_piece = [&](int place, int i, const uint4& piece) {
    const int row = i / kPieces, column = i % kPieces;
    const int at = (place * kGroups + row / kRows) * Tiles::kQueryBytes +
                   (column / 8 * kRows + row % kRows) * kRowBytes + (column % 8 ^ row % 8) * 16;
    *reinterpret_cast<uint4*>(smem + Tiles::Q + at) = piece;
  };
  const auto put_end_key = [&](const Rows& rows, int place, int row) {
    reinterpret_cast<int*>(smem + Tiles::end_keys)[place * kUnitRows + row] = min(Skv, (rows.first + row) / group + 1 + diagonal);
  };
  // A warpgroup brings its first queries itself.
  const int warpgroup = cta_warp / kWarps;
  constexpr int kOwnPieces = (kRows * kPieces + kComputing - 1) / kComputing;  // of a thread, at most
  uint4 own_pieces[kOwnPieces];
  const auto own_piece = [&](int i) { return warpgroup * kRows * kPieces + i * kComputing + static_cast<int>(threadIdx.x) % kComputing; };
  const auto is_own = [&](int i) { return i * kComputing + static_cast<int>(threadIdx.x) % kComputing < kRows * kPieces; };
  if (cta_warp < kWarps * kGroups) {
    const Rows rows(work, share.first_unit);
#pragma unroll
    for (int i = 0; i < kOwnPieces; ++i) {
      if (is_own(i)) own_pieces[i] = query_piece(rows, own_piece(i));
    }
  }
  __syncwarp();
  __syncthreads();  // one for all warps: CUDA C++ promises nothing of two at which parts of a CTA meet
  if (cta_warp >= kWarps * kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kHelperRegisters));
    if (copies) {
      int unit = share.first_unit;
#pragma unroll 1
      do {
        const Rows rows(work, unit);
        if (unit != share.first_unit) {
          copy_tile(&K, share.first_tile, rows);
          filled.advance_from_even();
        }
#pragma unroll 1
        for (int tile = share.first_tile + 1; tile < share.end_tile; ++tile) {
          copy_tile(&K, tile, rows);
          filled.advance();
          copy_tile(&V, tile - 1, rows);
          filled.advance_from_even();
        }
        copy_tile(&V, share.end_tile - 1, rows);
        filled.advance();
      } while ((unit += share.stride) < unit_count);
    }
    if (cta_warp == kWarps * kGroups) return;
    // Queries of the second unit and those behind it, into two places in turn.
    constexpr int kAtOnce = 2;
    constexpr bool kIsWhole = kUnitRows * kPieces % (kBringing * kAtOnce) == 0;  // all threads bring as many
    const int thread = threadIdx.x - (kThreads - kBringing);
#pragma unroll 1
    for (int unit = share.first_unit + share.stride, turn = 1; unit < unit_count; unit += share.stride, ++turn) {
      const Rows rows(work, unit);
      const int place = turn % 2;
      wait(Q_empty + 8 * place, turn / 2 & 1 ^ 1);  // as above: the second unit finds it empty
#pragma unroll 1
      for (int first = thread; first < kUnitRows * kPieces; first += kBringing * kAtOnce) {
        uint4 pieces[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (kIsWhole || first + kBringing * i < kUnitRows * kPieces) pieces[i] = query_piece(rows, first + kBringing * i);
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          if (kIsWhole || first + kBringing * i < kUnitRows * kPieces) put_piece(place, first + kBringing * i, pieces[i]);
        }
      }
      for (int row = thread; row < kUnitRows; row += kBringing) put_end_key(rows, place, row);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      arrive(Q_full + 8 * place);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kComputingRegisters));

  const int warp = cta_warp % kWarps;
  {
    const Rows rows(work, share.first_unit);
#pragma unroll
    for (int i = 0; i < kOwnPieces; ++i) {
      if (is_own(i)) put_piece(0, own_piece(i), own_pieces[i]);
    }
    const int row = threadIdx.x % kComputing;
    if (row < kRows) put_end_key(rows, 0, warpgroup * kRows + row);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    meet(warpgroup);
  }

  const int quad_lane = lane % 4;
  const float scale = softmax_scale * kLog2E;  // weights are powers of 2
  // Row r of a thread is this one of the tile. Accumulators i have row r = i / 4 * 2 + i % 2.
  const auto row_of = [&](int r) { return r / 2 * 8 + 2 * quad_lane + r % 2; };
  const auto thread_row = [](int i) { return i / 4 * 2 + i % 2; };

  float scores[kKeyBlocks][kRows / 2];
  float output[kPanels][kRows / 2];  // columns of V x rows
  float reference[kThreadRows];      // the same in all threads that have the row
  float sum[kThreadRows];            // of this thread's weights
  int place_of_queries = 0;  // 0 and 1 in turn

  // Of the four matrices that a warp stores at once, this lane has the address of a line of this one: keys (lane / 8 % 2) * 8 ... + 7
  // of the warp's, 8 rows lane / 16.
  const unsigned own_weights = base + Tiles::weights + warpgroup * 2 * kWeightBytes;
  const unsigned own_line = own_weights + (2 * warp + lane / 8 % 2 + lane / 16 * 8) * kMatrixBytes + lane % 8 * 16;
  float* const of_warps = reinterpret_cast<float*>(smem + Tiles::of_warps) + warpgroup * 2 * kWarps * kRows;  // then sums
  const int* const end_keys = reinterpret_cast<const int*>(smem + Tiles::end_keys) + warpgroup * kRows;
  int first_visible = 0;  // keys that all rows see

  const auto release_stage = [&](int stage) {
    if (lane == 0) arrive(empty + 8 * stage);
  };
  const auto wait_for_stage = [&](const Place<kStages>& at) { wait(full + 8 * at.stage, at.parity); };
  const auto issue_scores = [&](int stage) {
    const unsigned queries = units(base + Tiles::Q) + (place_of_queries * kGroups + warpgroup) * units(Tiles::kQueryBytes);
    const unsigned keys = units(stages) + stage * units(kKeyBytes);
    hands_off(scores);
    begin();
#pragma unroll
    for (int d = 0; d < kHeadDim / 16; ++d) {
      const unsigned column_bytes = d % 4 * 32;
#pragma unroll
      for (int block = 0; block < kKeyBlocks; ++block) {
        Wgmma<kRows>::template multiply<0>(scores[block],
                                           operand(keys + units((d / 4 * kBlockN + 64 * block) * kRowBytes + column_bytes)),
                                           operand(queries + units(d / 4 * kRows * kRowBytes + column_bytes)), d > 0);
      }
    }
    commit();
  };
  const auto issue_output = [&](int stage, int buffer) {
    const unsigned values = units(stages) + stage * units(kKeyBytes);
    const unsigned weights = units(own_weights) + buffer * units(kWeightBytes);
    hands_off(output);
    begin();
#pragma unroll
    for (int key = 0; key < kBlockN; key += 16) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        Wgmma<kRows>::template multiply<1>(output[p], operand(values + units((p * kBlockN + key) * kRowBytes)),
                                           weights_operand(weights + units(key / 64 * 128 * kRows + key % 64 / 8 * kMatrixBytes)), true);
      }
    }
    commit();
  };

  // A float of each of a thread's rows goes to all warps.
  const auto tell_warps = [&](float* of_warps, const float (&values)[kThreadRows]) {
    if (lane < 4) {
#pragma unroll
      for (int r = 0; r < kThreadRows; r += 2) {
        *reinterpret_cast<float2*>(of_warps + warp * kRows + row_of(r)) = make_float2(values[r], values[r + 1]);
      }
    }
    meet(warpgroup);
  };

  // Hides keys that rows don't see. All rows see all keys but the last S - 1 <= 63.
  const auto mask = [&](int tile) {
    if ((tile + 1) * kBlockN <= first_visible) return;
    const int first_key = tile * kBlockN + 16 * warp + lane / 4;
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
      const int2 end = *reinterpret_cast<const int2*>(end_keys + place_of_queries * kUnitRows + row_of(r));
#pragma unroll
      for (int block = 0; block < kKeyBlocks; ++block) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int key = first_key + 64 * block + 8 * half;
          if (key >= end.x) scores[block][2 * r + 2 * half] = -INFINITY;
          if (key >= end.y) scores[block][2 * r + 2 * half + 1] = -INFINITY;
        }
      }
    }
  };

  // The largest scores so far become references. No product may have output under way.
  const auto raise_references = [&] {
    float largest[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) largest[r] = reference[r];
#pragma unroll
    for (int block = 0; block < kKeyBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < kRows / 2; ++i) largest[thread_row(i)] = fmaxf(largest[thread_row(i)], scores[block][i]);
    }
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) largest[r] = max_of_lanes(largest[r]);
    tell_warps(of_warps, largest);
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const float2 of_warp = *reinterpret_cast<const float2*>(of_warps + w * kRows + row_of(r));
        largest[r] = fmaxf(largest[r], of_warp.x);
        largest[r + 1] = fmaxf(largest[r + 1], of_warp.y);
      }
    }
    float factor[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      factor[r] = exp2_approximately((reference[r] - largest[r]) * scale);
      reference[r] = largest[r];
      sum[r] *= factor[r];
    }
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
#pragma unroll
      for (int i = 0; i < kRows / 2; ++i) output[p][i] *= factor[thread_row(i)];
    }
  };

  // Writes weights and their sums. Returns whether one is too large.
  float tile_sum[kThreadRows];
  const auto weigh = [&](int buffer) {
    float offset[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      offset[r] = fmaf(-reference[r], scale, kWeightExponent);
      tile_sum[r] = 0.0f;
    }
    float largest = 0.0f;
    unsigned words[kKeyBlocks * kRows / 4];
#pragma unroll
    for (int block = 0; block < kKeyBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < kRows / 2; i += 2) {
        const int r = thread_row(i);
        const float low = fmaf(scores[block][i], scale, offset[r]);
        const float high = fmaf(scores[block][i + 1], scale, offset[r + 1]);
        largest = fmaxf(largest, fmaxf(low, high));
        const float low_weight = exp2_approximately(low), high_weight = exp2_approximately(high);
        tile_sum[r] += low_weight;
        tile_sum[r + 1] += high_weight;
        words[(block * kRows + 2 * i) / 4] = pack(low_weight, high_weight);
      }
    }
    const unsigned lines = own_line + buffer * kWeightBytes;
    // Words of a block of keys are of 8 rows each, the first 8 of 16 keys and the others: two matrices, and 8 from one such pair to the
    // next lie between.
#pragma unroll
    for (int w = 0; w + 2 < kKeyBlocks * kRows / 4; w += 4) store_matrices<4>(lines + w / 2 * 8 * kMatrixBytes, &words[w]);
    if constexpr (kKeyBlocks * kRows / 8 % 2 == 1) {
      constexpr int w = kKeyBlocks * kRows / 4 - 2;
      store_matrices<2>(lines + w / 2 * 8 * kMatrixBytes, &words[w]);
    }
    return largest > kLargestExponent;
  };

  const auto add_tile_sum = [&] {
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) sum[r] += tile_sum[r];
  };
  // Weights relative to references that have just been raised; afterwards all threads may multiply by them.
  const auto weigh_for_all = [&](int buffer) {
    weigh(buffer);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    meet(warpgroup);
  };
  // Weights of a tile behind others, for all threads. The product with the values before is under way.
  const auto softmax = [&](int buffer) {
    const bool is_too_large = weigh(buffer);
    wait_for_products<0>();
    hands_off(output);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    // From here on all threads also know that weights and values of the tile before have been read.
    if (meet_any(warpgroup, is_too_large)) {
      raise_references();
      weigh_for_all(buffer);
    }
    add_tile_sum();
  };

  // What a warp sends of its part: accumulators, [ROWS D / 128 / 4][32 lanes] of 16 bytes, then reference and sum of each row.
  constexpr int kWarpBytes = kRows * (kHeadDim + 8);
  const auto part_of = [&](int cta) {
    return parts + (static_cast<size_t>(cta) * (kWarps * kGroups) + cta_warp) * kWarpBytes;
  };
  const auto sent_of = [&](int cta) { return sent + cta * (kWarps * kGroups) + cta_warp; };
  const auto send = [&] {
    unsigned char* const start = part_of(blockIdx.x);
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
#pragma unroll
      for (int i = 0; i < kRows / 2; i += 4) {
        __stcg(reinterpret_cast<float4*>(start + (p * kRows / 2 + i) * 128 + lane * 16),
               make_float4(output[p][i], output[p][i + 1], output[p][i + 2], output[p][i + 3]));
      }
    }
    if (lane < 4) {
#pragma unroll
      for (int r = 0; r < kThreadRows; r += 2) {
        __stcg(reinterpret_cast<float4*>(start + kRows * kHeadDim + row_of(r) * 8),
               make_float4(reference[r], sum[r], reference[r + 1], sum[r + 1]));
      }
    }
    __syncwarp();
    if (lane == 0) {
      __threadfence();
      atomicExch(sent_of(blockIdx.x), 1);
    }
  };
  // Adds what the CTAs before have of the unit, if any, the nearest first.
  const auto merge = [&] {
#pragma unroll 1
    for (int cta = static_cast<int>(blockIdx.x) - 1; cta >= share.first_cta; --cta) {
      if (lane == 0) {
        int is_sent;
        do {
          asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(is_sent) : "l"(sent_of(cta)) : "memory");
        } while (!is_sent);
        *sent_of(cta) = 0;  // for the next launch
      }
      __syncwarp();
      const unsigned char* const start = part_of(cta);
      float own[kThreadRows], other[kThreadRows];
#pragma unroll
      for (int r = 0; r < kThreadRows; r += 2) {
        const float4 theirs = __ldcg(reinterpret_cast<const float4*>(start + kRows * kHeadDim + row_of(r) * 8));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float their_reference = i ? theirs.z : theirs.x;
          const float largest = fmaxf(reference[r + i], their_reference);
          own[r + i] = exp2_approximately((reference[r + i] - largest) * scale);
          other[r + i] = exp2_approximately((their_reference - largest) * scale);
          reference[r + i] = largest;
          sum[r + i] = fmaf(other[r + i], i ? theirs.w : theirs.y, own[r + i] * sum[r + i]);
        }
      }
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
#pragma unroll
        for (int i = 0; i < kRows / 2; i += 4) {
          const float4 theirs = __ldcg(reinterpret_cast<const float4*>(start + (p * kRows / 2 + i) * 128 + lane * 16));
          const int r = thread_row(i);
          output[p][i] = fmaf(other[r], theirs.x, own[r] * output[p][i]);
          output[p][i + 1] = fmaf(other[r + 1], theirs.y, own[r + 1] * output[p][i + 1]);
          output[p][i + 2] = fmaf(other[r], theirs.z, own[r] * output[p][i + 2]);
          output[p][i + 3] = fmaf(other[r + 1], theirs.w, own[r + 1] * output[p][i + 3]);
        }
      }
    }
  };
  const auto store_results = [&](const Rows& unit_rows) {
    // Lanes 4 apart have neighbouring columns: of a pair of rows, one lane stores the first row's, the other one the second's.
    const int second = lane / 4 % 2;
    const int first_row = warpgroup * kRows;
    float inverse[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      inverse[r] = sum[r] == 0.0f ? 0.0f : 1.0f / sum[r];  // rows that see no key have outputs of 0
    }
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
      const int row = first_row + row_of(r) + second;
      const bool is_there = row < unit_rows.count;
      Element* const start =
          O + places.of_output(work, unit_rows, is_there ? row : 0) * kHeadDim + 16 * warp + lane / 8 * 2;
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
#pragma unroll
        for (int i = 2 * r; i < 2 * r + 4; i += 2) {
          const float first = output[p][i] * inverse[r], last = output[p][i + 1] * inverse[r + 1];
          const float other = __shfl_xor_sync(kAllLanes, second ? first : last, 4);
          const unsigned pair = second ? pack(other, last) : pack(first, other);
          if (is_there) *reinterpret_cast<unsigned*>(start + 64 * p + i / 2 % 2 * 8) = pair;
        }
      }
    }
    if (LSE != nullptr && warp == 0 && lane < 4) {
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        const int row = first_row + row_of(r);
        if (row < unit_rows.count) LSE[places.of_sum(work, unit_rows, row)] = logarithm(reference[r], sum[r], scale);
      }
    }
  };

  // Of each unit, scores of the first keys; then those of the next ones, and the product with these values beside the softmax of the next
  // keys; then the product with the last values.
  Place<kStages> place;
  int unit = share.first_unit;
  int turn = 0;  // counts units
#pragma unroll 1
  do {
    const Rows unit_rows(work, unit);
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      reference[r] = kLowest;
      sum[r] = 0.0f;
    }
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
#pragma unroll
      for (int i = 0; i < kRows / 2; ++i) output[p][i] = 0.0f;
    }
    place_of_queries = turn % 2;
    if (turn > 0) wait(Q_full + 8 * place_of_queries, (turn - 1) / 2 & 1);
    first_visible = min(Skv, (unit_rows.first + warpgroup * kRows) / group + 1 + diagonal);
    wait_for_stage(place);
    issue_scores(place.stage);
    wait_for_products<0>();
    hands_off(scores);
    release_stage(place.stage);
    place.advance_from_even();
    int tile = share.first_tile;
    int buffer = 0;
    mask(tile);
    raise_references();
    weigh_for_all(buffer);
    add_tile_sum();
#pragma unroll 1
    for (; tile + 1 < share.end_tile; ++tile) {
      Place<kStages> values = place;
      values.advance();
      wait_for_stage(place);
      issue_scores(place.stage);
      wait_for_stage(values);
      issue_output(values.stage, buffer);
      wait_for_products<1>();
      hands_off(scores);
      release_stage(place.stage);
      mask(tile + 1);
      buffer ^= 1;
      softmax(buffer);
      release_stage(values.stage);
      place = values;
      place.advance_from_even();
    }
    wait_for_stage(place);
    issue_output(place.stage, buffer);

    // Beside the last product.
    arrive(Q_empty + 8 * place_of_queries);
    float* const sums_of_warps = of_warps + kWarps * kRows;
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) sum[r] = sum_of_lanes(sum[r]);
    tell_warps(sums_of_warps, sum);
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
      sum[r] = sum[r + 1] = 0.0f;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const float2 of_warp = *reinterpret_cast<const float2*>(sums_of_warps + w * kRows + row_of(r));
        sum[r] += of_warp.x;
        sum[r + 1] += of_warp.y;
      }
    }
    wait_for_products<0>();
    hands_off(output);
    release_stage(place.stage);
    place.advance();

    if (share.merges) {
      merge();
      store_results(unit_rows);
    } else {
      send();
    }
    ++turn;
  } while ((unit += share.stride) < unit_count);
}

#define INSTANTIATE(D)                                                                                                      \
  template __global__ void attention<D>(const Element*, const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                        Element*, float*, unsigned char*, int*, int, int, int, int, int, int, int, int, int, \
                                        int, float);
INSTANTIATE(64)
INSTANTIATE(128)
