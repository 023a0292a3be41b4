// 15_decode_words: CTAs that share a head's keys exchange their parts through device memory, in words that say they have come.
//
// Idea      A cluster costs a rendezvous: its CTAs start together, on SMs that lie together, and agree to have started before
//           one may write to another. Memory needs none of it, if a word there tells by itself whether it has been written:
//           0 is "not yet", and what is written is the complement of a float, which is 0 for no float that arithmetic gives
//           (only for the NaN 0xffffffff; arithmetic's is 0x7fffffff). So there is no counter, no flag and no fence: whoever
//           needs a word reads it until it is not 0, and then makes it 0 again for the next launch.
// Change    From 14_decode_registers: no cluster, so 16 CTAs per head start as fast as 8; the merge reads device memory, a lane
//           per CTA. Heads that share no keys have a kernel of their own (decode_ungrouped).
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, 1, D]; K, V: [B, Hkv, Skv, D], or with heads inside positions (bshd);
//           LSE: fp32 [B, H] or null. grid = SPLIT * B * Hkv, block = 32 * WARPS. g = lane / 4, t = lane % 4.
//           Piece p of the output (head p / (D / 4), four columns) is merged by CTA p % SPLIT of its group.
//           records: [B * Hkv, pieces, SPLIT], 32 bytes each; 0 before and after every launch.
//           decode: lanes and products as in 14. decode_ungrouped: the eight columns of the products are not eight heads but
//           take apart what lies in a row or a term by the way it was loaded: see there.
// Tile      H / Hkv of 8 columns; KEYS keys per warp and step, ceil(keys / SPLIT) per CTA, rounded up to whole steps of a warp.
// Resources Registers of a lane: KEYS D / 32 for K and V; for the output D / 4, ungrouped 16. Shared bytes: 32 WARPS (D + 2), an
//           eighth of that ungrouped.
// Bound     Reading K and V from L2: B1 H8 Skv4096 D64 with SPLIT = 16 is 128 CTAs of 64 KiB, 1024 clocks at 64 bytes per clock
//           and SM; with 2 us of launch, two trips to the L2 and the merge 3.6 us.
// Limits    One query (S = 1); H / Hkv <= 8; D in {64, 128}. SPLIT > 1: all CTAs must be on the GPU at once, because they
//           wait for each other; kernel.json allows 128. One launch at a time per workspace; a killed one leaves words in it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kRows = 8;       // heads of a group at most
constexpr int kKeys = KEYS;    // per warp and step
constexpr int kWarps = WARPS;
constexpr int kSplit = SPLIT;  // CTAs that share out the keys of a head
constexpr int kThreads = kWarps * kWarpSize;
static_assert(kKeys % 16 == 0, "16 keys are the terms of P V");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;

struct FragmentA {
  unsigned registers[4];  // rows g, g + 8, g, g + 8; columns 2t, 2t, 2t + 8, 2t + 8 and the next
};
struct Accumulator {
  float value[4];  // rows g, g, g + 8, g + 8; columns 2t, 2t + 1, 2t, 2t + 1
};

// What depends on the 16-bit format: the instruction, two neighbours in a register, and how many times as large as they are weights
// are where they meet V. Of 10^5 keys that weigh the same beside one that outweighs them, fp16 would round each to a multiple of
// 2^-24, by up to an eighth; their largest is 2^14 instead of 1.
template <typename T>
struct Format;
template <>
struct Format<half> {
  static constexpr float kWeightScale = 16384.0f;
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b0), "r"(b1));
  }
  __device__ static unsigned pack(float low, float high) {
    const half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
};
template <>
struct Format<__nv_bfloat16> {
  static constexpr float kWeightScale = 1.0f;
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b0), "r"(b1));
  }
  __device__ static unsigned pack(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
};

constexpr float kWeightScale = Format<Element>::kWeightScale;

// Lane (g, t) has elements 2t, 2t + 1 of row g of an 8 x 8 matrix, and gets those of the transposed one.
__device__ unsigned transpose(unsigned pair) {
  unsigned transposed;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
  return transposed;
}

// 8 neighbouring elements of a row.
struct Vector {
  unsigned pair[4];
};

// Stays where it is written: every load of a step is on its way before the first value is needed.
__device__ Vector load(const Element* address) {
  Vector v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.pair[0]), "=r"(v.pair[1]), "=r"(v.pair[2]), "=r"(v.pair[3])
               : "l"(__cvta_generic_to_global(address)));
  return v;
}

__device__ Vector load_if(bool inside, const Element* address) { return inside ? load(address) : Vector{{0, 0, 0, 0}}; }

// One instruction; exp2f would treat subnormal results apart, which a weight rounded to fp16 has no use for.
__device__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// By one instruction, of integers in the same order as the floats: a NaN with a sign never wins, one without always does.
__device__ float max_of_warp(float value) {
  const auto flip = [](int bits) { return bits ^ (bits >> 31 & 0x7fffffff); };
  return __int_as_float(flip(__reduce_max_sync(kAllLanes, flip(__float_as_int(value)))));
}

// Over the eight lanes that share two heads.
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

// ---- Words that say of themselves that they have come ----

// Of one part of a piece. In device memory each word is complemented, or 0: not there yet.
struct alignas(32) Record {
  uint4 part;   // four columns, not yet divided by a sum
  uint2 state;  // maximum of the scores, sum of the weights
};

__device__ unsigned encode(float x) { return ~__float_as_uint(x); }
__device__ float decode_word(unsigned word) { return __uint_as_float(~word); }

__device__ void store(Record* record, uint4 part, uint2 state) {
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(record)), "r"(part.x),
               "r"(part.y), "r"(part.z), "r"(part.w)
               : "memory");
  asm volatile("st.relaxed.gpu.global.v2.u32 [%0 + 16], {%1, %2};" ::"l"(__cvta_generic_to_global(record)), "r"(state.x),
               "r"(state.y)
               : "memory");
}

__device__ void send(Record* record, float4 part, float2 state) {
  store(record, make_uint4(encode(part.x), encode(part.y), encode(part.z), encode(part.w)),
        make_uint2(encode(state.x), encode(state.y)));
}

__device__ Record read(const Record* record) {
  Record r;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.part.x), "=r"(r.part.y), "=r"(r.part.z), "=r"(r.part.w)
               : "l"(__cvta_generic_to_global(record))
               : "memory");
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2 + 16];"
               : "=r"(r.state.x), "=r"(r.state.y)
               : "l"(__cvta_generic_to_global(record))
               : "memory");
  return r;
}

// Words come one by one, in any order.
__device__ bool has_come(const Record& r) {
  return r.part.x != 0 && r.part.y != 0 && r.part.z != 0 && r.part.w != 0 && r.state.x != 0 && r.state.y != 0;
}

constexpr int kLanes = kSplit;  // that merge a piece, a CTA's part each
static_assert(kLanes <= kWarpSize, "the lanes that merge a piece are of one warp");

__device__ float max_over_parts(float value) {
#pragma unroll
  for (int lanes = 1; lanes < kLanes; lanes *= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, lanes));
  return value;
}

// A lane's part of a piece: waits until it has come, then makes it 0.
__device__ Record take(Record* from) {
  Record got = read(from);
  while (!has_come(got)) got = read(from);
  store(from, make_uint4(0, 0, 0, 0), make_uint2(0, 0));
  return got;
}

// ---- What both kernels share ----

struct Keys {
  int first, end;
};

// Of a CTA: whole steps of its warps.
__device__ Keys share_of_cta(int keys) {
  const int steps = ((keys + kSplit - 1) / kSplit + kKeys - 1) / kKeys;
  const int first = blockIdx.x % kSplit * steps * kKeys;
  return {first, min(keys, first + steps * kKeys)};
}

template <int kHeadDim, int kHeads>
struct SharedMemory {
  // What the warps have, not yet divided by a sum.
  float output[kWarps][kHeads][kHeadDim];
  float2 state[kWarps][kHeads];  // maximum of the scores, sum of the weights
};

template <int kHeadDim>
constexpr int kPiecesPerRow = kHeadDim / 4;

// Of a group of heads. A CTA, or a warp, without a key has sums of 0 and a maximum of -infinity.
template <int kHeadDim, int kHeads>
__device__ __forceinline__ void merge(const SharedMemory<kHeadDim, kHeads>& smem,
                                      Record* records,  // [pieces, kSplit]
                                      Element* O,       // [rows, kHeadDim]
                                      float* LSE,       // [rows], or null
                                      int rows, float softmax_scale) {
  const float scale_log2 = softmax_scale * kLog2E;
  const int rank = blockIdx.x % kSplit;
  const int lane = threadIdx.x % kWarpSize;
  const int pieces = rows * kPiecesPerRow<kHeadDim>;
  const int own_pieces = (pieces - rank + kSplit - 1) / kSplit;
  __syncthreads();
  // What the warps have, four columns a thread.
  for (int piece = threadIdx.x; piece < pieces; piece += kThreads) {
    const int row = piece / kPiecesPerRow<kHeadDim>;
    const int column = piece % kPiecesPerRow<kHeadDim> * 4;
    float cta_max = -INFINITY;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) cta_max = fmaxf(cta_max, smem.state[i][row].x);
    const float origin = cta_max == -INFINITY ? 0.0f : cta_max;
    float total = 0.0f;
    float4 part = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kWarps; ++i) {
      const float weight = fast_exp2((smem.state[i][row].x - origin) * scale_log2);
      const float4 own = *reinterpret_cast<const float4*>(&smem.output[i][row][column]);
      total += weight * smem.state[i][row].y;
      part.x += weight * own.x;
      part.y += weight * own.y;
      part.z += weight * own.z;
      part.w += weight * own.w;
    }
    send(records + piece * kSplit + rank, part, make_float2(cta_max, total));
  }

  // kLanes lanes per piece of this CTA; whole warps go round together.
  for (int base = threadIdx.x - lane; base < own_pieces * kLanes; base += kThreads) {
    const int place = (base + lane) / kLanes;
    const int piece = place * kSplit + rank;
    Record got = {};  // which reads as NaN
    if (place < own_pieces) got = take(records + piece * kSplit + lane % kLanes);
    __syncwarp();
    // Finite: CTA 0 has key 0. The pieces of a warp may be of several heads, unless there is but one.
    const float own_max = decode_word(got.state.x);
    const float row_max = kHeads == 1 ? max_of_warp(own_max) : max_over_parts(own_max);
    const float weight = fast_exp2((own_max - row_max) * scale_log2);
    float total = weight * decode_word(got.state.y);
    float part[4] = {weight * decode_word(got.part.x), weight * decode_word(got.part.y), weight * decode_word(got.part.z),
                     weight * decode_word(got.part.w)};
#pragma unroll
    for (int lanes = 1; lanes < kLanes; lanes *= 2) {
      total += __shfl_xor_sync(kAllLanes, total, lanes);
#pragma unroll
      for (int i = 0; i < 4; ++i) part[i] += __shfl_xor_sync(kAllLanes, part[i], lanes);
    }
    if (place >= own_pieces || lane % kLanes != 0) continue;
    const float inverse_sum = __fdividef(1.0f, total * kWeightScale);
    const uint2 pairs = make_uint2(Format<Element>::pack(part[0] * inverse_sum, part[1] * inverse_sum),
                                   Format<Element>::pack(part[2] * inverse_sum, part[3] * inverse_sum));
    *reinterpret_cast<uint2*>(O + piece * 4) = pairs;
    if (LSE != nullptr && piece % kPiecesPerRow<kHeadDim> == 0) {
      LSE[piece / kPiecesPerRow<kHeadDim>] = row_max * softmax_scale + logf(total);
    }
  }
}

// ---- Heads that share keys, up to eight: a column of the products is a head ----

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    decode(const Element* __restrict__ Q,  // [B * H, kHeadDim]
           const Element* __restrict__ K,  // [B, Hkv, Skv, kHeadDim]
           const Element* __restrict__ V,  // [B, Hkv, Skv, kHeadDim]
           Element* __restrict__ O,        // [B * H, kHeadDim]
           float* __restrict__ LSE,        // [B * H], or null
           Record* __restrict__ records,   // [B * Hkv, pieces, kSplit]
           int keys,                       // that a query sees
           int Skv, int Hkv, int rows,     // heads of a group
           int bshd, float softmax_scale) {
  constexpr int kKeyGroups = kKeys / 16;
  constexpr int kChunks = kHeadDim / 32;        // of a row of K
  constexpr int kOutputChunks = kHeadDim / 64;  // of a row of V
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedMemory<kHeadDim, kRows>*>(shared_bytes);

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const int group = blockIdx.x / kSplit;  // of heads: (batch element, head of K and V)
  const size_t first_head = static_cast<size_t>(group) * rows;
  const float scale_log2 = softmax_scale * kLog2E;

  const int stride = bshd ? Hkv * kHeadDim : kHeadDim;
  const size_t first_row = bshd ? static_cast<size_t>(group / Hkv) * Skv * Hkv + group % Hkv : static_cast<size_t>(group) * Skv;
  const Keys share = share_of_cta(keys);
  const Element* K_head = K + first_row * kHeadDim + 8 * t;
  const Element* V_head = V + first_row * kHeadDim + 8 * g;

  // First, because scores wait for it and loads come back in order. Behind the last head the last again, which nobody stores.
  Vector query[kChunks];
#pragma unroll
  for (int c = 0; c < kChunks; ++c) query[c] = load(Q + (first_head + min(g, rows - 1)) * kHeadDim + 32 * c + 8 * t);

  Accumulator output[kHeadDim / 16] = {};
  float max[2] = {-INFINITY, -INFINITY};  // of heads 2t, 2t + 1
  float sum[2] = {};                      // of this lane's keys
  for (int first_key = share.first + warp * kKeys; first_key < share.end; first_key += kWarps * kKeys) {
    Vector key[kKeyGroups][2][kChunks];           // keys g, g + 8
    Vector value[kKeyGroups][4][kOutputChunks];  // keys 2t, 2t + 1, 2t + 8, 2t + 9
    const Element* K_from = K_head + static_cast<size_t>(first_key + g) * stride;
    const Element* V_from = V_head + static_cast<size_t>(first_key + 2 * t) * stride;
    const int left = share.end - first_key;
    const auto load_keys = [&](auto load_one) {
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int at = 16 * m + 8 * i;
#pragma unroll
          for (int c = 0; c < kChunks; ++c) key[m][i][c] = load_one(at + g < left, K_from + at * stride + 32 * c);
        }
      }
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = 16 * m + i / 2 * 8 + i % 2;
#pragma unroll
          for (int e = 0; e < kOutputChunks; ++e) {
            value[m][i][e] = load_one(at + 2 * t < left, V_from + at * stride + 64 * e);
          }
        }
      }
    };
    if (left >= kKeys) {
      load_keys([](bool, const Element* address) { return load(address); });
    } else {
      load_keys(load_if);
    }

    Accumulator score[kKeyGroups] = {};
#pragma unroll
    for (int m = 0; m < kKeyGroups; ++m) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const unsigned(&q)[4] = query[c].pair;
        const unsigned(&upper)[4] = key[m][0][c].pair;
        const unsigned(&lower)[4] = key[m][1][c].pair;
        Format<Element>::multiply_add(score[m], {{upper[0], lower[0], upper[1], lower[1]}}, q[0], q[1]);
        Format<Element>::multiply_add(score[m], {{upper[2], lower[2], upper[3], lower[3]}}, q[2], q[3]);
      }
    }
    if (left < kKeys) {
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (16 * m + i / 2 * 8 + g >= left) score[m].value[i] = -INFINITY;
        }
      }
    }
    float origin[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = max[h];
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) largest = fmaxf(largest, fmaxf(score[m].value[h], score[m].value[h + 2]));
      largest = max_over_keys(largest);
      // Scores may all be -infinity: weights are then exp2(-infinity - 0).
      origin[h] = largest == -INFINITY ? 0.0f : largest * scale_log2;
      const float correction = fast_exp2(max[h] * scale_log2 - origin[h]);
      max[h] = largest;
      sum[h] *= correction;
#pragma unroll
      for (int d = 0; d < kHeadDim / 16; ++d) {
        output[d].value[h] *= correction;
        output[d].value[h + 2] *= correction;
      }
    }
#pragma unroll
    for (int m = 0; m < kKeyGroups; ++m) {
      float(&weight)[4] = score[m].value;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        weight[i] = fast_exp2(weight[i] * scale_log2 - origin[i % 2]);
        sum[i % 2] += weight[i];
      }
      const unsigned low = transpose(Format<Element>::pack(weight[0] * kWeightScale, weight[1] * kWeightScale));
      const unsigned high = transpose(Format<Element>::pack(weight[2] * kWeightScale, weight[3] * kWeightScale));
#pragma unroll
      for (int e = 0; e < kOutputChunks; ++e) {
        const Vector(&keys_of)[4][kOutputChunks] = value[m];
        // Column j of two keys.
        const auto pair = [&](int first, int j) {
          return __byte_perm(keys_of[first][e].pair[j / 2], keys_of[first + 1][e].pair[j / 2], j % 2 == 0 ? 0x5410 : 0x7632);
        };
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          Format<Element>::multiply_add(output[4 * e + j], {{pair(0, j), pair(0, j + 4), pair(2, j), pair(2, j + 4)}}, low, high);
        }
      }
    }
  }

#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float total = sum_over_keys(sum[h]);
    const int head = 2 * t + h;
    if (head >= rows) continue;
    if (g == 0) smem.state[warp][head] = make_float2(max[h], total);
#pragma unroll
    for (int e = 0; e < kOutputChunks; ++e) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {  // columns 8g + 4i ... + 3
        const Accumulator(&of)[kHeadDim / 16] = output;
        *reinterpret_cast<float4*>(&smem.output[warp][head][64 * e + 8 * g + 4 * i]) =
            make_float4(of[4 * e].value[h + 2 * i], of[4 * e + 1].value[h + 2 * i], of[4 * e + 2].value[h + 2 * i],
                        of[4 * e + 3].value[h + 2 * i]);
      }
    }
  }
  merge(smem, records + static_cast<size_t>(group) * rows * kPiecesPerRow<kHeadDim> * kSplit, O + first_head * kHeadDim,
        LSE == nullptr ? nullptr : LSE + first_head, rows, softmax_scale);
}

// ---- One head per group: the eight columns take apart what lies as it was loaded ----

// Nothing is moved within a register on its way into mma.sync, and nothing of K or V between lanes.
template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    decode_ungrouped(const Element* __restrict__ Q,  // [B * H, kHeadDim]
                     const Element* __restrict__ K,  // [B * H, Skv, kHeadDim]
                     const Element* __restrict__ V,  // [B * H, Skv, kHeadDim]
                     Element* __restrict__ O,        // [B * H, kHeadDim]
                     float* __restrict__ LSE,        // [B * H], or null
                     Record* __restrict__ records,   // [B * H, pieces, kSplit]
                     int keys,                       // that a query sees
                     int Skv, float softmax_scale) {
  static_assert(kHeadDim == 64, "a warp loads 4 rows at once");
  constexpr int kLoads = kKeys / 4;  // of K, and of V
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedMemory<kHeadDim, 1>*>(shared_bytes);

  const int head = blockIdx.x / kSplit;
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const float scale_log2 = softmax_scale * kLog2E;
  const Keys share = share_of_cta(keys);

  // K: lane l loads chunk l % 8 of key l / 8, whole rows a warp. As A: row g is half g % 2 of key g / 2, columns 8t, 8t + 1, 8t + 4
  // and 8t + 5 of the half; row g + 8 the columns 2 further on. So B has, for load s of two, the query's terms for rows
  // g + 8p of half h in column 4s + 2h + p, and 0 in the other load's columns.
  const int half_of_lane = g / 2 % 2;
  const unsigned* const query = reinterpret_cast<const unsigned*>(Q + head * kHeadDim + 32 * half_of_lane + 8 * t + 2 * (g % 2));
  const unsigned query_low = __ldg(query);
  const unsigned query_high = __ldg(query + 2);
  const int key_of_lane = lane / 8;
  const Element* const K_head = K + static_cast<size_t>(head) * Skv * kHeadDim + 8 * lane;

  // V: lane (g, t) loads columns 16 (g % 4) + 8 (t % 2) ... + 7 of key 2 (g / 4) + t / 2: half rows a quarter of the warp. As A:
  // terms 2t, 2t + 1, 2t + 8, 2t + 9 are all of the same key, one column each; rows g < 4 are of the first two keys, g >= 4 of
  // the others, and each pair has a product of its own. Column 4c + j of B has the key's weight in the j-th of these terms of
  // the lanes with t % 2 = c, and 0 elsewhere. A weight is the lower or upper half of a register, for __byte_perm 0x10 or 0x32.
  const int value_of_lane = g / 4 * 2 + t / 2;
  const Element* const V_head =
      V + (static_cast<size_t>(head) * Skv + value_of_lane) * kHeadDim + 16 * (g % 4) + 8 * (t % 2);
  const auto selector = [&](int term_pair, unsigned lower, unsigned upper) {
    return t % 2 == g / 4 && g % 4 / 2 == term_pair ? (g % 2 == 0 ? lower : upper) : 0x4444u;  // byte 4 is 0
  };
  const unsigned select_lower[2] = {selector(0, 0x4410, 0x1044), selector(1, 0x4410, 0x1044)};
  const unsigned select_upper[2] = {selector(0, 0x4432, 0x3244), selector(1, 0x4432, 0x3244)};

  Accumulator output[2][2] = {};  // of a pair of keys; lower and upper weights
  float max = -INFINITY;
  float sum = 0.0f;  // of this lane's keys; every key is in two lanes
  for (int first_key = share.first + warp * kKeys; first_key < share.end; first_key += kWarps * kKeys) {
    Vector key[kLoads], value[kLoads];
    const Element* K_from = K_head + static_cast<size_t>(first_key) * kHeadDim;
    const Element* V_from = V_head + static_cast<size_t>(first_key) * kHeadDim;
    const int left = share.end - first_key;
    const auto load_keys = [&](auto load_one) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) key[i] = load_one(4 * i + key_of_lane < left, K_from + 4 * i * kHeadDim);
#pragma unroll
      for (int i = 0; i < kLoads; ++i) value[i] = load_one(4 * i + value_of_lane < left, V_from + 4 * i * kHeadDim);
    };
    if (left >= kKeys) {
      load_keys([](bool, const Element* address) { return load(address); });
    } else {
      load_keys(load_if);
    }

    // Of keys 4 (2i + t / 2) + g / 2, in lanes where g and t are both even or both odd.
    float score[kLoads / 2];
    const unsigned low[2] = {g < 4 ? query_low : 0, g < 4 ? 0 : query_low};
    const unsigned high[2] = {g < 4 ? query_high : 0, g < 4 ? 0 : query_high};
#pragma unroll
    for (int i = 0; i < kLoads / 2; ++i) {
      Accumulator halves = {};
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const unsigned(&k)[4] = key[2 * i + s].pair;
        Format<Element>::multiply_add(halves, {{k[0], k[1], k[2], k[3]}}, low[s], high[s]);
      }
      const float half_score = halves.value[0] + halves.value[3];
      score[i] = half_score + __shfl_xor_sync(kAllLanes, half_score, 5);
      if ((g ^ t) & 1) score[i] = -INFINITY;
    }
    if (left < kKeys) {
#pragma unroll
      for (int i = 0; i < kLoads / 2; ++i) {
        if (4 * (2 * i + t / 2) + g / 2 >= left) score[i] = -INFINITY;
      }
    }
    float largest = max;
#pragma unroll
    for (int i = 0; i < kLoads / 2; ++i) largest = fmaxf(largest, score[i]);
    largest = max_of_warp(largest);
    // Scores may all be -infinity: weights are then exp2(-infinity - 0).
    const float origin = largest == -INFINITY ? 0.0f : largest * scale_log2;
    const float correction = fast_exp2(max * scale_log2 - origin);
    max = largest;
    sum *= correction;
#pragma unroll
    for (int i = 0; i < 16; ++i) output[i / 8][i / 4 % 2].value[i % 4] *= correction;
#pragma unroll
    for (int i = 0; i < kLoads / 2; ++i) {
      score[i] = fast_exp2(score[i] * scale_log2 - origin);
      sum += score[i];
    }

#pragma unroll
    for (int i = 0; i < kLoads / 2; i += 2) {
      const unsigned weights = Format<Element>::pack(score[i] * kWeightScale, score[i + 1] * kWeightScale);
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const unsigned(&lower)[4] = value[2 * i + s].pair;
        const unsigned(&upper)[4] = value[2 * i + s + 2].pair;
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          const int key_of_load = 2 * pair + t / 2;
          const unsigned of_key = __shfl_sync(kAllLanes, weights, 8 * key_of_load + 2 * s);  // g = 2 key_of_load, t = 2s
          const auto pick = [&](unsigned selector) { return __byte_perm(of_key, 0, selector); };
          Format<Element>::multiply_add(output[pair][0], {{lower[0], lower[1], lower[2], lower[3]}}, pick(select_lower[0]),
                                        pick(select_lower[1]));
          Format<Element>::multiply_add(output[pair][1], {{upper[0], upper[1], upper[2], upper[3]}}, pick(select_upper[0]),
                                        pick(select_upper[1]));
        }
      }
    }
  }

  // Lane (g, t) has columns 16 (g % 4) + 4t ... + 3: g < 4 of the first pair of keys, g >= 4 of the second.
  float own[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    own[i] = g < 4 ? output[0][0].value[i] + output[0][1].value[i] : output[1][0].value[i] + output[1][1].value[i];
    own[i] += __shfl_xor_sync(kAllLanes, own[i], 16);
  }
#pragma unroll
  for (int lanes = 1; lanes < kWarpSize; lanes *= 2) {
    if (lanes != 4) sum += __shfl_xor_sync(kAllLanes, sum, lanes);  // g and g ^ 1 have the same keys
  }
  if (g < 4) *reinterpret_cast<float4*>(&smem.output[warp][0][16 * g + 4 * t]) = make_float4(own[0], own[1], own[2], own[3]);
  if (lane == 0) smem.state[warp][0] = make_float2(max, sum);
  merge(smem, records + static_cast<size_t>(head) * kPiecesPerRow<kHeadDim> * kSplit, O + head * kHeadDim,
        LSE == nullptr ? nullptr : LSE + head, 1, softmax_scale);
}

#define INSTANTIATE(D)                                                                                              \
  template __global__ void decode<D>(const Element*, const Element*, const Element*, Element*, float*, Record*, int, int, \
                                     int, int, int, float);
INSTANTIATE(64)
INSTANTIATE(128)
template __global__ void decode_ungrouped<64>(const Element*, const Element*, const Element*, Element*, float*, Record*, int, int,
                                              float);
