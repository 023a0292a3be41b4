// 10_resident: all keys of a head in shared memory at once, for sequences of up to some 700 keys per CTA.
//
// Idea      A short sequence is all latency: launch, first copy, products, store. So nothing waits in a ring and nobody is a
//           producer: the first thread of a warp asks for Q, that of the next one for K and V, as soon as they run; every
//           tile has an mbarrier of its own, and each is waited for once. The keys of 64 rows are shared out over the CTAs
//           of a cluster and the warpgroups of a CTA, so that a small problem fills the device too.
//           Merge: all parties have the same elements in the same registers. Each one sends every other its share of them,
//           as they are, thread to thread: 16-byte vectors without bank conflicts, and nobody writes or reads what it keeps.
//           Stores complete the receiver's mbarrier themselves, so no barrier of the cluster is waited for at the end; a CTA
//           can't leave before all that is sent to it has come. Parts are added in the order of their keys: same bits always.
//           TRY_ZERO, as in 11_sums_first: weights are taken relative to 0, so that exponentials of a chunk of keys run beside
//           the products of the others, and no maximum is looked for. Where the sum of a row then lies outside of what fp16
//           holds well, its warpgroup does all of it again, with a maximum; the keys are still there.
//           COPY = 1: all threads copy, without waiting for a tensor map or a barrier; that pays for few bytes per CTA. With
//           COPY = 2 they copy what is needed first, and the copy engine the rest.
// Change    From 10_wgmma: no ring, no producer warpgroup, no setmaxnreg; keys split over warpgroups (as 08_key_split does
//           over warps) and CTAs; the first tile finds nothing to rescale; P V's first half runs beside the exponentials
//           of the second.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B * H, S, D]. Tensor maps (D, S, B * H), boxes of 64 columns: as 10_wgmma.
//           grid = (SPLIT ceil(S / (64 ROW_GROUPS)), B * H), clusters of SPLIT; block = 128 ROW_GROUPS KEY_GROUPS.
//           Parties: P = SPLIT KEY_GROUPS; CTA r of the cluster has r, r + SPLIT, .... Tile i of BLOCK_N keys belongs to
//           party i % P. A party's tiles lie side by side in shared memory: K's, then V's; behind all tiles, what each
//           party receives: a slot for each of the P - 1 others.
// Tile      64 rows x BLOCK_N keys per warpgroup: a thread has 2 rows, BLOCK_N / 4 keys of each. CHUNKS of a tile are copied,
//           multiplied and, with TRY_ZERO, exponentiated on their own.
// Resources Shared bytes: 2048 + 128 ceil(D / 64) (64 ROW_GROUPS + 2 S') with S' = S / SPLIT rounded up to KEY_GROUPS BLOCK_N, and
//           ROW_GROUPS KEY_GROUPS (P - 1) (256 D / P + 1024): 83 KiB for S = 512, D = 64, SPLIT = KEY_GROUPS = 2.
//           Registers: D / 2 output + BLOCK_N / 2 scores, which become BLOCK_N / 4 weights.
// Bound     H200, B32 H8 S128 D64: 12.6 MB from L2 and 4.2 MB to it are 3.1 us at 5.5 TB/s; products are 1 us, exponentials
//           as much; with launch and first copy 4.5 us. B1 H8 S512 D64 in 128 CTAs: 72 KiB per SM at 64 B/clk are 0.6 us,
//           exponentials (16 per clock) 0.55 us, each product 0.14 us; latencies of launch, copies and merge 2.5 us.
// Accuracy  TRY_ZERO: a row's weights are kept if their sum lies between 1 / 16 and 2^15. fp16 loses places of weights below
//           2^-14, of which a row has 768 at most. The one weight of a row that sees one key is divided by itself.
// Limits    sm_90a; D in {32, 64, 96, 128}; S as far as shared memory holds it; B * H <= 65535 (grid.y).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;  // half or __nv_bfloat16
template <typename T>
constexpr bool kIsHalfType = false;
template <>
constexpr bool kIsHalfType<half> = true;
constexpr bool kIsHalf = kIsHalfType<Element>;

constexpr int kRowGroups = ROW_GROUPS;  // warpgroups with different rows, 64 each
constexpr int kKeyGroups = KEY_GROUPS;  // warpgroups with different keys of the same rows
constexpr int kSplit = SPLIT;             // CTAs with different keys of the same rows: a cluster
constexpr int kParties = kSplit * kKeyGroups;
constexpr int kBlockM = 64 * kRowGroups;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;          // keys per tile
constexpr int kChunks = CHUNKS;           // of a tile
constexpr int kChunk = kBlockN / kChunks;  // keys of a chunk
constexpr bool kTriesZero = TRY_ZERO;     // weights are tried relative to 0 before a maximum is looked for
constexpr int kThreads = 128 * kRowGroups * kKeyGroups;
constexpr bool kThreadsCopyAll = COPY == 1;
constexpr bool kThreadsCopyFirst = COPY == 2;  // Q and the first chunk of K
constexpr bool kThreadsCopy = kThreadsCopyAll || kThreadsCopyFirst;
static_assert(!kThreadsCopy || kKeyGroups == 1, "all threads copy the same keys");
constexpr int kMostChunks = 32;  // of a CTA: each takes 8 KiB at least, of K and V together

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLowest = -1e30f;  // below every score; finite, so that differences are no NaN
constexpr float kLargestSum = 32768.0f;  // of a row's weights relative to 0: fp16 holds 65504
constexpr float kSmallestSum = 0.0625f;

// ---- mbarriers and TMA ----

// A CUtensorMap: written by the driver, read by the copy engine.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void init(unsigned long long& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

__device__ void arrive(unsigned long long& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// Arrives, and keeps the phase open until so many bytes have come from copies.
__device__ void expect(unsigned long long& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}

#define WAIT(SCOPE)                                                              \
  asm volatile("{\n.reg .pred complete;\nagain:\n"                               \
               "mbarrier.try_wait.parity" SCOPE ".shared::cta.b64 complete, [%0], 0;\n" \
               "@!complete bra again;\n}\n" ::"r"(shared_address(&barrier))      \
               : "memory")

// Returns when the barrier's only phase is complete: what was copied, or stored by this CTA, is visible.
__device__ void wait(unsigned long long& barrier) { WAIT(""); }

// The same for what other CTAs of the cluster stored.
__device__ void wait_for_cluster(unsigned long long& barrier) { WAIT(".acquire.cluster"); }

// Fetches a map, so that the first copy finds it.
__device__ void prefetch(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

// A box of rows x 64 columns of [B * H, S, D], from (head, row, column) on; zeros outside.
__device__ void copy_box(void* tile, const TensorMap& map, int column, int row, int head, unsigned long long& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
          shared_address(tile)),
      "l"(&map), "r"(column), "r"(row), "r"(head), "r"(shared_address(&barrier))
      : "memory");
}

// ---- copies by threads ----

// Starts to copy rows first_row ..., at most `rows`, of [S, kHeadDim] to panels that are panel_rows apart, swizzled as the copy
// engine does it; zeros from row S on.
template <int kHeadDim, int kRows>
__device__ void start_copy(unsigned char* tile, int panel_rows, const Element* from, int first_row, int S) {
  constexpr int kPieces = kHeadDim / 8;  // 16 bytes each, of a row
  const unsigned to = shared_address(tile);
#pragma unroll
  for (int i = 0; i < kRows * kPieces; i += kThreads) {
    const int place = i + threadIdx.x;
    if (kRows * kPieces % kThreads != 0 && place >= kRows * kPieces) break;
    const int row = place / kPieces;
    const int piece = place % kPieces;
    const int bytes = first_row + row < S ? 16 : 0;
    const Element* source = from + (bytes ? (first_row + row) * kHeadDim + piece * 8 : 0);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + (piece / 8 * panel_rows + row) * kRowBytes +
                                                                         (piece % 8 ^ row % 8) * 16),
                 "l"(__cvta_generic_to_global(source)), "r"(bytes)
                 : "memory");
  }
}

__device__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

#define WAIT_FOR_GROUPS(pending) \
  case pending: asm volatile("cp.async.wait_group " #pending ";" ::: "memory"); break

static_assert(2 * kChunks - 1 <= 7, "wait_for_groups has no case for more groups");

// All threads': all but the last `pending` groups of copies are there, for products too. A constant, once loops are unrolled.
__device__ void wait_for_groups(int pending) {
  switch (pending) {
    WAIT_FOR_GROUPS(0);
    WAIT_FOR_GROUPS(1);
    WAIT_FOR_GROUPS(2);
    WAIT_FOR_GROUPS(3);
    WAIT_FOR_GROUPS(4);
    WAIT_FOR_GROUPS(5);
    WAIT_FOR_GROUPS(6);
    WAIT_FOR_GROUPS(7);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

// ---- wgmma: 64 x N accumulators in registers, 16 terms per instruction ----
// A thread t of the warpgroup has rows t / 32 * 16 + t % 32 / 4 + {0, 8}; accumulator i is of row i / 2 % 2, column
// i / 4 * 8 + t % 4 * 2 + i % 2.

// A swizzled panel as an operand. `leading_bytes`: from one panel to the next, where N goes over panels. An address has 18
// bits there: the CTA's number in the cluster, above them, would change what follows, the leading bytes.
__device__ unsigned long long operand(const void* panel, int leading_bytes = 0) {
  const unsigned long long address = (shared_address(panel) & 0x3ffff) >> 4;
  return address | static_cast<unsigned long long>(leading_bytes >> 4) << 16 |
         static_cast<unsigned long long>(kSwizzleBytes >> 4) << 32 | 1ull << 62;
}

// The operand `bytes` further on; offsets are in units of 16 bytes.
__device__ unsigned long long further(unsigned long long operand, int bytes) { return operand + (bytes >> 4); }

template <int kColumns>
struct Wgmma;

#define REGISTERS_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_1 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_2 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_3 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_4 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define REGISTERS_5 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define REGISTERS_6 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define REGISTERS_7 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
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
WGMMA(160, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4, 80, 81, 82, 83, 84, 85, D16(0), D16(16),
      D16(32), D16(48), D16(64))
WGMMA(192, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4 REGISTERS_5, 96, 97, 98, 99, 100, 101, D16(0),
      D16(16), D16(32), D16(48), D16(64), D16(80))

WGMMA(256, REGISTERS_0 REGISTERS_1 REGISTERS_2 REGISTERS_3 REGISTERS_4 REGISTERS_5 REGISTERS_6 REGISTERS_7, 128, 129,
      130, 131, 132, 133, D16(0), D16(16), D16(32), D16(48), D16(64), D16(80), D16(96), D16(112))

// Before the first wgmma, and wherever operands in registers are new.
__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// The accumulators belong to wgmma from `begin` to `finish`; the empty statements keep the compiler's hands off them.
template <int kCount>
__device__ __forceinline__ void begin(float (&accumulators)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
  fence();
}

__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// All but the last kPending groups of products are complete, that of `accumulators` among them.
template <int kPending = 0, int kCount>
__device__ __forceinline__ void finish(float (&accumulators)[kCount]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
}

// ---- softmax ----

__device__ float exp2_approximately(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ float reciprocal_approximately(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
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

// Is it so for any thread of the warpgroup?
__device__ bool anyone_of_warpgroup(int warpgroup, bool value) {
  int result;
  asm volatile("{\n.reg .pred in, out;\nsetp.ne.s32 in, %1, 0;\nbar.red.or.pred out, %2, 128, in;\nselp.s32 %0, 1, 0, out;\n}\n"
               : "=r"(result)
               : "r"(static_cast<int>(value)), "r"(kThreads == 128 ? 1 : 1 + warpgroup)  // 0 is __syncthreads
               : "memory");
  return __any_sync(kAllLanes, result != 0);  // which the compiler knows to be the same in a warp
}

// As products take it.
__device__ float rounded(float weight) { return static_cast<float>(static_cast<Element>(weight)); }

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
// A thread has 2 rows of kHeadDim / 8 chunks of 2 accumulators. Party p keeps row p % 2 and the p / 2-th part of the chunks.

template <int kHeadDim>
struct Share {
  static constexpr int kChunks = kHeadDim / (4 * kParties);
  static constexpr int kValues = 2 * kChunks;  // per thread
  static constexpr int kWidth = kValues % 4 == 0 ? 4 : 2;  // values of one store
  static constexpr int kSlotBytes = 128 * (4 * kValues + 8);  // vectors [kValues / kWidth][128], then maximum and sum [128]
  static_assert(kParties == 1 || kChunks * 4 * kParties == kHeadDim, "whole chunks");
  // The accumulator that is value `i` of `party`.
  static __device__ constexpr int accumulator(int party, int i) {
    return (party / 2 * kChunks + i / 2) * 4 + party % 2 * 2 + i % 2;
  }
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

// ---- the kernel ----

struct Barriers {
  unsigned long long Q_full[kRowGroups], K_full[kMostChunks], V_full[kMostChunks];
  unsigned long long received[kRowGroups][kKeyGroups];
};

// Shared memory from `begin` on, which is aligned to the swizzle's pattern. Bytes.
template <int kHeadDim>
struct Places {
  static constexpr int kPanels = (kHeadDim + kPanelColumns - 1) / kPanelColumns;
  static constexpr int kQueryBytes = kPanels * 64 * kRowBytes;  // of a row group
  static constexpr int kTileBytes = kPanels * kBlockN * kRowBytes;  // of K, and of V
  unsigned char* begin;
  int tiles_per_party;
  __device__ unsigned char* Q(int row_group) const { return begin + row_group * kQueryBytes; }
  // The i-th tile of a key group.
  __device__ unsigned char* K(int key_group, int i) const {
    return begin + kRowGroups * kQueryBytes + (key_group * 2 * tiles_per_party + i) * kTileBytes;
  }
  __device__ unsigned char* V(int key_group, int i) const { return K(key_group, i) + tiles_per_party * kTileBytes; }
  __device__ unsigned char* received(int row_group, int key_group) const {
    return K(kKeyGroups, 0) + (row_group * kKeyGroups + key_group) * (kParties - 1) * Share<kHeadDim>::kSlotBytes;
  }
};

// After barriers are initialised: before copies to them start and other CTAs use them.
__device__ void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Starts to copy `rows` rows of all panels, which are panel_rows apart.
template <int kPanels>
__device__ void copy_rows(unsigned char* tile, int panel_rows, const TensorMap& map, int rows, int row, int head,
                          unsigned long long& barrier) {
  expect(barrier, kPanels * rows * kRowBytes);
#pragma unroll
  for (int p = 0; p < kPanels; ++p) copy_box(tile + p * panel_rows * kRowBytes, map, p * kPanelColumns, row, head, barrier);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, CTAS)
    attention(const __grid_constant__ TensorMap Q,  // boxes of 64 rows x 64 columns
              const __grid_constant__ TensorMap K,  // kChunk rows x 64 columns
              const __grid_constant__ TensorMap V,  // kChunk rows x 64 columns
              const Element* __restrict__ Q_rows,   // [B * H, S, kHeadDim], the same Q
              const Element* __restrict__ K_rows,   // and K
              const Element* __restrict__ V_rows,   // and V
              Element* __restrict__ O,              // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  constexpr int kPanels = Places<kHeadDim>::kPanels;
  extern __shared__ unsigned char shared_bytes[];
  __shared__ Barriers barriers;
  const Places<kHeadDim> smem = {shared_bytes + (-shared_address(shared_bytes) & (kSwizzleBytes - 1)),
                                 (S + kParties * kBlockN - 1) / (kParties * kBlockN)};

  // Shuffled, so that the compiler knows it to be the same in a warp.
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0);
  const int row_group = warp / 4 % kRowGroups;
  const int key_group = warp / 4 / kRowGroups;
  const int lane = threadIdx.x % 32;
  const int rank = blockIdx.x % kSplit;
  const int party = key_group * kSplit + rank;
  const int head = blockIdx.y;
  const int first_row = blockIdx.x / kSplit * kBlockM;
  const int keys = causal ? min(S, first_row + kBlockM) : S;  // that any row of the CTA sees
  const int key_tiles = (keys + kBlockN - 1) / kBlockN;
  const int own_tiles = (key_tiles - party + kParties - 1) / kParties;  // party, party + kParties, ...
  unsigned long long* K_full = barriers.K_full + key_group * smem.tiles_per_party * kChunks;
  unsigned long long* V_full = barriers.V_full + key_group * smem.tiles_per_party * kChunks;

  if constexpr (kThreadsCopy) {  // a CTA has one tile. Groups: Q with the first chunk of K, then chunk by chunk
    const size_t head_start = static_cast<size_t>(head) * S * kHeadDim;
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      start_copy<kHeadDim, 64>(smem.Q(g), 64, Q_rows + head_start, first_row + 64 * g, S);
    }
    const auto copy_chunk = [&](unsigned char* tile, const Element* rows, int c) {
      start_copy<kHeadDim, kChunk>(tile + c * kChunk * kRowBytes, kBlockN, rows + head_start, party * kBlockN + c * kChunk, S);
      end_group();
    };
#pragma unroll
    for (int c = 0; c < (kThreadsCopyAll ? kChunks : 1); ++c) copy_chunk(smem.K(0, 0), K_rows, c);
#pragma unroll
    for (int c = 0; c < (kThreadsCopyAll ? kChunks : 0); ++c) copy_chunk(smem.V(0, 0), V_rows, c);
  }
  // Whoever initialises a barrier starts its copy, and waits for nobody.
  if (lane == 0) {
    if (!kThreadsCopy && warp % 4 == 0 && key_group == 0) {
      init(barriers.Q_full[row_group], 1);
      publish_barriers();
      copy_rows<kPanels>(smem.Q(row_group), 64, Q, 64, first_row + 64 * row_group, head, barriers.Q_full[row_group]);
    }
    if (!kThreadsCopyAll && warp % 4 == 1 && row_group == 0) {
#pragma unroll 1
      for (int i = 0; i < own_tiles * kChunks; ++i) {
        init(K_full[i], 1);
        init(V_full[i], 1);
      }
      publish_barriers();
#pragma unroll 1
      for (int i = 0; i < own_tiles; ++i) {
        const int first_key = (party + i * kParties) * kBlockN;
        const auto copy_chunk = [&](unsigned char* tile, const TensorMap& map, int c, unsigned long long& barrier) {
          copy_rows<kPanels>(tile + c * kChunk * kRowBytes, kBlockN, map, kChunk, first_key + c * kChunk, head, barrier);
        };
#pragma unroll
        for (int c = kThreadsCopyFirst; c < kChunks; ++c) copy_chunk(smem.K(key_group, i), K, c, K_full[i * kChunks + c]);
#pragma unroll
        for (int c = 0; c < kChunks; ++c) copy_chunk(smem.V(key_group, i), V, c, V_full[i * kChunks + c]);
      }
    }
    if (!kThreadsCopy && warp == 3) {
      prefetch(K);
      prefetch(Q);
      prefetch(V);
    }
    if (warp % 4 == 2 && kParties > 1) {
      init(barriers.received[row_group][key_group], 1);
      publish_barriers();
      expect(barriers.received[row_group][key_group], (kParties - 1) * Share<kHeadDim>::kSlotBytes);
    }
  }
  __syncwarp();
  if (kSplit > 1) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
  if (!kThreadsCopyAll || kParties > 1) __syncthreads();  // barriers exist

  const float scale = softmax_scale * kLog2E;  // weights are powers of 2
  const int quad_lane = lane % 4;
  const int row = first_row + 64 * row_group + warp % 4 * 16 + lane / 4;  // and row + 8
  // Keys from here on are hidden from some row of the warpgroup.
  const int keys_of_all = causal ? min(S, first_row + 64 * row_group + 1) : S;

  float output[kHeadDim / 2];
  float maximum[2];  // what weights are relative to
  float sum[2];      // of this thread's weights; in the end, of the row's
  const auto start = [&]() {
#pragma unroll
    for (float& value : output) value = 0.0f;
    maximum[0] = maximum[1] = kLowest;
    sum[0] = sum[1] = 0.0f;
  };

  // Each returns once these copies are there. Called once: the others of the CTA may have nothing to do again.
  const auto wait_for_queries = [&]() {
    if (!kThreadsCopy) {
      wait(barriers.Q_full[row_group]);
    } else if (own_tiles == 0) {
      wait_for_groups(0);
    }
  };
  const auto wait_for_keys = [&](int own, int c) {
    if (kThreadsCopyAll) {
      wait_for_groups(2 * kChunks - 1 - c);
    } else if (kThreadsCopyFirst && c == 0) {
      wait_for_groups(0);
    } else {
      wait(K_full[own * kChunks + c]);
    }
  };
  const auto wait_for_values = [&](int own, int c) {
    if (kThreadsCopyAll) {
      wait_for_groups(kChunks - 1 - c);
    } else {
      wait(V_full[own * kChunks + c]);
    }
  };

  const unsigned long long Q_operand = operand(smem.Q(row_group));
  const auto issue_scores = [&](float (&scores)[kChunk / 2], int own, int c) {
    const unsigned long long K_operand = operand(smem.K(key_group, own) + c * kChunk * kRowBytes);
#pragma unroll
    for (int d = 0; d < kHeadDim; d += 16) {
      const int panel = d / kPanelColumns;
      const int bytes = d % kPanelColumns * 2;
      Wgmma<kChunk>::shared(scores, further(Q_operand, panel * 64 * kRowBytes + bytes),
                            further(K_operand, panel * kBlockN * kRowBytes + bytes), d > 0);
    }
    commit();
  };
  // Keys of a tile from `first` on.
  const auto issue_output = [&](const unsigned* weights, int own, int first, int keys) {
    const unsigned long long V_operand = operand(smem.V(key_group, own), kBlockN * kRowBytes);
#pragma unroll
    for (int key = 0; key < keys; key += 16) {
      Wgmma<kHeadDim>::registers(output, weights + key / 4, further(V_operand, (first + key) * kRowBytes), true);
    }
    commit();
  };
  const auto hide_keys = [&](float (&scores)[kChunk / 2], int first) {
    if (first + kChunk <= keys_of_all) return;
    const int first_key = first + quad_lane * 2;
#pragma unroll
    for (int i = 0; i < kChunk / 2; ++i) {
      const int hidden_from = causal ? min(S, row + (i & 2 ? 9 : 1)) : S;
      if (i / 4 * 8 + i % 2 >= hidden_from - first_key) scores[i] = -INFINITY;
    }
  };
  // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
  const auto exponentials = [&](const float (&scores)[kChunk / 2], unsigned* weights, int from, int to,
                                const float (&offset)[2]) {
#pragma unroll
    for (int i = from; i < to; i += 2) {
      const int r = i / 2 % 2;
      const float low = exp2_approximately(fmaf(scores[i], scale, offset[r]));
      const float high = exp2_approximately(fmaf(scores[i + 1], scale, offset[r]));
      sum[r] += low + high;
      weights[i / 2] = pack(low, high);
    }
  };

  // With weights relative to 0: is a row's sum out of range?
  const auto misses = [&]() {
    bool fits = true;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] = quad_sum(sum[r]);
      const int seen = (causal ? min(S, row + 8 * r + 1) : S) - party * kBlockN;  // from the party's first key on
      if (seen == 1) sum[r] = rounded(sum[r]);
      if (seen <= 0) continue;  // has no part in the output: relative to kLowest
      maximum[r] = 0.0f;
      fits = fits && sum[r] >= kSmallestSum && sum[r] <= kLargestSum;
    }
    return anyone_of_warpgroup(warp / 4, !fits);
  };
  // ptxas puts products one after the other unless every way from here on waits for the last of them.
  const auto try_zero = [&]() {
    start();
    wait_for_queries();
    const float offset[2] = {0.0f, 0.0f};
    bool fails = false;
#pragma unroll 1
    for (int own = 0; own < own_tiles; ++own) {
      const int first_key = (party + own * kParties) * kBlockN;
      float scores[kChunks][kChunk / 2];
      unsigned weights[kChunks][kChunk / 4];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        wait_for_keys(own, c);
        begin(scores[c]);
        issue_scores(scores[c], own, c);
      }
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        finish<kChunks - 1>(scores[c]);  // what comes after it: the other chunks' scores, or as many outputs
        hide_keys(scores[c], first_key + c * kChunk);
        exponentials(scores[c], weights[c], 0, kChunk / 2, offset);
        wait_for_values(own, c);
        if (c == 0) {
          begin(output);
        } else {
          fence();
        }
        issue_output(weights[c], own, c * kChunk, kChunk);
      }
      if (own + 1 == own_tiles) fails = misses();  // beside the last product
      finish(output);
    }
    return !fails;
  };

  const auto with_maximum = [&](bool is_first) {
    start();
    if (is_first) wait_for_queries();
#pragma unroll 1
    for (int own = 0; own < own_tiles; ++own) {
      const int first_key = (party + own * kParties) * kBlockN;
      float scores[kChunks][kChunk / 2];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        if (is_first) wait_for_keys(own, c);
        begin(scores[c]);
        issue_scores(scores[c], own, c);
      }
#pragma unroll
      for (int c = 0; c < kChunks; ++c) finish(scores[c]);
      float largest[2] = {kLowest, kLowest};
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        hide_keys(scores[c], first_key + c * kChunk);
#pragma unroll
        for (int i = 0; i < kChunk / 2; ++i) largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], scores[c][i]);
      }
      float offset[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float old = maximum[r];
        maximum[r] = fmaxf(old, quad_max(largest[r]));
        offset[r] = -maximum[r] * scale;
        if (own == 0) continue;  // nothing to rescale
        // The difference first: with both at kLowest, what the product lost in rounding would be infinitely large.
        const float factor = exp2_approximately((old - maximum[r]) * scale);
        sum[r] *= factor;
#pragma unroll
        for (int i = 0; i < kHeadDim / 2; ++i) {
          if (i / 2 % 2 == r) output[i] *= factor;
        }
      }

      // The product of the first keys runs beside the exponentials of the others.
      unsigned weights[kChunks][kChunk / 4];
      constexpr int kPart = kChunks == 1 ? kChunk / 2 : kChunk;
#pragma unroll
      for (int key = 0; key < kBlockN; key += kPart) {
        const int c = key / kChunk;
        const int first = key % kChunk;
        exponentials(scores[c], weights[c], first / 2, (first + kPart) / 2, offset);
        if (is_first && first == 0) wait_for_values(own, c);
        if (key == 0) {
          begin(output);
        } else {
          fence();
        }
        issue_output(weights[c] + first / 4, own, key, kPart);
        if (!is_first) finish(output);  // registers are short, and it is rare
      }
      finish(output);
    }
    sum[0] = quad_sum(sum[0]);
    sum[1] = quad_sum(sum[1]);
  };
  if constexpr (kTriesZero) {
    if (!try_zero()) with_maximum(false);
  } else {
    with_maximum(true);
  }

  Element* O_rows = O + (static_cast<size_t>(head) * S + row) * kHeadDim;  // row's, and 8 rows on that of row + 8
  if constexpr (kParties == 1) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float values[kHeadDim / 4];
#pragma unroll
      for (int i = 0; i < kHeadDim / 4; ++i) values[i] = output[i / 2 * 4 + 2 * r + i % 2];
      store<kHeadDim / 8>(O_rows + 8 * r * kHeadDim, values, reciprocal_approximately(sum[r]), row + 8 * r < S);
    }
  } else {
    using Own = Share<kHeadDim>;
    const int thread = threadIdx.x % 128;
    if (kSplit > 1) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");  // the others' barriers exist

    float values[Own::kValues];
#pragma unroll
    for (int p = 0; p < kParties; ++p) {
      if (p == party) {
#pragma unroll
        for (int i = 0; i < Own::kValues; ++i) values[i] = output[Own::accumulator(p, i)];
        continue;
      }
      const unsigned barrier = in_cluster(shared_address(&barriers.received[row_group][p / kSplit]), p % kSplit);
      const unsigned slot = in_cluster(shared_address(smem.received(row_group, p / kSplit)), p % kSplit) +
                            (party - (party > p)) * Own::kSlotBytes;
#pragma unroll
      for (int i = 0; i < Own::kValues; i += Own::kWidth) {
        const float* v = output + Own::accumulator(p, i);
        const unsigned address = slot + i * 512 + thread * Own::kWidth * 4;
        if constexpr (Own::kWidth == 4) {
          send(address, barrier, v[0], v[1], v[4], v[5]);
        } else {
          send(address, barrier, v[0], v[1]);
        }
      }
      send(slot + Own::kValues * 512 + thread * 8, barrier, maximum[p % 2], sum[p % 2]);
    }

    const int r = party % 2;
    const unsigned char* slots = smem.received(row_group, key_group);
    wait_for_cluster(barriers.received[row_group][key_group]);
    float2 theirs[kParties == 1 ? 1 : kParties - 1];  // maximum and sum
    const float own_maximum = r ? maximum[1] : maximum[0];
    float largest = own_maximum;
#pragma unroll
    for (int p = 0; p < kParties - 1; ++p) {
      theirs[p] = *reinterpret_cast<const float2*>(slots + p * Own::kSlotBytes + Own::kValues * 512 + thread * 8);
      largest = fmaxf(largest, theirs[p].x);
    }
    const float own_weight = exp2_approximately((own_maximum - largest) * scale);
    float total = own_weight * (r ? sum[1] : sum[0]);
#pragma unroll
    for (float& value : values) value *= own_weight;
#pragma unroll
    for (int p = 0; p < kParties - 1; ++p) {
      const float weight = exp2_approximately((theirs[p].x - largest) * scale);
      total = fmaf(weight, theirs[p].y, total);
      float part[Own::kValues];
#pragma unroll
      for (int i = 0; i < Own::kValues; i += Own::kWidth) {
        const unsigned char* v = slots + p * Own::kSlotBytes + i * 512 + thread * Own::kWidth * 4;
        if constexpr (Own::kWidth == 4) {
          *reinterpret_cast<float4*>(part + i) = *reinterpret_cast<const float4*>(v);
        } else {
          *reinterpret_cast<float2*>(part + i) = *reinterpret_cast<const float2*>(v);
        }
      }
#pragma unroll
      for (int i = 0; i < Own::kValues; ++i) values[i] = fmaf(weight, part[i], values[i]);
    }
    store<Own::kChunks>(O_rows + 8 * r * kHeadDim + party / 2 * Own::kChunks * 8, values,
                        reciprocal_approximately(total), row + 8 * r < S);
  }
}

#define INSTANTIATE(D)                                                                                         \
  template __global__ void attention<D>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                        const __grid_constant__ TensorMap, const Element*, const Element*,      \
                                        const Element*, Element*, int, int, float);
INSTANTIATE(32)
INSTANTIATE(64)
INSTANTIATE(96)
INSTANTIATE(128)
