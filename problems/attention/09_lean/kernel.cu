// 09_lean: 08_key_split in fewer instructions.
//
// Idea      With two warps on a scheduler there is little to hide behind, so every instruction that is not a product is
//           time. A thread always copies the same places of a tile, so its addresses are one pointer that moves on, and
//           constants. Rows are clamped or checked in the last tile only. Sums of weights are one more column of P V, ones,
//           on the tensor cores. Outputs are rescaled only when some row of the warp has a new maximum.
//           What most calls don't ask for costs them nothing: attention<D> is for as many keys and heads of K and V as
//           queries have, attention_general<D> for everything else.
// Change    From 08_key_split: the above; nothing else moves. Sums are of weights rounded to 16 bits, as P V's
//           are; attention_general adds up weights before they are rounded, since LSE is to be exact.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, S, D], K, V: [B, Hkv, Skv, D], contiguous, or with heads inside positions
//           (bshd); LSE: fp32 [B, H, S] or null. grid = (ceil(S / BLOCK_M), B * H), block = 32 * WARPS.
//           Row r of a tile holds its 16-byte piece c at piece c ^ (r % 8), or c ^ (r / 2 % 4): see 06_ldmatrix.
//           mma.sync m16n8k16, with g = lane / 4 and t = lane % 4: see 05_mma. Groups and merge: see 08_key_split.
//           Copies: 8 threads (4 where D is 96 or 32) stand side by side in a row, so that threads keep their columns, and
//           a step of 8 rows keeps the swizzle; a step of 4 (one warp, 8 threads a row) flips its highest bit.
// Tile      BLOCK_M queries per CTA, ROWS_PER_WARP per warp; BLOCK_N keys per group.
// Resources As 08_key_split. Shared bytes per group: the larger of 4 STAGES BLOCK_N D and 4 BLOCK_M (D + 8), + 8 BLOCK_M.
// Bound     For 16 rows and 32 keys at D = 64, a warp issues 36 mma.sync, 16 ldmatrix, 16 cp.async, 16 exponentials with an
//           FMA and half a conversion each, 16 maxima: about 150 instructions. B1 H8 S512 D64 in 128 CTAs of 8 warps is
//           1200 per scheduler, 0.6 us; with launch, first trip to L2 and merge 3 us.
// Limits    D in {32, 64, 96, 128, 256}; any S, Skv >= 1; B * H <= 65535 (grid.y).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;  // keys per tile of a group
constexpr int kWarps = WARPS;
constexpr int kRowsPerWarp = ROWS_PER_WARP;
constexpr int kStages = STAGES;  // tiles of a group in shared memory; all but one are on their way
constexpr int kThreads = kWarps * kWarpSize;

// mma.sync.m16n8k16
constexpr int kMmaM = 16;
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;

constexpr int kVectorWidth = 8;                          // halves of a 16-byte load
constexpr int kRowTiles = kRowsPerWarp / kMmaM;          // of a warp
constexpr int kKeyTiles = kBlockN / kMmaN;               // of a tile of scores
constexpr int kGroupWarps = kBlockM / kRowsPerWarp;      // warps that walk the same keys, for different rows
constexpr int kGroups = kWarps / kGroupWarps;            // groups that walk different keys, for the same rows
constexpr int kGroupThreads = kGroupWarps * kWarpSize;
static_assert(kRowTiles * kMmaM == kRowsPerWarp, "mma tiles must fill the rows of every warp");
static_assert(kGroupWarps * kRowsPerWarp == kBlockM, "warps must fill the rows of a CTA");
static_assert(kGroups * kGroupWarps == kWarps, "groups must be whole");
static_assert(kStages >= 2, "one tile is used while the others are on their way");
static_assert(kBlockN % kMmaK == 0, "the keys of a tile are the terms of P V");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
// Weights that meet V are 2^14 times as large as they are called, largest 2^14: fp16 then rounds none to a multiple of 2^-24, or
// to 0, that is not below 2^-38 of the largest. Outputs are as much larger until they are divided.
constexpr float kLog2WeightScale = 14.0f;
constexpr float kWeightScale = 16384.0f;

// The operands of one mma.sync, as a lane holds them; a register is two halves.
struct FragmentA {
  unsigned registers[4];  // rows g, g + 8, g, g + 8; columns 2t, 2t, 2t + 8, 2t + 8 and the next
};
struct FragmentB {
  unsigned registers[2];  // rows 2t, 2t + 8 and the next; column g
};
struct Accumulator {
  float value[4];  // rows g, g, g + 8, g + 8; columns 2t, 2t + 1, 2t, 2t + 1
};

// The running maxima of a lane's two rows of an mma tile, g and g + 8.
struct RowState {
  float max[2];
};

// What depends on the 16-bit format: the instruction, and two neighbours in a register.
template <typename T>
struct Format;
template <>
struct Format<half> {
  static constexpr unsigned kOnes = 0x3c003c00u;
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b.registers[0]),
          "r"(b.registers[1]));
  }
  __device__ static unsigned pack(float low, float high) {
    const half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
};
template <>
struct Format<__nv_bfloat16> {
  static constexpr unsigned kOnes = 0x3f803f80u;
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b.registers[0]),
          "r"(b.registers[1]));
  }
  __device__ static unsigned pack(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
};

__device__ void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
  Format<Element>::multiply_add(d, a, b);
}
__device__ unsigned pack(float low, float high) { return Format<Element>::pack(low, high); }

// One instruction; exp2f would treat subnormal results apart, which a weight rounded to fp16 has no use for.
__device__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ unsigned load_pair(const Element* address) { return *reinterpret_cast<const unsigned*>(address); }

// Largest over the four lanes that share a row.
__device__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// And their sum.
__device__ float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

// Sizes and strides. Of an ordinary problem they follow from S and the head dimension, which is known.
template <int kHeadDim>
struct OrdinaryShape {
  static constexpr bool kIsOrdinary = true;
  int S;
  __device__ int keys() const { return S; }
  __device__ int diagonal() const { return 0; }
  __device__ int row_of_Q() const { return kHeadDim; }
  __device__ int row_of_K() const { return kHeadDim; }
  __device__ size_t start_of_Q(int head) const { return static_cast<size_t>(head) * S * kHeadDim; }
  __device__ size_t start_of_K(int head) const { return start_of_Q(head); }
};
template <int kHeadDim>
struct AnyShape {
  static constexpr bool kIsOrdinary = false;
  int S, Skv, H, Hkv;
  int last_key;  // that query 0 sees, where the mask is causal
  int bshd;
  __device__ int keys() const { return Skv; }
  __device__ int diagonal() const { return last_key; }
  __device__ int row_of_Q() const { return bshd ? H * kHeadDim : kHeadDim; }
  __device__ int row_of_K() const { return bshd ? Hkv * kHeadDim : kHeadDim; }
  // `head` counts the query heads of all batch elements; H / Hkv neighbours share a head of K and V.
  __device__ size_t start_of_Q(int head) const { return start(head / H, head % H, H, S); }
  __device__ size_t start_of_K(int head) const { return start(head / H, head % H / (H / Hkv), Hkv, Skv); }
  __device__ size_t start(int batch, int head, int heads, int rows) const {
    const size_t before = static_cast<size_t>(batch) * heads * rows;
    return (bshd ? before + head : before + static_cast<size_t>(head) * rows) * kHeadDim;
  }
};

// What a group of warps has in shared memory.
template <int kHeadDim>
struct alignas(128) GroupMemory {
  struct Ring {
    Element K[kStages][kBlockN][kHeadDim];
    Element V[kStages][kBlockN][kHeadDim];
  };
  union {
    Ring ring;
    float output[kBlockM][kHeadDim + 8];  // after the last tile, not yet divided by a sum
  };
  float max[kBlockM];
  float sum[kBlockM];
};

__device__ void wait_for_group(int group) {
  if (kGroupWarps == 1) {
    __syncwarp();
  } else {
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(kGroupThreads) : "memory");  // barrier 0 is __syncthreads'
  }
}

// The pieces of 16 bytes that trade places in a row, and what row r trades them by.
template <int kHeadDim>
constexpr int kSwizzledPieces = kHeadDim % 64 == 0 ? 8 : 4;

template <int kHeadDim>
__device__ int swizzle(int row) {
  return kHeadDim % 64 == 0 ? row % 8 : row / 2 % 4;
}

// Where a lane reads a row of a tile at columns 16 `step` ..., given where it reads the row at step 0. A swizzle only
// changes an address's bits below kSwizzledPieces * 16, so that steps are XORs there and constants above.
template <int kHeadDim>
__device__ unsigned step_address(unsigned address, int step) {
  constexpr int kWindow = kSwizzledPieces<kHeadDim> * 16;  // bytes
  const int offset = step * kMmaK * static_cast<int>(sizeof(Element));
  return (address ^ offset % kWindow) + offset / kWindow * kWindow;
}

// Address of row `row`, columns 8 `piece` ..., of a swizzled tile.
template <int kHeadDim>
__device__ unsigned piece_address(const Element (&tile)[kBlockN][kHeadDim], int row, int piece) {
  const int column = (piece ^ swizzle<kHeadDim>(row)) * kVectorWidth;
  return static_cast<unsigned>(__cvta_generic_to_shared(&tile[row][column]));
}

// Two B operands: 16 columns of 16 keys of K; 16 keys of 16 columns of V.
__device__ void load_k(FragmentB& left, FragmentB& right, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(left.registers[0]), "=r"(left.registers[1]), "=r"(right.registers[0]), "=r"(right.registers[1])
               : "r"(address)
               : "memory");
}
__device__ void load_v(FragmentB& left, FragmentB& right, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(left.registers[0]), "=r"(left.registers[1]), "=r"(right.registers[0]), "=r"(right.registers[1])
               : "r"(address)
               : "memory");
}

// What a thread of a group copies of every tile: pieces `column`, + kSwizzledPieces, ... of rows `row`, + kRowsPerPass, ...
template <int kHeadDim>
struct CopyShare {
  static constexpr int kThreadsPerRow = kSwizzledPieces<kHeadDim>;
  static constexpr int kRowsPerPass = kGroupThreads / kThreadsPerRow;
  static constexpr int kPasses = (kBlockN + kRowsPerPass - 1) / kRowsPerPass;
  static_assert(kRowsPerPass == 4 || kRowsPerPass % 8 == 0, "a pass must keep the swizzle or flip its highest bit");

  int row;          // in the tile
  int column;       // of 8 halves
  unsigned offset;  // bytes, in a tile in shared memory

  __device__ explicit CopyShare(int thread) : row(thread / kThreadsPerRow), column(thread % kThreadsPerRow) {
    offset = row * kHeadDim * 2 + (column ^ swizzle<kHeadDim>(row)) * 16;
  }

  // Starts to copy this share. `from` is its first piece of the tile in device memory, `tile` the tile's address in shared
  // memory, rows of it `stride` elements apart. Rows from `row_end` on are zeroed; no byte of them is read.
  template <bool kWhole>
  __device__ void copy(unsigned tile, const Element* from, int stride, int row_end) const {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int first = pass * kRowsPerPass;
      if (kBlockN % kRowsPerPass != 0 && row + first >= kBlockN) break;
      const unsigned flip = kThreadsPerRow == 8 ? first % 8 * 16 : 0;
      const unsigned to = tile + (offset ^ flip) + first * kHeadDim * 2;
#pragma unroll
      for (int c = 0; c < kHeadDim / kVectorWidth / kThreadsPerRow; ++c) {
        const int columns = c * kThreadsPerRow * kVectorWidth;
        if (kWhole) {
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + columns * 2),
                       "l"(__cvta_generic_to_global(from + first * stride + columns))
                       : "memory");
        } else {
          const int inside = row + first < row_end ? 16 : 0;
          const Element* source = inside ? from + first * stride + columns : from - row * stride;
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + columns * 2),
                       "l"(__cvta_generic_to_global(source)), "r"(inside)
                       : "memory");
        }
      }
    }
  }
};

// Rows first_row ... first_row + 15 of Q [S, kHeadDim], `stride` apart; from row S on, row S - 1 again, which nobody stores.
template <int kHeadSteps>
__device__ void load_q(FragmentA (&a)[kHeadSteps], const Element* __restrict__ Q, int first_row, int S, int stride) {
  const int g = threadIdx.x % kWarpSize / 4;
  const int t = threadIdx.x % 4;
  const Element* top = Q + static_cast<size_t>(min(first_row + g, S - 1)) * stride + 2 * t;
  const Element* bottom = Q + static_cast<size_t>(min(first_row + g + 8, S - 1)) * stride + 2 * t;
#pragma unroll
  for (int k = 0; k < kHeadSteps; ++k) {
    a[k] = {{load_pair(top + k * kMmaK), load_pair(bottom + k * kMmaK), load_pair(top + k * kMmaK + 8),
             load_pair(bottom + k * kMmaK + 8)}};
  }
}

// Softmax of one tile of scores, in place: scores become weights, and what was summed up before is rescaled where a row
// has a new maximum. kAddsUp: `sum`, rows g and g + 8 in values 0 and 2, gets this lane's weights; else P V adds them up.
template <bool kAddsUp, int kColumnTiles>
__device__ void softmax_tile(Accumulator (&score)[kKeyTiles], RowState& state, Accumulator (&output)[kColumnTiles],
                             Accumulator& sum, float scale_log2) {
  float origin[2];
  float correction[2];
  bool grows = false;
#pragma unroll
  for (int h = 0; h < 2; ++h) {  // row g, row g + 8
    float tile_max = -INFINITY;
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
      tile_max = fmaxf(tile_max, fmaxf(score[n].value[2 * h], score[n].value[2 * h + 1]));
    }
    const float new_max = fmaxf(state.max[h], quad_max(tile_max));
    // While a row has seen none of its keys, its weights are exp2(-infinity - 0).
    origin[h] = new_max == -INFINITY ? 0.0f : new_max * scale_log2;
    correction[h] = fast_exp2(state.max[h] * scale_log2 - origin[h]);
    // The sums that an LSE is made of bear no rounding of such an exponent, so there the weights grow afterwards.
    if (!kAddsUp) origin[h] -= kLog2WeightScale;
    grows = grows || new_max > state.max[h];
    state.max[h] = new_max;
  }
#pragma unroll
  for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) score[n].value[i] = fast_exp2(score[n].value[i] * scale_log2 - origin[i / 2]);
  }
  if (__any_sync(kAllLanes, grows)) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum.value[i] *= correction[i / 2];
#pragma unroll
      for (int d = 0; d < kColumnTiles; ++d) output[d].value[i] *= correction[i / 2];
    }
  }
  if (!kAddsUp) return;
#pragma unroll
  for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum.value[i / 2 * 2] += score[n].value[i];
      score[n].value[i] *= kWeightScale;
    }
  }
}

// Adds up what the groups have for each row, four columns a thread, and stores rows first_row ... of O [S, kHeadDim] and
// of LSE [S], if that is wanted.
template <int kHeadDim, typename Shape>
__device__ void merge(const GroupMemory<kHeadDim>* groups, Element* __restrict__ O, float* __restrict__ LSE,
                      int first_row, const Shape& shape, float scale_log2) {
  constexpr int kPiecesPerRow = kHeadDim / 4;
#pragma unroll
  for (int piece = threadIdx.x; piece < kBlockM * kPiecesPerRow; piece += kThreads) {
    const int row = piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * 4;
    float max = -INFINITY;  // in an ordinary problem finite after the loop: some group has key 0
#pragma unroll
    for (int i = 0; i < kGroups; ++i) max = fmaxf(max, groups[i].max[row]);
    float sum = 0.0f;
    float4 output = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const bool is_empty = !Shape::kIsOrdinary && max == -INFINITY;
      const float weight = is_empty ? 0.0f : fast_exp2((groups[i].max[row] - max) * scale_log2);
      const float4 part = *reinterpret_cast<const float4*>(&groups[i].output[row][column]);
      sum += weight * groups[i].sum[row];
      output.x += weight * part.x;
      output.y += weight * part.y;
      output.z += weight * part.z;
      output.w += weight * part.w;
    }
    if (first_row + row >= shape.S) continue;
    if (!Shape::kIsOrdinary && LSE != nullptr && column == 0) {
      LSE[first_row + row] = sum == 0.0f ? -INFINITY : max * scale_log2 / kLog2E + logf(sum);
    }
    const float unit = Shape::kIsOrdinary ? 1.0f : kWeightScale;
    const float inverse_sum = !Shape::kIsOrdinary && sum == 0.0f ? 0.0f : 1.0f / (sum * unit);
    const uint2 halves = make_uint2(pack(output.x * inverse_sum, output.y * inverse_sum),
                                    pack(output.z * inverse_sum, output.w * inverse_sum));
    *reinterpret_cast<uint2*>(O + static_cast<size_t>(first_row + row) * shape.row_of_Q() + column) = halves;
  }
}

template <int kHeadDim, typename Shape>
__device__ __forceinline__ void attend(const Element* __restrict__ Q, const Element* __restrict__ K,
                                       const Element* __restrict__ V, Element* __restrict__ O,
                                       float* __restrict__ LSE, const Shape& shape, int causal, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / kMmaK;    // of Q K^T
  constexpr int kColumnTiles = kHeadDim / kMmaN;  // of the output
  constexpr int kRowBytes = kHeadDim * sizeof(Element);

  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto* groups = reinterpret_cast<GroupMemory<kHeadDim>*>(shared_bytes);  // [kGroups]

  const int group = threadIdx.x / kGroupThreads;
  const int group_thread = threadIdx.x % kGroupThreads;
  auto& memory = groups[group];
  auto& smem = memory.ring;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const int S = shape.S;
  const int Skv = shape.keys();
  const int diagonal = shape.diagonal();
  const int K_stride = shape.row_of_K();
  const size_t Q_start = shape.start_of_Q(blockIdx.y);
  const size_t K_start = Shape::kIsOrdinary ? Q_start : shape.start_of_K(blockIdx.y);
  const int first_row = blockIdx.x * kBlockM;
  const int row_in_block = group_thread / kWarpSize * kRowsPerWarp;  // the warp's first
  const int warp_row = first_row + row_in_block;
  const float scale_log2 = softmax_scale * kLog2E;

  const int key_end = causal ? min(Skv, first_row + kBlockM + diagonal) : Skv;

  const CopyShare<kHeadDim> share(group_thread);
  const size_t share_start =
      K_start + static_cast<size_t>(group * kBlockN + share.row) * K_stride + share.column * kVectorWidth;
  const Element* K_from = K + share_start;  // in the next tile to copy
  const Element* V_from = V + share_start;
  int copy_key = group * kBlockN;  // its first key
  const unsigned K_ring = static_cast<unsigned>(__cvta_generic_to_shared(smem.K));
  const unsigned V_ring = static_cast<unsigned>(__cvta_generic_to_shared(smem.V));

  // Every tile is two groups of copies, also one beyond the last, so that groups can be counted.
  const auto start_tile = [&](unsigned slot_bytes) {
    if (copy_key + kBlockN <= Skv) {
      if (copy_key < key_end) share.template copy<true>(K_ring + slot_bytes, K_from, K_stride, kBlockN);
      __pipeline_commit();
      if (copy_key < key_end) share.template copy<true>(V_ring + slot_bytes, V_from, K_stride, kBlockN);
    } else {
      if (copy_key < key_end) share.template copy<false>(K_ring + slot_bytes, K_from, K_stride, Skv - copy_key);
      __pipeline_commit();
      if (copy_key < key_end) share.template copy<false>(V_ring + slot_bytes, V_from, K_stride, Skv - copy_key);
    }
    __pipeline_commit();
    copy_key += kGroups * kBlockN;
    K_from += kGroups * kBlockN * K_stride;
    V_from += kGroups * kBlockN * K_stride;
  };
  constexpr unsigned kSlotBytes = kBlockN * kRowBytes;
  for (int i = 0; i < kStages - 1; ++i) start_tile(i * kSlotBytes);

  FragmentA Q_rmem[kRowTiles][kHeadSteps];
  Accumulator output[kRowTiles][kColumnTiles] = {};
  Accumulator sum[kRowTiles] = {};  // of a row's weights, in every column
  RowState state[kRowTiles];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    load_q(Q_rmem[r], Q + Q_start, warp_row + r * kMmaM, S, shape.row_of_Q());
    state[r] = {{-INFINITY, -INFINITY}};
  }
  const FragmentB ones = {{Format<Element>::kOnes, Format<Element>::kOnes}};

  // The row whose 16 bytes a lane hands to ldmatrix. The four matrices are, of K: keys 0-7 and columns 0-7, the same
  // keys and columns 8-15, keys 8-15 and columns 0-7, both; of V: the same with keys and columns swapped.
  const unsigned K_address = piece_address<kHeadDim>(smem.K[0], lane / 16 * 8 + lane % 8, lane / 8 % 2);
  const unsigned V_address = piece_address<kHeadDim>(smem.V[0], lane % 16, lane / 16);

  unsigned slot_bytes = 0;                              // of the tile in use
  unsigned refill_bytes = (kStages - 1) * kSlotBytes;  // of the one before it
  for (int first_key = group * kBlockN; first_key < key_end; first_key += kGroups * kBlockN) {
    __pipeline_wait_prior(2 * kStages - 3);  // this thread's copies of K have arrived
    wait_for_group(group);                   // and the group's; and all are done with the slot that is filled next
    start_tile(refill_bytes);

    Accumulator score[kRowTiles][kKeyTiles] = {};
#pragma unroll
    for (int k = 0; k < kHeadSteps; ++k) {
      const unsigned address = step_address<kHeadDim>(K_address + slot_bytes, k);
#pragma unroll
      for (int n = 0; n < kKeyTiles; n += 2) {
        FragmentB left, right;  // keys 8n ... 8n + 7, and the next 8
        load_k(left, right, address + n * kMmaN * kRowBytes);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          multiply_add(score[r][n], Q_rmem[r][k], left);
          multiply_add(score[r][n + 1], Q_rmem[r][k], right);
        }
      }
    }

    const bool masked = first_key + kBlockN > Skv || (causal && first_key + kBlockN > warp_row + diagonal + 1);
    if (masked) {
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int row = warp_row + r * kMmaM + g + i / 2 * 8;
            const int key = first_key + n * kMmaN + 2 * t + i % 2;
            if (key >= Skv || (causal && key > row + diagonal)) score[r][n].value[i] = -INFINITY;
          }
        }
      }
    }

#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      softmax_tile<!Shape::kIsOrdinary>(score[r], state[r], output[r], sum[r], scale_log2);
    }

    __pipeline_wait_prior(2 * kStages - 2);  // this thread's copies of V
    wait_for_group(group);                   // and the group's

#pragma unroll
    for (int n = 0; n < kKeyTiles; n += 2) {  // 16 keys: two tiles of scores side by side are one A operand
      FragmentA weight[kRowTiles];
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* pair = &score[r][n + i / 2].value[i % 2 * 2];
          weight[r].registers[i] = pack(pair[0], pair[1]);
        }
      }
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        if (Shape::kIsOrdinary) multiply_add(sum[r], weight[r], ones);
      }
#pragma unroll
      for (int d = 0; d < kColumnTiles; d += 2) {
        FragmentB left, right;  // columns 8d ... 8d + 7, and the next 8
        load_v(left, right, step_address<kHeadDim>(V_address + slot_bytes, d / 2) + n * kMmaN * kRowBytes);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          multiply_add(output[r][d], weight[r], left);
          multiply_add(output[r][d + 1], weight[r], right);
        }
      }
    }
    refill_bytes = slot_bytes;
    slot_bytes = slot_bytes == (kStages - 1) * kSlotBytes ? 0 : slot_bytes + kSlotBytes;
  }

  wait_for_group(group);  // its ring is free
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = row_in_block + r * kMmaM + g + h * 8;
      const float row_sum = Shape::kIsOrdinary ? sum[r].value[2 * h] : quad_sum(sum[r].value[2 * h]);
      if (t == 0) {
        memory.max[row] = state[r].max[h];
        memory.sum[row] = row_sum;
      }
#pragma unroll
      for (int d = 0; d < kColumnTiles; ++d) {
        const float* pair = &output[r][d].value[2 * h];
        *reinterpret_cast<float2*>(&memory.output[row][d * kMmaN + 2 * t]) = make_float2(pair[0], pair[1]);
      }
    }
  }
  __syncthreads();
  merge<kHeadDim>(groups, O + Q_start, LSE == nullptr ? LSE : LSE + static_cast<size_t>(blockIdx.y) * S,
                  first_row, shape, scale_log2);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
              const Element* __restrict__ K,  // [B * H, S, kHeadDim]
              const Element* __restrict__ V,  // [B * H, S, kHeadDim]
              Element* __restrict__ O,        // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  attend<kHeadDim>(Q, K, V, O, nullptr, OrdinaryShape<kHeadDim>{S}, causal, softmax_scale);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention_general(const Element* __restrict__ Q,  // [B, H, S, kHeadDim]
                      const Element* __restrict__ K,  // [B, Hkv, Skv, kHeadDim]
                      const Element* __restrict__ V,  // [B, Hkv, Skv, kHeadDim]
                      Element* __restrict__ O,        // [B, H, S, kHeadDim]
                      float* __restrict__ LSE,        // [B, H, S], or null
                      int S, int Skv, int H, int Hkv, int causal, int last_key, int bshd, float softmax_scale) {
  attend<kHeadDim>(Q, K, V, O, LSE, AnyShape<kHeadDim>{S, Skv, H, Hkv, last_key, bshd}, causal, softmax_scale);
}

template __global__ void attention<32>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<64>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<96>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<128>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention_general<32>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int,
                                                 int, int, int, float);
template __global__ void attention_general<64>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int,
                                                 int, int, int, float);
template __global__ void attention_general<96>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int,
                                                 int, int, int, float);
template __global__ void attention_general<128>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int,
                                                 int, int, int, float);
template __global__ void attention_general<256>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int,
                                                 int, int, int, float);
