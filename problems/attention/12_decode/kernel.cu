// 12_decode: one query of each head against many keys.
//
// Idea      A decoding step has one query, so that tiles of queries are empty but for one row, and one CTA a head leaves most
//           SMs without work. The queries of the heads that share keys become the rows of one tile of mma.sync: K and V are
//           read once for the group. The keys are shared out over CTAs, and within a CTA over warps; what the warps have is
//           merged in shared memory, what the CTAs have by a second launch, in a fixed order: results are the same bits. That
//           launch has a CTA of 256 threads a head, so that it reads all parts at once: they are one trip to L2, not many.
// Change    From 09_lean: rows are heads, not queries; no two warps share keys; a second launch, which on Hopper may start when
//           every CTA of the first has its copies on their way, and waits for their end before it reads what they wrote.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, 1, D]; K, V: [B, Hkv, Skv, D], or with heads inside positions (bshd);
//           LSE: fp32 [B, H] or null. split: grid = (ceil(keys / SPLIT_KEYS), B * Hkv), block = 32 * WARPS.
//           merge: grid = B * H, block = 256 (D = 96: 240), D / 4 threads for each share of the parts.
//           Parts: fp32 [splits, B * H, D], their maxima and sums [splits, B * H, 2].
//           mma.sync m16n8k16, with g = lane / 4 and t = lane % 4: row g or g + 8 is head g or g + 8 of the group.
// Tile      H / Hkv of 16 rows; BLOCK_N keys per warp, SPLIT_KEYS per CTA.
// Resources Shared bytes per warp: the larger of 4 STAGES BLOCK_N D and 64 (D + 8), + 128.
// Bound     Reading K and V: B1 H32/8 S8192 D128 is 33.6 MB. From L2, a kernel that only reads them takes 5.5 us on an H200, in a
//           graph of many; the last tile's products and the CTA's merge come after it, and the second launch takes 1.5 us.
//           256 keys a CTA are 256 CTAs, two on an SM.
// Limits    One query (S = 1); H / Hkv <= 16; B * Hkv <= 65535 (grid.y); D in {32, 64, 96, 128, 256}.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kRows = 16;         // heads of a group at most
constexpr int kBlockN = BLOCK_N;  // keys per tile of a warp
constexpr int kWarps = WARPS;
constexpr int kSplitKeys = SPLIT_KEYS;  // keys per CTA
constexpr int kStages = STAGES;         // tiles of a warp in shared memory; all but one are on their way
constexpr int kThreads = kWarps * kWarpSize;

// mma.sync.m16n8k16
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;

constexpr int kVectorWidth = 8;  // elements of a 16-byte load
constexpr int kKeyTiles = kBlockN / kMmaN;  // of a tile of scores
static_assert(kStages >= 2, "one tile is used while the others are on their way");
static_assert(kBlockN % kMmaK == 0, "the keys of a tile are the terms of P V");
static_assert(kSplitKeys % (kWarps * kBlockN) == 0, "every warp of a CTA has as many tiles as the others");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;

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

// What depends on the 16-bit format: the instruction, two neighbours in a register, and how many times as large as they are weights
// are where they meet V. Of 10^5 keys that weigh the same beside one that outweighs them, fp16 would round each to a multiple of
// 2^-24, by up to an eighth; their largest is 2^14 instead of 1.
template <typename T>
struct Format;
template <>
struct Format<half> {
  static constexpr float kWeightScale = 16384.0f;
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
  static constexpr float kWeightScale = 1.0f;
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

constexpr float kWeightScale = Format<Element>::kWeightScale;

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

// The next launch of the stream may start once every CTA has said so; it waits for this one's end, whose writes it sees.
__device__ void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
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

// What a warp has in shared memory.
template <int kHeadDim>
struct alignas(128) WarpMemory {
  struct Ring {
    Element K[kStages][kBlockN][kHeadDim];
    Element V[kStages][kBlockN][kHeadDim];
  };
  union {
    Ring ring;
    float output[kRows][kHeadDim + 8];  // after the last tile, not yet divided by a sum
  };
  float max[kRows];
  float sum[kRows];
};

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

// What a lane copies of every tile of its warp: pieces `column`, + kSwizzledPieces, ... of rows `row`, + kRowsPerPass, ...
template <int kHeadDim>
struct CopyShare {
  static constexpr int kThreadsPerRow = kSwizzledPieces<kHeadDim>;
  static constexpr int kRowsPerPass = kWarpSize / kThreadsPerRow;
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

// Rows of Q, `rows` heads of one query each; from the last on, the last again, which nobody stores.
template <int kHeadDim, int kHeadSteps>
__device__ void load_q(FragmentA (&a)[kHeadSteps], const Element* __restrict__ Q, int rows) {
  const int g = threadIdx.x % kWarpSize / 4;
  const int t = threadIdx.x % 4;
  const Element* top = Q + min(g, rows - 1) * kHeadDim + 2 * t;
  const Element* bottom = Q + min(g + 8, rows - 1) * kHeadDim + 2 * t;
#pragma unroll
  for (int k = 0; k < kHeadSteps; ++k) {
    a[k] = {{load_pair(top + k * kMmaK), load_pair(bottom + k * kMmaK), load_pair(top + k * kMmaK + 8),
             load_pair(bottom + k * kMmaK + 8)}};
  }
}

// Softmax of one tile of scores, in place: scores become weights, and what was summed up before is rescaled where a row
// has a new maximum. The sums are this lane's, of weights before they are rounded. Rows g + 8 are left alone unless `upper`.
template <int kColumnTiles>
__device__ void softmax_tile(Accumulator (&score)[kKeyTiles], RowState& state, Accumulator (&output)[kColumnTiles],
                             float (&sum)[2], float scale_log2, bool upper) {
  float correction[2] = {1.0f, 1.0f};
  float tile_sum[2] = {};
  bool grows = false;
#pragma unroll
  for (int h = 0; h < 2; ++h) {  // row g, row g + 8
    if (h == 1 && !upper) break;
    float tile_max = -INFINITY;
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
      tile_max = fmaxf(tile_max, fmaxf(score[n].value[2 * h], score[n].value[2 * h + 1]));
    }
    const float new_max = fmaxf(state.max[h], quad_max(tile_max));
    // While a row has seen none of its keys, its weights are exp2(-infinity - 0).
    const float origin = new_max == -INFINITY ? 0.0f : new_max * scale_log2;
    correction[h] = fast_exp2(state.max[h] * scale_log2 - origin);
    grows = grows || new_max > state.max[h];
    state.max[h] = new_max;
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int i = 2 * h; i < 2 * h + 2; ++i) {
        score[n].value[i] = fast_exp2(score[n].value[i] * scale_log2 - origin);
        tile_sum[h] += score[n].value[i];
      }
    }
  }
  if (__any_sync(kAllLanes, grows)) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int d = 0; d < kColumnTiles; ++d) output[d].value[i] *= correction[i / 2];
    }
    // Never without the outputs: of large scores, a correction is not quite 1 where the maximum is as before.
    sum[0] *= correction[0];
    sum[1] *= correction[1];
  }
  sum[0] += tile_sum[0];
  sum[1] += tile_sum[1];
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    split(const Element* __restrict__ Q,  // [B * H, kHeadDim]
          const Element* __restrict__ K,  // [B, Hkv, Skv, kHeadDim]
          const Element* __restrict__ V,  // [B, Hkv, Skv, kHeadDim]
          float* __restrict__ parts,      // [gridDim.x, B * H, kHeadDim], kWeightScale times the weighted values
          float2* __restrict__ states,    // [gridDim.x, B * H]: maximum of the scores, sum of the weights
          int keys,                       // that a query sees
          int Skv, int Hkv, int rows,     // heads of a group
          int bshd, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / kMmaK;    // of Q K^T
  constexpr int kColumnTiles = kHeadDim / kMmaN;  // of the output
  constexpr int kRowBytes = kHeadDim * sizeof(Element);
  constexpr unsigned kSlotBytes = kBlockN * kRowBytes;
  constexpr int kStep = kWarps * kBlockN;  // keys from one tile of a warp to its next

  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto* warps = reinterpret_cast<WarpMemory<kHeadDim>*>(shared_bytes);  // [kWarps]

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  auto& memory = warps[warp];
  auto& smem = memory.ring;
  const int first_head = blockIdx.y * rows;
  const float scale_log2 = softmax_scale * kLog2E;

  const int K_stride = bshd ? Hkv * kHeadDim : kHeadDim;
  const int batch = blockIdx.y / Hkv;
  const size_t K_row = bshd ? static_cast<size_t>(batch) * Skv * Hkv + blockIdx.y % Hkv : static_cast<size_t>(blockIdx.y) * Skv;
  const int first_key_of_warp = blockIdx.x * kSplitKeys + warp * kBlockN;
  const int key_end = min(keys, static_cast<int>(blockIdx.x + 1) * kSplitKeys);

  const CopyShare<kHeadDim> share(lane);
  const size_t share_start =
      K_row * kHeadDim + static_cast<size_t>(first_key_of_warp + share.row) * K_stride + share.column * kVectorWidth;
  const Element* K_from = K + share_start;  // in the next tile to copy
  const Element* V_from = V + share_start;
  int copy_key = first_key_of_warp;  // its first key
  const unsigned K_ring = static_cast<unsigned>(__cvta_generic_to_shared(smem.K));
  const unsigned V_ring = static_cast<unsigned>(__cvta_generic_to_shared(smem.V));

  // Every tile is two groups of copies, also one beyond the last, so that groups can be counted.
  const auto start_tile = [&](unsigned slot_bytes) {
    if (copy_key + kBlockN <= key_end) {
      share.template copy<true>(K_ring + slot_bytes, K_from, K_stride, kBlockN);
      __pipeline_commit();
      share.template copy<true>(V_ring + slot_bytes, V_from, K_stride, kBlockN);
    } else {
      if (copy_key < key_end) share.template copy<false>(K_ring + slot_bytes, K_from, K_stride, key_end - copy_key);
      __pipeline_commit();
      if (copy_key < key_end) share.template copy<false>(V_ring + slot_bytes, V_from, K_stride, key_end - copy_key);
    }
    __pipeline_commit();
    copy_key += kStep;
    K_from += static_cast<size_t>(kStep) * K_stride;
    V_from += static_cast<size_t>(kStep) * K_stride;
  };
  for (int i = 0; i < kStages - 1; ++i) start_tile(i * kSlotBytes);

  FragmentA Q_rmem[kHeadSteps];
  Accumulator output[kColumnTiles] = {};
  float sum[2] = {};
  RowState state = {{-INFINITY, -INFINITY}};
  load_q<kHeadDim>(Q_rmem, Q + static_cast<size_t>(first_head) * kHeadDim, rows);
  let_next_launch_start();

  // The row whose 16 bytes a lane hands to ldmatrix. The four matrices are, of K: keys 0-7 and columns 0-7, the same
  // keys and columns 8-15, keys 8-15 and columns 0-7, both; of V: the same with keys and columns swapped.
  const unsigned K_address = piece_address<kHeadDim>(smem.K[0], lane / 16 * 8 + lane % 8, lane / 8 % 2);
  const unsigned V_address = piece_address<kHeadDim>(smem.V[0], lane % 16, lane / 16);

  unsigned slot_bytes = 0;                              // of the tile in use
  unsigned refill_bytes = (kStages - 1) * kSlotBytes;  // of the one before it
  for (int first_key = first_key_of_warp; first_key < key_end; first_key += kStep) {
    __pipeline_wait_prior(2 * kStages - 3);  // this lane's copies of K have arrived
    __syncwarp();                            // and the warp's; and all are done with the slot that is filled next
    start_tile(refill_bytes);

    Accumulator score[2][kKeyTiles] = {};  // the terms of even and of odd k, two chains of half the length
#pragma unroll
    for (int k = 0; k < kHeadSteps; ++k) {
      const unsigned address = step_address<kHeadDim>(K_address + slot_bytes, k);
#pragma unroll
      for (int n = 0; n < kKeyTiles; n += 2) {
        FragmentB left, right;  // keys 8n ... 8n + 7, and the next 8
        load_k(left, right, address + n * kMmaN * kRowBytes);
        multiply_add(score[k % 2][n], Q_rmem[k], left);
        multiply_add(score[k % 2][n + 1], Q_rmem[k], right);
      }
    }
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) score[0][n].value[i] += score[1][n].value[i];
    }
    if (first_key + kBlockN > key_end) {
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (first_key + n * kMmaN + 2 * t + i % 2 >= key_end) score[0][n].value[i] = -INFINITY;
        }
      }
    }
    softmax_tile(score[0], state, output, sum, scale_log2, rows > 8);

    __pipeline_wait_prior(2 * kStages - 2);  // this lane's copies of V
    __syncwarp();                            // and the warp's
#pragma unroll
    for (int n = 0; n < kKeyTiles; n += 2) {  // 16 keys: two tiles of scores side by side are one A operand
      FragmentA weight;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = &score[0][n + i / 2].value[i % 2 * 2];
        weight.registers[i] = pack(pair[0] * kWeightScale, pair[1] * kWeightScale);
      }
#pragma unroll
      for (int d = 0; d < kColumnTiles; d += 2) {
        FragmentB left, right;  // columns 8d ... 8d + 7, and the next 8
        load_v(left, right, step_address<kHeadDim>(V_address + slot_bytes, d / 2) + n * kMmaN * kRowBytes);
        multiply_add(output[d], weight, left);
        multiply_add(output[d + 1], weight, right);
      }
    }
    refill_bytes = slot_bytes;
    slot_bytes = slot_bytes == (kStages - 1) * kSlotBytes ? 0 : slot_bytes + kSlotBytes;
  }

  __syncwarp();  // the ring is free
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = g + h * 8;
    if (h * 8 >= rows) break;
    const float row_sum = quad_sum(sum[h]);
    if (t == 0) {
      memory.max[row] = state.max[h];
      memory.sum[row] = row_sum;
    }
    if (row >= rows) continue;  // no head
#pragma unroll
    for (int d = 0; d < kColumnTiles; ++d) {
      const float* pair = &output[d].value[2 * h];
      *reinterpret_cast<float2*>(&memory.output[row][d * kMmaN + 2 * t]) = make_float2(pair[0], pair[1]);
    }
  }
  __syncthreads();

  // What the warps have, four columns a thread. Warp 0 has seen a key, so that the maximum is finite.
  constexpr int kPiecesPerRow = kHeadDim / 4;
  const size_t heads = static_cast<size_t>(gridDim.y) * rows;
  for (int piece = threadIdx.x; piece < rows * kPiecesPerRow; piece += kThreads) {
    const int row = piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * 4;
    float max = -INFINITY;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) max = fmaxf(max, warps[i].max[row]);
    float total = 0.0f;
    float4 part = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kWarps; ++i) {
      const float weight = fast_exp2((warps[i].max[row] - max) * scale_log2);
      const float4 own = *reinterpret_cast<const float4*>(&warps[i].output[row][column]);
      total += weight * warps[i].sum[row];
      part.x += weight * own.x;
      part.y += weight * own.y;
      part.z += weight * own.z;
      part.w += weight * own.w;
    }
    const size_t place = blockIdx.x * heads + first_head + row;
    *reinterpret_cast<float4*>(parts + place * kHeadDim + column) = part;
    if (column == 0) states[place] = make_float2(max, total);
  }
}

constexpr int kMergeThreads = 256;  // at most
constexpr int kAtOnce = 4;          // parts of a thread on their way

// Four neighbouring columns are a piece, and a thread takes its share of the parts of one.
template <int kHeadDim>
struct MergeShape {
  static constexpr int kPieces = kHeadDim / 4;
  static constexpr int kShares = kMergeThreads / kPieces;
  static constexpr int kThreads = kShares * kPieces;
};

// Of one head. Threads merge their shares of the parts, then the shares are merged in shared memory.
template <int kHeadDim>
__global__ void __launch_bounds__(MergeShape<kHeadDim>::kThreads)
    merge(const float* __restrict__ parts,     // [splits, B * H, kHeadDim]
          const float2* __restrict__ states,   // [splits, B * H]
          Element* __restrict__ O,             // [B * H, kHeadDim]
          float* __restrict__ LSE,             // [B * H], or null
          int splits, float softmax_scale) {
  constexpr int kPieces = MergeShape<kHeadDim>::kPieces;
  constexpr int kShares = MergeShape<kHeadDim>::kShares;
  __shared__ float4 share_part[kShares][kPieces];
  __shared__ float2 share_state[kShares];
  const int piece = threadIdx.x % kPieces;
  const int share = threadIdx.x / kPieces;
  const size_t heads = gridDim.x;
  const float scale_log2 = softmax_scale * kLog2E;
  wait_for_launch_before();

  float max = -INFINITY;
  float sum = 0.0f;
  float4 output = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
  for (int first = share; first < splits; first += kShares * kAtOnce) {
    float4 part[kAtOnce];
    float2 state[kAtOnce];
    float new_max = max;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + i * kShares;
      const size_t place = at * heads + blockIdx.x;
      const bool is_part = at < splits;
      part[i] = is_part ? reinterpret_cast<const float4*>(parts + place * kHeadDim)[piece] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      state[i] = is_part ? states[place] : make_float2(-INFINITY, 0.0f);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) new_max = fmaxf(new_max, state[i].x);
    const float correction = fast_exp2((max - new_max) * scale_log2);
    max = new_max;
    sum *= correction;
    output.x *= correction;
    output.y *= correction;
    output.z *= correction;
    output.w *= correction;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = fast_exp2((state[i].x - max) * scale_log2);
      sum += weight * state[i].y;
      output.x += weight * part[i].x;
      output.y += weight * part[i].y;
      output.z += weight * part[i].z;
      output.w += weight * part[i].w;
    }
  }
  share_part[share][piece] = output;
  if (piece == 0) share_state[share] = make_float2(max, sum);
  __syncthreads();
  if (threadIdx.x >= kPieces) return;

  // Finite: share 0 has part 0. A share without a part has a sum of 0 and a maximum of -infinity.
  float row_max = -INFINITY;
#pragma unroll
  for (int i = 0; i < kShares; ++i) row_max = fmaxf(row_max, share_state[i].x);
  float total = 0.0f;
  output = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < kShares; ++i) {
    const float weight = fast_exp2((share_state[i].x - row_max) * scale_log2);
    const float4 own = share_part[i][piece];
    total += weight * share_state[i].y;
    output.x += weight * own.x;
    output.y += weight * own.y;
    output.z += weight * own.z;
    output.w += weight * own.w;
  }
  const float inverse_sum = 1.0f / (total * kWeightScale);
  const uint2 pairs = make_uint2(pack(output.x * inverse_sum, output.y * inverse_sum),
                                 pack(output.z * inverse_sum, output.w * inverse_sum));
  *reinterpret_cast<uint2*>(O + static_cast<size_t>(blockIdx.x) * kHeadDim + piece * 4) = pairs;
  if (LSE != nullptr && piece == 0) LSE[blockIdx.x] = row_max * softmax_scale + logf(total);
}

template __global__ void split<32>(const Element*, const Element*, const Element*, float*, float2*, int, int, int, int, int,
                                    float);
template __global__ void merge<32>(const float*, const float2*, Element*, float*, int, float);
template __global__ void split<64>(const Element*, const Element*, const Element*, float*, float2*, int, int, int, int, int,
                                    float);
template __global__ void merge<64>(const float*, const float2*, Element*, float*, int, float);
template __global__ void split<96>(const Element*, const Element*, const Element*, float*, float2*, int, int, int, int, int,
                                    float);
template __global__ void merge<96>(const float*, const float2*, Element*, float*, int, float);
template __global__ void split<128>(const Element*, const Element*, const Element*, float*, float2*, int, int, int, int, int,
                                    float);
template __global__ void merge<128>(const float*, const float2*, Element*, float*, int, float);
template __global__ void split<256>(const Element*, const Element*, const Element*, float*, float2*, int, int, int, int, int,
                                    float);
template __global__ void merge<256>(const float*, const float2*, Element*, float*, int, float);
