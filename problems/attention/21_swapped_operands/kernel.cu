// 21_swapped_operands: keys are rows of the tensor cores' tiles, and queries their columns.
//
// Idea      wgmma multiplies 64 rows whatever is in them, and as few as 8 columns. So keys, of which there are many, become rows of the
//           first product (K Q^T), and columns of V rows of the second (V^T W^T): ROWS, the (query, head) pairs of a tile, need not be 64.
// Change    From 20: operands exchanged, so that all four warps have exponentials, whatever the number of rows. Weights go through
//           shared memory. The product with the values of a tile is computed beside the softmax of the next one.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, S, D], K, V: [B, Hkv, Skv, D], contiguous, or with heads inside positions (bshd);
//           LSE: fp32 [B, H, S] or null. Tensor maps: Q (D, group, S, Hkv, B), group = H / Hkv, K and V (D, Skv, Hkv, B);
//           panels of 64 columns with a 128-byte swizzle. Row r of a tile is query r / group, head r % group, of as many queries as
//           fit ROWS. attention: grid = row tiles x splits, block = 160: a warpgroup that computes, a warp that copies.
//           weights in shared memory: [2][BLOCK_N keys][ROWS], lines of 2 ROWS bytes with a swizzle of as many bytes (none for 16), so
//           that stmatrix writes 8 lines x 16 bytes without bank conflicts: an N-major B operand.
//           parts: fp32 [grid][ROWS][D], sums: fp32 [grid][ROWS][2] (reference, sum).
//           merge: as in 20: grid = (row tiles, blocks of 128 threads for their pieces of 4 columns), 56 KB of shared memory unused.
// Tile      ROWS rows x BLOCK_N keys. Stages hold K 0, K 1, V 0, K 2, V 1, ..., V of the last.
// Resources Shared bytes: 128 ceil(D / 64) (ROWS + STAGES BLOCK_N) + 4 ROWS BLOCK_N. Registers: ROWS D / 128 output
//           + ROWS BLOCK_N / 64 scores, and some 60.
// Bound     Memory: 4 D bytes per key and head of K and V, once. Products, by arithmetic: A has 2 KB of shared memory per 64 x ROWS
//           x 16, at 128 bytes a clock 16 clocks: 4 clocks per key at D = 128, where 20 needs 8 for any number of rows.
// Accuracy  Weights are powers of 2, relative to a reference of their row that is no higher than the largest score so far, and
//           2^(15 - HEADROOM) times as large where they meet V: up to 2^15, of fp16's 2^16. Only when a score exceeds its
//           reference by more than HEADROOM are references raised and what is there scaled: all threads learn that at the barrier behind
//           which weights are read.
// Limits    sm_90a; D in {64, 128}; S <= 64; H / Hkv <= ROWS; any Skv >= 1.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kRows = ROWS;           // of a tile, those that are not there included
constexpr int kBlockN = BLOCK_N;      // keys per tile
constexpr int kKeyBlocks = kBlockN / 64;  // of 64 keys, the rows of a product
constexpr int kStages = STAGES;       // each a tile of K or of V
constexpr int kCtasPerSm = CTAS_PER_SM;
static_assert(kStages >= 3, "V of the tile before is held while K of the next one and V of this one come");
constexpr int kWarps = 4;  // that compute
constexpr int kComputing = 32 * kWarps;
constexpr int kThreads = kComputing + 32;

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr int kThreadRows = kRows / 4;        // of a tile, of which a thread has scores
constexpr int kLineBytes = 2 * kRows;         // weights of a key
constexpr int kWeightBytes = kBlockN * kLineBytes;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLargestExponent = 15.0f;                         // of any weight: fp16 ends at 2^16
constexpr float kWeightExponent = kLargestExponent - HEADROOM;    // of a weight whose score is the reference
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

// A swizzled panel as an operand, K-major, or MN-major of one panel's width. `low`: its address in units.
__device__ unsigned long long operand(unsigned low) {
  return static_cast<unsigned long long>(units(kSwizzleBytes) | 1u << 30) << 32 | low;
}

// Weights of 16 keys as an operand, N-major. One stride is used: from 8 keys to the next. Both fields hold it, since it is the
// leading one without a swizzle, and the other one with any.
__device__ unsigned long long weights_operand(unsigned low) {
  constexpr unsigned kStride = units(8 * kLineBytes);
  constexpr unsigned kSwizzle = kRows == 8 ? 0 : kRows == 16 ? 3 : kRows == 32 ? 2 : 1;
  return static_cast<unsigned long long>(kStride | kSwizzle << 30) << 32 | kStride << 16 | low;
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define REGISTERS_8 "%0, %1, %2, %3"
#define REGISTERS_16 REGISTERS_8 ", %4, %5, %6, %7"
#define REGISTERS_32 REGISTERS_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_64 REGISTERS_32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"

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

WGMMA(8, 4, 5, 6, 7, D4(0))
WGMMA(16, 8, 9, 10, 11, D4(0), D4(4))
WGMMA(32, 16, 17, 18, 19, D16(0))
WGMMA(64, 32, 33, 34, 35, D16(0), D16(16))

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

// All threads that compute meet at barrier 1.
__device__ void meet() { asm volatile("barrier.cta.sync 1, %0;" ::"n"(kComputing) : "memory"); }

// They meet, and learn whether it holds for any of them.
__device__ bool meet_any(bool value) {
  int any;
  asm volatile(
      "{\n"
      ".reg .pred own, any;\n"
      "setp.ne.b32 own, %1, 0;\n"
      "barrier.cta.red.or.pred any, 1, %2, own;\n"
      "selp.b32 %0, 1, 0, any;\n"
      "}\n"
      : "=r"(any)
      : "r"(static_cast<int>(value)), "n"(kComputing)
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
  static constexpr unsigned Q = 0;
  static constexpr unsigned stages = Q + kPanels * kRows * kRowBytes;
  static constexpr unsigned weights = stages + kStages * kKeyBytes;  // two, in turn
  static constexpr unsigned of_warps = weights + 2 * kWeightBytes;   // a float per warp and row
  static constexpr unsigned end_keys = of_warps + kWarps * kRows * 4;  // an int per row
  // mbarriers
  static constexpr unsigned Q_full = end_keys + kRows * 4;
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

template <int kHeadDim>
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
  const unsigned stages = base + Tiles::stages;
  const unsigned full = base + Tiles::full;
  const unsigned empty = base + Tiles::empty;

  const bool copies = warp == kWarps && lane == 0;
  Place<kStages> filled;
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
  };
  if (copies) {
    init(base + Tiles::Q_full, 1);
    for (int i = 0; i < kStages; ++i) {
      init(full + 8 * i, 1);
      init(empty + 8 * i, kWarps);  // a lane of every warp
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    // Copies need not wait until the other threads have started.
    expect(base + Tiles::Q_full, kPanels * box_rows * kRowBytes);
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
      copy_box(base + Tiles::Q + p * kRows * kRowBytes, &Q, p * kPanelColumns, 0, rows.first_query, rows.group, rows.batch,
               base + Tiles::Q_full);
    }
    copy_tile(&K, first_tile);
    filled.advance();
  }
  const int first_visible = min(Skv, rows.first_query + 1 + diagonal);  // keys that all rows see
  int* const end_keys = reinterpret_cast<int*>(smem + Tiles::end_keys);  // of the keys that a row sees
  if (warp < kWarps) {
    // Rows behind those of a box stay as they are: zeros.
    const int rows_behind = kRows - box_rows;
    for (int i = threadIdx.x; i < kPanels * rows_behind * (kRowBytes / 16); i += kComputing) {
      const int row = i / (kRowBytes / 16);
      const int panel = row / rows_behind;
      const int at = (panel * kRows + box_rows + row - panel * rows_behind) * kRowBytes + i % (kRowBytes / 16) * 16;
      *reinterpret_cast<uint4*>(smem + Tiles::Q + at) = uint4{};
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (threadIdx.x < kRows) {
      end_keys[threadIdx.x] = min(Skv, rows.first_query + static_cast<int>(threadIdx.x) / group + 1 + diagonal);
    }
  }
  __syncwarp();
  __syncthreads();  // one for all warps: CUDA C++ promises nothing of two at which parts of a CTA meet
  if (warp == kWarps) {
    if (!copies) return;
#pragma unroll 1
    for (int tile = first_tile + 1; tile < end_tile; ++tile) {
      copy_tile(&K, tile);
      filled.advance();
      copy_tile(&V, tile - 1);
      filled.advance_from_even();  // K of the first tile has stage 0, then come pairs of K and V
    }
    copy_tile(&V, end_tile - 1);
    return;
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

  // Of the four matrices that a warp stores at once, this lane has the address of a line: keys (lane / 8 % 2) * 8 + lane % 8 of the
  // warp's, piece of 8 rows (or, of 8 rows in all, block of keys) lane / 16.
  constexpr int kPieces = kRows / 8;
  const int line = 16 * warp + lane % 16;
  const unsigned own_line = base + Tiles::weights + line * kLineBytes +
                            (kPieces == 1 ? lane / 16 * 64 * kLineBytes : 16 * (lane / 16 ^ lane % 8 / (8 / kPieces)));
  float* const of_warps = reinterpret_cast<float*>(smem + Tiles::of_warps);

  const auto release_stage = [&](int stage) {
    if (lane == 0) arrive(empty + 8 * stage);
  };
  const auto wait_for_stage = [&](const Place<kStages>& at) { wait(full + 8 * at.stage, at.parity); };
  const auto issue_scores = [&](int stage) {
    const unsigned queries = units(base + Tiles::Q);
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
    const unsigned weights = units(base + Tiles::weights) + buffer * units(kWeightBytes);
    hands_off(output);
    begin();
#pragma unroll
    for (int key = 0; key < kBlockN; key += 16) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        Wgmma<kRows>::template multiply<1>(output[p], operand(values + units((p * kBlockN + key) * kRowBytes)),
                                           weights_operand(weights + units(key * kLineBytes)), true);
      }
    }
    commit();
  };

  // A float of each of a thread's rows goes to all warps.
  const auto tell_warps = [&](const float (&values)[kThreadRows]) {
    if (lane < 4) {
#pragma unroll
      for (int r = 0; r < kThreadRows; r += 2) {
        *reinterpret_cast<float2*>(of_warps + warp * kRows + row_of(r)) = make_float2(values[r], values[r + 1]);
      }
    }
    meet();
  };

  // Hides keys that rows don't see. All rows see all keys but the last S - 1 <= 63.
  const auto mask = [&](int tile) {
    if ((tile + 1) * kBlockN <= first_visible) return;
    const int first_key = tile * kBlockN + 16 * warp + lane / 4;
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
      const int2 end = *reinterpret_cast<const int2*>(end_keys + row_of(r));
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
    tell_warps(largest);
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
    constexpr int kMatrices = kKeyBlocks * kRows == 8 ? 2 : 4;
#pragma unroll
    for (int w = 0; w < kKeyBlocks * kRows / 4; w += kMatrices) {
      // Pieces 2 k and 2 k + 1 of a line lie together, and the swizzle exchanges pairs of them. Of one piece, two blocks of keys.
      const unsigned at = kPieces == 1 ? lines : (lines ^ w % (kRows / 4) * 8) + w / (kRows / 4) * 64 * kLineBytes;
      store_matrices<kMatrices>(at, &words[w]);
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
    meet();
  };
  // Weights of a tile behind others, for all threads. The product with the values before is under way.
  const auto softmax = [&](int buffer) {
    const bool is_too_large = weigh(buffer);
    wait_for_products<0>();
    hands_off(output);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    // From here on all threads also know that weights and values of the tile before have been read.
    if (meet_any(is_too_large)) {
      raise_references();
      weigh_for_all(buffer);
    }
    add_tile_sum();
  };

  // Scores of the first keys; then those of the next ones, and the product with these values beside the softmax of the next keys; then
  // the product with the last values.
  Place<kStages> place;
  wait(base + Tiles::Q_full, 0);
  wait_for_stage(place);
  issue_scores(place.stage);
  wait_for_products<0>();
  hands_off(scores);
  release_stage(place.stage);
  place.advance();
  int tile = first_tile;
  int buffer = 0;
  mask(tile);
  raise_references();
  weigh_for_all(buffer);
  add_tile_sum();
#pragma unroll 1
  for (; tile + 1 < end_tile; ++tile) {
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
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) sum[r] = sum_of_lanes(sum[r]);
  tell_warps(sum);
#pragma unroll
  for (int r = 0; r < kThreadRows; r += 2) {
    sum[r] = sum[r + 1] = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float2 of_warp = *reinterpret_cast<const float2*>(of_warps + w * kRows + row_of(r));
      sum[r] += of_warp.x;
      sum[r + 1] += of_warp.y;
    }
  }
  const bool tells_sums = warp == 0 && lane < 4;
  const Places places{O_head, O_row};
  wait_for_products<0>();
  hands_off(output);

  if (splits == 1) {
    // Lanes 4 apart have neighbouring columns: of a pair of rows, one lane stores the first row's, the other one the second's.
    const int second = lane / 4 % 2;
    float inverse[kThreadRows];
#pragma unroll
    for (int r = 0; r < kThreadRows; ++r) {
      inverse[r] = sum[r] == 0.0f ? 0.0f : 1.0f / sum[r];  // rows that see no key have outputs of 0
    }
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
      const int row = row_of(r) + second;
      const bool is_there = row < rows.rows;
      Element* const start =
          O + places.of_output(work, rows, is_there ? row : 0) * kHeadDim + 16 * warp + lane / 8 * 2;
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
#pragma unroll
        for (int i = 2 * r; i < 2 * r + 4; i += 2) {
          const float first_row = output[p][i] * inverse[r], second_row = output[p][i + 1] * inverse[r + 1];
          const float other = __shfl_xor_sync(kAllLanes, second ? first_row : second_row, 4);
          const unsigned pair = second ? pack(other, second_row) : pack(first_row, other);
          if (is_there) *reinterpret_cast<unsigned*>(start + 64 * p + i / 2 % 2 * 8) = pair;
        }
      }
    }
    if (LSE != nullptr && tells_sums) {
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        if (row_of(r) < rows.rows) LSE[places.of_sum(work, rows, row_of(r))] = logarithm(reference[r], sum[r], scale);
      }
    }
    return;
  }
  // Each store of a warp fills sectors of 32 bytes: 8 columns of 4 rows.
  const size_t tile_start = static_cast<size_t>(blockIdx.x) * kRows;
#pragma unroll
  for (int r = 0; r < kThreadRows; ++r) {
    const int row = row_of(r);
    if (row >= rows.rows) continue;
    float* const start = parts + (tile_start + row) * kHeadDim + 16 * warp + lane / 4;
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
#pragma unroll
      for (int half = 0; half < 2; ++half) start[64 * p + 8 * half] = output[p][r / 2 * 4 + 2 * half + r % 2];
    }
    if (tells_sums) sums[tile_start + row] = make_float2(reference[r], sum[r]);
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
INSTANTIATE(64)
INSTANTIATE(128)
