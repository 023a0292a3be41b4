// 11_sums_first with switches for what a turn and a border are made of; all 0: the rung.
//
// PASS_EARLY   The turn is passed before so many of a phase's last wgmma (each of 16 keys), instead of behind all of them; 9: before all.
// OLD_Q        1: queries are copied as what leaves L2 first (evict_first), and outputs are stored so (st.global.cs).
// NO_TURNS     1: warpgroups ask for products as they come.
// SAME_HEADS   Bits: K and V (1) and Q (2) are those of heads modulo 16, so they come from L2; outputs go to heads modulo 16 (4). Results
//              are wrong then, and only the time counts.
// LEAN         1: a stage holds the K of a step and the V of the step before, under one pair of barriers; descriptors are one 32-bit
//              addition each, from a base that the compiler can't work out again in every step.
// TIMELINE     1: clocks of each step of each warpgroup of the first 8 CTAs go to device memory.
// All else     As in problems/attention/11_sums_first.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#pragma nv_diag_suppress 549  // "used before its value is set": start_softmax sets the maximum first

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kConsumers = CONSUMERS;     // warpgroups that compute
constexpr int kBlockM = 64 * kConsumers;  // query rows per tile
constexpr int kBlockN = BLOCK_N;          // keys per tile
constexpr int kStages = STAGES;           // tiles of K, and of V, in shared memory
constexpr int kCluster = CLUSTER;         // CTAs that share the tiles of K and V: each fetches 1 / kCluster for all
constexpr bool kTriesZero = TRY_ZERO;   // a query tile's first scores are exponentiated against 0, not their maximum
constexpr int kPassEarly = PASS_EARLY;
constexpr bool kTurns = !NO_TURNS;
constexpr bool kOldQ = OLD_Q;
constexpr int kSameHeads = SAME_HEADS;
constexpr int kHeadsThen = 16;  // of 4096 keys at D = 128 they are 50 MB of Q, K and V, of 1024 keys 13
constexpr bool kLean = LEAN;
constexpr bool kTimeline = TIMELINE;
constexpr int kThreads = 128 * (kConsumers + 1);
// setmaxnreg: a CTA starts with 65536 / kThreads registers per thread and may redistribute these.
constexpr int kProducerRegisters = kConsumers == 2 ? 24 : 32;
constexpr int kConsumerRegisters = kConsumers == 2 ? 240 : kConsumers == 3 ? 160 : 112;

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLowest = -1e30f;          // below every score; finite, so that differences are no NaN
constexpr float kLargestSum = 32768.0f;    // of a thread's weights: fp16 holds 65504, bf16 any float
constexpr float kSmallestFirstSum = 1.0f;  // of a row's weights against 0: as if the largest of them were 1

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

// The same, and what other CTAs of the cluster have sent is visible.
__device__ void wait_for_cluster(unsigned barrier, unsigned parity) { WAIT(".acquire.cluster"); }

// A box of rows x 64 columns of [B * H, S, D], from (head, row, column) on; zeros outside.
__device__ void copy_box(unsigned tile, const TensorMap* map, int column, int row, int head, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
          tile),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(barrier)
      : "memory");
}

// The same, as what leaves L2 first.
__device__ void copy_old_box(unsigned tile, const TensorMap* map, int column, int row, int head, unsigned barrier) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %3, "
      "%4}], [%5], %6;" ::"r"(tile),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(barrier), "l"(policy)
      : "memory");
}

// The same into all CTAs of the cluster, at the same place of each; each one's own barrier gets the bytes.
__device__ void copy_box_to_all(unsigned tile, const TensorMap* map, int column, int row, int head, unsigned barrier) {
  if constexpr (kCluster == 1) return copy_box(tile, map, column, row, head, barrier);
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, "
      "%3, %4}], [%5], %6;" ::"r"(tile),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(barrier), "h"(static_cast<unsigned short>((1 << kCluster) - 1))
      : "memory");
}

// What lies at this address of the own shared memory, in another CTA of the cluster.
__device__ unsigned in_cluster(unsigned address, int rank) {
  unsigned result;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

// Says that products have read a stage, and publishes nothing: .release.cluster would wait for all that is on its way.
__device__ void arrive_in_cluster(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Stores into another CTA, whose barrier gets the 4 bytes.
__device__ void send(unsigned address, unsigned barrier, int value) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], %2, [%1];" ::"r"(address),
               "r"(barrier), "r"(value)
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

// A swizzled panel as an operand. `leading_bytes`: from one panel to the next, where N goes over panels.
__device__ unsigned long long operand(unsigned panel, int leading_bytes = 0) {
  return static_cast<unsigned long long>((panel & 0x3ffff) >> 4) |
         static_cast<unsigned long long>(leading_bytes >> 4) << 16 |
         static_cast<unsigned long long>(kSwizzleBytes >> 4) << 32 | 1ull << 62;
}

// The same in all lanes of a warp, and not to be worked out again.
__device__ unsigned uniform(unsigned value) {
  asm volatile("" : "+r"(value));
  return __shfl_sync(kAllLanes, value, 0);
}

// kLean: the operand whose panel lies at this many units of 16 bytes; the upper word is the same for all.
__device__ unsigned long long operand_at(unsigned low) {
  return static_cast<unsigned long long>(kSwizzleBytes >> 4 | 1 << 30) << 32 | low;
}

// The operand `bytes` further on; offsets are in units of 16 bytes.
__device__ unsigned long long further(unsigned long long operand, unsigned bytes) { return operand + (bytes >> 4); }

template <int kColumns>
struct Wgmma;

#define REGISTERS_0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define REGISTERS_1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define REGISTERS_3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define REGISTERS_5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define REGISTERS_7 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define D8(i)                                                                                                \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])

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

WGMMA(64, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3, 32, 33, 34, 35, 36, 37, D8(0), D8(8), D8(16), D8(24))
WGMMA(80, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4, 40, 41, 42, 43, 44, 45, D8(0), D8(8), D8(16),
      D8(24), D8(32))
WGMMA(128, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4 REGISTERS_5 REGISTERS_6 REGISTERS_7, 64, 65, 66,
      67, 68, 69, D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56))

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
__device__ void wait_for_turn(int warpgroup) {
  if constexpr (kTurns) asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup) : "memory");
}

__device__ void pass_turn(int warpgroup) {
  if constexpr (kTurns) asm volatile("bar.arrive %0, 256;" ::"r"(1 + (warpgroup + 1) % kConsumers) : "memory");
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

struct alignas(16) Tile {
  int head;       // -1 behind the last tile
  int first_row;
  int end_row;    // at most S
  int key_tiles;  // that any row of the cluster sees
};

// Where things lie in shared memory, in bytes.
template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = kHeadDim / kPanelColumns;
  static constexpr int kQueryBytes = kPanels * 64 * kRowBytes;     // of a warpgroup
  static constexpr int kKeyBytes = kPanels * kBlockN * kRowBytes;  // of a tile of K or V
  static constexpr size_t Q = 0;                                   // 2 tiles of all warpgroups
  static constexpr size_t K = Q + 2 * kConsumers * kQueryBytes;
  static constexpr size_t V = K + (kLean ? 1 : kStages) * kKeyBytes;
  static constexpr int kStageBytes = (kLean ? 2 : 1) * kKeyBytes;  // from one K to the next, and one V to the next
  // mbarriers; kLean: those of V are not used
  static constexpr size_t Q_full = K + 2 * kStages * kKeyBytes;
  static constexpr size_t Q_empty = Q_full + 2 * 8;
  static constexpr size_t K_full = Q_empty + 2 * 8;
  static constexpr size_t K_empty = K_full + kStages * 8;
  static constexpr size_t V_full = K_empty + kStages * 8;
  static constexpr size_t V_empty = V_full + kStages * 8;
  static constexpr size_t tile = V_empty + kStages * 8;  // of each Q
  // What the first CTA of a cluster drew for all.
  static constexpr size_t drawn_full = tile + 2 * sizeof(Tile);
  static constexpr size_t drawn = drawn_full + 2 * 8;
};

// The order of query tiles. Neighbours share keys; causal: of so many heads as the L2 holds, the longest tiles first. One
// warpgroup alone can't overlap its products and exponentials: the first `short_tiles` tiles of a head are a warpgroup short.
// The CTAs of a cluster take a group of neighbouring tiles at once; beyond S, a tile of it has no rows.
struct Queue {
  int S, heads, row_groups, short_tiles, heads_at_once, causal;

  __device__ int first_row(int row_tile) const { return 64 * (kConsumers * row_tile - min(row_tile, short_tiles)); }

  __device__ Tile tile_of(int rank, int index) const {
    Tile tile;
    int row_group;
    if (causal) {
      const int section_size = heads_at_once * row_groups;
      const int section = index / section_size;
      const int width = min(heads_at_once, heads - section * heads_at_once);
      const int within = index - section * section_size;
      row_group = row_groups - 1 - within / width;
      tile.head = section * heads_at_once + within % width;
    } else {
      row_group = row_groups - 1 - index % row_groups;
      tile.head = index / row_groups;
    }
    const int row_tile = kCluster * row_group + rank;
    tile.first_row = first_row(row_tile);
    tile.end_row = min(S, first_row(row_tile + 1));
    const int end_row = min(S, first_row(kCluster * (row_group + 1)));
    tile.key_tiles = ((causal ? end_row : S) + kBlockN - 1) / kBlockN;
    return tile;
  }
};

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    attention(const __grid_constant__ TensorMap Q,  // boxes of 64 rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN / kCluster rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN / kCluster rows x 64 columns
              Element* __restrict__ O,                 // [B * H, S, kHeadDim]
              int* __restrict__ next_tile,          // how many have been drawn
              unsigned* __restrict__ timeline, int S, int heads, int causal, int heads_at_once, float softmax_scale) {
  using Tiles = SharedTiles<kHeadDim>;
  constexpr int kPanels = Tiles::kPanels;
  constexpr int kQueryBytes = Tiles::kQueryBytes;
  constexpr int kKeyBytes = Tiles::kKeyBytes;
  extern __shared__ unsigned char shared_bytes[];
  const unsigned misaligned = shared_address(shared_bytes) & (kSwizzleBytes - 1);
  unsigned char* smem = shared_bytes + ((kSwizzleBytes - misaligned) & (kSwizzleBytes - 1));

  // Shuffled, so that the compiler knows it to be the same in a warp.
  const int warpgroup = __shfl_sync(kAllLanes, threadIdx.x / 128, 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      init(shared_address(smem + Tiles::Q_full + 8 * i), 1);
      init(shared_address(smem + Tiles::Q_empty + 8 * i), 4 * kConsumers);  // a lane of every warp
    }
    for (int i = 0; i < kStages; ++i) {
      init(shared_address(smem + Tiles::K_full + 8 * i), 1);
      init(shared_address(smem + Tiles::V_full + 8 * i), 1);
      init(shared_address(smem + Tiles::K_empty + 8 * i), 4 * kConsumers * kCluster);
      init(shared_address(smem + Tiles::V_empty + 8 * i), 4 * kConsumers * kCluster);
    }
    if constexpr (kCluster > 1) {
      for (int i = 0; i < 2; ++i) init(shared_address(smem + Tiles::drawn_full + 8 * i), 1);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  if constexpr (kCluster > 1) {
    __syncwarp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  }
  __syncthreads();
  if constexpr (kCluster > 1) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");

  const int rank = blockIdx.x % kCluster;  // of the CTA in its cluster
  const int clusters = gridDim.x / kCluster;
  const int row_groups = (S + kCluster * kBlockM - 1) / (kCluster * kBlockM);
  const int short_tiles = kConsumers * kCluster * row_groups - (S + 63) / 64;
  const Queue queue{S, heads, row_groups, short_tiles, heads_at_once, causal};
  const int query_groups = heads * row_groups;

  if (warpgroup == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (threadIdx.x != 128 * kConsumers) return;
    Place<kStages> K_place, V_place;
    Place<2> Q_place, drawn_place;
    const unsigned base = shared_address(smem);
    // Into the next place of a ring, whose tiles and barriers lie so many bytes from the base: this CTA's share of the rows.
    const auto copy_rows = [&](const TensorMap* map, unsigned tile, int row, int head, unsigned barrier) {
      const int first = rank * (kBlockN / kCluster);
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        copy_box_to_all(tile + (p * kBlockN + first) * kRowBytes, map, p * kPanelColumns, row + first,
                        kSameHeads & 1 ? head % kHeadsThen : head, barrier);
      }
    };
    // kLean: K of a step and V of the step before; rows are -1 where there is none.
    const auto copy_both = [&](int K_row, int K_head, int V_row, int V_head) {
      wait(base + Tiles::K_empty + 8 * K_place.stage, K_place.parity ^ 1);
      const unsigned barrier = base + Tiles::K_full + 8 * K_place.stage;
      const unsigned stage = base + K_place.stage * Tiles::kStageBytes;
      expect(barrier, ((K_row >= 0) + (V_row >= 0)) * kKeyBytes);
      if (K_row >= 0) copy_rows(&K, stage + Tiles::K, K_row, K_head, barrier);
      if (V_row >= 0) copy_rows(&V, stage + Tiles::V, V_row, V_head, barrier);
      K_place.advance();
    };
    const auto copy_tile = [&](Place<kStages>& place, const TensorMap* map, unsigned tiles, unsigned full,
                               unsigned empty, int row, int head) {
      wait(base + empty + 8 * place.stage, place.parity ^ 1);  // the first round finds all stages empty
      const unsigned barrier = base + full + 8 * place.stage;
      expect(barrier, kKeyBytes);
      const int first = rank * (kBlockN / kCluster);
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        copy_box_to_all(base + tiles + place.stage * kKeyBytes + (p * kBlockN + first) * kRowBytes, map,
                        p * kPanelColumns, row + first, kSameHeads & 1 ? head % kHeadsThen : head, barrier);
      }
      place.advance();
    };
    int index = blockIdx.x / kCluster;
    int V_row = -1, V_head = 0;  // of the key tile before: its V is needed a step later than its K
#pragma unroll 1
    for (;;) {
      const bool is_end = index >= query_groups;
      Tile tile = queue.tile_of(rank, is_end ? 0 : index);
      if (is_end) tile.head = -1;
      wait(base + Tiles::Q_empty + 8 * Q_place.stage, Q_place.parity ^ 1);
      const unsigned Q_barrier = base + Tiles::Q_full + 8 * Q_place.stage;
      reinterpret_cast<Tile*>(smem + Tiles::tile)[Q_place.stage] = tile;
      if (is_end) {
        arrive(Q_barrier);
        break;
      }
      expect(Q_barrier, kConsumers * kQueryBytes);
#pragma unroll 1
      for (int c = 0; c < kConsumers; ++c) {
#pragma unroll
        for (int p = 0; p < kPanels; ++p) {
          const unsigned place = base + Tiles::Q + (Q_place.stage * kConsumers + c) * kQueryBytes + p * 64 * kRowBytes;
          const int Q_head = kSameHeads & 2 ? tile.head % kHeadsThen : tile.head;
          if constexpr (kOldQ) {
            copy_old_box(place, &Q, p * kPanelColumns, tile.first_row + 64 * c, Q_head, Q_barrier);
          } else {
            copy_box(place, &Q, p * kPanelColumns, tile.first_row + 64 * c, Q_head, Q_barrier);
          }
        }
      }
      Q_place.advance();
      int drawn = rank == 0 ? atomicAdd(next_tile, 1) : 0;  // on its way while this tile's keys are copied
#pragma unroll 1
      for (int row = (tile.key_tiles - 1) * kBlockN; row >= 0; row -= kBlockN) {
        if constexpr (kLean) {
          copy_both(row, tile.head, V_row, V_head);
        } else {
          copy_tile(K_place, &K, Tiles::K, Tiles::K_full, Tiles::K_empty, row, tile.head);
          if (V_row >= 0) copy_tile(V_place, &V, Tiles::V, Tiles::V_full, Tiles::V_empty, V_row, V_head);
        }
        V_row = row;
        V_head = tile.head;
      }
      // As many are drawn as there are groups; who draws the last leaves 0 for the next launch.
      if (drawn == query_groups - 1 && rank == 0) *next_tile = 0;
      if constexpr (kCluster > 1) {
        const unsigned place = base + Tiles::drawn + 4 * drawn_place.stage;
        const unsigned barrier = base + Tiles::drawn_full + 8 * drawn_place.stage;
        if (rank == 0) {
          for (int r = 0; r < kCluster; ++r) send(in_cluster(place, r), in_cluster(barrier, r), drawn);
        }
        expect(barrier, sizeof(int));
        wait_for_cluster(barrier, drawn_place.parity);
        asm volatile("ld.shared.s32 %0, [%1];" : "=r"(drawn) : "r"(place) : "memory");
        drawn_place.advance();
      }
      index = clusters + drawn;
    }
    if (V_row >= 0) {
      if constexpr (kLean) {
        copy_both(-1, 0, V_row, V_head);
      } else {
        copy_tile(V_place, &V, Tiles::V, Tiles::V_full, Tiles::V_empty, V_row, V_head);
      }
    }
    if constexpr (kCluster > 1) {
      // Until all stages are empty, consumers of other CTAs arrive at this one's barriers.
#pragma unroll 1
      for (int i = 0; i < kStages; ++i) {
        wait(base + Tiles::K_empty + 8 * K_place.stage, K_place.parity ^ 1);
        if constexpr (!kLean) wait(base + Tiles::V_empty + 8 * V_place.stage, V_place.parity ^ 1);
        K_place.advance();
        V_place.advance();
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
    const unsigned base = kLean ? uniform(shared_address(smem)) : shared_address(smem);
    const unsigned low_base = uniform((base & 0x3ffff) >> 4);  // of descriptors
    const int lane = threadIdx.x % 32;
    const int quad_lane = lane % 4;
    const int row_in_tile = 64 * warpgroup + (threadIdx.x % 128) / 32 * 16 + lane / 4;  // and + 8
    const float scale = softmax_scale * kLog2E;  // weights are powers of 2

    unsigned step = 0;  // counts key tiles: the one whose scores come next. Its V comes a step later
    unsigned turn = 0;  // counts query tiles: the one that comes next
    const auto at = [](unsigned n) { return 8 * (n % kStages); };
    const auto K_full = [&](unsigned n) { return base + Tiles::K_full + at(n); };
    const auto V_full = [&](unsigned n) { return base + Tiles::V_full + at(n); };
    const auto K_empty = [&](unsigned n) { return base + Tiles::K_empty + at(n); };
    const auto V_empty = [&](unsigned n) { return base + Tiles::V_empty + at(n); };
    const auto parity = [](unsigned n) { return n / kStages & 1; };
    // Of a place of Q. Shuffled, so that the compiler knows it to be the same in a warp; read by the lane that releases
    // the place: racecheck does not see that __syncwarp orders other lanes' reads before that.
    const auto tile_at = [&](int place) {
      int4 words = {};
      if (lane == 0) {
        asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                     : "r"(base + static_cast<unsigned>(Tiles::tile) + 16 * place)
                     : "memory");
      }
      return Tile{__shfl_sync(kAllLanes, words.x, 0), __shfl_sync(kAllLanes, words.y, 0),
                  __shfl_sync(kAllLanes, words.z, 0), __shfl_sync(kAllLanes, words.w, 0)};
    };
    const auto release = [&](unsigned barrier) {
      if (lane == 0) arrive(barrier);
    };
    // All CTAs of the cluster fill a stage of all.
    const auto release_stage = [&](unsigned barrier) {
      if constexpr (kCluster == 1) return release(barrier);
      if (lane < kCluster) arrive_in_cluster(in_cluster(barrier, lane));
    };

    float scores[kBlockN / 2];
    float output[kHeadDim / 2];
    // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
    unsigned weights[kBlockN / 4];
    float maximum[2];  // what the weights are relative to
    float sum[2];      // of this thread's keys

    const auto issue_scores = [&](int stage) {
      if constexpr (kLean) {
        const unsigned queries = low_base + (Tiles::Q >> 4) + ((~turn & 1) * kConsumers + warpgroup) * (kQueryBytes >> 4);
        const unsigned keys = low_base + (Tiles::K >> 4) + stage * (Tiles::kStageBytes >> 4);
#pragma unroll
        for (int d = 0; d < kHeadDim / 16; ++d) {
          const unsigned column_bytes = d % 4 * 32;
          Wgmma<kBlockN>::shared(scores, operand_at(queries + ((d / 4 * 64 * kRowBytes + column_bytes) >> 4)),
                                 operand_at(keys + ((d / 4 * kBlockN * kRowBytes + column_bytes) >> 4)), d > 0);
        }
        return;
      }
      const unsigned long long queries =
          operand(base + Tiles::Q + ((~turn & 1) * kConsumers + warpgroup) * kPanels * 64 * kRowBytes);
      const unsigned long long keys = operand(base + Tiles::K + stage * kPanels * kBlockN * kRowBytes);
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        const unsigned column_bytes = d % 4 * 32;
        Wgmma<kBlockN>::shared(scores, further(queries, d / 4 * 64 * kRowBytes + column_bytes),
                               further(keys, d / 4 * kBlockN * kRowBytes + column_bytes), d > 0);
      }
    };
    const auto issue_output = [&](int stage) {
      if constexpr (kLean) {
        const unsigned values =
            low_base + (Tiles::V >> 4) + (kBlockN * kRowBytes >> 4 << 16) + step % kStages * (Tiles::kStageBytes >> 4);
#pragma unroll
        for (int key = 0; key < kBlockN; key += 16) {
          if (kPassEarly > 0 && kPassEarly < 9 && key == kBlockN - 16 * kPassEarly) pass_turn(warpgroup);
          Wgmma<kHeadDim>::registers(output, &weights[key / 4], operand_at(values + (key * kRowBytes >> 4)), true);
        }
        return;
      }
      const unsigned long long values =
          operand(base + Tiles::V + stage * kPanels * kBlockN * kRowBytes, kBlockN * kRowBytes);
#pragma unroll
      for (int key = 0; key < kBlockN; key += 16) {
        if (kPassEarly > 0 && kPassEarly < 9 && key == kBlockN - 16 * kPassEarly) pass_turn(warpgroup);
        Wgmma<kHeadDim>::registers(output, &weights[key / 4], further(values, key * kRowBytes), true);
      }
    };
    // Event 0: waits for keys and values; 1: waits for its turn; 2: products are asked for; 3: they are there; 4: softmax
    // done; 5: at a border, output stored; 6: has its turn. At 8 words per step, 256 steps, kConsumers warpgroups, 8 CTAs.
    const auto stamp = [&](int event) {
      if constexpr (kTimeline) {
        if (blockIdx.x < 8 && threadIdx.x % 128 == 0 && step < 256) {
          unsigned now;
          asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
          timeline[((blockIdx.x * kConsumers + warpgroup) * 256 + step) * 8 + event] = now;
        }
      }
    };
    const auto stamp_before = [&](int event) {
      --step;
      stamp(event);
      ++step;
    };
    // The two products of a step, or one of them, to the end.
    const auto multiply_both = [&]() {
      hands_off(scores);
      hands_off(output);
      begin();
      if constexpr (kPassEarly == 9) pass_turn(warpgroup);
      issue_scores(step % kStages);
      issue_output((step - 1) % kStages);
      commit();
      if constexpr (kPassEarly == 0) pass_turn(warpgroup);
      stamp(2);
      wait_for_products();
      stamp(3);
      hands_off(scores);
      hands_off(output);
    };
    const auto multiply_scores = [&]() {
      hands_off(scores);
      begin();
      issue_scores(step % kStages);
      commit();
      pass_turn(warpgroup);
      wait_for_products();
      hands_off(scores);
    };
    const auto multiply_output = [&]() {
      hands_off(output);
      begin();
      if constexpr (kPassEarly == 9) pass_turn(warpgroup);
      issue_output((step - 1) % kStages);
      commit();
      if constexpr (kPassEarly == 0) pass_turn(warpgroup);
      wait_for_products();
      hands_off(output);
    };

    int first_row = 0;  // of the warpgroup in its query tile
    int row = 0;        // of this thread, and + 8
    int tile = 0;       // of keys, counted down: the last has keys to hide
    const auto hide_keys = [&](int tile) {
      const int first_key = tile * kBlockN + 2 * quad_lane;
      const int upper_end = (causal ? min(S, row + 1) : S) - first_key;
      const int lower_end = (causal ? min(S, row + 9) : S) - first_key;
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
    // Takes the scores into the maximum; the sums, a part of them, and the output are made relative to it.
    const auto raise_maximum = [&](float (&partial)[2]) {
      float largest[2] = {kLowest, kLowest};
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) largest[i >> 1 & 1] = fmaxf(largest[i >> 1 & 1], scores[i]);
      float factor[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[r] = fmaxf(quad_max(largest[r]), maximum[r]);
        factor[r] = exp2_approximately((maximum[r] - largest[r]) * scale);
        maximum[r] = largest[r];
        sum[r] *= factor[r];
        partial[r] *= factor[r];
      }
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] *= factor[i >> 1 & 1];
    };
    const auto softmax = [&]() {
      float partial[2] = {0.0f, 0.0f};
      float part[2];
      exponentials(part);
      // "Not at most" is true of NaN, too.
      if (__any_sync(kAllLanes, !(part[0] <= kLargestSum && part[1] <= kLargestSum))) {
        raise_maximum(partial);
        exponentials(part);
      }
      partial[0] += part[0];
      partial[1] += part[1];
      sum[0] += partial[0];
      sum[1] += partial[1];
    };
    // Of the first keys of a query tile: there is no maximum yet.
    const auto start_softmax = [&]() {
      float partial[2] = {0.0f, 0.0f};
      sum[0] = sum[1] = 0.0f;
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] = 0.0f;
      bool fits = kTriesZero;
      if (kTriesZero) {
        maximum[0] = maximum[1] = 0.0f;
        exponentials(partial);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float total = quad_sum(partial[r]);
          fits = fits && total >= kSmallestFirstSum && total <= kLargestSum;
        }
      }
      if (!kTriesZero || __any_sync(kAllLanes, !fits)) {
        maximum[0] = maximum[1] = kLowest;
        raise_maximum(partial);
        exponentials(partial);
      }
      sum[0] = partial[0];
      sum[1] = partial[1];
    };

    const auto store_output = [&](const Tile& tile) {
      const int row = tile.first_row + row_in_tile;
      float inverse_sum[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) inverse_sum[r] = 1.0f / quad_sum(sum[r]);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        Element* O_row = O + (static_cast<size_t>(kSameHeads & 4 ? tile.head % kHeadsThen : tile.head) * S + row + 8 * r) * kHeadDim;
#pragma unroll
        for (int d = 0; d < kHeadDim; d += 32) {
          unsigned piece[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = (d / 8 + i) * 4 + 2 * r;
            piece[i] = pack(output[at] * inverse_sum[r], output[at + 1] * inverse_sum[r]);
          }
          transpose_in_quad(piece);  // 16 bytes per lane, 64 in a row
          if (row + 8 * r < S) {
            const uint4 pieces = make_uint4(piece[0], piece[1], piece[2], piece[3]);
            if constexpr (kOldQ) {
              __stcs(reinterpret_cast<uint4*>(O_row + d + 8 * quad_lane), pieces);
            } else {
              *reinterpret_cast<uint4*>(O_row + d + 8 * quad_lane) = pieces;
            }
          }
        }
      }
    };

    if (warpgroup == kConsumers - 1) pass_turn(warpgroup);  // the first one's
    bool has_weights = false;
#pragma unroll 1
    for (;;) {
      // Steps at the border of query tiles: the warpgroup sees none of these keys, or has no weights yet.
      const bool ends_tile = tile == 0;
      bool is_end = false;
      if (ends_tile) {
        wait(base + Tiles::Q_full + 8 * (turn & 1), turn >> 1 & 1);
        const Tile next = tile_at(turn & 1);
        is_end = next.head < 0;
        if (!is_end) {
          first_row = next.first_row + 64 * warpgroup;
          if (first_row >= next.end_row) first_row = S;  // has no rows
          row = next.first_row + row_in_tile;
          tile = next.key_tiles - 1;
        }
        ++turn;
      } else {
        --tile;
      }
      const bool sees = !is_end && first_row < S && (!causal || tile * kBlockN <= first_row + 63);
      stamp(0);
      if (!is_end || kLean) wait(K_full(step), parity(step));
      if (step > 0 && !kLean) wait(V_full(step - 1), parity(step - 1));
      stamp(1);
      wait_for_turn(warpgroup);
      stamp(6);
      if (sees && has_weights) {
        multiply_both();
      } else if (sees) {
        multiply_scores();
      } else if (has_weights) {
        multiply_output();
      } else {
        pass_turn(warpgroup);
      }
      if (!is_end || kLean) release_stage(K_empty(step));
      if (step > 0 && !kLean) release_stage(V_empty(step - 1));
      if (ends_tile && step > 0) {
        // The query tile before the one just taken up: of two places the other one.
        if (has_weights) store_output(tile_at(turn & 1));
        __syncwarp();
        release(base + Tiles::Q_empty + 8 * (turn & 1));
      }
      stamp(5);
      if (is_end) break;
      ++step;
      has_weights = sees;
      if (!sees) continue;

      const int visible = causal ? min(S, first_row + 1) : S;  // keys that all rows of the warpgroup see
      if ((tile + 1) * kBlockN > visible) hide_keys(tile);
      start_softmax();
      stamp_before(4);
#pragma unroll 1
      for (; tile > 0; --tile) {
        stamp(0);
        wait(K_full(step), parity(step));
        if constexpr (!kLean) wait(V_full(step - 1), parity(step - 1));
        stamp(1);
        wait_for_turn(warpgroup);
        stamp(6);
        multiply_both();
        release_stage(K_empty(step));
        if constexpr (!kLean) release_stage(V_empty(step - 1));
        ++step;
        if (tile * kBlockN > visible) hide_keys(tile - 1);
        softmax();
        stamp_before(4);
      }
    }
  }
}

#define INSTANTIATE(D)                                                                                         \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                        const __grid_constant__ TensorMap, Element*, int*, unsigned*, int, int, int, int, float);
INSTANTIATE(64)
INSTANTIATE(128)
