#include <cstddef>
#include <cuda_fp16.h>

// ---- parameters (macros) ----
#ifndef PARTS
#define PARTS 1
#endif
#ifndef GUESS
#define GUESS 0
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef BLOCK_N
#define BLOCK_N 128
#endif
#ifndef MODE
#define MODE 3  // 1: overlap in the warpgroup; 3: both products in one phase
#endif
#ifndef OPTIMISTIC
#define OPTIMISTIC 0
#endif
#ifndef DYNAMIC
#define DYNAMIC 1
#endif
#ifndef PV_FIRST
#define PV_FIRST 0
#endif
#ifndef PING_PONG
#define PING_PONG 0
#endif
#ifndef PRODUCER_WARPS
#define PRODUCER_WARPS 4
#endif
#ifndef CONSUMER_REGISTERS
#define CONSUMER_REGISTERS 240
#endif
#ifndef PRODUCER_REGISTERS
#define PRODUCER_REGISTERS 24
#endif
#ifndef CTAS
#define CTAS 1
#endif
#ifndef TAU
#define TAU 8
#endif
#ifndef POLY
#define POLY 0  // of every 16 exponentials
#endif
#ifndef SPLIT_MASK
#define SPLIT_MASK 0
#endif
#ifndef HEAD_DIM
#define HEAD_DIM 64
#endif

constexpr int kConsumers = CONSUMERS;
constexpr int kBlockM = 64 * kConsumers;
constexpr int kBlockN = BLOCK_N;
constexpr int kStages = STAGES;
constexpr int kThreads = 128 * kConsumers + 32 * PRODUCER_WARPS;
constexpr int kPanel = 64;           // columns of a 128-byte swizzled row
constexpr int kRowBytes = 128;

struct alignas(64) TensorMap {
  unsigned long long words[16];
};

// ---------------------------------------------------------------- mbarriers and TMA
__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
__device__ int load_shared(unsigned address) {
  int value;
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
__device__ void barrier_init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ void barrier_expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ void barrier_wait(unsigned barrier, unsigned phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra DONE;\n"
      "bra WAIT;\n"
      "DONE:\n"
      "}\n" ::"r"(barrier), "r"(phase) : "memory");
}
__device__ void tma_load(unsigned destination, const TensorMap* map, int column, int row, int head, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
      ::"r"(destination), "l"(map), "r"(column), "r"(row), "r"(head), "r"(barrier) : "memory");
}

// ---------------------------------------------------------------- wgmma
#define G0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define G1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define G2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define G3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define G4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define G5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define G6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define G7 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define G8 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define G9 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define G10 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define G11 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define F8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

template <int N>
struct Wgmma;

// n0 ...: the numbers of the operands behind the accumulators.
#define WGMMA(N, TEXT, n0, n1, n2, n3, n4, n5, ...)                                                              \
  template <>                                                                                                    \
  struct Wgmma<N> {                                                                                              \
    static __device__ __forceinline__ void ss(float (&d)[N / 2], unsigned long long a, unsigned long long b, int keep) { \
      asm volatile(                                                                                              \
          "{\n.reg .pred keep;\nsetp.ne.b32 keep, %" #n2 ", 0;\n"                                                \
          "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" TEXT "}, %" #n0 ", %" #n1                   \
          ", keep, 1, 1, 0, 0;\n}\n"                                                                             \
          : __VA_ARGS__                                                                                          \
          : "l"(a), "l"(b), "r"(keep));                                                                          \
    }                                                                                                            \
    static __device__ __forceinline__ void rs(float (&d)[N / 2], const unsigned* a, unsigned long long b, int keep) {    \
      asm volatile(                                                                                              \
          "{\n.reg .pred keep;\nsetp.ne.b32 keep, %" #n5 ", 0;\n"                                                \
          "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.f16.f16 {" TEXT "}, {%" #n0 ", %" #n1 ", %" #n2        \
          ", %" #n3 "}, %" #n4 ", keep, 1, 1, 1;\n}\n"                                                           \
          : __VA_ARGS__                                                                                          \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));                                      \
    }                                                                                                            \
  };

WGMMA(32, G0 G1, 16, 17, 18, 19, 20, 21, F8(0), F8(8))
WGMMA(64, G0 G1 G2 G3, 32, 33, 34, 35, 36, 37, F8(0), F8(8), F8(16), F8(24))
WGMMA(80, G0 G1 G2 G3 G4, 40, 41, 42, 43, 44, 45, F8(0), F8(8), F8(16), F8(24), F8(32))
WGMMA(96, G0 G1 G2 G3 G4 G5, 48, 49, 50, 51, 52, 53, F8(0), F8(8), F8(16), F8(24), F8(32), F8(40))
WGMMA(112, G0 G1 G2 G3 G4 G5 G6, 56, 57, 58, 59, 60, 61, F8(0), F8(8), F8(16), F8(24), F8(32), F8(40), F8(48))
WGMMA(128, G0 G1 G2 G3 G4 G5 G6 G7, 64, 65, 66, 67, 68, 69, F8(0), F8(8), F8(16), F8(24), F8(32), F8(40), F8(48), F8(56))
WGMMA(144, G0 G1 G2 G3 G4 G5 G6 G7 G8, 72, 73, 74, 75, 76, 77, F8(0), F8(8), F8(16), F8(24), F8(32), F8(40), F8(48), F8(56), F8(64))
WGMMA(160, G0 G1 G2 G3 G4 G5 G6 G7 G8 G9, 80, 81, 82, 83, 84, 85, F8(0), F8(8), F8(16), F8(24), F8(32), F8(40), F8(48), F8(56), F8(64), F8(72))
WGMMA(176, G0 G1 G2 G3 G4 G5 G6 G7 G8 G9 G10, 88, 89, 90, 91, 92, 93, F8(0), F8(8), F8(16), F8(24), F8(32), F8(40), F8(48), F8(56), F8(64), F8(72), F8(80))
WGMMA(192, G0 G1 G2 G3 G4 G5 G6 G7 G8 G9 G10 G11, 96, 97, 98, 99, 100, 101, F8(0), F8(8), F8(16), F8(24), F8(32), F8(40), F8(48), F8(56), F8(64), F8(72), F8(80), F8(88))

__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Keeps the compiler from moving reads or writes of registers across, which wgmma owns until it is waited for.
template <int kCount>
__device__ __forceinline__ void pin(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// 128-byte swizzled tile; rows of 64 halves. The low 14 bits are the address / 16.
// stride: from 8 rows to the next 8 (1024 bytes); leading: from one panel of 64 columns to the next (MN-major only).
__device__ __forceinline__ unsigned long long descriptor(unsigned address, unsigned leading_bytes) {
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) |
         static_cast<unsigned long long>(leading_bytes >> 4) << 16 |
         static_cast<unsigned long long>(1024 >> 4) << 32 | 1ull << 62;
}

template <int kHeadDim>
struct SharedTiles {
  static constexpr int kPanels = (kHeadDim + kPanel - 1) / kPanel;
  alignas(1024) half Q[2][kConsumers][kPanels][64][kPanel];
  alignas(1024) half K[kStages][kPanels][kBlockN][kPanel];
  alignas(1024) half V[kStages][kPanels][kBlockN][kPanel];
  alignas(8) unsigned long long Q_full[2], Q_empty[2];
  int tile[2];
  alignas(8) unsigned long long K_full[kStages], K_empty[kStages], V_full[kStages], V_empty[kStages];
};

struct Tile {
  int head, first_row, blocks;
};

struct Schedule {
  int S, heads, row_tiles, section, causal;
  __device__ Tile operator()(int index) const {
    Tile tile;
    int row_tile;
    if (causal) {
      const int per_section = section * row_tiles;
      const int s = index / per_section;
      const int width = min(section, heads - s * section);
      const int rest = index - s * per_section;
      row_tile = row_tiles - 1 - rest / width;
      tile.head = s * section + rest % width;
    } else {
      tile.head = index / row_tiles;
      row_tile = index % row_tiles;
    }
    tile.first_row = row_tile * kBlockM;
    const int keys = causal ? min(S, tile.first_row + kBlockM) : S;
    tile.blocks = (keys + kBlockN - 1) / kBlockN;
    return tile;
  }
};

// Snake order: every other round of the grid goes backwards.
__device__ int tile_index(int round) {
  return round * gridDim.x + ((round & 1) ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
}

__device__ __forceinline__ float exp2_unit(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// On FP32 pipes: 2^x = 2^n * 2^f, |f| <= 1/2, degree 3 or 4; x is clamped, so that -inf gives about 0.
__device__ __forceinline__ float exp2_fma(float x) {
  x = fmaxf(x, -126.0f);
  const float magic = 12582912.0f;  // 1.5 * 2^23
  const float rounded = x + magic;
  const float f = x - (rounded - magic);
  float p = 0.05517164617776870727539062f;
  p = fmaf(p, f, 0.24263046681880950927734375f);
  p = fmaf(p, f, 0.69314718246459960937500f);
  p = fmaf(p, f, 1.0f);
  return __int_as_float(__float_as_int(p) + (__float_as_int(rounded) << 23));
}

__device__ __forceinline__ unsigned pack(float low, float high) {
  unsigned result;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

template <int kCount>
struct Ring {
  int stage = 0;
  unsigned phase = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kCount) {
      stage = 0;
      phase ^= 1;
    }
  }
};

using Pipe = Ring<kStages>;

template <int kHeadDim>
#if PRODUCER_WARPS == 1
__global__ void __maxnreg__(CONSUMER_REGISTERS)
#else
__global__ void __launch_bounds__(kThreads, CTAS)
#endif
    attention(const __grid_constant__ TensorMap Q_map,  // [B * H, S, kHeadDim], box 64 rows x 64 columns
              const __grid_constant__ TensorMap K_map,  // box kBlockN rows x 64 columns
              const __grid_constant__ TensorMap V_map, half* __restrict__ O, int* __restrict__ next_tile, int S, int heads, int causal,
              int section, float softmax_scale) {
  using Tiles = SharedTiles<kHeadDim>;
  constexpr int kPanels = Tiles::kPanels;
  extern __shared__ unsigned char raw[];
  Tiles& smem = *reinterpret_cast<Tiles*>(raw + ((1024 - (shared_address(raw) & 1023)) & 1023));
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);  // known to be the same in the warp
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      barrier_init(shared_address(&smem.Q_full[s]), 1);
      barrier_init(shared_address(&smem.Q_empty[s]), 4 * kConsumers);
    }
    for (int s = 0; s < kStages; ++s) {
      barrier_init(shared_address(&smem.K_full[s]), 1);
      barrier_init(shared_address(&smem.V_full[s]), 1);
      barrier_init(shared_address(&smem.K_empty[s]), 4 * kConsumers);
      barrier_init(shared_address(&smem.V_empty[s]), 4 * kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();

  const Schedule schedule{S, heads, (S + kBlockM - 1) / kBlockM, section, causal};
  const int tiles = heads * schedule.row_tiles;

  if (warpgroup == kConsumers) {
#if PRODUCER_WARPS == 4
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
#endif
    if (threadIdx.x != 128 * kConsumers) return;
    constexpr int kTileBytes = kPanels * kBlockN * kRowBytes;
    constexpr int kQBytes = kPanels * 64 * kRowBytes;
    Pipe k, v;
    Ring<2> q;
    const unsigned base = shared_address(&smem);
    auto load = [&](Pipe& pipe, const TensorMap* map, unsigned tiles_at, unsigned full_at, unsigned empty_at, int row, int head) {
      barrier_wait(base + empty_at + 8 * pipe.stage, pipe.phase ^ 1);
      const unsigned barrier = base + full_at + 8 * pipe.stage;
      barrier_expect(barrier, kTileBytes);
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        tma_load(base + tiles_at + pipe.stage * kTileBytes + p * kBlockN * kRowBytes, map, p * kPanel, row, head, barrier);
      }
      pipe.advance();
    };
    int index = blockIdx.x;
    int V_row = -1, V_head = 0;
#if !DYNAMIC
    int round = 0;
#endif
#pragma unroll 1
    for (;;) {
      const bool is_last = index >= tiles;
      const Tile tile = schedule(is_last ? 0 : index);
      barrier_wait(base + offsetof(Tiles, Q_empty) + 8 * q.stage, q.phase ^ 1);
      const unsigned Q_barrier = base + offsetof(Tiles, Q_full) + 8 * q.stage;
      smem.tile[q.stage] = is_last ? -1 : index;
      if (is_last) {
        barrier_arrive(Q_barrier);
        break;
      }
      barrier_expect(Q_barrier, kConsumers * kQBytes);
#pragma unroll 1
      for (int w = 0; w < kConsumers; ++w) {
#pragma unroll
        for (int p = 0; p < kPanels; ++p) {
          tma_load(base + offsetof(Tiles, Q) + (q.stage * kConsumers + w) * kQBytes + p * 64 * kRowBytes, &Q_map, p * kPanel, tile.first_row + 64 * w, tile.head, Q_barrier);
        }
      }
      q.advance();
#if DYNAMIC
      // Whoever draws last leaves 0 for the next launch.
      const int drawn = atomicAdd(next_tile, 1);
#endif
#pragma unroll 1
      for (int row = (tile.blocks - 1) * kBlockN; row >= 0; row -= kBlockN) {
        load(k, &K_map, offsetof(Tiles, K), offsetof(Tiles, K_full), offsetof(Tiles, K_empty), row, tile.head);
        // V is needed one block later than K.
        if (V_row >= 0) load(v, &V_map, offsetof(Tiles, V), offsetof(Tiles, V_full), offsetof(Tiles, V_empty), V_row, V_head);
        V_row = row;
        V_head = tile.head;
      }
#if DYNAMIC
      if (drawn == tiles - 1) *next_tile = 0;
      index = gridDim.x + drawn;
#else
      index = tile_index(++round);
#endif
    }
    if (V_row >= 0) load(v, &V_map, offsetof(Tiles, V), offsetof(Tiles, V_full), offsetof(Tiles, V_empty), V_row, V_head);
  } else {
#if PRODUCER_WARPS == 4
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
#endif
    const unsigned base = shared_address(&smem);
    const int lane = threadIdx.x % 32;
    const int quad_lane = lane % 4;
    const int row_in_tile = 64 * warpgroup + (threadIdx.x % 128) / 32 * 16 + lane / 4;  // and + 8
    const float scale = softmax_scale * 1.4426950408889634f;  // of exponents in base 2
    unsigned step = 0;   // of the stream of key tiles: K's place in its ring; V's is one behind
    unsigned turn = 0;   // of the stream of query tiles
    auto at = [](unsigned n) { return 8 * (n % kStages); };
    auto parity = [](unsigned n) { return n / kStages & 1; };

    float scores[kBlockN / 2];
    float output[kHeadDim / 2];
    unsigned weights[kBlockN / 4];
    float maximum[2], sum[2];

    auto first_products = [&](int stage) {
      const unsigned long long Q_tile = descriptor(base + offsetof(Tiles, Q) + ((~turn & 1) * kConsumers + warpgroup) * kPanels * 64 * kRowBytes, 0);
      const unsigned long long K_tile = descriptor(base + offsetof(Tiles, K) + stage * kPanels * kBlockN * kRowBytes, 0);
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        const unsigned q = (d / 4) * 64 * kRowBytes + (d % 4) * 32;
        const unsigned n = (d / 4) * kBlockN * kRowBytes + (d % 4) * 32;
        Wgmma<kBlockN>::ss(scores, Q_tile + (q >> 4), K_tile + (n >> 4), d > 0);
      }
    };
    auto second_products = [&](int stage, int keep) {
      const unsigned long long V_tile = descriptor(base + offsetof(Tiles, V) + stage * kPanels * kBlockN * kRowBytes, kBlockN * kRowBytes);
#pragma unroll
      for (int j = 0; j < kBlockN / 16; ++j) {
        Wgmma<kHeadDim>::rs(output, &weights[4 * j], V_tile + (16 * kRowBytes >> 4) * j, j > 0 ? 1 : keep);
      }
    };
    auto release = [&](unsigned empty) {
      if (lane == 0) barrier_arrive(empty);
    };
    // Named barriers 1 ... kConsumers: warpgroup w may issue its products when it is its turn.
    auto my_turn = [&]() {
#if PING_PONG
      asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup) : "memory");
#endif
    };
    auto next_turn = [&]() {
#if PING_PONG
      asm volatile("bar.arrive %0, 256;" ::"r"(1 + (warpgroup + 1) % kConsumers) : "memory");
#endif
    };
#if PING_PONG
    if (warpgroup == kConsumers - 1) next_turn();
#endif


    int first_row = 0, row = 0, block = 0;
    bool sees = false;
      auto mask = [&](int block) {
        const int base = block * kBlockN + 2 * quad_lane;
        const int end0 = (causal ? min(S, row + 1) : S) - base;
        const int end1 = (causal ? min(S, row + 9) : S) - base;
#pragma unroll
        for (int i = 0; i < kBlockN / 2; ++i) {
          const int key = i / 4 * 8 + i % 2;
          if (key >= (i & 2 ? end1 : end0)) scores[i] = -INFINITY;
        }
      };

    // The maxima of scores `from` ... of both rows replace smaller ones; all that was made with these is rescaled.
    auto raise_maximum = [&](int from, float (&partial)[2]) {
      float largest[2] = {-1e30f, -1e30f};
#pragma unroll
      for (int i = from; i < kBlockN / 2; ++i) largest[i >> 1 & 1] = fmaxf(largest[i >> 1 & 1], scores[i]);
      float factor[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[r] = fmaxf(largest[r], __shfl_xor_sync(~0u, largest[r], 1));
        largest[r] = fmaxf(largest[r], __shfl_xor_sync(~0u, largest[r], 2));
        largest[r] = fmaxf(largest[r], maximum[r]);
        factor[r] = exp2_unit((maximum[r] - largest[r]) * scale);
        maximum[r] = largest[r];
        sum[r] *= factor[r];
        partial[r] *= factor[r];
      }
#pragma unroll
      for (int i = 0; i < from / 2; ++i) {
        const __half2 scaled = __hmul2(*reinterpret_cast<__half2*>(&weights[i]), __float2half2_rn(factor[i & 1]));
        weights[i] = *reinterpret_cast<const unsigned*>(&scaled);
      }
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] *= factor[i >> 1 & 1];
    };
    // Weights of scores `from` ... `to` - 1; returns their sums.
    auto exponentials = [&](int from, int to, float (&part)[2]) {
      const float offset[2] = {maximum[0] * scale, maximum[1] * scale};
      part[0] = part[1] = 0.0f;
#pragma unroll
      for (int i = from; i < to; i += 2) {
        const int r = i >> 1 & 1;
        const float p = exp2_unit(fmaf(scores[i], scale, -offset[r]));
        const float q = exp2_unit(fmaf(scores[i + 1], scale, -offset[r]));
        part[r] += p;
        part[r] += q;
        weights[i / 2] = pack(p, q);
      }
    };
    constexpr int kPart = kBlockN / 2 / PARTS;
    static_assert(kPart % 4 == 0, "");
    auto softmax = [&]() {
      float partial[2] = {0.0f, 0.0f};
#pragma unroll
      for (int from = 0; from < kBlockN / 2; from += kPart) {
        float part[2];
        exponentials(from, from + kPart, part);
        if (__any_sync(~0u, !(part[0] <= 32768.0f && part[1] <= 32768.0f))) {
          raise_maximum(from, partial);
          exponentials(from, from + kPart, part);
        }
        partial[0] += part[0];
        partial[1] += part[1];
      }
      sum[0] += partial[0];
      sum[1] += partial[1];
    };
    // Of the first keys of a tile.
    auto first_softmax = [&]() {
      float partial[2] = {0.0f, 0.0f};
      sum[0] = sum[1] = 0.0f;
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) output[i] = 0.0f;
#if GUESS
      maximum[0] = maximum[1] = 0.0f;
      exponentials(0, kBlockN / 2, partial);
      bool fits = true;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float total = partial[r] + __shfl_xor_sync(~0u, partial[r], 1);
        total += __shfl_xor_sync(~0u, total, 2);
        fits = fits && total >= 1.0f && total <= 32768.0f;
      }
      if (__any_sync(~0u, !fits)) {
#endif
        maximum[0] = maximum[1] = -1e30f;
        raise_maximum(0, partial);
        exponentials(0, kBlockN / 2, partial);
#if GUESS
      }
#endif
      sum[0] = partial[0];
      sum[1] = partial[1];
    };
      auto store_output = [&](const Tile& tile) {
      const int row = tile.first_row + row_in_tile;
      float inverse[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float total = sum[r] + __shfl_xor_sync(~0u, sum[r], 1);
        total += __shfl_xor_sync(~0u, total, 2);
        inverse[r] = 1.0f / total;
      }
      // 4 x 4 transposes within a quad: a lane ends up with 8 neighbouring columns of a row.
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        half* O_row = O + (static_cast<size_t>(tile.head) * S + row + 8 * r) * kHeadDim;
#pragma unroll
        for (int c = 0; c < kHeadDim / 32; ++c) {
          unsigned piece[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const int i = 4 * (4 * c + j) + 2 * r;
            piece[j] = pack(output[i] * inverse[r], output[i + 1] * inverse[r]);
          }
#pragma unroll
          for (int bit = 1; bit <= 2; bit *= 2) {
            const bool upper = quad_lane & bit;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
              if (j & bit) continue;
              const unsigned sent = upper ? piece[j] : piece[j | bit];
              const unsigned received = __shfl_xor_sync(~0u, sent, bit);
              if (upper) piece[j] = received; else piece[j | bit] = received;
            }
          }
          if (row + 8 * r < S) {
            *reinterpret_cast<uint4*>(O_row + 32 * c + 8 * quad_lane) = make_uint4(piece[0], piece[1], piece[2], piece[3]);
          }
        }
      }
      };

#pragma unroll 1
    for (;;) {
      const bool ends_tile = block == 0;  // the block whose weights wait for their values
      bool is_end = false;
      if (ends_tile) {
        barrier_wait(base + offsetof(Tiles, Q_full) + 8 * (turn & 1), turn >> 1 & 1);
        const int index = __shfl_sync(~0u, load_shared(base + offsetof(Tiles, tile) + 4 * (turn & 1)), 0);
        is_end = index < 0;
        if (!is_end) {
          const Tile tile = schedule(index);
          first_row = tile.first_row + 64 * warpgroup;
          row = tile.first_row + row_in_tile;
          block = tile.blocks - 1;
        }
        ++turn;
      } else {
        --block;
      }
      const bool sees_next = !is_end && first_row < S && (!causal || block * kBlockN <= first_row + 63);
      if (!is_end) barrier_wait(base + offsetof(Tiles, K_full) + at(step), parity(step));
      if (step > 0) barrier_wait(base + offsetof(Tiles, V_full) + at(step - 1), parity(step - 1));
      my_turn();
      if (sees_next && sees) {
        pin(scores);
        pin(output);
        wgmma_begin();
#if PV_FIRST
        second_products((step - 1) % kStages, 1);
        first_products(step % kStages);
#else
        first_products(step % kStages);
        second_products((step - 1) % kStages, 1);
#endif
        wgmma_commit();
        next_turn();
        wgmma_wait<0>();
        pin(scores);
        pin(output);
      } else if (sees_next) {
        pin(scores);
        wgmma_begin();
        first_products(step % kStages);
        wgmma_commit();
        next_turn();
        wgmma_wait<0>();
        pin(scores);
      } else if (sees) {
        pin(output);
        wgmma_begin();
        second_products((step - 1) % kStages, 1);
        wgmma_commit();
        next_turn();
        wgmma_wait<0>();
        pin(output);
      } else {
        next_turn();
      }
      if (!is_end) {
        release(base + offsetof(Tiles, K_empty) + at(step));
      }
      if (step > 0) {
        release(base + offsetof(Tiles, V_empty) + at(step - 1));
      }
      if (ends_tile) {
        if (step > 0) {
          if (sees) store_output(schedule(load_shared(base + offsetof(Tiles, tile) + 4 * (turn & 1))));
          __syncwarp();
          release(base + offsetof(Tiles, Q_empty) + 8 * (turn & 1));
        }
      }
      if (is_end) break;
      ++step;
      sees = sees_next;
      if (!sees) continue;
      const int keys_seen = causal ? min(S, first_row + 1) : S;
      if ((block + 1) * kBlockN > keys_seen) mask(block);
      first_softmax();
#pragma unroll 1
      for (; block > 0; --block) {
        barrier_wait(base + offsetof(Tiles, K_full) + at(step), parity(step));
        barrier_wait(base + offsetof(Tiles, V_full) + at(step - 1), parity(step - 1));
        my_turn();
        pin(scores);
        pin(output);
        wgmma_begin();
#if PV_FIRST
        second_products((step - 1) % kStages, 1);
        first_products(step % kStages);
#else
        first_products(step % kStages);
        second_products((step - 1) % kStages, 1);
#endif
        wgmma_commit();
        next_turn();
        wgmma_wait<0>();
        pin(scores);
        pin(output);
        release(base + offsetof(Tiles, K_empty) + at(step));
        release(base + offsetof(Tiles, V_empty) + at(step - 1));
        ++step;
        if (block * kBlockN > keys_seen) mask(block - 1);
        softmax();
      }
    }
  }
}

template __global__ void attention<HEAD_DIM>(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
    const __grid_constant__ TensorMap, half*, int*, int, int, int, int, float);
