// 18_ones_column: the sums of the softmax are one more column of the product with V.
//
// Idea      Of 112 instructions for the softmax of 64 x 64 scores per warp, 32 add the weights. wgmma takes 72 columns as well as 64:
//           if those behind V's are ones, they come out as the sums of the weights. That costs 4 of 32 clocks of the products with V.
// Change    From 17: 16 rows of ones in shared memory, which the products of every stage take as V's columns 64 to 71, however far
//           away: the distance is a field of the operand's descriptor. Sums are of the weights as they were rounded. That no weight
//           is too large for fp16 is seen by the largest of the packed weights, two at a time. The first weights of a query tile
//           are relative to 0 if each lane has one of at least 1/4, which no other lane has to be asked for.
//           The turns, the queue of query tiles and the stages are those of 17; D = 64 and tiles of 64 or 128 keys only, so each
//           row sees its own key in its first tile, and no other has keys to hide.
// Layouts   Tensor maps (D, S, B * H), boxes of 64 columns with a 128-byte swizzle. grid = min(SMs, tiles), tiles of
//           BLOCK_M = 64 CONSUMERS queries; block = 128 (CONSUMERS + 1). next_tile: one int, 0 before and after every launch.
//           Stage n % STAGES: K of step n, V of step n - 1. A CTA's first stage has no V, its last one no K.
// Tile      64 rows x BLOCK_N keys per consumer warpgroup.
// Resources Shared bytes: 256 (BLOCK_M + STAGES BLOCK_N) + 2048. Registers: 36 output + BLOCK_N / 2 scores + BLOCK_N / 4 weights,
//           all alive at once; a consumer has 160 or 112 (3 or 4 consumers).
// Bound     As 11. A step of 64 keys has 153 instructions per warp instead of 183 (nvcc 13.0, 4 consumers; bench/attention/lab-ones),
//           and takes 1 % less time: instructions do not bind.
// Accuracy  Weights are rounded to T before they are summed, so where all values are equal the output is exact. Relative to 0, the
//           largest weight of a row is rounded, too.
// Limits    sm_90a; D = 64; any S >= 1; STAGES a power of 2.
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
constexpr int kStages = STAGES;           // each a tile of K and one of V
constexpr int kPassEarly = PASS_EARLY;    // wgmma, each of 16 keys, that are asked for after the turn was passed
// A warpgroup's 64 rows have their own keys in one tile, the first that it sees: keys are hidden there, and in no other.
static_assert(kBlockN % 64 == 0, "64 rows have their own keys in one tile");
static_assert(16 * kPassEarly <= kBlockN, "a step has BLOCK_N / 16 wgmma with V");
constexpr int kThreads = 128 * (kConsumers + 1);
// setmaxnreg: a CTA starts with 65536 / kThreads registers per thread and may redistribute these.
constexpr int kProducerRegisters = 32;
constexpr int kConsumerRegisters = kConsumers == 3 ? 160 : 112;

constexpr int kHeadDim = 64;
constexpr int kRowBytes = 2 * kHeadDim;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
// Two elements: of weights, fp16 holds 65504 and bf16 any float; half of that is where they are made relative to a new maximum.
constexpr unsigned kLargestPair = kIsHalf ? 0x78007800u : 0x47004700u;  // 32768
constexpr unsigned kQuarter = kIsHalf ? 0x3400u : 0x3e80u;              // one element, 0.25; positive ones are in the order of their bits

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

// A box of rows x 64 columns of [B * H, S, 64], from (head, row) on; zeros outside.
__device__ void copy_box(unsigned tile, const TensorMap* map, int row, int head, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
          tile),
      "l"(map), "r"(0), "r"(row), "r"(head), "r"(barrier)
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

// A swizzled panel of 64 columns as an operand. `low`: its address in units and, where N goes on behind it, from there to what comes
// next in units << 16. The upper word is the same for all.
__device__ unsigned long long operand(unsigned low) {
  return static_cast<unsigned long long>(units(kSwizzleBytes) | 1u << 30) << 32 | low;
}

template <int kColumns>
struct Wgmma;

#define REGISTERS_0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define REGISTERS_1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define REGISTERS_3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define REGISTERS_4_HALF ", %32, %33, %34, %35"
#define REGISTERS_5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define REGISTERS_7 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define D8(i)                                                                                                \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])

#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

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
WGMMA(72, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4_HALF, 36, 37, 38, 39, 40, 41, D8(0), D8(8), D8(16),
      D8(24), D4(32))
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

// The larger of each half.
__device__ unsigned largest_of(unsigned a, unsigned b) {
  unsigned result;
  if constexpr (kIsHalf) {
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  } else {
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  }
  return result;
}

// Over the 4 lanes that share a row.
__device__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
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
  int key_tiles;  // that any row sees
};

// Where things lie in shared memory, in bytes.
struct Tiles {
  static constexpr int kQueryBytes = 64 * kRowBytes;     // of a warpgroup
  static constexpr int kKeyBytes = kBlockN * kRowBytes;  // of a tile of K or V
  static constexpr int kStageBytes = 2 * kKeyBytes;
  static constexpr size_t Q = 0;  // 2 tiles of all warpgroups
  static constexpr size_t K = Q + 2 * kConsumers * kQueryBytes;  // of the first stage
  static constexpr size_t V = K + kKeyBytes;
  static constexpr size_t ones = K + kStages * kStageBytes;  // 16 rows
  // mbarriers
  static constexpr size_t Q_full = ones + 16 * kRowBytes;
  static constexpr size_t Q_empty = Q_full + 2 * 8;
  static constexpr size_t full = Q_empty + 2 * 8;  // of the stages
  static constexpr size_t empty = full + kStages * 8;
  static constexpr size_t tile = empty + kStages * 8;  // of each Q
};

// The order of query tiles. Neighbours share keys; causal: of so many heads as the L2 holds, the longest tiles first. One
// warpgroup alone can't overlap its products and exponentials: the first `short_tiles` tiles of a head are a warpgroup short.
struct Queue {
  int S, heads, row_tiles, short_tiles, heads_at_once, causal;

  __device__ int first_row(int row_tile) const { return 64 * (kConsumers * row_tile - min(row_tile, short_tiles)); }

  __device__ Tile tile_of(int index) const {
    Tile tile;
    int row_tile;
    if (causal) {
      const int section_size = heads_at_once * row_tiles;
      const int section = index / section_size;
      const int width = min(heads_at_once, heads - section * heads_at_once);
      const int within = index - section * section_size;
      row_tile = row_tiles - 1 - within / width;
      tile.head = section * heads_at_once + within % width;
    } else {
      row_tile = row_tiles - 1 - index % row_tiles;
      tile.head = index / row_tiles;
    }
    tile.first_row = first_row(row_tile);
    tile.end_row = min(S, first_row(row_tile + 1));
    tile.key_tiles = ((causal ? tile.end_row : S) + kBlockN - 1) / kBlockN;
    return tile;
  }
};

__global__ void __launch_bounds__(kThreads, 1)
    attention(const __grid_constant__ TensorMap Q,  // boxes of 64 rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              Element* __restrict__ O,                 // [B * H, S, kHeadDim]
              int* __restrict__ next_tile,          // how many have been drawn
              int S, int heads, int causal, int heads_at_once, float softmax_scale) {
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
      init(shared_address(smem + Tiles::full + 8 * i), 1);
      init(shared_address(smem + Tiles::empty + 8 * i), 4 * kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  if (threadIdx.x < 16 * kRowBytes / sizeof(uint4)) {
    constexpr unsigned kOnes = kIsHalf ? 0x3c003c00u : 0x3f803f80u;
    reinterpret_cast<uint4*>(smem + Tiles::ones)[threadIdx.x] = make_uint4(kOnes, kOnes, kOnes, kOnes);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // products read them
  }
  __syncthreads();

  const int row_tiles = (S + kBlockM - 1) / kBlockM;
  const int short_tiles = kConsumers * row_tiles - (S + 63) / 64;
  const Queue queue{S, heads, row_tiles, short_tiles, heads_at_once, causal};
  const int query_tiles = heads * row_tiles;

  if (warpgroup == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (threadIdx.x != 128 * kConsumers) return;
    Place<kStages> place;
    Place<2> Q_place;
    const unsigned base = shared_address(smem);
    // Waits until the stage is empty and says how many tiles will come. The first round finds all stages empty.
    const auto open_stage = [&](int tiles) {
      wait(base + Tiles::empty + 8 * place.stage, place.parity ^ 1);
      expect(base + Tiles::full + 8 * place.stage, tiles * Tiles::kKeyBytes);
    };
    // Into the stage, whose tile lies so many bytes from the first stage.
    const auto copy_tile = [&](const TensorMap* map, unsigned offset, int row, int head) {
      copy_box(base + offset + place.stage * Tiles::kStageBytes, map, row, head, base + Tiles::full + 8 * place.stage);
    };
    int index = blockIdx.x;
    int V_row = -1, V_head = 0;  // of the key tile before: its V is needed a step later than its K
#pragma unroll 1
    for (;;) {
      const bool is_end = index >= query_tiles;
      Tile tile = queue.tile_of(is_end ? 0 : index);
      if (is_end) tile.head = -1;
      wait(base + Tiles::Q_empty + 8 * Q_place.stage, Q_place.parity ^ 1);
      const unsigned Q_barrier = base + Tiles::Q_full + 8 * Q_place.stage;
      reinterpret_cast<Tile*>(smem + Tiles::tile)[Q_place.stage] = tile;
      if (is_end) {
        arrive(Q_barrier);
        break;
      }
      expect(Q_barrier, kConsumers * Tiles::kQueryBytes);
#pragma unroll 1
      for (int c = 0; c < kConsumers; ++c) {
        copy_box(base + Tiles::Q + (Q_place.stage * kConsumers + c) * Tiles::kQueryBytes, &Q, tile.first_row + 64 * c,
                 tile.head, Q_barrier);
      }
      Q_place.advance();
      const int drawn = atomicAdd(next_tile, 1);  // on its way while this tile's keys are copied
#pragma unroll 1
      for (int row = (tile.key_tiles - 1) * kBlockN; row >= 0; row -= kBlockN) {
        const bool has_V = V_row >= 0;
        open_stage(has_V ? 2 : 1);
        copy_tile(&K, Tiles::K, row, tile.head);
        if (has_V) copy_tile(&V, Tiles::V, V_row, V_head);
        place.advance();
        V_row = row;
        V_head = tile.head;
      }
      // As many are drawn as there are tiles; who draws the last leaves 0 for the next launch.
      if (drawn == query_tiles - 1) *next_tile = 0;
      index = gridDim.x + drawn;
    }
    open_stage(1);
    copy_tile(&V, Tiles::V, V_row, V_head);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
    const unsigned base = uniform(shared_address(smem));
    const unsigned operands = uniform(units(base));
    const int lane = threadIdx.x % 32;
    const int quad_lane = lane % 4;
    const int row_in_tile = 64 * warpgroup + (threadIdx.x % 128) / 32 * 16 + lane / 4;  // and + 8
    const float scale = softmax_scale * kLog2E;  // weights are powers of 2

    unsigned step = 0;  // counts stages: the one that comes next
    unsigned turn = 0;  // counts query tiles: the one that comes next
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
    const auto wait_for_stage = [&]() { wait(base + Tiles::full + 8 * (step % kStages), step / kStages & 1); };
    const auto release_stage = [&]() { release(base + Tiles::empty + 8 * (step % kStages)); };

    float scores[kBlockN / 2];
    // Of 64 columns of O and 8 more, in all of which weights are multiplied by ones: each is the sum of the row's weights.
    constexpr int kOutputs = kHeadDim / 2 + 4;
    float output[kOutputs];
    // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
    unsigned weights[kBlockN / 4];
    float maximum[2];  // what the weights are relative to

    const auto issue_scores = [&]() {
      const unsigned queries =
          operands + units(Tiles::Q) + ((~turn & 1) * kConsumers + warpgroup) * units(Tiles::kQueryBytes);
      const unsigned keys = operands + units(Tiles::K) + step % kStages * units(Tiles::kStageBytes);
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        Wgmma<kBlockN>::shared(scores, operand(queries + units(32 * d)), operand(keys + units(32 * d)), d > 0);
      }
    };
    const auto issue_output = [&]() {
      // What comes behind V's 64 columns are the ones, however far they are from this stage.
      const unsigned values = operands + units(Tiles::V) + (units(Tiles::ones - Tiles::V) << 16) +
                              step % kStages * (units(Tiles::kStageBytes) - (units(Tiles::kStageBytes) << 16));
#pragma unroll
      for (int key = 0; key < kBlockN; key += 16) {
        if (kPassEarly > 0 && key == kBlockN - 16 * kPassEarly) pass_turn(warpgroup);
        Wgmma<kHeadDim + 8>::registers(output, &weights[key / 4],
                                       operand(values + units(key * kRowBytes) - (units(key * kRowBytes) << 16)), true);
      }
    };
    // The two products of a step, or one of them, to the end. issue_output passes the turn where kPassEarly > 0.
    const auto multiply_both = [&]() {
      hands_off(scores);
      hands_off(output);
      begin();
      issue_scores();
      issue_output();
      commit();
      if constexpr (kPassEarly == 0) pass_turn(warpgroup);
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
      if constexpr (kPassEarly == 0) pass_turn(warpgroup);
      wait_for_products();
      hands_off(output);
    };

    int first_row = 0;  // of the warpgroup in its query tile
    int row = 0;        // of this thread, and + 8
    int tile = 0;       // of keys, counted down
    const auto hide_keys = [&](int tile) {
      const int first_key = tile * kBlockN + 2 * quad_lane;
      const int upper_end = (causal ? min(S, row + 1) : S) - first_key;
      const int lower_end = (causal ? min(S, row + 9) : S) - first_key;
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) {
        if (i / 4 * 8 + i % 2 >= (i & 2 ? lower_end : upper_end)) scores[i] = -INFINITY;
      }
    };

    // Weights relative to the maximum as it is, and the largest of this thread's in each of its two rows, in either half.
    const auto exponentials = [&](unsigned (&largest)[2]) {
      const float offset[2] = {maximum[0] * scale, maximum[1] * scale};
#pragma unroll
      for (int i = 0; i < kBlockN / 2; i += 2) {
        const int r = i >> 1 & 1;
        const float low = exp2_approximately(fmaf(scores[i], scale, -offset[r]));
        const float high = exp2_approximately(fmaf(scores[i + 1], scale, -offset[r]));
        weights[i / 2] = pack(low, high);
        largest[r] = i < 4 ? weights[i / 2] : largest_of(largest[r], weights[i / 2]);
      }
    };
    // True of NaN, too.
    const auto is_too_large = [&](const unsigned (&largest)[2]) {
      return largest_of(largest_of(largest[0], largest[1]), kLargestPair) != kLargestPair;
    };
    const auto find_largest = [&](float (&largest)[2]) {
      largest[0] = scores[0];
      largest[1] = scores[2];
#pragma unroll
      for (int i = 0; i < kBlockN / 2; ++i) largest[i >> 1 & 1] = fmaxf(largest[i >> 1 & 1], scores[i]);
#pragma unroll
      for (int r = 0; r < 2; ++r) largest[r] = quad_max(largest[r]);
    };
    // Takes the scores into the maximum; the sums and the output are made relative to it.
    const auto raise_maximum = [&]() {
      float largest[2];
      find_largest(largest);
      float factor[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[r] = fmaxf(largest[r], maximum[r]);
        factor[r] = exp2_approximately((maximum[r] - largest[r]) * scale);
        maximum[r] = largest[r];
      }
#pragma unroll
      for (int i = 0; i < kOutputs; ++i) output[i] *= factor[i >> 1 & 1];
    };
    // Of the first keys of a query tile 0 will do as the maximum if each of the four lanes of a row has a weight of 1/4: then their sum is
    // at least 1.
    const auto softmax = [&](bool is_first) {
      unsigned largest[2];
      exponentials(largest);
      bool fits = !is_too_large(largest);
      if (is_first) {
#pragma unroll
        for (int r = 0; r < 2; ++r) fits = fits && max(largest[r] >> 16, largest[r] & 0xffffu) >= kQuarter;
      }
      if (__any_sync(kAllLanes, !fits)) {
        if (is_first) {
          find_largest(maximum);
        } else {
          raise_maximum();
        }
        exponentials(largest);
      }
    };

    const auto store_output = [&](const Tile& tile) {
      const int row = tile.first_row + row_in_tile;
      float inverse_sum[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) inverse_sum[r] = 1.0f / output[kHeadDim / 2 + 2 * r];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        Element* O_row = O + (static_cast<size_t>(tile.head) * S + row + 8 * r) * kHeadDim;
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
            *reinterpret_cast<uint4*>(O_row + d + 8 * quad_lane) = make_uint4(piece[0], piece[1], piece[2], piece[3]);
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
      wait_for_stage();
      wait_for_turn(warpgroup);
      if (sees && has_weights) {
        multiply_both();
      } else if (sees) {
        multiply_scores();
      } else if (has_weights) {
        multiply_output();
      } else {
        pass_turn(warpgroup);
      }
      release_stage();
      if (ends_tile && step > 0) {
        // The query tile before the one just taken up: of two places the other one.
        if (has_weights) store_output(tile_at(turn & 1));
        __syncwarp();
        release(base + Tiles::Q_empty + 8 * (turn & 1));
      }
      if (is_end) break;
      ++step;
      const bool had_weights = has_weights;
      has_weights = sees;
      if (!sees) continue;

      const int visible = causal ? min(S, first_row + 1) : S;
      if ((tile + 1) * kBlockN > visible) hide_keys(tile);
      if (ends_tile || !had_weights) {
        maximum[0] = maximum[1] = 0.0f;
#pragma unroll
        for (int i = 0; i < kOutputs; ++i) output[i] = 0.0f;
      }
      softmax(ends_tile || !had_weights);
    }
  }
}
