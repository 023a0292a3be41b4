// 11_cluster: the CTAs of a cluster share out the keys, and merge through each other's shared memory.
//
// Idea      One CTA for 16 or 32 rows reads all of its head's K and V: 128 KiB at S = 512, 2048 clocks of the 64 bytes that
//           an SM takes from L2 in a clock. A thread-block cluster puts SPLIT CTAs on neighbouring SMs; each reads a share
//           of the keys. Then every CTA merges a share of the rows, reading all groups' results in distributed shared
//           memory: no second launch, nothing through L2.
// Change    From 10_lean: groups are counted over the cluster; a cluster barrier where the CTA's was, and one more before a
//           CTA may leave, because others still read its results.
// Layouts   Q, K, V, O: fp16 [B, H, S, D], contiguous. grid = (SPLIT ceil(S / BLOCK_M), B * H), block = 32 * WARPS, cluster =
//           (SPLIT, 1). In shared memory and in registers: see 06_ldmatrix and 05_mma.
// Tile      BLOCK_M queries per cluster, ROWS_PER_WARP per warp; BLOCK_N keys per group. The merge: BLOCK_M / SPLIT rows.
// Resources As 08_key_split, for each CTA.
// Bound     B1 H8 S512 D64: 64 rows and SPLIT = 2 are 128 CTAs that read 64 KiB of K and V each, 8 MB in all, 0.5 us at 64
//           bytes per clock and SM; a merge reads 2 groups * 64 rows, half of it from the neighbour. Two cluster barriers,
//           0.3 us. With launch, first trip to L2 and 0.6 us of issue 3 us.
// Limits    sm_90 (clusters). D in {32, 64, 96, 128}; any S >= 1; B * H <= 65535 (grid.y).
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;  // keys per tile of a group
constexpr int kWarps = WARPS;
constexpr int kRowsPerWarp = ROWS_PER_WARP;
constexpr int kStages = STAGES;  // tiles of a group in shared memory; all but one are on their way
constexpr int kSplit = SPLIT;    // CTAs of a cluster, which share out the keys
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
constexpr int kClusterGroups = kSplit * kGroups;
constexpr int kMergedRows = kBlockM / kSplit;  // by one CTA
static_assert(kMergedRows * kSplit == kBlockM, "CTAs must share out the rows of the merge");
static_assert(kStages >= 2, "one tile is used while the others are on their way");
static_assert(kBlockN % kMmaK == 0, "the keys of a tile are the terms of P V");

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

__device__ void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
      : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b.registers[0]),
        "r"(b.registers[1]));
}

// One instruction; exp2f would treat subnormal results apart, which a weight rounded to fp16 has no use for.
__device__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ unsigned pack(float low, float high) {
  const half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ unsigned load_pair(const half* address) { return *reinterpret_cast<const unsigned*>(address); }

// Largest over the four lanes that share a row.
__device__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// What a group of warps has in shared memory.
template <int kHeadDim>
struct alignas(128) GroupMemory {
  struct Ring {
    half K[kStages][kBlockN][kHeadDim];
    half V[kStages][kBlockN][kHeadDim];
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
  const int offset = step * kMmaK * static_cast<int>(sizeof(half));
  return (address ^ offset % kWindow) + offset / kWindow * kWindow;
}

// Address of row `row`, columns 8 `piece` ..., of a swizzled tile.
template <int kHeadDim>
__device__ unsigned piece_address(const half (&tile)[kBlockN][kHeadDim], int row, int piece) {
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
  // memory. Rows from `row_end` on are zeroed; no byte of them is read.
  template <bool kWhole>
  __device__ void copy(unsigned tile, const half* from, int row_end) const {
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
                       "l"(__cvta_generic_to_global(from + first * kHeadDim + columns))
                       : "memory");
        } else {
          const int inside = row + first < row_end ? 16 : 0;
          const half* source = inside ? from + first * kHeadDim + columns : from - row * kHeadDim;
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + columns * 2),
                       "l"(__cvta_generic_to_global(source)), "r"(inside)
                       : "memory");
        }
      }
    }
  }
};

// Rows first_row ... first_row + 15 of Q [S, kHeadDim]; from row S on, row S - 1 again, which nobody stores.
template <int kHeadDim, int kHeadSteps>
__device__ void load_q(FragmentA (&a)[kHeadSteps], const half* __restrict__ Q, int first_row, int S) {
  const int g = threadIdx.x % kWarpSize / 4;
  const int t = threadIdx.x % 4;
  const half* top = Q + static_cast<size_t>(min(first_row + g, S - 1)) * kHeadDim + 2 * t;
  const half* bottom = Q + static_cast<size_t>(min(first_row + g + 8, S - 1)) * kHeadDim + 2 * t;
#pragma unroll
  for (int k = 0; k < kHeadSteps; ++k) {
    a[k] = {{load_pair(top + k * kMmaK), load_pair(bottom + k * kMmaK), load_pair(top + k * kMmaK + 8),
             load_pair(bottom + k * kMmaK + 8)}};
  }
}

// Softmax of one tile of scores, in place: scores become weights, and what was summed up before is rescaled where a row
// has a new maximum.
template <int kColumnTiles>
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
}

// All threads of the cluster have arrived, and what they wrote to shared memory is seen by all.
__device__ void wait_for_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The address of the same place in the shared memory of CTA `rank` of the cluster.
__device__ unsigned address_in(unsigned rank, unsigned address) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
__device__ float load_remote(unsigned address) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}
__device__ float4 load_remote_vector(unsigned address) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

// Adds up what the groups of the cluster have for this CTA's share of the rows, four columns a thread, and stores rows
// first_row ... of O [S, kHeadDim].
template <int kHeadDim>
__device__ void merge(const GroupMemory<kHeadDim>* groups, half* __restrict__ O, int rank, int first_row, int S,
                      float scale_log2) {
  using Memory = GroupMemory<kHeadDim>;
  constexpr int kPiecesPerRow = kHeadDim / 4;
  constexpr unsigned kMaxOffset = sizeof(groups->output) > sizeof(groups->ring) ? sizeof(groups->output) : sizeof(groups->ring);
  constexpr unsigned kSumOffset = kMaxOffset + sizeof(groups->max);
  const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(groups));
  unsigned there[kSplit];
#pragma unroll
  for (int c = 0; c < kSplit; ++c) there[c] = address_in(c, here);
#pragma unroll
  for (int piece = threadIdx.x; piece < kMergedRows * kPiecesPerRow; piece += kThreads) {
    const int row = rank * kMergedRows + piece / kPiecesPerRow;  // in the block
    const int column = piece % kPiecesPerRow * 4;
    float group_max[kClusterGroups];
    float max = -INFINITY;  // finite after the loop: some group has key 0
#pragma unroll
    for (int i = 0; i < kClusterGroups; ++i) {
      group_max[i] = load_remote(there[i / kGroups] + i % kGroups * sizeof(Memory) + kMaxOffset + row * 4);
      max = fmaxf(max, group_max[i]);
    }
    float sum = 0.0f;
    float4 output = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kClusterGroups; ++i) {
      const unsigned group = there[i / kGroups] + i % kGroups * sizeof(Memory);
      const float weight = fast_exp2((group_max[i] - max) * scale_log2);
      const float4 part = load_remote_vector(group + (row * (kHeadDim + 8) + column) * 4);
      sum += weight * load_remote(group + kSumOffset + row * 4);
      output.x += weight * part.x;
      output.y += weight * part.y;
      output.z += weight * part.z;
      output.w += weight * part.w;
    }
    if (first_row + row >= S) continue;
    const float inverse_sum = 1.0f / sum;
    const uint2 halves = make_uint2(pack(output.x * inverse_sum, output.y * inverse_sum),
                                    pack(output.z * inverse_sum, output.w * inverse_sum));
    *reinterpret_cast<uint2*>(O + static_cast<size_t>(first_row + row) * kHeadDim + column) = halves;
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention(const half* __restrict__ Q,  // [B * H, S, kHeadDim]
              const half* __restrict__ K,  // [B * H, S, kHeadDim]
              const half* __restrict__ V,  // [B * H, S, kHeadDim]
              half* __restrict__ O,        // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / kMmaK;    // of Q K^T
  constexpr int kColumnTiles = kHeadDim / kMmaN;  // of the output
  constexpr int kRowBytes = kHeadDim * sizeof(half);

  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto* groups = reinterpret_cast<GroupMemory<kHeadDim>*>(shared_bytes);  // [kGroups]

  const int rank = blockIdx.x % kSplit;                // in the cluster
  const int group = threadIdx.x / kGroupThreads;       // in the CTA
  const int first_tile = (rank * kGroups + group) * kBlockN;  // the group's first key
  const int group_thread = threadIdx.x % kGroupThreads;
  auto& memory = groups[group];
  auto& smem = memory.ring;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const size_t matrix = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  const int first_row = blockIdx.x / kSplit * kBlockM;
  const int row_in_block = group_thread / kWarpSize * kRowsPerWarp;  // the warp's first
  const int warp_row = first_row + row_in_block;
  const float scale_log2 = softmax_scale * kLog2E;

  const int key_end = causal ? min(S, first_row + kBlockM) : S;

  const CopyShare<kHeadDim> share(group_thread);
  const size_t share_start = matrix + static_cast<size_t>(first_tile + share.row) * kHeadDim + share.column * kVectorWidth;
  const half* K_from = K + share_start;  // in the next tile to copy
  const half* V_from = V + share_start;
  int copy_key = first_tile;  // its first key
  const unsigned K_ring = static_cast<unsigned>(__cvta_generic_to_shared(smem.K));
  const unsigned V_ring = static_cast<unsigned>(__cvta_generic_to_shared(smem.V));

  // Every tile is two groups of copies, also one beyond the last, so that groups can be counted.
  const auto start_tile = [&](unsigned slot_bytes) {
    if (copy_key + kBlockN <= S) {
      if (copy_key < key_end) share.template copy<true>(K_ring + slot_bytes, K_from, kBlockN);
      __pipeline_commit();
      if (copy_key < key_end) share.template copy<true>(V_ring + slot_bytes, V_from, kBlockN);
    } else {
      if (copy_key < key_end) share.template copy<false>(K_ring + slot_bytes, K_from, S - copy_key);
      __pipeline_commit();
      if (copy_key < key_end) share.template copy<false>(V_ring + slot_bytes, V_from, S - copy_key);
    }
    __pipeline_commit();
    copy_key += kClusterGroups * kBlockN;
    K_from += kClusterGroups * kBlockN * kHeadDim;
    V_from += kClusterGroups * kBlockN * kHeadDim;
  };
  constexpr unsigned kSlotBytes = kBlockN * kRowBytes;
  for (int i = 0; i < kStages - 1; ++i) start_tile(i * kSlotBytes);

  FragmentA Q_rmem[kRowTiles][kHeadSteps];
  Accumulator output[kRowTiles][kColumnTiles] = {};
  Accumulator sum[kRowTiles] = {};  // of a row's weights, in every column
  RowState state[kRowTiles];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    load_q<kHeadDim>(Q_rmem[r], Q + matrix, warp_row + r * kMmaM, S);
    state[r] = {{-INFINITY, -INFINITY}};
  }
  const FragmentB ones = {{0x3c003c00u, 0x3c003c00u}};  // halves

  // The row whose 16 bytes a lane hands to ldmatrix. The four matrices are, of K: keys 0-7 and columns 0-7, the same
  // keys and columns 8-15, keys 8-15 and columns 0-7, both; of V: the same with keys and columns swapped.
  const unsigned K_address = piece_address<kHeadDim>(smem.K[0], lane / 16 * 8 + lane % 8, lane / 8 % 2);
  const unsigned V_address = piece_address<kHeadDim>(smem.V[0], lane % 16, lane / 16);

  unsigned slot_bytes = 0;                              // of the tile in use
  unsigned refill_bytes = (kStages - 1) * kSlotBytes;  // of the one before it
  for (int first_key = first_tile; first_key < key_end; first_key += kClusterGroups * kBlockN) {
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

    const bool masked = first_key + kBlockN > S || (causal && first_key + kBlockN > warp_row + 1);
    if (masked) {
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
        for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int row = warp_row + r * kMmaM + g + i / 2 * 8;
            const int key = first_key + n * kMmaN + 2 * t + i % 2;
            if (key >= S || (causal && key > row)) score[r][n].value[i] = -INFINITY;
          }
        }
      }
    }

#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) softmax_tile(score[r], state[r], output[r], sum[r], scale_log2);

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
      for (int r = 0; r < kRowTiles; ++r) multiply_add(sum[r], weight[r], ones);
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
      if (t == 0) {
        memory.max[row] = state[r].max[h];
        memory.sum[row] = sum[r].value[2 * h];
      }
#pragma unroll
      for (int d = 0; d < kColumnTiles; ++d) {
        const float* pair = &output[r][d].value[2 * h];
        *reinterpret_cast<float2*>(&memory.output[row][d * kMmaN + 2 * t]) = make_float2(pair[0], pair[1]);
      }
    }
  }
  wait_for_cluster();
  merge<kHeadDim>(groups, O + matrix, rank, first_row, S, scale_log2);
  wait_for_cluster();  // nobody reads this CTA's results any more
}

template __global__ void attention<32>(const half*, const half*, const half*, half*, int, int, float);
template __global__ void attention<64>(const half*, const half*, const half*, half*, int, int, float);
template __global__ void attention<96>(const half*, const half*, const half*, half*, int, int, float);
template __global__ void attention<128>(const half*, const half*, const half*, half*, int, int, float);
