// 14_decode_registers: K and V go from device memory to the registers of the lanes that multiply them.
//
// Idea      A decoding step reads each key once, so a tile in shared memory has one reader: the trip there and back, and the
//           waits for it, buy nothing. mma.sync does not care in which order its terms, rows and columns come. So a lane
//           loads 16 neighbouring bytes of a row and calls them what the instruction wants of this lane. Keys are the 16 rows
//           of the scores and heads the 8 columns, so that a single head wastes 7 of 8, not 15 of 16. All loads of a warp's
//           keys leave before the first is used.
// Change    From 13_decode_cluster: no ring, no copies, no ldmatrix; products the other way round; what a CTA sends to the
//           cluster completes the receiver's mbarrier, so nobody waits for a barrier of the whole cluster.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, 1, D]; K, V: [B, Hkv, Skv, D], or with heads inside positions (bshd);
//           LSE: fp32 [B, H] or null. grid = SPLIT * B * Hkv, cluster = SPLIT, block = 32 * WARPS.
//           mma.sync m16n8k16, with g = lane / 4 and t = lane % 4. Column c is head c of the group.
//           Scores: row r is key r of 16; terms 2t, 2t + 1, 2t + 8, 2t + 9 of product s are columns 8t + 4s ... + 3 of a chunk
//           of 32. So a lane has heads 2t, 2t + 1 of keys g, g + 8; `movmatrix` turns them into keys 2t, 2t + 1 of head g.
//           Output: terms are keys 2t, 2t + 1, 2t + 8, 2t + 9 of 16; rows g and g + 8 of product j are columns 8g + j and
//           8g + j + 4 of a chunk of 64. So a lane ends with columns 8g ... 8g + 7 of heads 2t, 2t + 1.
//           Piece p of the output (head p / (D / 4), four columns) is merged by CTA p % SPLIT.
// Tile      H / Hkv of 8 columns; KEYS keys per warp and step, ceil(keys / SPLIT) per CTA, rounded up to whole steps of a warp.
// Resources Registers of a lane: KEYS D / 32 for K and V, D / 4 for the output. Shared bytes: 32 WARPS (D + 2), and 48 D.
// Bound     Reading K and V from L2: B1 H8 Skv4096 D64 with SPLIT = 8 is 64 CTAs of 128 KiB, 2048 clocks at 64 bytes per clock
//           and SM; with 2 us of launch, two trips and the merge 4.2 us. (More than 8 CTAs per cluster: two waves.)
// Limits    sm_90 (clusters; more than 8 CTAs only where the GPU allows it). One query (S = 1); H / Hkv <= 8; D in {64, 128}.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kRows = 8;       // heads of a group at most
constexpr int kKeys = KEYS;    // per warp and step
constexpr int kWarps = WARPS;
constexpr int kSplit = SPLIT;  // CTAs of a cluster, which share out the keys
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

// ---- The cluster ----

__device__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// The same place in the shared memory of CTA `rank` of the cluster.
__device__ unsigned address_in(unsigned rank, unsigned address) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

// Store to a CTA of the cluster and tell its barrier so; return at once.
__device__ void send(unsigned address, unsigned barrier, float4 v) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(address),
               "r"(barrier), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
}
__device__ void send(unsigned address, unsigned barrier, float2 v) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%2, %3}, [%1];" ::"r"(address),
               "r"(barrier), "f"(v.x), "f"(v.y)
               : "memory");
}

// Returns when the first phase of this CTA's barrier is complete.
__device__ void wait(unsigned barrier) {
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [%0], 0;\n"
      "@!complete bra again;\n"
      "}\n" ::"r"(barrier)
      : "memory");
}

template <int kHeadDim>
struct SharedMemory {
  static constexpr int kPieces = (kRows * kHeadDim / 4 + kSplit - 1) / kSplit;  // that a CTA merges at most
  // What the warps have, not yet divided by a sum.
  float output[kWarps][kRows][kHeadDim];
  float2 state[kWarps][kRows];  // maximum of the scores, sum of the weights
  // What the CTAs of the cluster have sent for the pieces that this CTA merges.
  float4 received_part[kSplit][kPieces];
  float2 received_state[kSplit][kPieces];
  unsigned long long received;  // mbarrier
};

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    decode(const Element* __restrict__ Q,  // [B * H, kHeadDim]
           const Element* __restrict__ K,  // [B, Hkv, Skv, kHeadDim]
           const Element* __restrict__ V,  // [B, Hkv, Skv, kHeadDim]
           Element* __restrict__ O,        // [B * H, kHeadDim]
           float* __restrict__ LSE,        // [B * H], or null
           int keys,                       // that a query sees
           int Skv, int Hkv, int rows,     // heads of a group
           int bshd, float softmax_scale) {
  constexpr int kKeyGroups = kKeys / 16;
  constexpr int kChunks = kHeadDim / 32;        // of a row of K
  constexpr int kOutputChunks = kHeadDim / 64;  // of a row of V
  constexpr int kPiecesPerRow = kHeadDim / 4;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedMemory<kHeadDim>*>(shared_bytes);

  const int rank = rank_in_cluster();
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
  const unsigned received = shared_address(&smem.received);
  if (threadIdx.x == 0) {
    const int bytes = own_pieces * kSplit * static_cast<int>(sizeof(float4) + sizeof(float2));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(received) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(received), "r"(bytes) : "memory");
  }
  // Before a CTA sends, the receiver must have started: all arrive here, and wait before they send.
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");

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
  __syncthreads();
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");

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
    const int owner = piece % kSplit;
    const int place = piece / kSplit;
    const unsigned barrier = address_in(owner, received);
    send(address_in(owner, shared_address(&smem.received_part[rank][place])), barrier, part);
    send(address_in(owner, shared_address(&smem.received_state[rank][place])), barrier, make_float2(cta_max, total));
  }
  wait(received);

  for (int place = threadIdx.x; place < own_pieces; place += kThreads) {
    const int piece = place * kSplit + rank;
    float row_max = -INFINITY;  // finite after the loop: CTA 0 has key 0
#pragma unroll
    for (int i = 0; i < kSplit; ++i) row_max = fmaxf(row_max, smem.received_state[i][place].x);
    float total = 0.0f;
    float4 part = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kSplit; ++i) {
      const float2 other = smem.received_state[i][place];
      const float4 own = smem.received_part[i][place];
      const float weight = fast_exp2((other.x - row_max) * scale_log2);
      total += weight * other.y;
      part.x += weight * own.x;
      part.y += weight * own.y;
      part.z += weight * own.z;
      part.w += weight * own.w;
    }
    const float inverse_sum = 1.0f / (total * kWeightScale);
    const uint2 pairs = make_uint2(Format<Element>::pack(part.x * inverse_sum, part.y * inverse_sum),
                                   Format<Element>::pack(part.z * inverse_sum, part.w * inverse_sum));
    *reinterpret_cast<uint2*>(O + first_head * kHeadDim + piece * 4) = pairs;
    if (LSE != nullptr && piece % kPiecesPerRow == 0) {
      LSE[first_head + piece / kPiecesPerRow] = row_max * softmax_scale + logf(total);
    }
  }
}

#define INSTANTIATE(D)                                                                                              \
  template __global__ void decode<D>(const Element*, const Element*, const Element*, Element*, float*, int, int, int, \
                                     int, int, float);
INSTANTIATE(64)
INSTANTIATE(128)
