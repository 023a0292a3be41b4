// 23_split_keys: CTAs share out the keys of a query tile.
//
// Idea      One sequence of a few heads, or a chunk of a prompt behind a long cache, has fewer query tiles than a GPU has SMs. SPLIT
//           CTAs take one tile: each has a stretch of its keys, and all merge what they have at the end.
// Change    From 19: a CTA has one query tile and part of its keys, so there is no queue. At the end each CTA sends the others what
//           they merge: of SPLIT CTAs, p merges rows of parity p % 2 and columns of the p / 2-th stretch. CLUSTER = 1: as in
//           10_resident, by stores to shared memory that complete the receiver's mbarrier. Of clusters of 4 an H200 holds 30, which are
//           120 of 132 SMs; CLUSTER = 0 sends through L2, and warps count who has sent. A CTA without keys, or whose rows see none of
//           them, sends weights of 0.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, S, D], K, V: [B, Hkv, Skv, D], contiguous, or with heads inside positions (bshd);
//           LSE: fp32 [B, H, S] or null. Tensor maps (D, S, H, B), panels of 64 columns with a 128-byte swizzle.
//           grid = SPLIT x tiles of BLOCK_M = 64 CONSUMERS queries, clusters of SPLIT or of one; block = 128 (CONSUMERS + 1).
//           Stage n % STAGES: K of step n, V of step n - 1. The first stage has no V, the last one no K. Keys go from the last to the first.
//           What a CTA receives: [warpgroup][sender][values / 4][128 threads] of 4 fp32, then maximum and sum of a row [128].
// Tile      64 rows x BLOCK_N keys per consumer warpgroup.
// Resources Shared bytes: 128 ceil(D / 64) (BLOCK_M + 2 STAGES BLOCK_N) + CLUSTER CONSUMERS (SPLIT - 1) (256 D / SPLIT + 1024). Registers: as 19.
// Bound     As 19 for Skv / SPLIT keys. Each CTA sends BLOCK_M D (SPLIT - 1) / SPLIT fp32: with BLOCK_M D = 2^14 32 to 56 KB, and as much
//           to read again.
// Accuracy  As 19; parts are added in one order. LSE is of weights that were not rounded.
// Limits    sm_90a; D in {32, 64, 96, 128}; any S, Skv >= 1; B * H <= 65535, as 09_lean, and B * H * S below 2^31; STAGES a power of 2.
//           CLUSTER = 0: CTAs that wait for each other run at once, so there are at most 128, and as many SMs are needed.
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
constexpr int kSplit = SPLIT;             // CTAs that share out the keys of a query tile
constexpr bool kClusters = CLUSTER;       // they are a cluster, and send through its shared memory instead of L2
// The last keys that a warpgroup's 64 rows see lie in two tiles at most. Products have as many columns.
static_assert(kBlockN % 64 == 0, "the last keys of 64 rows lie in two tiles");
constexpr int kPassEarly = 2;             // wgmma, each of 16 keys, that are asked for after the turn was passed
constexpr int kThreads = 128 * (kConsumers + 1);
// setmaxnreg: a CTA starts with 65536 / kThreads registers per thread and may redistribute these.
constexpr int kProducerRegisters = kConsumers == 2 ? 24 : 32;
constexpr int kConsumerRegisters = kConsumers == 2 ? 240 : kConsumers == 3 ? 160 : 112;

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
// The same for what other CTAs of the cluster stored.
__device__ void wait_for_cluster(unsigned barrier, unsigned parity) { WAIT(".acquire.cluster"); }

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

// Stores 8 kChunks columns of a row, as the accumulators of a quad have them: 2 of every 8 per lane.
template <int kChunks>
__device__ void store(Element* O_row, const float (&values)[2 * kChunks], float factor, bool exists) {
  const int quad_lane = threadIdx.x % 4;
  unsigned pieces[kChunks];
#pragma unroll
  for (int c = 0; c < kChunks; ++c) pieces[c] = pack(values[2 * c] * factor, values[2 * c + 1] * factor);
  if constexpr (kChunks % 4 == 0) {
#pragma unroll
    for (int c = 0; c < kChunks; c += 4) {
      unsigned piece[4] = {pieces[c], pieces[c + 1], pieces[c + 2], pieces[c + 3]};
      transpose_in_quad(piece);  // 16 bytes per lane, 64 in a row
      if (exists) *reinterpret_cast<uint4*>(O_row + 8 * (c + quad_lane)) = make_uint4(piece[0], piece[1], piece[2], piece[3]);
    }
  } else {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (exists) *reinterpret_cast<unsigned*>(O_row + 8 * c + 2 * quad_lane) = pieces[c];
    }
  }
}

// ---- merge ----
// A thread has 2 rows of kHeadDim / 8 chunks of 2 accumulators. CTA p keeps row p % 2 and the p / 2-th part of the chunks.

template <int kHeadDim>
struct Share {
  static constexpr int kChunks = kHeadDim / (4 * kSplit);
  static constexpr int kValues = 2 * kChunks;  // per thread
  static constexpr int kWidth = kValues % 4 == 0 ? 4 : 2;  // values of one store
  static constexpr int kSlotBytes = 128 * (4 * kValues + 8);  // vectors [kValues / kWidth][128], then maximum and sum [128]
  static_assert(kChunks * 4 * kSplit == kHeadDim, "whole chunks");
  // The accumulator that is value `i` of CTA p.
  static __device__ constexpr int accumulator(int p, int i) { return (p / 2 * kChunks + i / 2) * 4 + p % 2 * 2 + i % 2; }
};

// The address, in CTA `rank` of the cluster, of what is at `address` in this one.
__device__ unsigned in_cluster(unsigned address, int rank) {
  unsigned result;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

// Stores to a CTA of the cluster and tells its barrier so; returns at once.
__device__ void send(unsigned address, unsigned barrier, float a, float b) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%2, %3}, [%1];" ::"r"(address),
               "r"(barrier), "f"(a), "f"(b)
               : "memory");
}

__device__ void send(unsigned address, unsigned barrier, float a, float b, float c, float d) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(
                   address),
               "r"(barrier), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}

// What was received.
template <typename T>
__device__ T read(const unsigned char* address) {
  const T* vector = reinterpret_cast<const T*>(address);
  if constexpr (kClusters) return *vector;
  return __ldcg(vector);  // where L2 has it: an SM's own cache may be older
}

// ---- the kernel ----

// Where things lie in shared memory, in bytes.
template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = (kHeadDim + kPanelColumns - 1) / kPanelColumns;
  static constexpr int kQueryBytes = kPanels * 64 * kRowBytes;     // of a warpgroup
  static constexpr int kKeyBytes = kPanels * kBlockN * kRowBytes;  // of a tile of K or V
  static constexpr int kStageBytes = 2 * kKeyBytes;
  static constexpr int kReceivedBytes = (kSplit - 1) * Share<kHeadDim>::kSlotBytes;  // by a warpgroup, here or in L2
  static constexpr size_t Q = 0;  // tiles of all warpgroups
  static constexpr size_t K = Q + kConsumers * kQueryBytes;  // of the first stage
  static constexpr size_t V = K + kKeyBytes;
  static constexpr size_t received = K + kStages * kStageBytes;
  // mbarriers
  static constexpr size_t Q_full = received + (kClusters ? kConsumers * kReceivedBytes : 0);
  static constexpr size_t full = Q_full + 8;  // of the stages
  static constexpr size_t empty = full + kStages * 8;
  static constexpr size_t all_received = empty + kStages * 8;  // of the warpgroups
};

// The order of query tiles. Neighbours share keys: of so many heads at once (causal: as the L2 holds) the longest tiles first. One
// warpgroup alone can't overlap its products and exponentials: the first `short_tiles` tiles of a head are a warpgroup short.
struct TileOrder {
  int heads, row_tiles, short_tiles, heads_at_once;

  __device__ int first_row(int row_tile) const { return 64 * (kConsumers * row_tile - min(row_tile, short_tiles)); }

  // Its head, counted through all batch elements, and its place among the head's tiles.
  __device__ void find(int index, int& head, int& row_tile) const {
    const int section_size = heads_at_once * row_tiles;
    const int section = index / section_size;
    const int width = min(heads_at_once, heads - section * heads_at_once);
    const int within = index - section * section_size;
    row_tile = row_tiles - 1 - within / width;
    head = section * heads_at_once + within % width;
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
              unsigned char* __restrict__ parts,    // [CTA][warpgroup][what it receives], where that goes through L2
              int* __restrict__ arrived,            // [CTA][warp]: who has sent; 0 before and after every launch
              int S, int Skv, int H, int group,     // query heads that share a head of K and V
              int heads,                            // of all batch elements
              int diagonal,                         // row i sees keys up to i + diagonal
              int heads_at_once,
              int O_head, int O_row,                // from one head, or row, to the next, in rows of O
              float softmax_scale) {
  constexpr int kHeadDim = kCompiledHeadDim<kDeclaredHeadDim>;
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
    init(shared_address(smem + Tiles::Q_full), 1);
    for (int i = 0; i < kStages; ++i) {
      init(shared_address(smem + Tiles::full + 8 * i), 1);
      init(shared_address(smem + Tiles::empty + 8 * i), 4 * kConsumers);  // a lane of every warp
    }
    for (int i = 0; i < kConsumers; ++i) init(shared_address(smem + Tiles::all_received + 8 * i), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if constexpr (kClusters) asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");  // these barriers exist

  const int row_tiles = (S + kBlockM - 1) / kBlockM;
  const TileOrder order{heads, row_tiles, kConsumers * row_tiles - (S + 63) / 64, heads_at_once};
  int head_of_all, row_tile;
  order.find(blockIdx.x / kSplit, head_of_all, row_tile);
  const int batch = head_of_all / H;
  const int head = head_of_all - batch * H;
  const int tile_row = order.first_row(row_tile);
  const int rows = min(S, order.first_row(row_tile + 1)) - tile_row;
  // Tiles of keys that any row sees, at least one, and the stretch of them that is this CTA's.
  const int key_tiles = (max(1, min(Skv, tile_row + rows + diagonal)) + kBlockN - 1) / kBlockN;
  const int part = blockIdx.x % kSplit;  // of the cluster's CTAs
  const int begin_tile = key_tiles * part / kSplit;
  const int end_tile = key_tiles * (part + 1) / kSplit;

  if (warpgroup == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (threadIdx.x != 128 * kConsumers || begin_tile == end_tile) return;
    Place<kStages> place;
    const unsigned base = shared_address(smem);
    expect(base + Tiles::Q_full, kConsumers * kQueryBytes);
#pragma unroll 1
    for (int c = 0; c < kConsumers; ++c) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        copy_box(base + Tiles::Q + c * kQueryBytes + p * 64 * kRowBytes, &Q, p * kPanelColumns, tile_row + 64 * c, head, batch,
                 base + Tiles::Q_full);
      }
    }
    // Waits until the stage is empty and says how many tiles will come. The first round finds all stages empty.
    const auto open_stage = [&](int tiles) {
      wait(base + Tiles::empty + 8 * place.stage, place.parity ^ 1);
      expect(base + Tiles::full + 8 * place.stage, tiles * kKeyBytes);
    };
    // Into the stage, whose tile lies so many bytes from the first stage.
    const auto copy_tile = [&](const TensorMap* map, unsigned offset, int key_tile) {
      const unsigned tile = base + offset + place.stage * Tiles::kStageBytes;
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        copy_box(tile + p * kBlockN * kRowBytes, map, p * kPanelColumns, key_tile * kBlockN, head / group, batch,
                 base + Tiles::full + 8 * place.stage);
      }
    };
#pragma unroll 1
    for (int tile = end_tile - 1; tile >= begin_tile; --tile) {
      const bool has_V = tile < end_tile - 1;  // V of the tile before: it is needed a step later than its K
      open_stage(has_V ? 2 : 1);
      copy_tile(&K, Tiles::K, tile);
      if (has_V) copy_tile(&V, Tiles::V, tile + 1);
      place.advance();
    }
    open_stage(1);
    copy_tile(&V, Tiles::V, begin_tile);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
    const unsigned base = uniform(shared_address(smem));
    // 18 bits: above them, the address has the CTA's number in the cluster, the descriptor the distance between panels.
    const unsigned operands = uniform(units(base & 0x3ffff));
    const int lane = threadIdx.x % 32;
    const int quad_lane = lane % 4;
    const int row_in_tile = 64 * warpgroup + (threadIdx.x % 128) / 32 * 16 + lane / 4;  // and + 8
    const float scale = softmax_scale * kLog2E;  // weights are powers of 2
    const unsigned received = base + Tiles::all_received + 8 * warpgroup;
    if (kClusters && threadIdx.x % 128 == 0) expect(received, Tiles::kReceivedBytes);

    unsigned step = 0;  // counts stages: the one that comes next
    const auto wait_for_stage = [&]() { wait(base + Tiles::full + 8 * (step % kStages), step / kStages & 1); };
    const auto release_stage = [&]() {
      if (lane == 0) arrive(base + Tiles::empty + 8 * (step % kStages));
    };

    float scores[kBlockN / 2];
    float output[kHeadDim / 2];
    // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
    unsigned weights[kBlockN / 4];
    float maximum[2];  // what the weights are relative to
    float sum[2];      // of this thread's keys

    const auto issue_scores = [&]() {
      const unsigned queries = operands + units(Tiles::Q) + warpgroup * units(kQueryBytes);
      const unsigned keys = operands + units(Tiles::K) + step % kStages * units(Tiles::kStageBytes);
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

    const int first_row = 64 * warpgroup < rows ? tile_row + 64 * warpgroup : kNoRow;
    const int row = tile_row + row_in_tile;  // of this thread, and + 8
    int tile = end_tile;                     // of keys, counted down
    const auto hide_keys = [&]() {
      const int first_key = tile * kBlockN + 2 * quad_lane;
      const int upper_end = min(Skv, row + 1 + diagonal) - first_key;
      const int lower_end = min(Skv, row + 9 + diagonal) - first_key;
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
    // Of the first keys: there is no maximum yet, and some rows may see none of them.
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

    if (warpgroup == kConsumers - 1) pass_turn(warpgroup);  // the first one's
    if (begin_tile < end_tile) wait(base + Tiles::Q_full, 0);
    bool has_weights = false;
#pragma unroll 1
    while (tile > begin_tile) {
      // The first steps: the warpgroup sees none of these keys, or a row of it has seen no key yet.
      --tile;
      const bool sees = tile * kBlockN < first_row + 64 + diagonal;
      wait_for_stage();
      wait_for_turn(warpgroup);
      if (has_weights) {
        multiply_both();
      } else if (sees) {
        multiply_scores();
      } else {
        pass_turn(warpgroup);
      }
      release_stage();
      ++step;
      if (!sees) continue;

      const int visible = min(Skv, first_row + 1 + diagonal);  // keys that all rows of the warpgroup see
      if ((tile + 1) * kBlockN > visible) hide_keys();
      if (has_weights) {
        continue_softmax();
      } else {
        start_softmax();
      }
      has_weights = true;
      if (tile * kBlockN >= visible) continue;  // its first row has seen no key yet
#pragma unroll 1
      for (; tile > begin_tile; --tile) {
        wait_for_stage();
        wait_for_turn(warpgroup);
        multiply_both();
        release_stage();
        ++step;
        softmax();
      }
    }
    if (begin_tile < end_tile) {
      wait_for_stage();  // also without weights: a CTA must not end before its copies
      wait_for_turn(warpgroup);
      if (has_weights) {
        multiply_output();
      } else {
        pass_turn(warpgroup);
      }
    }
    if (!has_weights) clear();

    using Own = Share<kHeadDim>;
    const int thread = threadIdx.x % 128;
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] = quad_sum(sum[r]);
    if constexpr (kClusters) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");  // the others' barriers exist
    if (64 * warpgroup >= rows) return;

    // Through L2, of CTA p of those that share the tile: where this warpgroup receives, and how many have sent to this warp.
    const auto parts_of = [&](int p) {
      return parts + (static_cast<size_t>(blockIdx.x - part + p) * kConsumers + warpgroup) * Tiles::kReceivedBytes;
    };
    const auto arrived_of = [&](int p) { return arrived + (blockIdx.x - part + p) * (4 * kConsumers) + threadIdx.x / 32; };

    float values[Own::kValues];
#pragma unroll
    for (int p = 0; p < kSplit; ++p) {
      if (p == part) {
#pragma unroll
        for (int i = 0; i < Own::kValues; ++i) values[i] = output[Own::accumulator(p, i)];
        continue;
      }
      const int slot = (part - (part > p)) * Own::kSlotBytes;  // of those that p has
      const auto vector_of = [&](int i) { return slot + i * 512 + thread * Own::kWidth * 4; };
      const int last = slot + Own::kValues * 512 + thread * 8;
      if constexpr (kClusters) {
        const unsigned barrier = in_cluster(received, p);
        const unsigned slots = in_cluster(base + Tiles::received + warpgroup * Tiles::kReceivedBytes, p);
#pragma unroll
        for (int i = 0; i < Own::kValues; i += Own::kWidth) {
          const float* v = output + Own::accumulator(p, i);
          if constexpr (Own::kWidth == 4) {
            send(slots + vector_of(i), barrier, v[0], v[1], v[4], v[5]);
          } else {
            send(slots + vector_of(i), barrier, v[0], v[1]);
          }
        }
        send(slots + last, barrier, maximum[p % 2], sum[p % 2]);
      } else {
        unsigned char* slots = parts_of(p);
#pragma unroll
        for (int i = 0; i < Own::kValues; i += Own::kWidth) {
          const float* v = output + Own::accumulator(p, i);
          if constexpr (Own::kWidth == 4) {
            __stcg(reinterpret_cast<float4*>(slots + vector_of(i)), make_float4(v[0], v[1], v[4], v[5]));
          } else {
            __stcg(reinterpret_cast<float2*>(slots + vector_of(i)), make_float2(v[0], v[1]));
          }
        }
        __stcg(reinterpret_cast<float2*>(slots + last), make_float2(maximum[p % 2], sum[p % 2]));
      }
    }
    const unsigned char* slots;
    if constexpr (kClusters) {
      slots = smem + Tiles::received + warpgroup * Tiles::kReceivedBytes;
      wait_for_cluster(received, 0);
    } else {
      slots = parts_of(part);
      __syncwarp();
      if (lane == 0) {
        __threadfence();
#pragma unroll
        for (int p = 0; p < kSplit; ++p) {
          if (p != part) atomicAdd(arrived_of(p), 1);
        }
        int senders;
        do {
          asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(senders) : "l"(arrived_of(part)) : "memory");
        } while (senders != kSplit - 1);
        *arrived_of(part) = 0;  // for the next launch
      }
      __syncwarp();
    }

    const int r = part % 2;
    float2 theirs[kSplit - 1];  // maximum and sum
    const float own_maximum = r ? maximum[1] : maximum[0];
    float largest = own_maximum;
#pragma unroll
    for (int p = 0; p < kSplit - 1; ++p) {
      theirs[p] = read<float2>(slots + p * Own::kSlotBytes + Own::kValues * 512 + thread * 8);
      largest = fmaxf(largest, theirs[p].x);
    }
    const float own_weight = exp2_approximately((own_maximum - largest) * scale);
    float total = own_weight * (r ? sum[1] : sum[0]);
#pragma unroll
    for (float& value : values) value *= own_weight;
#pragma unroll
    for (int p = 0; p < kSplit - 1; ++p) {
      const float weight = exp2_approximately((theirs[p].x - largest) * scale);
      total = fmaf(weight, theirs[p].y, total);
#pragma unroll
      for (int i = 0; i < Own::kValues; i += Own::kWidth) {
        const unsigned char* v = slots + p * Own::kSlotBytes + i * 512 + thread * Own::kWidth * 4;
        float piece[Own::kWidth];
        if constexpr (Own::kWidth == 4) {
          *reinterpret_cast<float4*>(piece) = read<float4>(v);
        } else {
          *reinterpret_cast<float2*>(piece) = read<float2>(v);
        }
#pragma unroll
        for (int j = 0; j < Own::kWidth; ++j) values[i + j] = fmaf(weight, piece[j], values[i + j]);
      }
    }
    const int own_row = row_in_tile + 8 * r;
    const bool is_row = own_row < rows;
    Element* O_row_start = O + static_cast<size_t>(batch * H * S + head * O_head + (tile_row + own_row) * O_row) * kHeadDim;
    store<Own::kChunks>(O_row_start + part / 2 * Own::kChunks * 8, values, total == 0.0f ? 0.0f : 1.0f / total, is_row);
    if (LSE != nullptr && is_row && part < 2 && quad_lane == 0) {
      LSE[head_of_all * S + tile_row + own_row] = (largest * scale + log2f(total)) / kLog2E;
    }
  }
}

#define INSTANTIATE(D)                                                                                         \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                        const __grid_constant__ TensorMap, Element*, float*, unsigned char*, int*, int, int, \
                                        int, int, int, int, int, int, int, float);
INSTANTIATE(32)
INSTANTIATE(64)
INSTANTIATE(96)
INSTANTIATE(128)
