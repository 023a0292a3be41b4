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
// Change    From 10_wgmma: no ring, no producer warpgroup, no setmaxnreg; keys split over warpgroups (as 08_key_split does
//           over warps) and CTAs; the first tile finds nothing to rescale; P V's first half runs beside the exponentials
//           of the second.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B * H, S, D]. Tensor maps (D, S, B * H), boxes of 64 columns: as 10_wgmma.
//           grid = (SPLIT ceil(S / (64 ROW_GROUPS)), B * H), clusters of SPLIT; block = 128 ROW_GROUPS KEY_GROUPS.
//           Parties: P = SPLIT KEY_GROUPS; CTA r of the cluster has r, r + SPLIT, .... Tile i of BLOCK_N keys belongs to
//           party i % P. A party's tiles lie side by side in shared memory: K's, then V's; behind all tiles, what each
//           party receives: a slot for each of the P - 1 others.
// Tile      64 rows x BLOCK_N keys per warpgroup: a thread has 2 rows, BLOCK_N / 4 keys of each.
// Resources Shared bytes: 2048 + 128 ceil(D / 64) (64 ROW_GROUPS + 2 S') with S' = S / SPLIT rounded up to KEY_GROUPS BLOCK_N, and
//           ROW_GROUPS KEY_GROUPS (P - 1) (256 D / P + 1024): 83 KiB for S = 512, D = 64, SPLIT = KEY_GROUPS = 2.
//           Registers: D / 2 output + BLOCK_N / 2 scores, which become BLOCK_N / 4 weights.
// Bound     H200, B32 H8 S128 D64: 12.6 MB from L2 and 4.2 MB to it are 3.1 us at 5.5 TB/s; products are 1 us, exponentials
//           as much; with launch and first copy 4.5 us. B1 H8 S512 D64 in 128 CTAs: 72 KiB per SM at 64 B/clk are 0.6 us,
//           exponentials (16 per clock) 0.55 us, each product 0.14 us; latencies of launch, copies and merge 2.5 us.
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
constexpr int kChunk = CHUNK;             // keys per copy and per product
constexpr int kChunks = kBlockN / kChunk;  // of a tile
constexpr int kHeads = HEADS;             // heads of a CTA, each with warpgroups of its own
constexpr int kGroups = kHeads * kKeyGroups;  // of warpgroups, each with tiles of its own
constexpr bool kTriesZero = TRY_ZERO;     // weights are tried relative to 0 before a maximum is looked for
constexpr bool kByThreads = COPY == 1;    // cp.async by all threads instead of TMA
constexpr int kPolynomials = POLY;        // of each 16 weights of a thread
constexpr int kThreads = 128 * kRowGroups * kGroups;
static_assert(kHeads == 1 || kKeyGroups == 1, "a group is a head or a share of the keys");
static_assert(!kByThreads || (kThreads == 128 && kHeads == 1), "one warpgroup copies");
constexpr int kMostTiles = 32;  // of a CTA

constexpr int kPanelColumns = 64;  // of one 128-byte swizzled row
constexpr int kRowBytes = 128;
constexpr int kSwizzleBytes = 1024;  // the pattern repeats every 8 rows
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLowest = -1e30f;  // below every score; finite, so that differences are no NaN
constexpr float kLargestSum = 32768.0f;  // of a row's weights against 0: fp16 holds 65504
constexpr float kSmallestSum = 0.0625f;  // and the least: weights below 2^-14 lose places in fp16, 768 of them 2^-15.4 at most

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

// All but the last kPending groups are complete, those of `accumulators` among them.
template <int kPending = 0, int kCount>
__device__ __forceinline__ void finish(float (&accumulators)[kCount]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(accumulators[i])::"memory");
}

// Is it so for any thread of the warpgroup?
template <int kNumber>
__device__ bool anyone_at(bool value) {
  int result;
  asm volatile("{\n.reg .pred p, q;\nsetp.ne.s32 p, %1, 0;\nbar.red.or.pred q, %2, 128, p;\nselp.s32 %0, 1, 0, q;\n}\n"
               : "=r"(result)
               : "r"(static_cast<int>(value)), "n"(kNumber)
               : "memory");
  return __any_sync(kAllLanes, result != 0);
}
__device__ bool anyone_of_warpgroup(int warpgroup, bool value) {
  switch (kThreads == 128 ? 0 : warpgroup) {
    case 0: return anyone_at<2>(value);
    case 1: return anyone_at<3>(value);
    case 2: return anyone_at<4>(value);
    default: return anyone_at<5>(value);
  }
}

// ---- softmax ----

__device__ float exp2_approximately(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// 2^x without MUFU; as in lab-slack.
constexpr float kLowestPower = -125.0f;
constexpr float kPowers = 240.0f;
constexpr float kWhole = 12582912.0f;
__device__ float place_of_power(float score, float scale, float shift) {
  float t;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(t) : "f"(score), "f"(scale), "f"(shift));
  return t;
}
__device__ float exp2_by_polynomial(float t) {
  const float whole = fmaf(t, kPowers, kWhole + kLowestPower);
  const float rest = fmaf(t, kPowers, (kWhole + kLowestPower) - whole);  // in [-0.5, 0.5]
  float power = fmaf(0.05500893f, rest, 0.24221096f);
  power = fmaf(power, rest, 0.69328293f);
  power = fmaf(power, rest, 1.0f);
  return __uint_as_float(__float_as_uint(power) + (__float_as_uint(whole) << 23));
}
__device__ constexpr bool is_polynomial(int i) {
  return (i % 16 + 1) * kPolynomials / 16 != i % 16 * kPolynomials / 16;
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
  unsigned long long Q_full[kRowGroups * kHeads], K_full[kMostTiles * kChunks], V_full[kMostTiles * kChunks];
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
    return begin + kRowGroups * kHeads * kQueryBytes + (key_group * 2 * tiles_per_party + i) * kTileBytes;
  }
  __device__ unsigned char* V(int key_group, int i) const { return K(key_group, i) + tiles_per_party * kTileBytes; }
  __device__ unsigned char* received(int row_group, int key_group) const {
    return K(kGroups, 0) + (row_group * kKeyGroups + key_group) * (kParties - 1) * Share<kHeadDim>::kSlotBytes;
  }
};

// After barriers are initialised: before copies to them start and other CTAs use them.
__device__ void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Starts to copy `rows` rows of all panels, which are panel_rows apart.
template <int kPanels>
__device__ void copy_rows(unsigned char* tile, const TensorMap& map, int rows, int panel_rows, int row, int head,
                          unsigned long long& barrier) {
  expect(barrier, kPanels * rows * kRowBytes);
#pragma unroll
  for (int p = 0; p < kPanels; ++p) copy_box(tile + p * panel_rows * kRowBytes, map, p * kPanelColumns, row, head, barrier);
}

// The same by 128 threads: rows of 128 bytes, swizzled as the copy engine would; zeros from row `end` on.
template <int kRows>
__device__ void copy_by_threads(unsigned char* tile, const Element* from, int end) {
  const int piece = threadIdx.x % 8;
  const int first = threadIdx.x / 8;
  const unsigned to = shared_address(tile) + first * kRowBytes + (piece ^ first % 8) * 16;
#pragma unroll
  for (int i = 0; i < kRows; i += 16) {
    const int inside = first + i < end ? 16 : 0;
    const Element* source = from + (inside ? first + i : 0) * 64 + piece * 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + i * kRowBytes),
                 "l"(__cvta_generic_to_global(source)), "r"(inside)
                 : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// All but the last kPending groups of copies are there, for products too.
template <int kPending>
__device__ void wait_for_threads() {
  asm volatile("cp.async.wait_group %0;\nfence.proxy.async.shared::cta;" ::"n"(kPending) : "memory");
  asm volatile("bar.sync 1, 128;" ::: "memory");
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, CTAS)
    attention(const __grid_constant__ TensorMap Q,  // boxes of 64 rows x 64 columns
              const __grid_constant__ TensorMap K,  // kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V,  // kBlockN rows x 64 columns
              const Element* __restrict__ Q_elements, const Element* __restrict__ K_elements,
              const Element* __restrict__ V_elements,
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
  const int group = warp / 4 / kRowGroups;
  const int key_group = kHeads == 1 ? group : 0;
  const int head_group = kHeads == 1 ? 0 : group;
  const int lane = threadIdx.x % 32;
  const int rank = blockIdx.x % kSplit;
  const int party = key_group * kSplit + rank;
  const int head = blockIdx.y * kHeads + head_group;
  const int first_row = blockIdx.x / kSplit * kBlockM;
  const int keys = causal ? min(S, first_row + kBlockM) : S;  // that any row of the CTA sees
  const int key_tiles = (keys + kBlockN - 1) / kBlockN;
  const int own_tiles = (key_tiles - party + kParties - 1) / kParties;  // party, party + kParties, ...
  unsigned long long* K_full = barriers.K_full + group * smem.tiles_per_party * kChunks;
  unsigned long long* V_full = barriers.V_full + group * smem.tiles_per_party * kChunks;
  unsigned long long& Q_full = barriers.Q_full[head_group * kRowGroups + row_group];
  unsigned char* Q_tile = smem.Q(head_group * kRowGroups + row_group);

  // Whoever initialises a barrier starts its copy, and waits for nobody.
  if (kByThreads) {
    const size_t head_start = static_cast<size_t>(head) * S * 64;
    copy_by_threads<64>(Q_tile, Q_elements + head_start + first_row * 64, S - first_row);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int first_key = party * kBlockN + c * kChunk;
      copy_by_threads<kChunk>(smem.K(group, 0) + c * kChunk * kRowBytes, K_elements + head_start + first_key * 64, S - first_key);
    }
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int first_key = party * kBlockN + c * kChunk;
      copy_by_threads<kChunk>(smem.V(group, 0) + c * kChunk * kRowBytes, V_elements + head_start + first_key * 64, S - first_key);
    }
  }
  if (lane == 0) {
    if (!kByThreads && warp % 4 == 0 && key_group == 0) {
      init(Q_full, 1);
      publish_barriers();
      copy_rows<kPanels>(Q_tile, Q, 64, 64, first_row + 64 * row_group, head, Q_full);
    }
    if (!kByThreads && warp % 4 == 1 && row_group == 0) {
#pragma unroll 1
      for (int i = 0; i < own_tiles * kChunks; ++i) {
        init(K_full[i], 1);
        init(V_full[i], 1);
      }
      publish_barriers();
#pragma unroll 1
      for (int i = 0; i < own_tiles; ++i) {
        const int first_key = (party + i * kParties) * kBlockN;
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
          copy_rows<kPanels>(smem.K(group, i) + c * kChunk * kRowBytes, K, kChunk, kBlockN, first_key + c * kChunk, head,
                             K_full[i * kChunks + c]);
        }
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
          copy_rows<kPanels>(smem.V(group, i) + c * kChunk * kRowBytes, V, kChunk, kBlockN, first_key + c * kChunk, head,
                             V_full[i * kChunks + c]);
        }
      }
    }
    if (!kByThreads && PREFETCH && warp == 3) {
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
  if (!kByThreads || kParties > 1) __syncthreads();  // barriers exist

  const float scale = softmax_scale * kLog2E;  // weights are powers of 2
  const int quad_lane = lane % 4;
  const int row = first_row + 64 * row_group + warp % 4 * 16 + lane / 4;  // and row + 8
  // Keys from here on are hidden from some row of the warpgroup.
  const int keys_of_all = causal ? min(S, first_row + 64 * row_group + 1) : S;

  float output[kHeadDim / 2];
  float maximum[2];
  float sum[2];  // of this thread's keys, then of the row's
  const unsigned long long Q_operand = operand(Q_tile);

  const auto issue_scores = [&](float (&scores)[kChunk / 2], int own, int c) {
    const unsigned long long K_operand = operand(smem.K(group, own) + c * kChunk * kRowBytes);
#pragma unroll
    for (int d = 0; d < kHeadDim; d += 16) {
      const int panel = d / kPanelColumns;
      const int bytes = d % kPanelColumns * 2;
      Wgmma<kChunk>::shared(scores, further(Q_operand, panel * 64 * kRowBytes + bytes),
                            further(K_operand, panel * kBlockN * kRowBytes + bytes), d > 0);
    }
    commit();
  };
  const auto hide = [&](float (&scores)[kChunk / 2], int first) {
    const int first_key = first + quad_lane * 2;
#pragma unroll
    for (int i = 0; i < kChunk / 2; ++i) {
      const int hidden_from = causal ? min(S, row + (i & 2 ? 9 : 1)) : S;
      if (i / 4 * 8 + i % 2 >= hidden_from - first_key) scores[i] = -INFINITY;
    }
  };
  // Accumulators 8 j ... 8 j + 7 are keys 16 j ... 16 j + 15: in pairs, the A operand of the second product.
  const auto exponentials = [&](const float (&scores)[kChunk / 2], unsigned* weights, int from, int to,
                                const float (&offset)[2], bool may_be_polynomial) {
    const float shift[2] = {offset[0] / kPowers - kLowestPower / kPowers, offset[1] / kPowers - kLowestPower / kPowers};
    const auto weigh = [&](int i, int r) {
      return may_be_polynomial && is_polynomial(i) ? exp2_by_polynomial(place_of_power(scores[i], scale / kPowers, shift[r]))
                                                   : exp2_approximately(fmaf(scores[i], scale, offset[r]));
    };
#pragma unroll
    for (int i = from; i < to; i += 2) {
      const int r = i / 2 % 2;
      const float low = weigh(i, r);
      const float high = weigh(i + 1, r);
      sum[r] += low + high;
      weights[i / 2] = pack(low, high);
    }
  };
  const auto issue_output = [&](const unsigned* weights, int own, int first, int count) {
    const unsigned long long V_operand = operand(smem.V(group, own), kBlockN * kRowBytes);
#pragma unroll
    for (int key = 0; key < count; key += 16) {
      Wgmma<kHeadDim>::registers(output, weights + key / 4, further(V_operand, (first + key) * kRowBytes), true);
    }
    commit();
  };
  const auto start = [&]() {
#pragma unroll
    for (float& value : output) value = 0.0f;
    maximum[0] = maximum[1] = kLowest;
    sum[0] = sum[1] = 0.0f;
  };

  // Sums of the whole row; is one of the warpgroup's rows out of range? A row that sees none of these keys has no part in
  // the output.
  const auto anyone_misses = [&]() {
    bool fits = true;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] = quad_sum(sum[r]);
      const bool sees = party * kBlockN < (causal ? min(S, row + 8 * r + 1) : S);
      maximum[r] = sees ? 0.0f : kLowest;
      if (sees) fits = fits && sum[r] >= kSmallestSum && sum[r] <= kLargestSum;
    }
    return anyone_of_warpgroup(warp / 4, !fits);
  };
  // Weights relative to 0: exponentials of a chunk start when its scores are there, beside the products of the others.
  const auto try_zero = [&]() {
    start();
    const float offset[2] = {0.0f, 0.0f};
    bool misses = false;
    if (!kByThreads) {
      wait(Q_full);
    } else if (own_tiles == 0) {
      wait_for_threads<0>();
    }
#pragma unroll 1
    for (int own = 0; own < own_tiles; ++own) {
      const int tile = party + own * kParties;
      float scores[kChunks][kChunk / 2];
      unsigned weights[kChunks][kChunk / 4];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        if (kByThreads) {
          if (c == 0) wait_for_threads<2 * kChunks - 1>();
          if (c == 1) wait_for_threads<2 * kChunks - 2>();
          if (c == 2) wait_for_threads<2 * kChunks - 3>();
          if (c == 3) wait_for_threads<2 * kChunks - 4>();
        } else {
          wait(K_full[own * kChunks + c]);
        }
        begin(scores[c]);
        issue_scores(scores[c], own, c);
      }
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        finish<kChunks - 1>(scores[c]);
        if (tile * kBlockN + (c + 1) * kChunk > keys_of_all) hide(scores[c], tile * kBlockN + c * kChunk);
        exponentials(scores[c], weights[c], 0, kChunk / 2, offset, true);
        if (kByThreads) {
          if (c == 0) wait_for_threads<kChunks - 1>();
          if (c == 1) wait_for_threads<kChunks == 1 ? 0 : kChunks - 2>();
          if (c == 2) wait_for_threads<kChunks <= 2 ? 0 : kChunks - 3>();
          if (c == 3) wait_for_threads<0>();
        } else {
          wait(V_full[own * kChunks + c]);
        }
        if (c == 0) {
          begin(output);
        } else {
          fence();
        }
        issue_output(weights[c], own, c * kChunk, kChunk);
      }
      if (own + 1 == own_tiles) misses = anyone_misses();  // beside the last product
      finish(output);
    }
    return misses;
  };

  const auto with_maximum = [&](bool is_first) {
    start();
    if (is_first) {
      if (kByThreads) wait_for_threads<0>(); else wait(Q_full);
    }
#pragma unroll 1
    for (int own = 0; own < own_tiles; ++own) {
      const int tile = party + own * kParties;
      float scores[kChunks][kChunk / 2];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        if (!kByThreads) wait(K_full[own * kChunks + c]);
        begin(scores[c]);
        issue_scores(scores[c], own, c);
      }
#pragma unroll
      for (int c = 0; c < kChunks; ++c) finish(scores[c]);

      if ((tile + 1) * kBlockN > keys_of_all) {
#pragma unroll
        for (int c = 0; c < kChunks; ++c) hide(scores[c], tile * kBlockN + c * kChunk);
      }
      float largest[2] = {kLowest, kLowest};
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
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
      constexpr int kHalf = kChunks == 1 ? kChunk / 2 : kChunk;
#pragma unroll
      for (int key = 0; key < kBlockN; key += kHalf) {
        const int c = key / kChunk;
        exponentials(scores[c], weights[c], key % kChunk / 2, (key % kChunk + kHalf) / 2, offset, false);
        if (!kByThreads && key % kChunk == 0) wait(V_full[own * kChunks + c]);
        if (key == 0) {
          begin(output);
        } else {
          fence();
        }
        issue_output(weights[c] + key % kChunk / 4, own, key, kHalf);
      }
      finish(output);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] = quad_sum(sum[r]);
  };
  if (kTriesZero) {
    if (try_zero()) with_maximum(false);
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
                                        const __grid_constant__ TensorMap, const Element*, const Element*,     \
                                        const Element*, Element*, int, int, float);
INSTANTIATE(32)
INSTANTIATE(64)
INSTANTIATE(96)
INSTANTIATE(128)
