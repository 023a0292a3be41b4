// 13_decode_cluster: the key splits of a head are the CTAs of a cluster, which merge through each other's shared memory.
//
// Idea      12_decode's second launch costs more than its work: it starts when the first one has ended, and reads back from
//           L2 what that one wrote. Here the CTAs that share out the keys of a head are a thread-block cluster. Each sends its
//           maximum, sum and part of the output to the CTA of the cluster that merges these columns, waits once for all, and
//           merges in a fixed order: one launch, nothing in device memory, results are the same bits.
// Change    From 12_decode: one launch; keys are shared out over SPLIT CTAs, not cut into pieces of a fixed size; tiles come by
//           bulk copies (BULK = 1) or cp.async; rows of a tile are padded by groups of keys instead of swizzled.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, 1, D]; K, V: [B, Hkv, Skv, D], or with heads inside positions (bshd);
//           LSE: fp32 [B, H] or null. grid = SPLIT * B * Hkv, cluster = SPLIT, block = 32 * WARPS.
//           A tile in shared memory is 8 groups of BLOCK_N / 8 neighbouring keys, rows contiguous, 16 bytes after each group:
//           the same row of all groups lies in all banks. ldmatrix reads such 8 rows: column c of mma tile n of the scores is
//           key c BLOCK_N / 8 + n of the tile. So one bulk copy brings a whole group, and no read has a bank conflict.
//           mma.sync m16n8k16, with g = lane / 4 and t = lane % 4: row g or g + 8 is head g or g + 8 of the group of heads.
//           Piece p of the output (head p / (D / 4), four columns) is merged by CTA p % SPLIT.
// Tile      H / Hkv of 16 rows; BLOCK_N keys per warp, ceil(keys / SPLIT) per CTA, rounded up to whole tiles.
// Resources Shared bytes per warp: the larger of 4 STAGES (BLOCK_N D + 64) and 64 (D + 8), + 256; and 96 D per CTA.
// Bound     Reading K and V: B1 H8 Skv4096 D64 with SPLIT = 16 is 128 CTAs of 64 KiB, all of it on its way at once: 1024 clocks
//           at 64 bytes per clock and SM, after one trip to L2. Then the merge: a cluster barrier and a trip to a neighbour.
//           B16 H32/8 S8192 D128 is 537 MB from DRAM, 112 us at an H200's 4.8 TB/s; SPLIT = 2 makes 256 CTAs, one wave.
// Limits    sm_90 (clusters; more than 8 CTAs only where the GPU allows it). One query (S = 1); H / Hkv <= 16;
//           D in {32, 64, 96, 128, 256}. Rows of K and V that do not lie side by side (bshd) are copied one by one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kRows = 16;         // heads of a group at most
constexpr int kBlockN = BLOCK_N;  // keys per tile of a warp
constexpr int kWarps = WARPS;
constexpr int kSplit = SPLIT;      // CTAs of a cluster, which share out the keys
constexpr int kStages = STAGES;    // tiles of a warp in shared memory, all on their way when a warp waits for the first
constexpr bool kBulk = BULK == 1;  // bulk copies, one per group of keys; or cp.async, 16 bytes each
constexpr int kThreads = kWarps * kWarpSize;

// mma.sync.m16n8k16
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;

constexpr int kVectorWidth = 8;             // elements of a 16-byte load
constexpr int kVectorBytes = 16;
constexpr int kKeyTiles = kBlockN / kMmaN;  // of a tile of scores; also neighbouring keys in a group
constexpr int kGroups = kMmaN;              // of keys of a tile
static_assert(kBlockN % kMmaK == 0, "the keys of a tile are the terms of P V");
static_assert(4 * 32 % kSplit == 0, "CTAs share out the columns of 16 heads evenly at every D");

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

// Rows of K or V for one tile.
template <int kHeadDim>
struct Tile {
  static constexpr int kRowBytes = kHeadDim * sizeof(Element);
  static constexpr int kGroupBytes = kKeyTiles * kRowBytes + kVectorBytes;
  unsigned char groups[kGroups][kGroupBytes];

  __device__ static constexpr int offset(int row) { return row * kRowBytes + row / kKeyTiles * kVectorBytes; }
};

// What a warp has in shared memory.
template <int kHeadDim>
struct alignas(128) WarpMemory {
  struct Ring {
    Tile<kHeadDim> K[kStages];
    Tile<kHeadDim> V[kStages];
  };
  union {
    Ring ring;
    float output[kRows][kHeadDim + 8];  // after the last tile, not yet divided by a sum
  };
  float max[kRows];
  float sum[kRows];
  unsigned long long K_full[kStages];  // of the ring; used if kBulk
  unsigned long long V_full[kStages];
};

// What the CTAs of the cluster have sent for the pieces that this CTA merges.
template <int kHeadDim>
struct Received {
  static constexpr int kPieces = kRows * kHeadDim / 4 / kSplit;
  float4 part[kSplit][kPieces];
  float2 state[kSplit][kPieces];  // maximum of the scores, sum of the weights
};

__device__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

// ---- mbarriers and bulk copies ----

__device__ void init(unsigned long long& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
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

__device__ void copy_bytes(unsigned to, const Element* from, int bytes, unsigned long long& barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(&barrier))
               : "memory");
}

// Starts to copy `rows` rows to a tile, the first from `from`, `stride` elements apart; lanes of a warp share the work. The
// barrier must expect their bytes already.
template <int kHeadDim>
__device__ void copy_in_bulk(unsigned tile, const Element* from, int stride, int rows, unsigned long long& barrier) {
  const int lane = threadIdx.x % kWarpSize;
  if (stride == kHeadDim) {
    const int first = lane * kKeyTiles;
    if (lane < kGroups && first < rows) {
      copy_bytes(tile + lane * Tile<kHeadDim>::kGroupBytes, from + first * kHeadDim,
                 min(rows - first, kKeyTiles) * Tile<kHeadDim>::kRowBytes, barrier);
    }
  } else {
    for (int row = lane; row < rows; row += kWarpSize) {
      copy_bytes(tile + Tile<kHeadDim>::offset(row), from + static_cast<size_t>(row) * stride, Tile<kHeadDim>::kRowBytes,
                 barrier);
    }
  }
}

// Zeroes rows `first_row` ... of a tile: no copy fills them, and a weight of 0 times what was there may be NaN.
template <int kHeadDim>
__device__ void zero_rows(unsigned tile, int first_row) {
  constexpr int kPieces = Tile<kHeadDim>::kRowBytes / kVectorBytes;  // of a row
  for (int i = first_row * kPieces + threadIdx.x % kWarpSize; i < kBlockN * kPieces; i += kWarpSize) {
    const unsigned address = tile + Tile<kHeadDim>::offset(i / kPieces) + i % kPieces * kVectorBytes;
    asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(0) : "memory");
  }
}

// ---- The cluster ----

// Before a CTA writes to another's shared memory, that CTA must have started: all arrive at their start, and wait before
// they send.
__device__ void arrive_at_cluster_start() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
__device__ void wait_for_cluster_start() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }

// All threads of the cluster have arrived, and what they wrote to shared memory is seen by all.
__device__ void wait_for_cluster() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

__device__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The address of the same place in the shared memory of CTA `rank` of the cluster.
__device__ unsigned address_in(unsigned rank, const void* here) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(here)), "r"(rank));
  return there;
}
__device__ void send(unsigned address, float4 v) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
}
__device__ void send(unsigned address, float2 v) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(v.x), "f"(v.y) : "memory");
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

// What a lane copies of every tile of its warp by cp.async: pieces `column`, + kLanesPerRow, ... of rows `row`,
// + kRowsPerPass, ...
template <int kHeadDim>
struct CopyShare {
  static constexpr int kLanesPerRow = kHeadDim % 64 == 0 ? 8 : 4;
  static constexpr int kRowsPerPass = kWarpSize / kLanesPerRow;
  static constexpr int kPasses = kBlockN / kRowsPerPass;
  static_assert(kBlockN % kRowsPerPass == 0, "a pass fills whole rows of a tile");
  static_assert(kRowsPerPass % kKeyTiles == 0 || kKeyTiles % kRowsPerPass == 0, "offsets of rows and passes add up");

  int row;          // in the tile
  int column;       // of 8 elements
  unsigned offset;  // bytes, in a tile in shared memory

  __device__ explicit CopyShare(int lane) : row(lane / kLanesPerRow), column(lane % kLanesPerRow) {
    offset = Tile<kHeadDim>::offset(row) + column * kVectorBytes;
  }

  // Starts to copy this share. `from` is its first piece of the tile in device memory, `tile` the tile's address in shared
  // memory, rows of it `stride` elements apart. Rows from `row_end` on are zeroed; no byte of them is read.
  template <bool kWhole>
  __device__ void copy(unsigned tile, const Element* from, int stride, int row_end) const {
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int first = pass * kRowsPerPass;
      const unsigned to = tile + offset + Tile<kHeadDim>::offset(first);
#pragma unroll
      for (int c = 0; c < kHeadDim / kVectorWidth / kLanesPerRow; ++c) {
        const int columns = c * kLanesPerRow * kVectorWidth;
        if (kWhole) {
          asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(to + columns * 2),
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
// has a new maximum. The sums are this lane's, of weights before they are rounded.
template <int kColumnTiles>
__device__ void softmax_tile(Accumulator (&score)[kKeyTiles], RowState& state, Accumulator (&output)[kColumnTiles],
                             float (&sum)[2], float scale_log2) {
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
#pragma unroll
      for (int d = 0; d < kColumnTiles; ++d) output[d].value[i] *= correction[i / 2];
    }
    sum[0] *= correction[0];
    sum[1] *= correction[1];
  }
#pragma unroll
  for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[i / 2] += score[n].value[i];
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    decode(const Element* __restrict__ Q,  // [B * H, kHeadDim]
           const Element* __restrict__ K,  // [B, Hkv, Skv, kHeadDim]
           const Element* __restrict__ V,  // [B, Hkv, Skv, kHeadDim]
           Element* __restrict__ O,        // [B * H, kHeadDim]
           float* __restrict__ LSE,        // [B * H], or null
           int keys,                       // that a query sees
           int Skv, int Hkv, int rows,     // heads of a group
           int bshd, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / kMmaK;    // of Q K^T
  constexpr int kColumnTiles = kHeadDim / kMmaN;  // of the output
  constexpr int kRowBytes = Tile<kHeadDim>::kRowBytes;
  constexpr unsigned kSlotBytes = sizeof(Tile<kHeadDim>);
  constexpr int kStep = kWarps * kBlockN;  // keys from one tile of a warp to its next

  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto* warps = reinterpret_cast<WarpMemory<kHeadDim>*>(shared_bytes);  // [kWarps]
  auto& received = *reinterpret_cast<Received<kHeadDim>*>(warps + kWarps);

  arrive_at_cluster_start();
  const int rank = rank_in_cluster();
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  auto& memory = warps[warp];
  auto& smem = memory.ring;
  const int group = blockIdx.x / kSplit;  // of heads: (batch element, head of K and V)
  const size_t first_head = static_cast<size_t>(group) * rows;
  const float scale_log2 = softmax_scale * kLog2E;

  const int K_stride = bshd ? Hkv * kHeadDim : kHeadDim;
  const size_t K_row = bshd ? static_cast<size_t>(group / Hkv) * Skv * Hkv + group % Hkv : static_cast<size_t>(group) * Skv;
  const int tiles_of_cta = ((keys + kSplit - 1) / kSplit + kBlockN - 1) / kBlockN;
  const int first_key_of_warp = rank * tiles_of_cta * kBlockN + warp * kBlockN;
  const int key_end = min(keys, (rank + 1) * tiles_of_cta * kBlockN);

  if (kBulk) {
    if (lane == 0) {
      for (int i = 0; i < kStages; ++i) {
        init(memory.K_full[i], 1);
        init(memory.V_full[i], 1);
      }
      asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
  }

  const CopyShare<kHeadDim> share(lane);
  size_t from = K_row * kHeadDim + static_cast<size_t>(first_key_of_warp) * K_stride;  // the next tile to copy
  if (!kBulk) from += static_cast<size_t>(share.row) * K_stride + share.column * kVectorWidth;
  const Element* K_from = K + from;
  const Element* V_from = V + from;
  int copy_key = first_key_of_warp;  // its first key
  const unsigned K_ring = shared_address(smem.K);
  const unsigned V_ring = shared_address(smem.V);

  // By cp.async every tile is two groups of copies, also one beyond the last, so that groups can be counted.
  const auto start_tile = [&](int slot) {
    const unsigned K_tile = K_ring + slot * kSlotBytes;
    const unsigned V_tile = V_ring + slot * kSlotBytes;
    const int tile_rows = min(key_end - copy_key, kBlockN);
    if (kBulk) {
      if (tile_rows > 0) {
        if (lane == 0) {
          expect(memory.K_full[slot], tile_rows * kRowBytes);
          expect(memory.V_full[slot], tile_rows * kRowBytes);
        }
        __syncwarp();
        copy_in_bulk<kHeadDim>(K_tile, K_from, K_stride, tile_rows, memory.K_full[slot]);
        copy_in_bulk<kHeadDim>(V_tile, V_from, K_stride, tile_rows, memory.V_full[slot]);
        if (tile_rows < kBlockN) zero_rows<kHeadDim>(V_tile, tile_rows);
        __syncwarp();
      }
    } else if (tile_rows == kBlockN) {
      share.template copy<true>(K_tile, K_from, K_stride, kBlockN);
      __pipeline_commit();
      share.template copy<true>(V_tile, V_from, K_stride, kBlockN);
      __pipeline_commit();
    } else {
      if (tile_rows > 0) share.template copy<false>(K_tile, K_from, K_stride, tile_rows);
      __pipeline_commit();
      if (tile_rows > 0) share.template copy<false>(V_tile, V_from, K_stride, tile_rows);
      __pipeline_commit();
    }
    copy_key += kStep;
    K_from += static_cast<size_t>(kStep) * K_stride;
    V_from += static_cast<size_t>(kStep) * K_stride;
  };
#pragma unroll 1
  for (int i = 0; i < kStages - 1; ++i) start_tile(i);

  FragmentA Q_rmem[kHeadSteps];
  Accumulator output[kColumnTiles] = {};
  float sum[2] = {};
  RowState state = {{-INFINITY, -INFINITY}};
  load_q<kHeadDim>(Q_rmem, Q + first_head * kHeadDim, rows);

  // The row whose 16 bytes a lane hands to ldmatrix: key tile n is row n of every group. The four matrices are, of K: key
  // tile n and columns 0-7, the same keys and columns 8-15, key tile n + 1 and columns 0-7, both; of V: the same with keys
  // and columns swapped.
  const int matrix = lane / 8;
  const unsigned group_offset = lane % 8 * Tile<kHeadDim>::kGroupBytes;
  const unsigned K_address = K_ring + group_offset + matrix / 2 * kRowBytes + matrix % 2 * kVectorBytes;
  const unsigned V_address = V_ring + group_offset + matrix % 2 * kRowBytes + matrix / 2 * kVectorBytes;

  int slot = 0;              // of the tile in use
  int refill = kStages - 1;  // of the one before it
  unsigned parity = 0;       // of the round of the ring
  for (int first_key = first_key_of_warp; first_key < key_end; first_key += kStep) {
    __syncwarp();  // all lanes are done with the slot that is filled next
    start_tile(refill);
    if (kBulk) {
      wait(memory.K_full[slot], parity);
    } else {
      __pipeline_wait_prior(2 * kStages - 1);  // this lane's copies of K have arrived
    }
    __syncwarp();  // and the warp's

    Accumulator score[kKeyTiles] = {};
#pragma unroll
    for (int k = 0; k < kHeadSteps; ++k) {
#pragma unroll
      for (int n = 0; n < kKeyTiles; n += 2) {
        FragmentB left, right;  // key tiles n and n + 1
        load_k(left, right, K_address + slot * kSlotBytes + n * kRowBytes + k * 2 * kVectorBytes);
        multiply_add(score[n], Q_rmem[k], left);
        multiply_add(score[n + 1], Q_rmem[k], right);
      }
    }
    if (first_key + kBlockN > key_end) {
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (first_key + (2 * t + i % 2) * kKeyTiles + n >= key_end) score[n].value[i] = -INFINITY;
        }
      }
    }
    softmax_tile(score, state, output, sum, scale_log2);

    if (kBulk) {
      wait(memory.V_full[slot], parity);
    } else {
      __pipeline_wait_prior(2 * kStages - 2);  // this lane's copies of V
    }
    __syncwarp();  // and the warp's
#pragma unroll
    for (int n = 0; n < kKeyTiles; n += 2) {  // 16 keys: two tiles of scores side by side are one A operand
      FragmentA weight;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = &score[n + i / 2].value[i % 2 * 2];
        weight.registers[i] = pack(pair[0] * kWeightScale, pair[1] * kWeightScale);
      }
#pragma unroll
      for (int d = 0; d < kColumnTiles; d += 2) {
        FragmentB left, right;  // columns 8d ... 8d + 7, and the next 8
        load_v(left, right, V_address + slot * kSlotBytes + n * kRowBytes + d * kVectorBytes);
        multiply_add(output[d], weight, left);
        multiply_add(output[d + 1], weight, right);
      }
    }
    refill = slot;
    if (++slot == kStages) {
      slot = 0;
      parity ^= 1;
    }
  }

  __syncwarp();  // the ring is free
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = g + h * 8;
    const float row_sum = quad_sum(sum[h]);
    if (row >= rows) continue;
    if (t == 0) {
      memory.max[row] = state.max[h];
      memory.sum[row] = row_sum;
    }
#pragma unroll
    for (int d = 0; d < kColumnTiles; ++d) {
      const float* pair = &output[d].value[2 * h];
      *reinterpret_cast<float2*>(&memory.output[row][d * kMmaN + 2 * t]) = make_float2(pair[0], pair[1]);
    }
  }
  __syncthreads();
  wait_for_cluster_start();

  // What the warps have, four columns a thread. A CTA, or a warp, without a key has sums of 0 and a maximum of -infinity.
  constexpr int kPiecesPerRow = kHeadDim / 4;
  const int pieces = rows * kPiecesPerRow;
  for (int piece = threadIdx.x; piece < pieces; piece += kThreads) {
    const int row = piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * 4;
    float max = -INFINITY;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) max = fmaxf(max, warps[i].max[row]);
    const float origin = max == -INFINITY ? 0.0f : max;
    float total = 0.0f;
    float4 part = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kWarps; ++i) {
      const float weight = fast_exp2((warps[i].max[row] - origin) * scale_log2);
      const float4 own = *reinterpret_cast<const float4*>(&warps[i].output[row][column]);
      total += weight * warps[i].sum[row];
      part.x += weight * own.x;
      part.y += weight * own.y;
      part.z += weight * own.z;
      part.w += weight * own.w;
    }
    const int owner = piece % kSplit;
    const int place = piece / kSplit;
    send(address_in(owner, &received.part[rank][place]), part);
    send(address_in(owner, &received.state[rank][place]), make_float2(max, total));
  }
  wait_for_cluster();  // from here on each CTA reads its own shared memory only, so that others may leave

  for (int place = threadIdx.x; place * kSplit + rank < pieces; place += kThreads) {
    const int piece = place * kSplit + rank;
    float max = -INFINITY;  // finite after the loop: CTA 0 has key 0
#pragma unroll
    for (int i = 0; i < kSplit; ++i) max = fmaxf(max, received.state[i][place].x);
    float total = 0.0f;
    float4 part = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kSplit; ++i) {
      const float2 other = received.state[i][place];
      const float4 own = received.part[i][place];
      const float weight = fast_exp2((other.x - max) * scale_log2);
      total += weight * other.y;
      part.x += weight * own.x;
      part.y += weight * own.y;
      part.z += weight * own.z;
      part.w += weight * own.w;
    }
    const float inverse_sum = 1.0f / (total * kWeightScale);
    const uint2 pairs = make_uint2(pack(part.x * inverse_sum, part.y * inverse_sum),
                                   pack(part.z * inverse_sum, part.w * inverse_sum));
    *reinterpret_cast<uint2*>(O + first_head * kHeadDim + piece * 4) = pairs;
    if (LSE != nullptr && piece % kPiecesPerRow == 0) {
      LSE[first_head + piece / kPiecesPerRow] = max * softmax_scale + logf(total);
    }
  }
}

template __global__ void decode<32>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int, int,
                                    float);
template __global__ void decode<64>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int, int,
                                    float);
template __global__ void decode<96>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int, int,
                                    float);
template __global__ void decode<128>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int, int,
                                    float);
template __global__ void decode<256>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, int, int,
                                    float);
