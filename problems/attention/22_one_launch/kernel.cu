// 22_one_launch: keys are rows of the tensor cores' tiles, and CTAs exchange their parts in words that say of themselves that they have come.
//
// Idea      A second launch that merges parts costs its start, its end, and a trip to device memory for each. In 15_decode_words CTAs
//           that share keys need none: a word of device memory is 0 until it is written, and what is written is the complement of
//           a float, which is 0 for no float that arithmetic gives (only for the NaN 0xffffffff; arithmetic's is 0x7fffffff).
//           Whoever needs a word reads it until it is not 0, and then makes it 0 again for the next launch.
// Change    From 21: no second launch. Every CTA of a row tile merges some of the tile's columns.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, S, D], K, V: [B, Hkv, Skv, D], contiguous, or with heads inside positions (bshd);
//           LSE: fp32 [B, H, S] or null. Tensor maps, row tiles and weights in shared memory as in 21.
//           grid = row tiles x splits, block = 160: a warpgroup that computes, a warp that copies.
//           A piece is four columns of a row: c, c + 1, c + 8, c + 9, c = 16 (piece / 4) + 2 (piece % 4): what a lane has once lanes 4
//           apart have exchanged theirs. Up to 4 neighbouring pieces of a row are a unit, as many as a warp merges at once;
//           unit u is merged by CTA u % splits of the tile.
//           parts: words [row tiles][units][splits][pieces of a unit][4], sums: words [row tiles][units][splits][2] (reference, sum);
//           0 before and after every launch.
// Tile      ROWS rows x BLOCK_N keys. Stages hold K 0, K 1, V 0, K 2, V 1, ..., V of the last.
// Resources Shared bytes: 128 ceil(D / 64) (ROWS + STAGES BLOCK_N) + 4 ROWS BLOCK_N. Registers: ROWS D / 128 output
//           + ROWS BLOCK_N / 64 scores, and some 60; a lane that merges has 6 SPLIT / LANES.
// Bound     Memory, as 21: 4 D bytes per key and head of K and V, once. Then parts go to L2 and back: of 16 rows and 16 CTAs at
//           D = 128 each sends and reads 8 KB and 1 KB of sums.
// Accuracy  Weights are powers of 2, relative to a reference of their row that is no higher than the largest score so far, and
//           2^(15 - kHeadroom) times as large where they meet V: up to 2^15, of fp16's 2^16. Only when a score exceeds its
//           reference by more than kHeadroom are references raised and what is there scaled: all threads learn that at the barrier
//           behind which weights are read.
// Limits    sm_90a; D in {64, 128}; S <= 64; H / Hkv <= ROWS; any Skv >= 1. SPLIT > 1: all CTAs must be on the GPU at once, because
//           they wait for each other; kernel.json allows 128 for each that an SM has room for, so the GPU needs as many SMs.
//           One launch at a time per workspace; a killed one leaves words in it.
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
constexpr int kHeadroom = 8;          // powers of 2 by which a score may exceed its row's reference
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
constexpr float kWeightExponent = kLargestExponent - kHeadroom;    // of a weight whose score is the reference
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
  constexpr unsigned kSwizzle = kRows == 8 ? 0 : kRows == 16 ? 3 : 2;
  return static_cast<unsigned long long>(kStride | kSwizzle << 30) << 32 | kStride << 16 | low;
}

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define REGISTERS_8 "%0, %1, %2, %3"
#define REGISTERS_16 REGISTERS_8 ", %4, %5, %6, %7"
#define REGISTERS_32 REGISTERS_16 ", %8, %9, %10, %11, %12, %13, %14, %15"

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

// Of sixteen columns in four pieces, those of one.
__device__ void store_piece(Element* O_row, int piece, float4 columns, float factor) {
  Element* const start = O_row + piece / 4 * 16 + piece % 4 * 2;
  *reinterpret_cast<unsigned*>(start) = pack(columns.x * factor, columns.y * factor);
  *reinterpret_cast<unsigned*>(start + 8) = pack(columns.z * factor, columns.w * factor);
}

// ---- words that say of themselves that they have come ----

constexpr int kSplit = SPLIT;
constexpr int kLanes = LANES < SPLIT ? LANES : SPLIT;      // that merge a piece
constexpr int kParts = kSplit / kLanes;                    // of a lane, whose reads are on their way together
constexpr int kUnitPieces = 32 / kLanes < 4 ? 32 / kLanes : 4;  // lanes of one warp read their sums, so one of them can make these 0
constexpr int kWarpUnits = 32 / (kLanes * kUnitPieces);    // at once

__device__ unsigned encode(float x) { return ~__float_as_uint(x); }
__device__ float decode(unsigned word) { return __uint_as_float(~word); }

__device__ void store(uint4* place, uint4 words) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(place), "r"(words.x), "r"(words.y), "r"(words.z),
               "r"(words.w)
               : "memory");
}

__device__ void store(uint2* place, uint2 words) {
  asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(place), "r"(words.x), "r"(words.y) : "memory");
}

__device__ void send(uint4* place, float4 x) {
  store(place, make_uint4(encode(x.x), encode(x.y), encode(x.z), encode(x.w)));
}

__device__ void send(uint2* place, float2 x) { store(place, make_uint2(encode(x.x), encode(x.y))); }

// What a CTA has of a piece. Each word is the complement of a float, or 0: not there yet.
struct Part {
  uint4 columns;
  uint2 sums;  // reference, sum of the weights

  // Words come one by one, in any order.
  __device__ bool has_come() const {
    return min(min(min(columns.x, columns.y), min(columns.z, columns.w)), min(sums.x, sums.y)) != 0;
  }
};

// Of a CTA that is not there: adds nothing, and need not be waited for.
__device__ Part nothing() {
  const unsigned zero = encode(0.0f);
  return {make_uint4(zero, zero, zero, zero), make_uint2(encode(kLowest), zero)};
}

__device__ Part read(const uint4* columns, const uint2* sums) {
  Part part;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(part.columns.x), "=r"(part.columns.y), "=r"(part.columns.z), "=r"(part.columns.w)
               : "l"(columns)
               : "memory");
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(part.sums.x), "=r"(part.sums.y) : "l"(sums) : "memory");
  return part;
}

// Those of a row tile.
struct Words {
  uint4* parts;  // [units][splits][kUnitPieces]
  uint2* sums;   // [units][splits]
  int splits;

  __device__ Words(uint4* all_parts, uint2* all_sums, int first_unit, int splits)
      : parts(all_parts + static_cast<size_t>(first_unit) * splits * kUnitPieces),
        sums(all_sums + static_cast<size_t>(first_unit) * splits),
        splits(splits) {}
  __device__ uint4* part(int piece, int split) const {
    return parts + (piece / kUnitPieces * splits + split) * kUnitPieces + piece % kUnitPieces;
  }
  __device__ uint2* sum(int piece, int split) const { return sums + piece / kUnitPieces * splits + split; }
};

// Over the lanes that merge a piece.
template <typename Combine>
__device__ float of_parts(float value, Combine combine) {
#pragma unroll
  for (int distance = kUnitPieces; distance < kUnitPieces * kLanes; distance *= 2) {
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

// The units of a CTA: waits for their parts, and makes these 0.
template <int kHeadDim>
__device__ void merge(const Words& words, int split, const Work& work, const RowTile& rows, const Places& places, Element* O,
                      float* LSE, float scale) {
  constexpr int kRowPieces = kHeadDim / 4;
  const int lane = threadIdx.x % 32;
  const int units = rows.rows * (kRowPieces / kUnitPieces);
  const int own_units = (units - split + words.splits - 1) / words.splits;
  const int first_part = lane / kUnitPieces % kLanes;
  // Whole warps go round together.
  for (int first = threadIdx.x / 32 * kWarpUnits; first < own_units; first += kWarps * kWarpUnits) {
    const int place = first + lane / (kUnitPieces * kLanes);
    const int piece = (place * words.splits + split) * kUnitPieces + lane % kUnitPieces;
    // Of two splits there are two: with one, nothing is merged.
    const auto is_there = [&](int i) {
      return place < own_units && (kSplit == 2 || first_part + i * kLanes < words.splits);
    };
    Part part[kParts];
#pragma unroll
    for (int i = 0; i < kParts; ++i) part[i] = is_there(i) ? Part{} : nothing();
    bool all_there;
    do {
      all_there = true;
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const int from = first_part + i * kLanes;
        if (!part[i].has_come()) part[i] = read(words.part(piece, from), words.sum(piece, from));
      }
#pragma unroll
      for (int i = 0; i < kParts; ++i) all_there &= part[i].has_come();
    } while (!all_there);
    __syncwarp();  // also the other lanes have read these sums
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      if (!is_there(i)) continue;
      const int from = first_part + i * kLanes;
      store(words.part(piece, from), uint4{});
      if (lane % kUnitPieces == 0) store(words.sum(piece, from), uint2{});
    }

    float largest = kLowest;
#pragma unroll
    for (int i = 0; i < kParts; ++i) largest = fmaxf(largest, decode(part[i].sums.x));
    largest = of_parts(largest, [](float a, float b) { return fmaxf(a, b); });
    float4 total = {};
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      const float weight = exp2_approximately((decode(part[i].sums.x) - largest) * scale);
      sum = fmaf(weight, decode(part[i].sums.y), sum);
      total.x = fmaf(weight, decode(part[i].columns.x), total.x);
      total.y = fmaf(weight, decode(part[i].columns.y), total.y);
      total.z = fmaf(weight, decode(part[i].columns.z), total.z);
      total.w = fmaf(weight, decode(part[i].columns.w), total.w);
    }
    const auto add = [](float a, float b) { return a + b; };
    sum = of_parts(sum, add);
    total = make_float4(of_parts(total.x, add), of_parts(total.y, add), of_parts(total.z, add), of_parts(total.w, add));
    if (first_part != 0 || place >= own_units) continue;
    const int row = piece / kRowPieces;
    // Keys of several tiles: each row sees some.
    store_piece(O + places.of_output(work, rows, row) * kHeadDim, piece % kRowPieces, total, 1.0f / sum);
    if (LSE != nullptr && piece % kRowPieces == 0) LSE[places.of_sum(work, rows, row)] = logarithm(largest, sum, scale);
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, kCtasPerSm)
    attention(const __grid_constant__ TensorMap Q,  // boxes of tile_queries x group rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              Element* __restrict__ O,              // [B, H, S, D]
              float* __restrict__ LSE,              // [B, H, S], or null
              uint4* parts, uint2* sums,            // words of all row tiles
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
  // Lanes 4 apart have neighbouring columns: of a pair of rows r, r + 1, one lane has the first, the other one the second from here on.
  const int second = lane / 4 % 2;
  const auto own = [&](const float (&values)[kThreadRows], int r) { return second ? values[r + 1] : values[r]; };
  const auto own_row = [&](int r) { return row_of(r) + second; };
  const auto own_columns = [&](int r, int p) {
    const auto two_columns = [&](int i) {
      const float other = __shfl_xor_sync(kAllLanes, second ? output[p][i] : output[p][i + 1], 4);
      return second ? make_float2(other, output[p][i + 1]) : make_float2(output[p][i], other);
    };
    const float2 low = two_columns(2 * r), high = two_columns(2 * r + 2);
    return make_float4(low.x, low.y, high.x, high.y);
  };
  const auto own_piece = [&](int p) { return 4 * (4 * p + warp) + lane / 8; };
  const Places places{O_head, O_row};

  if (kSplit == 1 || splits == 1) {
    wait_for_products<0>();
    hands_off(output);
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
      const int row = own_row(r);
      const bool is_there = row < rows.rows;
      Element* const start = O + places.of_output(work, rows, is_there ? row : 0) * kHeadDim;
      const float inverse = own(sum, r) == 0.0f ? 0.0f : 1.0f / own(sum, r);  // rows that see no key have outputs of 0
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        const float4 columns = own_columns(r, p);
        if (is_there) store_piece(start, own_piece(p), columns, inverse);
      }
    }
    if (LSE != nullptr && warp == 0 && lane < 4) {
#pragma unroll
      for (int r = 0; r < kThreadRows; ++r) {
        if (row_of(r) < rows.rows) LSE[places.of_sum(work, rows, row_of(r))] = logarithm(reference[r], sum[r], scale);
      }
    }
    return;
  }
  if constexpr (kSplit > 1) {
    constexpr int kRowPieces = kHeadDim / 4;
    const Words words(parts, sums, row_tile * (kRows * kRowPieces / kUnitPieces), splits);
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
      if (lane / 8 % kUnitPieces != 0 || own_row(r) >= rows.rows) continue;
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        send(words.sum(own_row(r) * kRowPieces + own_piece(p), split), make_float2(own(reference, r), own(sum, r)));
      }
    }
    wait_for_products<0>();
    hands_off(output);
#pragma unroll
    for (int r = 0; r < kThreadRows; r += 2) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        const float4 columns = own_columns(r, p);
        if (own_row(r) < rows.rows) send(words.part(own_row(r) * kRowPieces + own_piece(p), split), columns);
      }
    }
    merge<kHeadDim>(words, split, work, rows, places, O, LSE, scale);
  }
}

#define INSTANTIATE(D)                                                                                                   \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,           \
                                        const __grid_constant__ TensorMap, Element*, float*, uint4*, uint2*, int, int,  \
                                        int, int, int, int, int, int, int, int, int, float);
INSTANTIATE(64)
INSTANTIATE(128)
