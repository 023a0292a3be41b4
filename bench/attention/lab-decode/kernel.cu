// One query of each head: warps share out keys for the scores, columns of V for the values. A draft with switches.
//
// PARTS = 0: K and V are only copied; 1: and multiplied, each CTA keeping its part; 2: all of it. PREFETCH = 1: the places of
// words are brought to L2 first.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kRows = 8;  // heads of a group at most: columns of the products
constexpr int kTileKeys = TILE;
constexpr int kKeys = KEYS;  // of a warp, in a round
constexpr int kWarps = WARPS;
constexpr int kSplit = SPLIT;  // CTAs that share out the keys of a group of heads
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kGroups = 8;  // of neighbouring keys of a tile
constexpr int kGroupKeys = kTileKeys / kGroups;
constexpr int kSteps = kTileKeys / 16;  // of 16 keys in a tile
constexpr int kTiles = kKeys / kTileKeys;  // of a warp in a round
constexpr int kOwnPlaces = V_TILES;  // tiles of V that have a place of their own; the others take K's
constexpr int kRoundKeys = kWarps * kKeys;
constexpr int kBatch = BATCH;  // tiles of V between waits
static_assert(kOwnPlaces <= kTiles && kTiles <= 2 * kOwnPlaces && kTiles * kWarps % kBatch == 0 && kWarps % kBatch == 0);
static_assert(kWarps == 8 || kWarps == 4, "lane (g, t) looks at warp g");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;

struct FragmentA {
  unsigned registers[4];
};
struct Accumulator {
  float value[4];
};

template <typename T>
struct Format;
template <>
struct Format<half> {
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b0), "r"(b1));
  }
  __device__ static unsigned pack(float low, float high) {
    const half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
  __device__ static half round(float x) { return __float2half_rn(x); }
};
template <>
struct Format<__nv_bfloat16> {
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b0), "r"(b1));
  }
  __device__ static unsigned pack(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
  __device__ static __nv_bfloat16 round(float x) { return __float2bfloat16_rn(x); }
};

__device__ unsigned transpose(unsigned pair) {
  unsigned transposed;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
  return transposed;
}

__device__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ float max_over_keys(float value) {
#pragma unroll
  for (int lanes = 4; lanes < kWarpSize; lanes *= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, lanes));
  return value;
}
__device__ float sum_over_keys(float value) {
#pragma unroll
  for (int lanes = 4; lanes < kWarpSize; lanes *= 2) value += __shfl_xor_sync(kAllLanes, value, lanes);
  return value;
}

// ---- Shared memory ----

template <int kHeadDim>
struct Tile {
  static constexpr int kRowBytes = kHeadDim * 2;
  static constexpr int kGroupBytes = kGroupKeys * kRowBytes + 16;
  unsigned char groups[kGroups][kGroupBytes];
  __device__ static constexpr int offset(int row) { return row / kGroupKeys * kGroupBytes + row % kGroupKeys * kRowBytes; }
};

template <int kHeadDim>
struct SharedMemory {
  Tile<kHeadDim> K[kWarps][kTiles];
  Tile<kHeadDim> V[kWarps][kOwnPlaces];
  // Scores of heads 2t, 2t + 1 and keys g, g + 8, then, in the first half, weights as a B operand.
  float4 scores[kTiles][kWarps][kSteps][kWarpSize];
  float2 max[kWarps][kRows / 2];
  float2 sum[kWarps][kRows / 2];
  unsigned long long full[2 * kTiles][kWarps];  // tiles of K, then of V
};

__device__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ void init(unsigned long long& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}
__device__ void expect(unsigned long long& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes)
               : "memory");
}
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

__device__ void load_matrices(FragmentA& a, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a.registers[0]), "=r"(a.registers[1]), "=r"(a.registers[2]), "=r"(a.registers[3])
               : "r"(address)
               : "memory");
}
__device__ void load_transposed(FragmentA& a, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a.registers[0]), "=r"(a.registers[1]), "=r"(a.registers[2]), "=r"(a.registers[3])
               : "r"(address)
               : "memory");
}


// Copies piece c of the warp's 2 kTiles tiles (K's, then V's): a group of neighbouring keys, on the tile's barrier.
template <int kHeadDim>
__device__ void copy_group(SharedMemory<kHeadDim>& smem, int c, const Element* K_head, const Element* V_head, int first_key,
                           int key_end, int stride) {
  constexpr int kRowBytes = kHeadDim * 2;
  const int warp = threadIdx.x / kWarpSize;
  const int tile = c / kGroups;
  const bool is_value = tile >= kTiles;
  const int i = is_value ? tile - kTiles : tile;
  const int tile_key = first_key + i * kWarps * kTileKeys;
  auto& barrier = smem.full[tile][warp];
  if (c % kGroups == 0) expect(barrier, ::max(0, ::min(kTileKeys, key_end - tile_key)) * kRowBytes);
  __syncwarp(__activemask());
  const int key = tile_key + c % kGroups * kGroupKeys;
  const int rows = ::min(kGroupKeys, key_end - key);
  if (rows <= 0) return;
  auto& place = is_value && i < kOwnPlaces ? smem.V[warp][i] : smem.K[warp][is_value ? i - kOwnPlaces : i];
  const unsigned to = shared_address(&place.groups[c % kGroups]);
  const Element* from = (is_value ? V_head : K_head) + static_cast<size_t>(key) * stride;
  if (stride == kHeadDim) {
    copy_bytes(to, from, rows * kRowBytes, barrier);
  } else {
#pragma unroll 1
    for (int r = 0; r < rows; ++r) copy_bytes(to + r * kRowBytes, from + static_cast<size_t>(r) * stride, kRowBytes, barrier);
  }
}

__device__ float2 max_over_warps(const float2 (&of)[kWarps][kRows / 2]) {
  const int lane = threadIdx.x % kWarpSize;
  const float2 own = of[lane / 4 % kWarps][lane % 4];
  return make_float2(max_over_keys(own.x), max_over_keys(own.y));
}

// ---- Words that say of themselves that they have come (15_decode_words) ----

__device__ unsigned encode(float x) { return ~__float_as_uint(x); }
__device__ float decode_word(unsigned word) { return __uint_as_float(~word); }

__device__ void store(uint4* to, uint4 v) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}
__device__ void store(uint2* to, uint2 v) {
  asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "r"(v.x), "r"(v.y)
               : "memory");
}
__device__ uint4 read(const uint4* from) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return v;
}
__device__ uint2 read(const uint2* from) {
  uint2 v;
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(__cvta_generic_to_global(from)) : "memory");
  return v;
}

// Rounds of shuffles over the kSplit lanes that hold the parts of a piece.
__device__ float max_over_parts(float value) {
#pragma unroll
  for (int lanes = 1; lanes < kSplit; lanes *= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, lanes));
  return value;
}
__device__ float sum_over_parts(float value) {
#pragma unroll
  for (int lanes = 1; lanes < kSplit; lanes *= 2) value += __shfl_xor_sync(kAllLanes, value, lanes);
  return value;
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads, 1)
    decode(const Element* __restrict__ Q, const Element* __restrict__ K, const Element* __restrict__ V,
           Element* __restrict__ O, float* __restrict__ LSE,
           uint4* __restrict__ states,  // [B * Hkv, receiver, sender, pair of heads]
           uint2* __restrict__ parts,   // [B * Hkv, column, pair of heads, sender]
           int keys, int Skv, int Hkv, int rows, int bshd, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / 16;
  constexpr int kColumnTiles = kHeadDim / 16 / kWarps;  // of a warp
  constexpr int kColumns = kHeadDim / kSplit;           // that a CTA merges
  constexpr int kRowBytes = kHeadDim * 2;
  static_assert(kColumnTiles * 16 * kWarps == kHeadDim && kColumns * kSplit == kHeadDim);
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedMemory<kHeadDim>*>(shared_bytes);

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const int group = blockIdx.x / kSplit;
  const int rank = blockIdx.x % kSplit;
  const int first_head = group * rows;
  const float scale_log2 = softmax_scale * kLog2E;
  const int pairs = (rows + 1) / 2;

  const int stride = bshd ? Hkv * kHeadDim : kHeadDim;
  const size_t first_row = bshd ? static_cast<size_t>(group / Hkv) * Skv * Hkv + group % Hkv : static_cast<size_t>(group) * Skv;
  const Element* const K_head = K + first_row * kHeadDim;
  const Element* const V_head = V + first_row * kHeadDim;
  const int share = ((keys + kSplit - 1) / kSplit + kTileKeys - 1) / kTileKeys * kTileKeys;
  const int share_first = ::min(keys, rank * share);
  const int key_end = ::min(keys, share_first + share);
  const int rounds = ::max(1, (key_end - share_first + kRoundKeys - 1) / kRoundKeys);

  if (lane < 2 * kTiles) {
    init(smem.full[lane][warp], 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncwarp();

  unsigned query[kHeadSteps][2];
  Accumulator output[kColumnTiles][2] = {};      // of even and odd steps
  float2 max = make_float2(-INFINITY, -INFINITY);  // of heads 2t, 2t + 1, over the CTA
  float2 sum = make_float2(0.0f, 0.0f);            // of this lane's keys

#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const int first_key = share_first + round * kRoundKeys + warp * kTileKeys;
    if (round > 0) __syncthreads();  // all have read the tiles of the round before
#pragma unroll 1
    for (int c = lane; c < (kTiles + kOwnPlaces) * kGroups; c += kWarpSize) {
      copy_group(smem, c, K_head, V_head, first_key, key_end, stride);
    }
    __syncwarp();
    if (round == 0) {
      const unsigned* const q = reinterpret_cast<const unsigned*>(Q + (first_head + ::min(g, rows - 1)) * kHeadDim) + t;
#pragma unroll
      for (int k = 0; k < kHeadSteps; ++k) {
        query[k][0] = __ldg(q + 8 * k);
        query[k][1] = __ldg(q + 8 * k + 4);
      }
      if (PREFETCH) {
        for (int i = threadIdx.x; i < kColumns * pairs * kSplit / 16; i += kThreads) {
          asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(
              parts + static_cast<size_t>(group * kHeadDim + rank * kColumns) * pairs * kSplit + i * 16)));
        }
        for (int i = threadIdx.x; i < kSplit * pairs / 8; i += kThreads) {
          asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(
              states + static_cast<size_t>(group * kSplit + rank) * kSplit * pairs + i * 8)));
        }
      }
    }

    // Scores: rows are keys; row r < 8 of step s of a tile is key r kGroupKeys + 2s, row r + 8 the next.
    float2 largest = make_float2(-INFINITY, -INFINITY);
    const unsigned K_offset = Tile<kHeadDim>::offset(lane % 8 * kGroupKeys + lane / 8 % 2) + lane / 16 * 16;
#pragma unroll 1
    for (int i = 0; i < kTiles; ++i) {
      wait(smem.full[i][warp], round & 1);
      const int left = key_end - (first_key + i * kWarps * kTileKeys);
      const unsigned tile = shared_address(&smem.K[warp][i]) + K_offset;
#pragma unroll 1
      for (int s = 0; s < kSteps; ++s) {
        if (PARTS == 0) break;
        Accumulator halves[2] = {};
        FragmentA a[kHeadSteps];
#pragma unroll
        for (int k = 0; k < kHeadSteps; ++k) load_matrices(a[k], tile + s * 2 * kRowBytes + k * 32);
#pragma unroll
        for (int k = 0; k < kHeadSteps; ++k) Format<Element>::multiply_add(halves[k % 2], a[k], query[k][0], query[k][1]);
        float score[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          score[j] = halves[0].value[j] + halves[1].value[j];
          if (g * kGroupKeys + 2 * s + j / 2 >= left) score[j] = -INFINITY;
        }
        largest.x = fmaxf(largest.x, fmaxf(score[0], score[2]));
        largest.y = fmaxf(largest.y, fmaxf(score[1], score[3]));
        smem.scores[i][warp][s][lane] = make_float4(score[0], score[1], score[2], score[3]);
      }
      // The tile's place is free for V.
      if (i < kTiles - kOwnPlaces) {
        __syncwarp();
        if (lane < kGroups) {
          copy_group(smem, (kTiles + kOwnPlaces + i) * kGroups + lane, K_head, V_head, first_key, key_end, stride);
        }
        __syncwarp();
      }
    }
    if (PARTS == 0) {
      for (int i = 0; i < kTiles; ++i) wait(smem.full[kTiles + i][warp], round & 1);
      continue;
    }

    largest = make_float2(max_over_keys(largest.x), max_over_keys(largest.y));
    if (g == 0) smem.max[warp][t] = largest;
    // No copy fills the rows of V behind the last key, and a weight of 0 times what was there may be NaN.
#pragma unroll 1
    for (int i = 0; i < kTiles; ++i) {
      constexpr int kPieces = kHeadDim / 8;
      auto& place = i < kOwnPlaces ? smem.V[warp][i] : smem.K[warp][i - kOwnPlaces];
      const int left = key_end - (first_key + i * kWarps * kTileKeys);
      if (left >= kTileKeys) continue;
#pragma unroll 1
      for (int p = ::max(left, 0) * kPieces + lane; p < kTileKeys * kPieces; p += kWarpSize) {
        const unsigned address = shared_address(&place) + Tile<kHeadDim>::offset(p / kPieces) + p % kPieces * 16;
        asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(0) : "memory");
      }
    }
    __syncthreads();
    largest = max_over_warps(smem.max);
    largest = make_float2(fmaxf(max.x, largest.x), fmaxf(max.y, largest.y));
    const float2 origin = make_float2(largest.x == -INFINITY ? 0.0f : largest.x * scale_log2,
                                      largest.y == -INFINITY ? 0.0f : largest.y * scale_log2);
    if (round > 0) {
      const float2 correction =
          make_float2(fast_exp2(max.x * scale_log2 - origin.x), fast_exp2(max.y * scale_log2 - origin.y));
      sum.x *= correction.x;
      sum.y *= correction.y;
#pragma unroll
      for (int j = 0; j < 8 * kColumnTiles; ++j) {
        output[j / 8][j / 4 % 2].value[j % 4] *= j % 2 == 0 ? correction.x : correction.y;
      }
    }
    max = largest;
#pragma unroll 1
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        float4& place = smem.scores[i][warp][s][lane];
        const float4 score = place;
        const float4 weight = make_float4(
            fast_exp2(score.x * scale_log2 - origin.x), fast_exp2(score.y * scale_log2 - origin.y),
            fast_exp2(score.z * scale_log2 - origin.x), fast_exp2(score.w * scale_log2 - origin.y));
        sum.x += weight.x + weight.z;
        sum.y += weight.y + weight.w;
        *reinterpret_cast<uint2*>(&place) =
            make_uint2(transpose(Format<Element>::pack(weight.x, weight.y)), transpose(Format<Element>::pack(weight.z, weight.w)));
      }
    }
    if (round == rounds - 1) {
      const float2 total = make_float2(sum_over_keys(sum.x), sum_over_keys(sum.y));
      if (g == 0) smem.sum[warp][t] = total;
    }
    __syncthreads();

    if (PARTS == 2 && round == rounds - 1 && warp == 0) {
      const float2 own = smem.sum[lane / 4 % kWarps][t];
      float2 total = make_float2(sum_over_keys(own.x), sum_over_keys(own.y));
      if (kWarps == 4) total = make_float2(total.x * 0.5f, total.y * 0.5f);
      const uint4 state = make_uint4(encode(max.x), encode(total.x), encode(max.y), encode(total.y));
#pragma unroll 1
      for (int receiver = g; receiver < kSplit; receiver += 8) {
        if (t < pairs) store(states + ((group * kSplit + receiver) * kSplit + rank) * pairs + t, state);
      }
    }
    // Values: rows are this warp's columns of V, columns are heads; terms are the keys, in the order of the scores.
    // Matrices: keys of even place, then odd; columns 0-7, then 8-15.
    const unsigned V_offset =
        Tile<kHeadDim>::offset(lane % 8 * kGroupKeys + lane / 16) + lane / 8 % 2 * 16 + warp * kColumnTiles * 32;
#pragma unroll 1
    for (int tile = 0; tile < kTiles * kWarps; tile += kBatch) {
      const int i = tile / kWarps;
      const int w = tile % kWarps;
#pragma unroll
      for (int b = 0; b < kBatch; ++b) wait(smem.full[kTiles + i][w + b], round & 1);
      FragmentA values[kBatch][kSteps][kColumnTiles];
      uint2 weights[kBatch][kSteps];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        const unsigned place =
            V_offset + shared_address(i < kOwnPlaces ? &smem.V[w + b][i] : &smem.K[w + b][i - kOwnPlaces]);
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
          weights[b][s] = *reinterpret_cast<const uint2*>(&smem.scores[i][w + b][s][lane]);
#pragma unroll
          for (int c = 0; c < kColumnTiles; ++c) load_transposed(values[b][s][c], place + s * 2 * kRowBytes + c * 32);
        }
      }
#pragma unroll
      for (int b = 0; b < kBatch * kSteps; ++b) {
#pragma unroll
        for (int c = 0; c < kColumnTiles; ++c) {
          const uint2 weight = weights[b / kSteps][b % kSteps];
          Format<Element>::multiply_add(output[c][b % 2], values[b / kSteps][b % kSteps][c], weight.x, weight.y);
        }
      }
    }
  }
  if (PARTS == 0) {
    if (threadIdx.x == 0 && softmax_scale == 12345.0f) O[blockIdx.x] = Element(0);
    return;
  }
  if (PARTS == 1) {
#pragma unroll
    for (int j = 0; j < 4 * kColumnTiles; ++j) {
      const int column = warp * kColumnTiles * 16 + j / 4 * 16 + g + j / 2 % 2 * 8;
      const int head = 2 * t + j % 2;
      if (head < rows) {
        O[(first_head + head) * kHeadDim + column] =
            Format<Element>::round(output[j / 4][0].value[j % 4] + output[j / 4][1].value[j % 4]);
      }
    }
    return;
  }

  if (t < pairs) {
#pragma unroll
    for (int j = 0; j < 2 * kColumnTiles; ++j) {
      const int column = warp * kColumnTiles * 16 + g + j * 8;
      const Accumulator(&of)[2] = output[j / 2];
      store(parts + ((group * kHeadDim + column) * pairs + t) * kSplit + rank,
            make_uint2(encode(of[0].value[j % 2 * 2] + of[1].value[j % 2 * 2]),
                       encode(of[0].value[j % 2 * 2 + 1] + of[1].value[j % 2 * 2 + 1])));
    }
  }

  // Piece p: column rank kColumns + p / pairs, heads of pair p % pairs; a lane per CTA.
  const int pieces = kColumns * pairs;
#pragma unroll 1
  for (int base = threadIdx.x - lane; base < pieces * kSplit; base += kThreads) {
    const int piece = (base + lane) / kSplit;
    const int sender = lane % kSplit;
    const int pair = piece % pairs;
    const int column = rank * kColumns + piece / pairs;
    uint4 state = make_uint4(0, 0, 0, 0);
    uint2 part = make_uint2(0, 0);
    if (piece < pieces) {
      uint2* const part_from = parts + ((group * kHeadDim + column) * pairs + pair) * kSplit + sender;
      uint4* const state_from = states + ((group * kSplit + rank) * kSplit + sender) * pairs + pair;
      do {
        part = read(part_from);
        state = read(state_from);
      } while (part.x == 0 || part.y == 0 || state.x == 0 || state.y == 0 || state.z == 0 || state.w == 0);
      store(part_from, make_uint2(0, 0));
    }
    __syncwarp();
    const float2 maxima = make_float2(decode_word(state.x), decode_word(state.z));
    const float2 row_max = make_float2(max_over_parts(maxima.x), max_over_parts(maxima.y));
    const float2 weight =
        make_float2(fast_exp2((maxima.x - row_max.x) * scale_log2), fast_exp2((maxima.y - row_max.y) * scale_log2));
    const float2 total =
        make_float2(sum_over_parts(weight.x * decode_word(state.y)), sum_over_parts(weight.y * decode_word(state.w)));
    const float2 value =
        make_float2(sum_over_parts(weight.x * decode_word(part.x)), sum_over_parts(weight.y * decode_word(part.y)));
    // One lane per head.
    const int head = 2 * pair + sender;
    if (piece < pieces && sender < ::min(2, kSplit) && head < rows) {
      const float of = sender == 0 ? total.x : total.y;
      O[(first_head + head) * kHeadDim + column] = Format<Element>::round(__fdividef(sender == 0 ? value.x : value.y, of));
      if (LSE != nullptr && column == 0) LSE[first_head + head] = (sender == 0 ? row_max.x : row_max.y) * softmax_scale + logf(of);
    }
    if (kSplit == 1 && piece < pieces && 2 * pair + 1 < rows) {
      O[(first_head + 2 * pair + 1) * kHeadDim + column] = Format<Element>::round(__fdividef(value.y, total.y));
      if (LSE != nullptr && column == 0) LSE[first_head + 2 * pair + 1] = row_max.y * softmax_scale + logf(total.y);
    }
  }
  // States are read by several lanes; all have read them now.
  __syncthreads();
  for (int i = threadIdx.x; i < kSplit * pairs; i += kThreads) {
    store(states + (group * kSplit + rank) * kSplit * pairs + i, make_uint4(0, 0, 0, 0));
  }
}

#define INSTANTIATE(D)                                                                                                      \
  template __global__ void decode<D>(const Element*, const Element*, const Element*, Element*, float*, uint4*, uint2*, int, \
                                     int, int, int, int, float);
INSTANTIATE(128)
