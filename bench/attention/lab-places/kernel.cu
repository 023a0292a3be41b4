// 24_resident_keys with switches for where a warpgroup's results wait until the copy engine has read them.
// APART         0: in the place of the tile's queries, as in the rung, so these places are free for other queries when the results have left;
//               1: in a place of their own, one for each warpgroup, so a place for queries is free as soon as the tile's scores are there.
// QUERY_PLACES  Query tiles that have a place, of each warpgroup: 2 in the rung.
// All else as in problems/attention/24_resident_keys, whose machine code APART = 0 with QUERY_PLACES = 2 has.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kConsumers = CONSUMERS;   // warpgroups that compute
constexpr int kBlockN = BLOCK_N;         // keys
constexpr int kKeyPlaces = KEY_PLACES;  // each for the keys and values of a head
constexpr int kQueryPlaces = QUERY_PLACES;  // of a warpgroup
constexpr bool kIsApart = APART;            // results have a place of their own
static_assert(kIsApart || kQueryPlaces > 1, "results leave from one place while queries come into another");
constexpr int kThreads = 128 * (kConsumers + 1);
// setmaxnreg: a CTA starts with 65536 / kThreads registers per thread and may redistribute these.
constexpr int kProducerRegisters = kConsumers == 2 ? 24 : 32;
constexpr int kConsumerRegisters = kConsumers == 2 ? 240 : kConsumers == 3 ? 160 : 112;

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLowest = -3.0e38f;  // the maximum of a row that has seen no key: finite, so its weights are 0, not NaN

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

// A box of rows x 64 columns of a head of a batch element, from (row, column) on; zeros outside.
__device__ void copy_box(unsigned tile, const TensorMap* map, int column, int row, int head, int batch, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(
          tile),
      "l"(map), "r"(column), "r"(row), "r"(head), "r"(batch), "r"(barrier)
      : "memory");
}

// Starts to store such a box; what lies outside is left out.
__device__ void store_box(const TensorMap* map, int column, int row, int head, int batch, unsigned tile) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(map),
               "r"(column), "r"(row), "r"(head), "r"(batch), "r"(tile)
               : "memory");
}

// What this thread has started to store has been read.
__device__ void wait_for_stores() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

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

#define R0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define R1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define R2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define R3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define R4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define R5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define R6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define R7 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define R8 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define R9 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define R10 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define R11 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define R12 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define R13 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define R14 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define R15 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D8(i) D4(i), D4(i + 4)

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

WGMMA(32, R0 R1, 16, 17, 18, 19, 20, 21, D8(0), D8(8))
WGMMA(64, R0 R1 R2 R3, 32, 33, 34, 35, 36, 37, D8(0), D8(8), D8(16), D8(24))
WGMMA(80, R0 R1 R2 R3 R4, 40, 41, 42, 43, 44, 45, D8(0), D8(8), D8(16), D8(24), D8(32))
WGMMA(96, R0 R1 R2 R3 R4 R5, 48, 49, 50, 51, 52, 53, D8(0), D8(8), D8(16), D8(24), D8(32), D8(40))
WGMMA(128, R0 R1 R2 R3 R4 R5 R6 R7, 64, 65, 66, 67, 68, 69, D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56))
WGMMA(160, R0 R1 R2 R3 R4 R5 R6 R7 R8 R9, 80, 81, 82, 83, 84, 85, D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56), D8(64), D8(72))
WGMMA(208, R0 R1 R2 R3 R4 R5 R6 R7 R8 R9 R10 R11 R12, 104, 105, 106, 107, 108, 109, D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56), D8(64), D8(72), D8(80), D8(88), D8(96))
WGMMA(256, R0 R1 R2 R3 R4 R5 R6 R7 R8 R9 R10 R11 R12 R13 R14 R15, 128, 129, 130, 131, 132, 133, D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56), D8(64), D8(72), D8(80), D8(88), D8(96), D8(104), D8(112), D8(120))

// Accumulators belong to wgmma from `begin` to `wait_for_products`: these keep the compiler's hands off them.
template <int kCount>
__device__ void hands_off(float (&accumulators)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
}

__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// All products but those of the last `kPending` groups are complete.
template <int kPending = 0>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
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

// Four 8 x 8 matrices of 16-bit elements, 16 bytes a row; lane l has the address of row l % 8 of matrix l / 8.
__device__ void store_matrices(unsigned address, const unsigned (&pairs)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(pairs[0]),
               "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
               : "memory");
}

// ---- the kernel ----

// Where things lie in shared memory, in bytes: mbarriers first.
template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = (kHeadDim + kPanelColumns - 1) / kPanelColumns;
  static constexpr int kQueryBytes = kPanels * 64 * kRowBytes;     // of a tile of queries
  static constexpr int kKeyBytes = kPanels * kBlockN * kRowBytes;  // of all keys, or values, of a head
  static constexpr unsigned K_full = 0;                             // of each place
  static constexpr unsigned V_full = K_full + 8 * kKeyPlaces;
  static constexpr unsigned keys_empty = V_full + 8 * kKeyPlaces;
  static constexpr unsigned Q_full = keys_empty + 8 * kKeyPlaces;  // of each warpgroup's places
  static constexpr unsigned Q_empty = Q_full + 8 * kConsumers * kQueryPlaces;
  static constexpr unsigned Q = 1024;
  static constexpr unsigned O = Q + kConsumers * kQueryPlaces * kQueryBytes;    // of each warpgroup, if apart
  static constexpr unsigned K = O + (kIsApart ? kConsumers * kQueryBytes : 0);  // of the first place
  static constexpr unsigned V = K + kKeyBytes;
};

// A tile of 64 query rows.
struct QueryTile {
  int row_tile;       // of its head
  int head_of_group;  // of those that share a head of K and V
  int shared_head;    // of K and V, of its batch element
  int batch;
  int heads_before;  // of K and V, counted through all batch elements
};

// The order of query tiles: those that share keys follow one another.
struct Order {
  int row_tiles, group, shared_heads;

  __device__ QueryTile tile(int index) const {
    const int head = index / row_tiles;
    const int before = head / group;
    const int batch = before / shared_heads;
    return {index - head * row_tiles, head - before * group, before - batch * shared_heads, batch, before};
  }
  // Without divisions, of which `tile` has three, one behind the other.
  __device__ void advance(QueryTile& tile, int tiles) const {
    tile.row_tile += tiles;
    while (tile.row_tile >= row_tiles) {
      tile.row_tile -= row_tiles;
      if (++tile.head_of_group < group) continue;
      tile.head_of_group = 0;
      ++tile.heads_before;
      if (++tile.shared_head < shared_heads) continue;
      tile.shared_head = 0;
      ++tile.batch;
    }
  }
  __device__ int head(const QueryTile& tile) const { return tile.shared_head * group + tile.head_of_group; }
};

// Settings have registers for some head dimensions only (`constraints` of kernel.json). For the others, which are never launched with
// them, the function of the smallest one is compiled: there is no setting whose compilation fails.
template <int kHeadDim>
constexpr int kCompiledHeadDim = kHeadDim / 2 + kBlockN / 2 + 32 <= kConsumerRegisters ? kHeadDim : 32;

template <int kDeclaredHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    attention(const __grid_constant__ TensorMap Q,  // boxes of 64 rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap O,  // 64 rows x 64 columns
              float* __restrict__ LSE,              // [B, H, S], or null
              int S, int Skv, int H, int group,     // query heads that share a head of K and V
              int heads,                            // of all batch elements
              int diagonal,                         // row i sees keys up to i + diagonal
              float softmax_scale) {
  constexpr int kHeadDim = kCompiledHeadDim<kDeclaredHeadDim>;
  using Tiles = SharedTiles<kHeadDim>;
  constexpr int kPanels = Tiles::kPanels;
  constexpr int kQueryBytes = Tiles::kQueryBytes;
  constexpr int kKeyBytes = Tiles::kKeyBytes;
  extern __shared__ unsigned char shared_bytes[];
  const unsigned base = uniform((shared_address(shared_bytes) + kSwizzleBytes - 1) & ~(kSwizzleBytes - 1));

  // Shuffled, so that the compiler knows it to be the same in a warp.
  const int warpgroup = __shfl_sync(kAllLanes, threadIdx.x / 128, 0);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kKeyPlaces; ++i) {
      init(base + Tiles::K_full + 8 * i, 1);
      init(base + Tiles::V_full + 8 * i, 1);
      init(base + Tiles::keys_empty + 8 * i, 4 * kConsumers);  // a lane of every warp
    }
    for (int i = 0; i < kConsumers * kQueryPlaces; ++i) {
      init(base + Tiles::Q_full + 8 * i, 1);
      init(base + Tiles::Q_empty + 8 * i, kIsApart ? 4 : 1);  // a lane of every warp, or who stores
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();

  // This CTA's query tiles: the first `longer` CTAs have one more than the others.
  const Order order{(S + 63) / 64, group, H / group};
  const int each = heads * order.row_tiles / gridDim.x;
  const int longer = heads * order.row_tiles - each * gridDim.x;
  const int cta = blockIdx.x;
  const int first_tile = cta * each + min(cta, longer);
  const int tiles = each + (cta < longer);
  QueryTile tile = order.tile(first_tile);

  if (warpgroup == kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducerRegisters));
    if (threadIdx.x != 128 * kConsumers) return;
    Place<kKeyPlaces> keys;
    Place<kQueryPlaces> queries;
    int of_round = 0;                      // the warpgroup whose tile it is
    int heads_copied = tile.heads_before;  // of K and V
#pragma unroll 1
    for (int left = tiles; left > 0; --left) {
      const bool has_keys = tile.heads_before < heads_copied;
      const auto copy_all = [&](const TensorMap* map, unsigned barrier, unsigned to) {
        expect(barrier, kKeyBytes);
#pragma unroll
        for (int p = 0; p < kPanels; ++p) {
          copy_box(to + p * kBlockN * kRowBytes, map, p * kPanelColumns, 0, tile.shared_head, tile.batch, barrier);
        }
      };
      const unsigned place = base + 2 * keys.stage * kKeyBytes;
      if (!has_keys) {
        wait(base + Tiles::keys_empty + 8 * keys.stage, keys.parity ^ 1);
        copy_all(&K, base + Tiles::K_full + 8 * keys.stage, place + Tiles::K);
      }
      const int at = of_round * kQueryPlaces + queries.stage;
      wait(base + Tiles::Q_empty + 8 * at, queries.parity ^ 1);
      expect(base + Tiles::Q_full + 8 * at, kQueryBytes);
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        copy_box(base + Tiles::Q + at * kQueryBytes + p * 64 * kRowBytes, &Q, p * kPanelColumns, 64 * tile.row_tile,
                 order.head(tile), tile.batch, base + Tiles::Q_full + 8 * at);
      }
      // Values are needed later than queries.
      if (!has_keys) {
        copy_all(&V, base + Tiles::V_full + 8 * keys.stage, place + Tiles::V);
        keys.advance();
        ++heads_copied;
      }
      order.advance(tile, 1);
      if (++of_round == kConsumers) {
        of_round = 0;
        queries.advance();
      }
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kConsumerRegisters));
  const unsigned operands = units(base);
  const int lane = threadIdx.x % 32;
  const int quad_lane = lane % 4;
  const int warp = threadIdx.x % 128 / 32;
  const bool is_elected = threadIdx.x % 128 == 0;
  const float scale = softmax_scale * kLog2E;  // weights are powers of 2

  float scores[kBlockN / 2];
  float output[kHeadDim / 2];
#pragma unroll
  for (int i = 0; i < kHeadDim / 2; ++i) output[i] = 0.0f;

  Place<kKeyPlaces> keys;
  int heads_before = tile.heads_before;  // of the one whose keys lie there
  const auto wait_for_keys = [&]() { wait(base + Tiles::K_full + 8 * keys.stage, keys.parity); };
  const auto wait_for_values = [&]() { wait(base + Tiles::V_full + 8 * keys.stage, keys.parity); };
  // Heads without a tile for this warpgroup are waited for, too: a place that it released twice in a round would be overwritten.
  const auto go_to_head = [&](int head) {
#pragma unroll 1
    while (heads_before < head) {
      wait_for_values();
      if (lane == 0) arrive(base + Tiles::keys_empty + 8 * keys.stage);
      keys.advance();
      ++heads_before;
      wait_for_keys();
    }
  };
  wait_for_keys();

  Place<kQueryPlaces> queries;
  const auto place_at = [&](int stage) { return warpgroup * kQueryPlaces + stage; };
  // Of this thread, and + 8.
  const auto row = [&]() { return 64 * tile.row_tile + 16 * warp + lane / 4; };

  const auto multiply_scores = [&]() {
    hands_off(scores);
    begin();
    const unsigned from = operands + units(Tiles::Q) + place_at(queries.stage) * units(kQueryBytes);
    const unsigned first = operands + units(Tiles::K) + keys.stage * units(2 * kKeyBytes);
#pragma unroll
    for (int d = 0; d < kHeadDim / 16; ++d) {
      const unsigned column_bytes = d % 4 * 32;
      Wgmma<kBlockN>::shared(scores, operand(from + units(d / 4 * 64 * kRowBytes + column_bytes)),
                             operand(first + units(d / 4 * kBlockN * kRowBytes + column_bytes)), d > 0);
    }
    commit();
    wait_for_products();
    hands_off(scores);
    if constexpr (kIsApart) {
      if (lane == 0) arrive(base + Tiles::Q_empty + 8 * place_at(queries.stage));
      queries.advance();
    }
  };
  // From this column on.
  const auto hide_keys = [&](int first_column) {
    const int upper_end = min(Skv, row() + 1 + diagonal) - 2 * quad_lane;
    const int lower_end = min(Skv, row() + 9 + diagonal) - 2 * quad_lane;
#pragma unroll
    for (int i = first_column / 2; i < kBlockN / 2; ++i) {
      if (i / 4 * 8 + i % 2 >= (i & 2 ? lower_end : upper_end)) scores[i] = -INFINITY;
    }
  };
  const auto hide_unseen_keys = [&]() {
    constexpr int kFewer = kBlockN - 16;
    const int seen_by_all = min(Skv, 64 * tile.row_tile + 16 * warp + 1 + diagonal);  // keys that all rows of the warp see
    if (seen_by_all >= kBlockN) return;
    if (seen_by_all >= kFewer) {
      hide_keys(kFewer);  // only behind the end, as a rule
    } else {
      hide_keys(0);
    }
  };
  // Two maxima of each row, and two sums, since one would wait for itself.
  const auto find_maximum = [&](float (&maximum)[2]) {
    float largest[4] = {kLowest, kLowest, kLowest, kLowest};
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i) largest[i % 4] = fmaxf(largest[i % 4], scores[i]);
#pragma unroll
    for (int r = 0; r < 2; ++r) maximum[r] = quad_max(fmaxf(largest[2 * r], largest[2 * r + 1]));
  };
  const auto exponentials = [&](const float (&maximum)[2], unsigned (&weights)[kBlockN / 4], float (&sum)[2]) {
    const float offset[2] = {maximum[0] * scale, maximum[1] * scale};
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < kBlockN / 2; i += 2) {
      const int r = i / 2 % 2;
      const float low = exp2_approximately(fmaf(scores[i], scale, -offset[r]));
      const float high = exp2_approximately(fmaf(scores[i + 1], scale, -offset[r]));
      sums[2 * r] += low;
      sums[2 * r + 1] += high;
      weights[i / 2] = pack(low, high);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] = quad_sum(sums[2 * r] + sums[2 * r + 1]);
  };
  // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
  const auto issue_output = [&](const unsigned (&weights)[kBlockN / 4]) {
    const unsigned values =
        operands + units(Tiles::V) + (units(kBlockN * kRowBytes) << 16) + keys.stage * units(2 * kKeyBytes);
    hands_off(output);
    begin();
#pragma unroll
    for (int key = 0; key < kBlockN; key += 16) {
      Wgmma<kHeadDim>::registers(output, &weights[key / 4], operand(values + units(key * kRowBytes)), key > 0);
    }
    commit();
  };
  // Into their place, or that of the queries, as the copy engine would have left them there; from there to O.
  const auto store_output = [&](const float (&sum)[2]) {
    const unsigned to = kIsApart ? base + Tiles::O + warpgroup * kQueryBytes : base + Tiles::Q + place_at(queries.stage) * kQueryBytes;
    const unsigned row_of_lane = to + (16 * warp + lane % 16) * kRowBytes;
    float inverse_sum[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) inverse_sum[r] = sum[r] == 0.0f ? 0.0f : 1.0f / sum[r];
    if (kIsApart && is_elected) wait_for_stores();  // the results before these have left
    asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");  // nor do any warp's products read queries there
#pragma unroll
    for (int j = 0; j < kHeadDim / 16; ++j) {
      unsigned pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 8 * j + 2 * i;
        pairs[i] = pack(output[at] * inverse_sum[i % 2], output[at + 1] * inverse_sum[i % 2]);
      }
      const int chunk = 2 * (j % 4) + lane / 16;  // of 16 bytes
      store_matrices(row_of_lane + j / 4 * 64 * kRowBytes + (chunk ^ lane % 8) * 16, pairs);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");
    if (is_elected) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        store_box(&O, p * kPanelColumns, 64 * tile.row_tile, order.head(tile), tile.batch, to + p * 64 * kRowBytes);
      }
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  };
  const auto store_sums = [&](const float (&maximum)[2], const float (&sum)[2]) {
    if (LSE == nullptr || quad_lane != 0) return;
    float* of_head = LSE + static_cast<size_t>(tile.batch * H + order.head(tile)) * S;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (row() + 8 * r < S) of_head[row() + 8 * r] = (maximum[r] * scale + log2f(sum[r])) / kLog2E;
    }
  };

  const int last_head = order.tile(first_tile + tiles - 1).heads_before;
  order.advance(tile, warpgroup);
#pragma unroll 1
  for (int left = tiles - warpgroup; left > 0; left -= kConsumers) {
    go_to_head(tile.heads_before);
    wait(base + Tiles::Q_full + 8 * place_at(queries.stage), queries.parity);
    multiply_scores();
    hide_unseen_keys();
    float maximum[2];
    float sum[2];
    unsigned weights[kBlockN / 4];
    find_maximum(maximum);
    exponentials(maximum, weights, sum);
    wait_for_values();
    issue_output(weights);
    // The results before these have left the place before.
    if (!kIsApart && left + kConsumers <= tiles && is_elected) {
      wait_for_stores();
      arrive(base + Tiles::Q_empty + 8 * place_at(kQueryPlaces == 2 ? queries.stage ^ 1 : (queries.stage + kQueryPlaces - 1) % kQueryPlaces));
    }
    wait_for_products();
    hands_off(output);
    store_output(sum);
    store_sums(maximum, sum);
    order.advance(tile, kConsumers);
    if constexpr (!kIsApart) queries.advance();
  }
  if (is_elected) wait_for_stores();
  go_to_head(last_head);  // others wait for places that this warpgroup has
}

#define INSTANTIATE(D)                                                                                         \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                        const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,  \
                                        float*, int, int, int, int, int, int, float);
INSTANTIATE(32)
INSTANTIATE(64)
INSTANTIATE(96)
INSTANTIATE(128)
