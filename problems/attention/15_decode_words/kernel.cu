// 15_decode_words: CTAs that share a head's keys exchange their parts through device memory, in words that say they have come.
//
// Idea      A cluster costs a rendezvous: its CTAs start together, on SMs that lie together, and agree to have started before
//           one may write to another. Memory needs none of it, if a word there tells by itself whether it has been written:
//           0 is "not yet", and what is written is the complement of a float, which is 0 for no float that arithmetic gives
//           (only for the NaN 0xffffffff; arithmetic's is 0x7fffffff). So there is no counter, no flag and no fence: whoever
//           needs a word reads it until it is not 0, and then makes it 0 again for the next launch.
// Change    From 14_decode_registers: no cluster, so 16 CTAs per head start as fast as 8; the merge reads device memory.
//           The last CTA of a launch decides its time, so kPolls reads of the same words are on their way one after the other.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, 1, D]; K, V: [B, Hkv, Skv, D], or with heads inside positions (bshd);
//           LSE: fp32 [B, H] or null. grid = SPLIT * B * Hkv, block = 32 * WARPS. Lanes and products as in 14.
//           Piece p of the output (head p / (D / 4), four columns) is merged by CTA p % SPLIT of its group.
//           records: [B * Hkv, pieces, SPLIT], 32 bytes each; 0 before and after every launch.
// Tile      H / Hkv of 8 columns; KEYS keys per warp and step, ceil(keys / SPLIT) per CTA, rounded up to whole steps of a warp.
// Resources Registers of a lane: KEYS D / 32 for K and V, D / 4 for the output. Shared bytes: 32 WARPS (D + 2).
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

// What depends on the 16-bit format: the instruction, and two neighbours in a register.
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
};

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
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
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

constexpr int kLanes = kSplit < 4 ? kSplit : 4;  // that merge a piece
constexpr int kPartsPerLane = kSplit / kLanes;
constexpr int kPolls = 2;              // reads of a lane's words on their way at once
constexpr unsigned kPollClocks = 320;  // from a read to its answer, about

// A lane's parts of a piece: waits until they have come, then makes them 0.
__device__ void take(Record* from, Record (&got)[kPartsPerLane]) {
  Record tries[kPolls][kPartsPerLane];
  const auto read_all = [&](Record (&records)[kPartsPerLane]) {
#pragma unroll
    for (int i = 0; i < kPartsPerLane; ++i) records[i] = read(from + i * kLanes);
  };
  const unsigned start = static_cast<unsigned>(clock());
#pragma unroll
  for (int p = 0; p < kPolls; ++p) {
    while (p > 0 && static_cast<unsigned>(clock()) - start < p * (kPollClocks / kPolls)) {}
    read_all(tries[p]);
  }
  bool complete = false;
  while (!complete) {
#pragma unroll
    for (int p = 0; p < kPolls; ++p) {
      if (complete) break;
      complete = true;
#pragma unroll
      for (int i = 0; i < kPartsPerLane; ++i) {
        got[i] = tries[p][i];
        complete = complete && has_come(got[i]);
      }
      if (!complete) read_all(tries[p]);
    }
  }
#pragma unroll
  for (int i = 0; i < kPartsPerLane; ++i) store(from + i * kLanes, make_uint4(0, 0, 0, 0), make_uint2(0, 0));
}

template <int kHeadDim>
struct SharedMemory {
  // What the warps have, not yet divided by a sum.
  float output[kWarps][kRows][kHeadDim];
  float2 state[kWarps][kRows];  // maximum of the scores, sum of the weights
};

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
  constexpr int kPiecesPerRow = kHeadDim / 4;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedMemory<kHeadDim>*>(shared_bytes);

  const int rank = blockIdx.x % kSplit;
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const int group = blockIdx.x / kSplit;  // of heads: (batch element, head of K and V)
  const size_t first_head = static_cast<size_t>(group) * rows;
  const float scale_log2 = softmax_scale * kLog2E;

  const int stride = bshd ? Hkv * kHeadDim : kHeadDim;
  const size_t first_row = bshd ? static_cast<size_t>(group / Hkv) * Skv * Hkv + group % Hkv : static_cast<size_t>(group) * Skv;
  const int steps_of_cta = ((keys + kSplit - 1) / kSplit + kKeys - 1) / kKeys;
  const int first_key_of_cta = rank * steps_of_cta * kKeys;
  const int key_end = min(keys, first_key_of_cta + steps_of_cta * kKeys);
  const Element* K_head = K + first_row * kHeadDim + 8 * t;
  const Element* V_head = V + first_row * kHeadDim + 8 * g;

  const int pieces = rows * kPiecesPerRow;
  const int own_pieces = (pieces - rank + kSplit - 1) / kSplit;
  Record* const records_of_group = records + static_cast<size_t>(group) * pieces * kSplit;

  // First, because scores wait for it and loads come back in order. Behind the last head the last again, which nobody stores.
  Vector query[kChunks];
#pragma unroll
  for (int c = 0; c < kChunks; ++c) query[c] = load(Q + (first_head + min(g, rows - 1)) * kHeadDim + 32 * c + 8 * t);

  Accumulator output[kHeadDim / 16] = {};
  float max[2] = {-INFINITY, -INFINITY};  // of heads 2t, 2t + 1
  float sum[2] = {};                      // of this lane's keys
  for (int first_key = first_key_of_cta + warp * kKeys; first_key < key_end; first_key += kWarps * kKeys) {
    Vector key[kKeyGroups][2][kChunks];           // keys g, g + 8
    Vector value[kKeyGroups][4][kOutputChunks];  // keys 2t, 2t + 1, 2t + 8, 2t + 9
    const Element* K_from = K_head + static_cast<size_t>(first_key + g) * stride;
    const Element* V_from = V_head + static_cast<size_t>(first_key + 2 * t) * stride;
    const int left = key_end - first_key;
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
      const unsigned low = transpose(Format<Element>::pack(weight[0], weight[1]));
      const unsigned high = transpose(Format<Element>::pack(weight[2], weight[3]));
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
  __syncthreads();

  // What the warps have, four columns a thread. A CTA, or a warp, without a key has sums of 0 and a maximum of -infinity.
  for (int piece = threadIdx.x; piece < pieces; piece += kThreads) {
    const int row = piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * 4;
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
    send(records_of_group + piece * kSplit + rank, part, make_float2(cta_max, total));
  }

  // kLanes lanes per piece of this CTA; whole warps go round together.
  for (int base = warp * kWarpSize; base < own_pieces * kLanes; base += kThreads) {
    const int place = (base + lane) / kLanes;
    const int piece = place * kSplit + rank;
    Record got[kPartsPerLane] = {};
    if (place < own_pieces) take(records_of_group + piece * kSplit + lane % kLanes, got);
    __syncwarp();
    float row_max = -INFINITY;  // finite afterwards: CTA 0 has key 0
#pragma unroll
    for (int i = 0; i < kPartsPerLane; ++i) row_max = fmaxf(row_max, decode_word(got[i].state.x));
#pragma unroll
    for (int lanes = 1; lanes < kLanes; lanes *= 2) row_max = fmaxf(row_max, __shfl_xor_sync(kAllLanes, row_max, lanes));
    float total = 0.0f;
    float part[4] = {};
#pragma unroll
    for (int i = 0; i < kPartsPerLane; ++i) {
      const float weight = fast_exp2((decode_word(got[i].state.x) - row_max) * scale_log2);
      total += weight * decode_word(got[i].state.y);
      part[0] += weight * decode_word(got[i].part.x);
      part[1] += weight * decode_word(got[i].part.y);
      part[2] += weight * decode_word(got[i].part.z);
      part[3] += weight * decode_word(got[i].part.w);
    }
#pragma unroll
    for (int lanes = 1; lanes < kLanes; lanes *= 2) {
      total += __shfl_xor_sync(kAllLanes, total, lanes);
#pragma unroll
      for (int i = 0; i < 4; ++i) part[i] += __shfl_xor_sync(kAllLanes, part[i], lanes);
    }
    if (place >= own_pieces || lane % kLanes != 0) continue;
    const float inverse_sum = __fdividef(1.0f, total);
    const uint2 pairs = make_uint2(Format<Element>::pack(part[0] * inverse_sum, part[1] * inverse_sum),
                                   Format<Element>::pack(part[2] * inverse_sum, part[3] * inverse_sum));
    *reinterpret_cast<uint2*>(O + first_head * kHeadDim + piece * 4) = pairs;
    if (LSE != nullptr && piece % kPiecesPerRow == 0) {
      LSE[first_head + piece / kPiecesPerRow] = row_max * softmax_scale + logf(total);
    }
  }
}

#define INSTANTIATE(D)                                                                                              \
  template __global__ void decode<D>(const Element*, const Element*, const Element*, Element*, float*, Record*, int, int, \
                                     int, int, int, float);
INSTANTIATE(64)
INSTANTIATE(128)
