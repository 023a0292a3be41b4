// 16_decode_stream: one query of each head against keys that come from device memory without a pause.
//
// Idea      Where K and V are more than L2 holds, a decoding step takes what reading them takes, and what a kernel can do is not to
//           hold up the reads. A warp that loads its own keys has the fewest on their way just when it multiplies. Here one warp
//           does nothing but ask the copy engine for tiles, and asks again as soon as a place is free. One CTA has all keys
//           of a group of heads, so there is nothing to merge but what its warps have.
// Change    From 14_decode_registers: K and V go through a ring in shared memory; no cluster, but a second launch where SPLIT > 1.
//           Heads are the rows of the scores again, keys the columns: what a lane loads of K then lies as mma.sync wants it, and
//           weights as the second product wants them, with no register moved and nothing transposed. Outputs are rescaled
//           only for a new maximum.
// Layouts   Q, O: fp16 or bf16 (DTYPE) [B, H, 1, D]; K, V: [B, Hkv, Skv, D], or with heads inside positions (bshd), as tensor
//           maps of [B, Hkv, Skv, D / 64, 64]; LSE: fp32 [B, H] or null. decode: grid = SPLIT * B * Hkv,
//           block = 32 * (WARPS + 1), the last of them the producer. merge (SPLIT > 1): grid = B * H, block = 256.
//           Parts: fp32 [SPLIT, B * H, D], their maxima and sums [SPLIT, B * H, 2].
//           A stage of the ring: WARPS tiles of KEYS rows of K, as many of V, pieces of 16 bytes swizzled (128B).
//           mma.sync m16n8k16, with g = lane / 4 and t = lane % 4. Scores: row g is head g of the group, rows 8 ... 15 are
//           none; column g is key key_of(g) of 8; terms 2t, 2t + 1, 2t + 8, 2t + 9 of product s are columns 8t + 4s ... + 3 of
//           a chunk of 32. So a lane ends with keys key_of(2t), key_of(2t + 1) of head g, terms 2t, 2t + 1 of the second
//           product. Output: rows g and g + 8 of product j are columns 8g + j and 8g + j + 4 of a chunk of 64, column c is
//           head c. So a lane ends with columns 8g ... 8g + 7 of heads 2t, 2t + 1.
// Tile      H / Hkv of 8 rows; KEYS keys per warp, KEYS * WARPS per stage; ceil(keys / SPLIT) per CTA, rounded up to whole tiles.
// Resources Shared bytes: 4 STAGES KEYS WARPS D, so one CTA per SM with 3 stages of 128 keys at D = 128 (192 KiB).
// Bound     B16 H32/8 S8192 D128: 537 MB at 4.5 TB/s, which is what kernels that only read get out of an H200's memory:
//           119.3 us. The last tile's products and the merge of warps come on top, 1.7 us.
// Limits    sm_90 (the copy engine). One query (S = 1); H / Hkv <= 8; D in {64, 128}.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kRows = 8;       // heads of a group at most
constexpr int kKeys = KEYS;    // of a warp's tile
constexpr int kWarps = WARPS;  // that multiply
constexpr int kSplit = SPLIT;  // CTAs that share out the keys of a group
constexpr int kStages = STAGES;
constexpr int kThreads = kWarps * kWarpSize;  // that multiply
static_assert(kKeys % 16 == 0, "16 keys are the terms of P V");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

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

// 8 neighbouring elements of a row.
struct Vector {
  unsigned pair[4];
};

__device__ Vector load(const Element* address) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(address));
  return {{v.x, v.y, v.z, v.w}};
}

__device__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ Vector load_shared(unsigned address) {
  Vector v;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.pair[0]), "=r"(v.pair[1]), "=r"(v.pair[2]), "=r"(v.pair[3])
               : "r"(address)
               : "memory");
  return v;
}

// One instruction; exp2f would treat subnormal results apart, which a weight rounded to fp16 has no use for.
__device__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Over the four lanes that share a head.
__device__ float max_over_keys(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}
__device__ float sum_over_keys(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

// The next launch of the stream may start once every CTA has said so; it waits for this one's end, whose writes it sees.
__device__ void let_next_launch_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ void wait_for_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// ---- The ring ----

__device__ void init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives, and keeps the phase open until so many bytes have come from copies.
__device__ void expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Returns when the phase of this parity is complete.
__device__ void wait(unsigned barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
      "@!complete bra again;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Starts to copy the rows of a stage from `row` of a head on; zeros behind the last. They are read once: with EVICT_FIRST they
// don't drive out of L2 what may be read again.
__device__ void copy_rows(unsigned to, const TensorMap& map, int row, int head, int batch, unsigned barrier) {
#if EVICT_FIRST
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %2, %3, %4, %5}], [%6], %7;" ::"r"(to),
      "l"(&map), "r"(0), "r"(row), "r"(head), "r"(batch), "r"(barrier), "l"(policy)
      : "memory");
#else
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %2, %3, %4, %5}], [%6];" ::"r"(to),
      "l"(&map), "r"(0), "r"(row), "r"(head), "r"(batch), "r"(barrier)
      : "memory");
#endif
}

template <int kHeadDim>
struct SharedMemory {
  static constexpr int kTileBytes = kKeys * kHeadDim * static_cast<int>(sizeof(Element));
  struct alignas(1024) Stage {
    unsigned char tiles[2][kWarps][kTileBytes];  // of K, of V
  };
  Stage ring[kStages];
  float2 state[kWarps][kRows];           // maximum of the scores, sum of the weights
  unsigned long long full[2][kStages];   // mbarriers: copied, of K and of V
  unsigned long long empty[2][kStages];  // multiplied by all warps

  // What a warp has after its last tile, not yet divided by a sum, in the place of its first: [kRows][kHeadDim].
  static_assert(kTileBytes >= kRows * kHeadDim * static_cast<int>(sizeof(float)), "a tile has room for an output");
  __device__ float* output(int warp, int head) { return reinterpret_cast<float*>(ring[0].tiles[0][warp]) + head * kHeadDim; }
};

// Which of 8 keys is column or term `index`: a quarter of a warp reads pieces of two rows of K, or of four rows of V, and no
// two of its lanes meet in a bank.
template <int kHeadDim>
__device__ int key_of(int index) {
  const int b0 = index % 2, b1 = index / 2 % 2, b2 = index / 4;
  return kHeadDim == 64 ? (b2 ^ b0) * 4 + b1 * 2 + b2 : b2 * 4 + (b2 ^ b0) * 2 + b1;
}

// Where 16-byte piece `piece` of row `row` lies in a tile. Eight rows further on, lines trade the same pieces.
template <int kHeadDim>
__device__ unsigned place_of(int row, int piece) {
  constexpr int kLines = kHeadDim / 64;  // of 128 bytes, of a row
  const int line = row * kLines + piece / 8;
  return line * 128 + (piece % 8 ^ line % 8) * 16;
}

// A number that the compiler does not work out again wherever it is used.
__device__ unsigned keep(unsigned value) {
  asm volatile("" : "+r"(value));
  return value;
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads + kWarpSize, 1)
    decode(const Element* __restrict__ Q,  // [B * H, kHeadDim]
           const __grid_constant__ TensorMap K_map, const __grid_constant__ TensorMap V_map,
           Element* __restrict__ O,      // [B * H, kHeadDim]
           float* __restrict__ LSE,      // [B * H], or null
           float* __restrict__ parts,    // [SPLIT, B * H, kHeadDim], kWeightScale times the weighted values; if SPLIT > 1
           float2* __restrict__ states,  // [SPLIT, B * H]: maximum of the scores, sum of the weights
           int keys,                     // that a query sees
           int Hkv, int rows,            // heads of a group
           float softmax_scale) {
  using Memory = SharedMemory<kHeadDim>;
  constexpr int kKeyGroups = kKeys / 16;
  constexpr int kChunks = kHeadDim / 32;        // of a row of K
  constexpr int kOutputChunks = kHeadDim / 64;  // of a row of V
  constexpr int kPiecesPerRow = kHeadDim / 4;
  constexpr int kStageKeys = kWarps * kKeys;
  constexpr int kEightRows = 8 * kHeadDim * static_cast<int>(sizeof(Element));  // bytes
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<Memory*>(shared_bytes + (-shared_address(shared_bytes) & 1023));

  const int rank = blockIdx.x % kSplit;
  const int group = blockIdx.x / kSplit;  // of heads: (batch element, head of K and V)
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const size_t first_head = static_cast<size_t>(group) * rows;

  const int tiles_of_cta = ((keys + kSplit - 1) / kSplit + kKeys - 1) / kKeys;
  const int first_key_of_cta = rank * tiles_of_cta * kKeys;
  const int key_end = min(keys, first_key_of_cta + tiles_of_cta * kKeys);
  const int steps = max(0, (key_end - first_key_of_cta + kStageKeys - 1) / kStageKeys);
  const auto full = [&](int which, int slot) { return shared_address(&smem.full[which][slot]); };    // which: 0: K, 1: V
  const auto empty = [&](int which, int slot) { return shared_address(&smem.empty[which][slot]); };

  const int g = lane / 4;
  const int t = lane % 4;
  const float scale_log2 = softmax_scale * kLog2E;
  const auto start_copy = [&](int which, int step, int slot) {
    expect(full(which, slot), kWarps * Memory::kTileBytes);
    copy_rows(shared_address(smem.ring[slot].tiles[which]), which == 0 ? K_map : V_map, first_key_of_cta + step * kStageKeys,
              group % Hkv, group / Hkv, full(which, slot));
  };
  Vector query[kChunks];
  // Places of this lane's pieces in a tile: of key key_of(g); of keys key_of(2t) and key_of(2t + 1).
  unsigned K_place[kChunks], V_place[2][kOutputChunks];
  if (warp == kWarps) {
    if (lane == 0) {
#pragma unroll
      for (int slot = 0; slot < kStages; ++slot) {
#pragma unroll
        for (int which = 0; which < 2; ++which) {
          init(full(which, slot), 1);
          init(empty(which, slot), kWarps);
        }
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      // The first copies leave before other warps know the barriers.
      for (int step = 0; step < min(kStages, steps); ++step) {
        start_copy(0, step, step);
        start_copy(1, step, step);
      }
    }
  } else {
    // Behind the last head the last again, which nobody stores.
#pragma unroll
    for (int c = 0; c < kChunks; ++c) query[c] = load(Q + (first_head + min(g, rows - 1)) * kHeadDim + 32 * c + 8 * t);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) K_place[c] = keep(place_of<kHeadDim>(key_of<kHeadDim>(g), 4 * c + t));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int e = 0; e < kOutputChunks; ++e) V_place[i][e] = keep(place_of<kHeadDim>(key_of<kHeadDim>(2 * t + i), 8 * e + g));
    }
  }
  __syncthreads();  // of all warps, at one place: roles part behind it

  if (warp == kWarps) {
    if (lane == 0) {
      int slot = 0;
      int parity = 0;
      for (int step = kStages; step < steps; ++step) {
#pragma unroll
        for (int which = 0; which < 2; ++which) {
          wait(empty(which, slot), parity);
          start_copy(which, step, slot);
        }
        if (++slot == kStages) {
          slot = 0;
          parity ^= 1;
        }
      }
      if (kSplit > 1) let_next_launch_start();
    }
    return;
  } else {
    Accumulator output[kHeadDim / 16] = {};
    float max = -INFINITY;  // of head g
    float sum = 0.0f;       // of this lane's keys
    int slot = 0;
    int parity = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const unsigned K_tile = shared_address(smem.ring[slot].tiles[0][warp]);
      const unsigned V_tile = shared_address(smem.ring[slot].tiles[1][warp]);
      const int left = key_end - (first_key_of_cta + step * kStageKeys + warp * kKeys);
      wait(full(0, slot), parity);
      float score[kKeyGroups][2][2];  // keys key_of(2t), key_of(2t + 1) of each 8
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) {
        Vector key[2][kChunks];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
          for (int c = 0; c < kChunks; ++c) key[i][c] = load_shared(K_tile + K_place[c] + (2 * m + i) * kEightRows);
        }
        Accumulator chains[2][2] = {};
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
#pragma unroll
          for (int s = 0; s < 2; ++s) {
            const FragmentA q = {{query[c].pair[2 * s], 0, query[c].pair[2 * s + 1], 0}};
#pragma unroll
            for (int i = 0; i < 2; ++i) {
              Format<Element>::multiply_add(chains[i][s], q, key[i][c].pair[2 * s], key[i][c].pair[2 * s + 1]);
            }
          }
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
          for (int j = 0; j < 2; ++j) score[m][i][j] = chains[i][0].value[j] + chains[i][1].value[j];
        }
      }
      __syncwarp();
      if (lane == 0) arrive(empty(0, slot));
      if (left < kKeys) {
#pragma unroll
        for (int i = 0; i < 4 * kKeyGroups; ++i) {
          if (8 * (i / 2) + key_of<kHeadDim>(2 * t + i % 2) >= left) score[i / 4][i / 2 % 2][i % 2] = -INFINITY;
        }
      }

      float largest = max;
#pragma unroll
      for (int i = 0; i < 4 * kKeyGroups; ++i) largest = fmaxf(largest, score[i / 4][i / 2 % 2][i % 2]);
      largest = max_over_keys(largest);
      // Scores may all be -infinity: weights are then exp2(-infinity - 0).
      const float origin = largest == -INFINITY ? 0.0f : largest * scale_log2;
      if (__any_sync(kAllLanes, largest > max)) {
        const float correction = fast_exp2(max * scale_log2 - origin);
        // Never the sums without the outputs: of large scores, a correction is not quite 1 where the maximum is as before.
        sum *= correction;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float of_head = __shfl_sync(kAllLanes, correction, 4 * (2 * t + h));
#pragma unroll
          for (int d = 0; d < kHeadDim / 16; ++d) {
            output[d].value[h] *= of_head;
            output[d].value[h + 2] *= of_head;
          }
        }
        max = largest;
      }
      unsigned weights[kKeyGroups][2];
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float low = fast_exp2(score[m][i][0] * scale_log2 - origin);
          const float high = fast_exp2(score[m][i][1] * scale_log2 - origin);
          sum += low + high;
          weights[m][i] = Format<Element>::pack(low * kWeightScale, high * kWeightScale);
        }
      }

      wait(full(1, slot), parity);
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) {
        Vector value[4][kOutputChunks];  // of keys 2t, 2t + 1, 2t + 8, 2t + 9 of 16, as terms
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int e = 0; e < kOutputChunks; ++e) {
            value[i][e] = load_shared(V_tile + V_place[i % 2][e] + (2 * m + i / 2) * kEightRows);
          }
        }
        if (left < kKeys) {  // no weight of 0 times what is no number
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const bool outside = 16 * m + i / 2 * 8 + key_of<kHeadDim>(2 * t + i % 2) >= left;
#pragma unroll
            for (int e = 0; e < kOutputChunks; ++e) {
              if (outside) value[i][e] = {{0, 0, 0, 0}};
            }
          }
        }
#pragma unroll
        for (int e = 0; e < kOutputChunks; ++e) {
          // Column j of two keys.
          const auto pair = [&](int first, int j) {
            return __byte_perm(value[first][e].pair[j / 2], value[first + 1][e].pair[j / 2], j % 2 == 0 ? 0x5410 : 0x7632);
          };
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            Format<Element>::multiply_add(output[4 * e + j], {{pair(0, j), pair(0, j + 4), pair(2, j), pair(2, j + 4)}},
                                          weights[m][0], weights[m][1]);
          }
        }
      }
      __syncwarp();
      if (lane == 0) arrive(empty(1, slot));
      if (++slot == kStages) {
        slot = 0;
        parity ^= 1;
      }
    }

    sum = sum_over_keys(sum);
    if (t == 0) smem.state[warp][g] = make_float2(max, sum);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (2 * t + h >= rows) continue;
#pragma unroll
      for (int e = 0; e < kOutputChunks; ++e) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {  // columns 8g + 4i ... + 3
          const Accumulator(&of)[kHeadDim / 16] = output;
          *reinterpret_cast<float4*>(smem.output(warp, 2 * t + h) + 64 * e + 8 * g + 4 * i) =
              make_float4(of[4 * e].value[h + 2 * i], of[4 * e + 1].value[h + 2 * i], of[4 * e + 2].value[h + 2 * i],
                          of[4 * e + 3].value[h + 2 * i]);
        }
      }
    }
  }
  // The warps that multiply; the producer may have ended.
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");

  // What the warps have, four columns a thread. A warp without a key has sums of 0 and a maximum of -infinity; so may one of
  // several CTAs.
  for (int piece = threadIdx.x; piece < rows * kPiecesPerRow; piece += kThreads) {
    const int row = piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * 4;
    float cta_max = -INFINITY;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) cta_max = fmaxf(cta_max, smem.state[i][row].x);
    const float origin = kSplit > 1 && cta_max == -INFINITY ? 0.0f : cta_max;
    float total = 0.0f;
    float4 part = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kWarps; ++i) {
      const float weight = fast_exp2((smem.state[i][row].x - origin) * scale_log2);
      const float4 own = *reinterpret_cast<const float4*>(smem.output(i, row) + column);
      total += weight * smem.state[i][row].y;
      part.x += weight * own.x;
      part.y += weight * own.y;
      part.z += weight * own.z;
      part.w += weight * own.w;
    }
    if (kSplit > 1) {
      const size_t place = static_cast<size_t>(rank) * (gridDim.x / kSplit) * rows + first_head + row;
      *reinterpret_cast<float4*>(parts + place * kHeadDim + column) = part;
      if (column == 0) states[place] = make_float2(cta_max, total);
      continue;
    }
    const float inverse_sum = 1.0f / (total * kWeightScale);
    const uint2 pairs = make_uint2(Format<Element>::pack(part.x * inverse_sum, part.y * inverse_sum),
                                   Format<Element>::pack(part.z * inverse_sum, part.w * inverse_sum));
    *reinterpret_cast<uint2*>(O + (first_head + row) * kHeadDim + column) = pairs;
    if (LSE != nullptr && column == 0) LSE[first_head + row] = cta_max * softmax_scale + logf(total);
  }
}

constexpr int kMergeThreads = 256;  // at most
constexpr int kAtOnce = 4;          // parts of a thread on their way

// Four neighbouring columns are a piece, and a thread takes its share of the parts of one.
template <int kHeadDim>
struct MergeShape {
  static constexpr int kPieces = kHeadDim / 4;
  static constexpr int kShares = kMergeThreads / kPieces;
  static constexpr int kThreads = kShares * kPieces;
};

// Of one head. Threads merge their shares of the parts, then the shares are merged in shared memory.
template <int kHeadDim>
__global__ void __launch_bounds__(MergeShape<kHeadDim>::kThreads)
    merge(const float* __restrict__ parts,     // [splits, B * H, kHeadDim]
          const float2* __restrict__ states,   // [splits, B * H]
          Element* __restrict__ O,             // [B * H, kHeadDim]
          float* __restrict__ LSE,             // [B * H], or null
          int splits, float softmax_scale) {
  constexpr int kPieces = MergeShape<kHeadDim>::kPieces;
  constexpr int kShares = MergeShape<kHeadDim>::kShares;
  __shared__ float4 share_part[kShares][kPieces];
  __shared__ float2 share_state[kShares];
  const int piece = threadIdx.x % kPieces;
  const int share = threadIdx.x / kPieces;
  const size_t heads = gridDim.x;
  const float scale_log2 = softmax_scale * kLog2E;
  wait_for_launch_before();

  float max = -INFINITY;
  float sum = 0.0f;
  float4 output = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
  for (int first = share; first < splits; first += kShares * kAtOnce) {
    float4 part[kAtOnce];
    float2 state[kAtOnce];
    float new_max = max;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + i * kShares;
      const size_t place = at * heads + blockIdx.x;
      const bool is_part = at < splits;
      part[i] = is_part ? reinterpret_cast<const float4*>(parts + place * kHeadDim)[piece] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      state[i] = is_part ? states[place] : make_float2(-INFINITY, 0.0f);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) new_max = fmaxf(new_max, state[i].x);
    // A CTA without a key has a maximum of -infinity.
    const float origin = new_max == -INFINITY ? 0.0f : new_max;
    const float correction = fast_exp2((max - origin) * scale_log2);
    max = new_max;
    sum *= correction;
    output.x *= correction;
    output.y *= correction;
    output.z *= correction;
    output.w *= correction;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = fast_exp2((state[i].x - origin) * scale_log2);
      sum += weight * state[i].y;
      output.x += weight * part[i].x;
      output.y += weight * part[i].y;
      output.z += weight * part[i].z;
      output.w += weight * part[i].w;
    }
  }
  share_part[share][piece] = output;
  if (piece == 0) share_state[share] = make_float2(max, sum);
  __syncthreads();
  if (threadIdx.x >= kPieces) return;

  // Finite: share 0 has part 0. A share without a part has a sum of 0 and a maximum of -infinity.
  float row_max = -INFINITY;
#pragma unroll
  for (int i = 0; i < kShares; ++i) row_max = fmaxf(row_max, share_state[i].x);
  float total = 0.0f;
  output = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < kShares; ++i) {
    const float weight = fast_exp2((share_state[i].x - row_max) * scale_log2);
    const float4 own = share_part[i][piece];
    total += weight * share_state[i].y;
    output.x += weight * own.x;
    output.y += weight * own.y;
    output.z += weight * own.z;
    output.w += weight * own.w;
  }
  const float inverse_sum = 1.0f / (total * kWeightScale);
  const uint2 pairs = make_uint2(Format<Element>::pack(output.x * inverse_sum, output.y * inverse_sum),
                                 Format<Element>::pack(output.z * inverse_sum, output.w * inverse_sum));
  *reinterpret_cast<uint2*>(O + static_cast<size_t>(blockIdx.x) * kHeadDim + piece * 4) = pairs;
  if (LSE != nullptr && piece == 0) LSE[blockIdx.x] = row_max * softmax_scale + logf(total);
}

#define INSTANTIATE(D)                                                                                                     \
  template __global__ void decode<D>(const Element*, const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, \
                                     Element*, float*, float*, float2*, int, int, int, float);                             \
  template __global__ void merge<D>(const float*, const float2*, Element*, float*, int, float);
INSTANTIATE(64)
INSTANTIATE(128)
