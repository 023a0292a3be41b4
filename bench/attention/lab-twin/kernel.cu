// twin: a warpgroup has two tiles of 64 queries. While one's products run, it exponentiates the other's scores.
//
// Idea      11_sums_first keeps the tensor cores busy by four warpgroups that take turns, and still a third of their clocks pass between
//           turns. Here each of two warpgroups always has products on their way, so what lies between two turns (a barrier, descriptors,
//           the wait for accumulators) is hidden behind the warpgroup's own other tile. Half as many warps do the same work: half as many
//           waits, barriers and loops for a product. 240 registers leave room for both tiles' accumulators, which 4 x 112 do not.
// Change    From 11: 2 x 64 rows per warpgroup, 256 per CTA also at D = 128. A stage of the ring holds the K of a step and the V of the
//           step before. Weights are packed into registers of their own while the other tile's products run, and move to where wgmma
//           reads them behind the wait.
// Switches  TURNS: the two warpgroups ask for products in turns. Q_REGISTERS: queries are operands from registers, which halves what
//           the scores read from shared memory. PARTS: 1: softmax only packs the scores. 2: no products but the first. Both are wrong.
//           FENCE: the scale is read again behind each request for products, or ptxas puts half of the softmax between them.
//           STORE_BESIDE: a tile's output is stored beside the other tile's products; at D = 128 registers are short for that.
//           IN_PLACE: weights stay where the scores were until the wait; the maximum is looked for first, since the scores are gone then.
// Limits    sm_90a; D in {64, 128}; S a multiple of BLOCK_N and at least two of them; not causal.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#pragma nv_diag_suppress 549  // "used before its value is set"

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kConsumers = 2;             // warpgroups that compute
constexpr int kStreams = 2;               // tiles of 64 queries of each
constexpr int kBlockM = 64 * kStreams * kConsumers;
constexpr int kBlockN = BLOCK_N;          // keys per tile
constexpr int kStages = STAGES;           // in shared memory: K of a step and V of the step before
constexpr int kQueryBuffers = Q_BUFFERS;  // tiles of queries in shared memory
constexpr bool kTurns = TURNS;
constexpr bool kInPlace = IN_PLACE;
constexpr bool kFence = FENCE;
constexpr bool kStoresBeside = STORE_BESIDE;
constexpr bool kQRegisters = Q_REGISTERS;
constexpr int kThreads = 128 * (kConsumers + 1);
constexpr int kProducerRegisters = 24;
constexpr int kConsumerRegisters = 240;

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

// A box of rows x 64 columns of [B * H, S, D], from (head, row, column) on; zeros outside.
__device__ void copy_box(unsigned tile, const TensorMap* map, int column, int row, int head, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
          tile),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(barrier)
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

// The same in all lanes of a warp, and not to be worked out again.
__device__ unsigned uniform(unsigned value) {
  asm volatile("" : "+r"(value));
  return __shfl_sync(kAllLanes, value, 0);
}

// The operand whose panel lies at this many units of 16 bytes; the upper word is the same for all.
__device__ unsigned long long operand_at(unsigned low) {
  return static_cast<unsigned long long>(kSwizzleBytes >> 4 | 1 << 30) << 32 | low;
}

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
#define MULTIPLY_REGISTERS(N, TYPES, TRANSPOSE, REGISTERS, n0, n1, n2, n3, n4, n5, ...)                  \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #n5 ", 0;\n"                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPES " {" REGISTERS "}, {%" #n0 ", %" #n1\
               ", %" #n2 ", %" #n3 "}, %" #n4 ", p, 1, 1, " #TRANSPOSE ";\n}\n"                          \
               : __VA_ARGS__                                                                             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)))

// For N columns; n0 ... n5 are the numbers of the operands behind the N / 2 accumulators.
//   shared:    d = a * b^T + (accumulate ? d : 0), both K-major in shared memory.
//   registers: d = a * b   + (accumulate ? d : 0), a: 4 registers of pairs, b MN-major in shared memory.
//   rows:      d = a * b^T + (accumulate ? d : 0), a: 4 registers of pairs, b K-major in shared memory.
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
        MULTIPLY_REGISTERS(N, "f16.f16", 1, REGISTERS, n0, n1, n2, n3, n4, n5, __VA_ARGS__);                     \
      } else {                                                                                                   \
        MULTIPLY_REGISTERS(N, "bf16.bf16", 1, REGISTERS, n0, n1, n2, n3, n4, n5, __VA_ARGS__);                   \
      }                                                                                                          \
    }                                                                                                            \
    static __device__ __forceinline__ void rows(float (&d)[N / 2], const unsigned* a, unsigned long long b,      \
                                                bool accumulate) {                                               \
      if constexpr (kIsHalf) {                                                                                   \
        MULTIPLY_REGISTERS(N, "f16.f16", 0, REGISTERS, n0, n1, n2, n3, n4, n5, __VA_ARGS__);                     \
      } else {                                                                                                   \
        MULTIPLY_REGISTERS(N, "bf16.bf16", 0, REGISTERS, n0, n1, n2, n3, n4, n5, __VA_ARGS__);                   \
      }                                                                                                          \
    }                                                                                                            \
  };

WGMMA(64, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3, 32, 33, 34, 35, 36, 37, D8(0), D8(8), D8(16), D8(24))
WGMMA(80, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4, 40, 41, 42, 43, 44, 45, D8(0), D8(8), D8(16),
      D8(24), D8(32))
WGMMA(96, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4 REGISTERS_5, 48, 49, 50, 51, 52, 53, D8(0),
      D8(8), D8(16), D8(24), D8(32), D8(40))
WGMMA(128, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4 REGISTERS_5 REGISTERS_6 REGISTERS_7, 64, 65, 66,
      67, 68, 69, D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56))

// Accumulators belong to wgmma from `begin` to `wait_for_products`: these keep the compiler's hands off them.
template <int kCount>
__device__ void hands_off(float (&accumulators)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
}

// ptxas serialises products if anything but wgmma defines inputs of one while others are in flight (C7513): what is computed
// meanwhile moves to where it is needed after the wait.
template <int kCount>
__device__ void move(const unsigned (&from)[kCount], unsigned (&to)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("mov.b32 %0, %1;" : "=r"(to[i]) : "r"(from[i]) : "memory");
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

// Where things lie in shared memory, in bytes.
template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = kHeadDim / kPanelColumns;
  static constexpr int kQueryBytes = kPanels * 64 * kRowBytes;     // of a stream
  static constexpr int kKeyBytes = kPanels * kBlockN * kRowBytes;  // of a tile of K or V
  static constexpr int kStageBytes = 2 * kKeyBytes;
  static constexpr int kTileBytes = kStreams * kConsumers * kQueryBytes;  // of Q
  static constexpr size_t Q = 0;
  static constexpr size_t K = Q + kQueryBuffers * kTileBytes;
  static constexpr size_t V = K + kKeyBytes;
  // mbarriers
  static constexpr size_t Q_full = K + kStages * kStageBytes;
  static constexpr size_t Q_empty = Q_full + 2 * 8;
  static constexpr size_t full = Q_empty + 2 * 8;
  static constexpr size_t empty = full + kStages * 8;
  static constexpr size_t tile = empty + kStages * 8;  // of each Q: its first row of all heads' rows; -1 behind the last
  static constexpr size_t scale = tile + 2 * 4;
};

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    attention(const __grid_constant__ TensorMap Q,  // boxes of 64 rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              Element* __restrict__ O,              // [B * H, S, kHeadDim]
              int* __restrict__ next_tile,          // how many have been drawn
              int S, int heads, float softmax_scale) {
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
    for (int i = 0; i < kQueryBuffers; ++i) {
      init(shared_address(smem + Tiles::Q_full + 8 * i), 1);
      init(shared_address(smem + Tiles::Q_empty + 8 * i), 4 * kConsumers);  // a lane of every warp
    }
    for (int i = 0; i < kStages; ++i) {
      init(shared_address(smem + Tiles::full + 8 * i), 1);
      init(shared_address(smem + Tiles::empty + 8 * i), 4 * kConsumers);
    }
    *reinterpret_cast<float*>(smem + Tiles::scale) = softmax_scale * kLog2E;
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();

  const int row_tiles = (S + kBlockM - 1) / kBlockM;
  const int tiles = heads * row_tiles;
  const int key_tiles = S / kBlockN;

  if (warpgroup == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (threadIdx.x != 128 * kConsumers) return;
    Place<kStages> place;
    Place<kQueryBuffers> Q_place;
    const unsigned base = shared_address(smem);
    const auto copy_rows = [&](const TensorMap* map, unsigned tile, int row, int head, unsigned barrier) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        copy_box(tile + p * kBlockN * kRowBytes, map, p * kPanelColumns, row, head, barrier);
      }
    };
    int index = blockIdx.x;
    int V_row = -1, V_head = 0;  // of the key tile before: its V is needed a step later than its K
#pragma unroll 1
    for (;;) {
      const bool is_end = index >= tiles;
      const int head = index / row_tiles;
      const int first_row = (row_tiles - 1 - index % row_tiles) * kBlockM;
      wait(base + Tiles::Q_empty + 8 * Q_place.stage, Q_place.parity ^ 1);
      const unsigned Q_barrier = base + Tiles::Q_full + 8 * Q_place.stage;
      reinterpret_cast<int*>(smem + Tiles::tile)[Q_place.stage] = is_end ? -1 : head * S + first_row;
      if (is_end) {
        arrive(Q_barrier);
      } else {
        expect(Q_barrier, Tiles::kTileBytes);
#pragma unroll 1
        for (int c = 0; c < kStreams * kConsumers; ++c) {
#pragma unroll
          for (int p = 0; p < kPanels; ++p) {
            copy_box(base + Tiles::Q + Q_place.stage * Tiles::kTileBytes + c * kQueryBytes + p * 64 * kRowBytes, &Q,
                     p * kPanelColumns, first_row + 64 * c, head, Q_barrier);
          }
        }
      }
      Q_place.advance();
      const int drawn = is_end ? 0 : atomicAdd(next_tile, 1);  // on its way while this tile's keys are copied
      // Behind the last tile, V of its last keys alone.
#pragma unroll 1
      for (int row = is_end ? 0 : S - kBlockN; row >= 0; row -= kBlockN) {
        wait(base + Tiles::empty + 8 * place.stage, place.parity ^ 1);  // the first round finds all stages empty
        const unsigned barrier = base + Tiles::full + 8 * place.stage;
        const unsigned stage = base + place.stage * Tiles::kStageBytes;
        expect(barrier, (!is_end + (V_row >= 0)) * kKeyBytes);
        if (!is_end) copy_rows(&K, stage + Tiles::K, row, head, barrier);
        if (V_row >= 0) copy_rows(&V, stage + Tiles::V, V_row, V_head, barrier);
        place.advance();
        V_row = row;
        V_head = head;
      }
      if (is_end) break;
      // As many are drawn as there are tiles; who draws the last leaves 0 for the next launch.
      if (drawn == tiles - 1) *next_tile = 0;
      index = gridDim.x + drawn;
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
    const unsigned base = uniform(shared_address(smem));
    const unsigned low_base = uniform((base & 0x3ffff) >> 4);  // of descriptors
    const int lane = threadIdx.x % 32;
    float scale = softmax_scale * kLog2E;  // weights are powers of 2

    Place<kStages> place;           // of the step whose scores come next, and of the V before
    Place<kQueryBuffers> Q_place;   // of the tile that comes next
    int Q_stage = 0;                // of the tile whose scores come next
    // Read by the lane that releases the place: racecheck does not see that __syncwarp orders other lanes' reads before that.
    const auto tile_at = [&](int stage) {
      int row = 0;
      if (lane == 0) {
        asm volatile("ld.shared.s32 %0, [%1];"
                     : "=r"(row)
                     : "r"(base + static_cast<unsigned>(Tiles::tile) + 4 * stage)
                     : "memory");
      }
      return __shfl_sync(kAllLanes, row, 0);
    };
    const auto release = [&](unsigned barrier) {
      if (lane == 0) arrive(barrier);
    };

    float scores[kStreams][kBlockN / 2];
    float output[kStreams][kHeadDim / 2];
    // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
    unsigned weights[kBlockN / 4];  // whose product comes next
    unsigned packed[kBlockN / 4];   // the same, before they may go there
    unsigned query_words[kStreams][kQRegisters ? kHeadDim / 4 : 1];  // 4 for each 16 columns
    float offset[kStreams][2];      // what the weights are relative to, as a power of 2
    float sum[kStreams][2];         // of this thread's keys

    // Of a place of Q: this warp's 16 rows as the A operand.
    const auto load_queries = [&](int s) {
      if constexpr (kQRegisters) {
        const int row = lane % 16;
        const unsigned panels = base + Tiles::Q + Q_stage * Tiles::kTileBytes + (warpgroup * kStreams + s) * kQueryBytes +
                                ((threadIdx.x % 128) / 32 * 16 + row) * kRowBytes;
#pragma unroll
        for (int d = 0; d < kHeadDim / 16; ++d) {
          const unsigned chunk = (d % 4 * 2 + lane / 16) ^ (row % 8);
          unsigned* words = &query_words[s][4 * d];
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                       : "r"(panels + d / 4 * 64 * kRowBytes + chunk * 16)
                       : "memory");
        }
      }
    };
    const auto issue_scores = [&](int s) {
      if (PARTS == 2) return;
      const unsigned queries = low_base + (Tiles::Q >> 4) + Q_stage * (Tiles::kTileBytes >> 4) +
                               (warpgroup * kStreams + s) * (kQueryBytes >> 4);
      const unsigned keys = low_base + (Tiles::K >> 4) + place.stage * (Tiles::kStageBytes >> 4);
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        const unsigned column_bytes = d % 4 * 32;
        const unsigned long long key_operand = operand_at(keys + ((d / 4 * kBlockN * kRowBytes + column_bytes) >> 4));
        if constexpr (kQRegisters) {
          Wgmma<kBlockN>::rows(scores[s], &query_words[s][4 * d], key_operand, d > 0);
        } else {
          Wgmma<kBlockN>::shared(scores[s], operand_at(queries + ((d / 4 * 64 * kRowBytes + column_bytes) >> 4)),
                                 key_operand, d > 0);
        }
      }
    };
    const auto issue_output = [&](int s) {
      if (PARTS == 2) return;
      const unsigned values = low_base + (Tiles::V >> 4) + (kBlockN * kRowBytes >> 4 << 16) +
                              place.stage * (Tiles::kStageBytes >> 4);
#pragma unroll
      for (int key = 0; key < kBlockN; key += 16) {
        Wgmma<kHeadDim>::registers(output[s], &weights[key / 4], operand_at(values + (key * kRowBytes >> 4)), true);
      }
    };
    // A stream's products begin: scores of the step's keys, weighted values of those before, or one of them.
    const auto start_products = [&](int s, bool has_scores, bool has_output) {
      if (has_scores) hands_off(scores[s]);
      hands_off(output[s]);
      wait_for_turn(warpgroup);
      begin();
      if (has_scores) issue_scores(s);
      if (has_output) issue_output(s);
      commit();
      pass_turn(warpgroup);
      if constexpr (kFence) {
        wait(base + Tiles::full + 8 * place.stage, place.parity);  // complete already
        asm volatile("ld.volatile.shared.f32 %0, [%1];"
                     : "=f"(scale)
                     : "r"(base + static_cast<unsigned>(Tiles::scale))
                     : "memory");
      }
    };
    const auto end_products = [&](int s, bool has_scores = true) {
      wait_for_products();
      if (has_scores) hands_off(scores[s]);
      hands_off(output[s]);
    };

    // Weights relative to the maximum as it is, and their sums.
    const auto exponentials = [&](int s, float (&part)[2]) {
      part[0] = part[1] = 0.0f;
#pragma unroll
      for (int i = 0; i < kBlockN / 2; i += 2) {
        const int r = i >> 1 & 1;
        if (PARTS == 1) {
          if constexpr (!kInPlace) packed[i / 2] = pack(scores[s][i], scores[s][i + 1]);
          part[r] = 1.0f;
          continue;
        }
        const float low = exp2_approximately(fmaf(scores[s][i], scale, -offset[s][r]));
        const float high = exp2_approximately(fmaf(scores[s][i + 1], scale, -offset[s][r]));
        part[r] = i < 4 ? low : part[r] + low;
        part[r] += high;
        if constexpr (kInPlace) {
          scores[s][i] = low;
          scores[s][i + 1] = high;
        } else {
          packed[i / 2] = pack(low, high);
        }
      }
    };
    // Of each row; less than 2^8 above the maximum a score is left alone.
    const auto exceeds = [&](int s, float lowest) {
      float largest[2] = {kLowest, kLowest};
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) largest[i >> 1 & 1] = fmaxf(largest[i >> 1 & 1], scores[s][i]);
      bool fits = true;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float above = quad_max(largest[r]) * scale - offset[s][r];
        fits = fits && above <= 8.0f && above >= lowest;
      }
      return static_cast<bool>(__any_sync(kAllLanes, !fits));
    };
    // What the product of values reads, from what `exponentials` left.
    const auto move_weights = [&](int s) {
      if constexpr (kInPlace) {
#pragma unroll
        for (int i = 0; i < kBlockN / 2; i += 2) weights[i / 2] = pack(scores[s][i], scores[s][i + 1]);
      } else {
        move(packed, weights);
      }
    };
    // Takes the scores into the maximum; the sums, and the output, are made relative to it.
    const auto raise_maximum = [&](int s) {
      float largest[2] = {kLowest, kLowest};
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) largest[i >> 1 & 1] = fmaxf(largest[i >> 1 & 1], scores[s][i]);
      float factor[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[r] = fmaxf(quad_max(largest[r]) * scale, offset[s][r]);
        factor[r] = exp2_approximately(offset[s][r] - largest[r]);
        offset[s][r] = largest[r];
        sum[s][r] *= factor[r];
      }
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[s][i] *= factor[i >> 1 & 1];
    };
    const auto softmax = [&](int s) {
      float part[2];
      if constexpr (kInPlace) {
        if (exceeds(s, -INFINITY)) raise_maximum(s);
        exponentials(s, part);
        sum[s][0] += part[0];
        sum[s][1] += part[1];
        return;
      }
      exponentials(s, part);
      // "Not at most" is true of NaN, too.
      if (__any_sync(kAllLanes, !(part[0] <= kLargestSum && part[1] <= kLargestSum))) {
        raise_maximum(s);
        exponentials(s, part);
      }
      sum[s][0] += part[0];
      sum[s][1] += part[1];
    };
    // Of the first keys of a query tile: there is no maximum yet.
    const auto start_softmax = [&](int s) {
      float part[2];
      sum[s][0] = sum[s][1] = 0.0f;
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[s][i] = 0.0f;
      offset[s][0] = offset[s][1] = 0.0f;
      if constexpr (kInPlace) {
        if (exceeds(s, 0.0f)) {
          offset[s][0] = offset[s][1] = kLowest;
          raise_maximum(s);
        }
        exponentials(s, part);
        sum[s][0] = part[0];
        sum[s][1] = part[1];
        return;
      }
      exponentials(s, part);
      bool fits = true;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float total = quad_sum(part[r]);
        fits = fits && total >= kSmallestFirstSum && total <= kLargestSum;
      }
      if (__any_sync(kAllLanes, !fits)) {
        offset[s][0] = offset[s][1] = kLowest;
        raise_maximum(s);
        exponentials(s, part);
      }
      sum[s][0] = part[0];
      sum[s][1] = part[1];
    };

    const auto store_output = [&](int s, int tile) {
      unsigned thread;  // read again, which leaves a register to others
      asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
      const int quad_lane = thread % 4;
      const int row_in_tile = 64 * (kStreams * warpgroup + s) + thread % 128 / 32 * 16 + thread % 32 / 4;  // and + 8
      const int rows = S - tile % S;  // of the head, from the tile on
      float inverse_sum[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) inverse_sum[r] = __fdividef(1.0f, quad_sum(sum[s][r]));
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        Element* O_row = O + static_cast<size_t>(tile + row_in_tile + 8 * r) * kHeadDim;
#pragma unroll
        for (int d = 0; d < kHeadDim; d += 32) {
          unsigned piece[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at = (d / 8 + i) * 4 + 2 * r;
            piece[i] = pack(output[s][at] * inverse_sum[r], output[s][at + 1] * inverse_sum[r]);
          }
          transpose_in_quad(piece);  // 16 bytes per lane, 64 in a row
          if (row_in_tile + 8 * r < rows) {
            *reinterpret_cast<uint4*>(O_row + d + 8 * quad_lane) = make_uint4(piece[0], piece[1], piece[2], piece[3]);
          }
        }
      }
    };
    const auto wait_for_step = [&]() { wait(base + Tiles::full + 8 * place.stage, place.parity); };
    const auto end_step = [&]() {
      release(base + Tiles::empty + 8 * place.stage);
      place.advance();
    };
    const auto wait_for_tile = [&]() {
      wait(base + Tiles::Q_full + 8 * Q_place.stage, Q_place.parity);
      const int tile = tile_at(Q_place.stage);
      Q_stage = Q_place.stage;
      Q_place.advance();
      return tile;
    };

    if (warpgroup == kConsumers - 1) pass_turn(warpgroup);  // the first one's
    int tile = wait_for_tile();
    load_queries(0);
    load_queries(1);
    wait_for_step();
    start_products(0, true, false);
    end_products(0);
    start_products(1, true, false);
    start_softmax(0);
    end_products(1);
    end_step();
    move_weights(0);
    int before = -1;
#pragma unroll 1
    for (;;) {
      // The step behind the first of a tile: the second stream's output of the tile before is complete, too.
      wait_for_step();
      start_products(0, true, true);
      if (kStoresBeside && before >= 0) store_output(1, before);
      start_softmax(1);
      end_products(0);
      move_weights(1);
      start_products(1, true, true);
      softmax(0);
      end_products(1);
      end_step();
      move_weights(0);
#pragma unroll 1
      for (int n = 2; n < key_tiles; ++n) {
        wait_for_step();
        start_products(0, true, true);
        softmax(1);
        end_products(0);
        move_weights(1);
        start_products(1, true, true);
        softmax(0);
        end_products(1);
        end_step();
        move_weights(0);
      }
      // The tile's queries have met all keys.
      __syncwarp();
      release(base + Tiles::Q_empty + 8 * Q_stage);
      before = tile;
      tile = wait_for_tile();
      wait_for_step();
      if (tile < 0) break;
      load_queries(0);
      load_queries(1);
      start_products(0, true, true);
      softmax(1);
      end_products(0);
      move_weights(1);
      if (!kStoresBeside) store_output(0, before);
      start_products(1, true, true);
      if (kStoresBeside) store_output(0, before);
      start_softmax(0);
      end_products(1);
      end_step();
      if (!kStoresBeside) store_output(1, before);
      move_weights(0);
    }
    start_products(0, false, true);
    softmax(1);
    end_products(0, false);
    move_weights(1);
    if (!kStoresBeside) store_output(0, before);
    start_products(1, false, true);
    if (kStoresBeside) store_output(0, before);
    end_products(1, false);
    store_output(1, before);
  }
}

#define INSTANTIATE(D)                                                                                         \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                        const __grid_constant__ TensorMap, Element*, int*, int, int, float);
INSTANTIATE(64)
INSTANTIATE(128)
