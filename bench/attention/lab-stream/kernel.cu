// 14_decode_registers with a ring of tiles for each warp in shared memory, filled by the copy engine. For the lab.
//
// A warp waits for one of its tiles (KEYS rows of K and of V), multiplies it and asks for the tile STAGES further on, so nearly
// all of the ring is on its way at any time. No warp waits for another one before the merge.
// PRODUCER = 1: a warp of its own asks for the tiles of all warps at once. PARTS = 0: K and V are only copied; 1: and multiplied;
// 2: and merged.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kRows = 8;       // heads of a group at most
constexpr int kKeys = KEYS;    // per warp and step
constexpr int kWarps = WARPS;
constexpr int kSplit = SPLIT;  // CTAs that share out the keys of a group
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kStages = STAGES;  // tiles of a warp in shared memory
static_assert(kKeys % 16 == 0, "16 keys are the terms of P V");

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

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

__device__ Vector load(const Element* address) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(address));
  return {{v.x, v.y, v.z, v.w}};
}

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

__device__ unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

// The next launch of the stream may start once every CTA has said so; it waits for this one's end, whose writes it sees.
__device__ void let_next_launch_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ void wait_for_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

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

// ---- The ring ----

// HINT: 0: none; 1: lines are the first to be driven out of L2; 2: they stay as important as they were.
__device__ unsigned long long policy() {
  unsigned long long p = 0;
#if HINT == 1
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(p));
#elif HINT == 2
  asm("createpolicy.fractional.L2::evict_unchanged.b64 %0, 1.0;" : "=l"(p));
#endif
  return p;
}

// kKeys rows of a head from `row` on, zeros behind the last.
__device__ void copy_rows(unsigned tile, const TensorMap& map, int row, int head, int batch, unsigned barrier) {
#if HINT == 0
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %3, %4, %5}], [%6];" ::"r"(tile),
      "l"(&map), "r"(0), "r"(row), "r"(head), "r"(batch), "r"(barrier)
      : "memory");
#else
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %2, %3, %4, %5}], "
      "[%6], %7;" ::"r"(tile),
      "l"(&map), "r"(0), "r"(row), "r"(head), "r"(batch), "r"(barrier), "l"(policy())
      : "memory");
#endif
}

// Which of 8 keys is row or term r: with PERMUTE, one for which no two lanes of a quarter of a warp meet in a bank.
template <int kHeadDim>
__device__ int key_of(int r) {
  if (!PERMUTE) return r;
  const int b0 = r % 2, b1 = r / 2 % 2, b2 = r / 4;
  return kHeadDim == 64 ? (b2 ^ b0) * 4 + b1 * 2 + b2 : b2 * 4 + (b2 ^ b0) * 2 + b1;
}

// Where 16-byte piece `piece` of row `row` lies in a tile. TENSOR: pieces trade places as swizzle 128B has it.
template <int kHeadDim>
__device__ unsigned place_of(int row, int piece) {
  constexpr int kLines = kHeadDim / 64;  // of 128 bytes, of a row
  const int line = row * kLines + piece / 8;
  return line * 128 + (piece % 8 ^ line % 8) * 16;
}

template <int kHeadDim>
struct SharedMemory {
  static constexpr int kTileBytes = kKeys * kHeadDim * static_cast<int>(sizeof(Element));
  struct Stage {
    unsigned char K[kTileBytes];
    unsigned char V[kTileBytes];
  };
#if PRODUCER
  // Tiles of a stage lie side by side, of K and of V: one copy each.
  struct alignas(1024) CtaStage {
    unsigned char K[kWarps][kTileBytes];
    unsigned char V[kWarps][kTileBytes];
  };
  CtaStage ring[kStages];
#else
  struct alignas(1024) Warp {
    Stage ring[kStages];
  };
  Warp warps[kWarps];
#endif
  static_assert(kTileBytes >= kRows * kHeadDim * 4, "a warp's output takes the place of its first tile");
  __device__ unsigned char* K_tile(int warp, int slot) {
#if PRODUCER
    return ring[slot].K[warp];
#else
    return warps[warp].ring[slot].K;
#endif
  }
  __device__ unsigned char* V_tile(int warp, int slot) {
#if PRODUCER
    return ring[slot].V[warp];
#else
    return warps[warp].ring[slot].V;
#endif
  }
  // After its last tile: [kRows][kHeadDim], not yet divided by a sum.
  __device__ float* output(int warp, int head) { return reinterpret_cast<float*>(K_tile(warp, 0)) + head * kHeadDim; }
  float2 state[kWarps][kRows];  // maximum of the scores, sum of the weights
  unsigned long long full[PRODUCER ? 1 : kWarps][2][kStages];  // mbarriers, of K and of V
  unsigned long long empty[2][kStages];  // if PRODUCER
};

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads + 32 * PRODUCER, 1)
    decode(const Element* __restrict__ Q,  // [B * H, kHeadDim]
           const __grid_constant__ TensorMap K_map,
           const __grid_constant__ TensorMap V_map,
           Element* __restrict__ O,        // [B * H, kHeadDim]
           float* __restrict__ LSE,        // [B * H], or null
           float* __restrict__ parts,      // [SPLIT, B * H, kHeadDim], not divided by the sums; if SPLIT > 1
           float2* __restrict__ states,    // [SPLIT, B * H]: maximum of the scores, sum of the weights
           int keys,                       // that a query sees
           int Hkv, int rows,              // heads of a group
           float softmax_scale) {
  constexpr int kKeyGroups = kKeys / 16;
  constexpr int kChunks = kHeadDim / 32;        // of a row of K
  constexpr int kOutputChunks = kHeadDim / 64;  // of a row of V
  constexpr int kPiecesPerRow = kHeadDim / 4;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  // The same place in every CTA of a cluster, since dynamic shared memory begins at the same address.
  auto& smem = *reinterpret_cast<SharedMemory<kHeadDim>*>(shared_bytes + (-shared_address(shared_bytes) & 1023));

  const int rank = blockIdx.x % kSplit;
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const int group = blockIdx.x / kSplit;  // of heads: (batch element, head of K and V)
  const size_t first_head = static_cast<size_t>(group) * rows;
  const float scale_log2 = softmax_scale * kLog2E;

  const int steps_of_cta = ((keys + kSplit - 1) / kSplit + kKeys - 1) / kKeys;
  const int first_key_of_cta = rank * steps_of_cta * kKeys;
  const int key_end = min(keys, first_key_of_cta + steps_of_cta * kKeys);

  const int pieces = rows * kPiecesPerRow;
  constexpr int kTileBytes = SharedMemory<kHeadDim>::kTileBytes;
  const auto barrier_of = [&](int which, int slot) { return shared_address(&smem.full[PRODUCER ? 0 : warp][which][slot]); };
#if PRODUCER
  const auto empty_of = [&](int which, int slot) { return shared_address(&smem.empty[which][slot]); };
  const int tiles = max(0, (key_end - first_key_of_cta + kWarps * kKeys - 1) / (kWarps * kKeys));  // of every warp
  const auto key_of_tile = [&](int tile) { return first_key_of_cta + (tile * kWarps + warp) * kKeys; };
  if (threadIdx.x == kThreads) {
#pragma unroll
    for (int i = 0; i < 2 * kStages; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&smem.full[0][0][i])) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&smem.empty[0][i])), "r"(kWarps) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    // The first copies, before others know the barriers.
    for (int tile = 0; tile < min(kStages, tiles); ++tile) {
#pragma unroll
      for (int which = 0; which < 2; ++which) {
        const unsigned barrier = barrier_of(which, tile);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(kWarps * kTileBytes) : "memory");
        copy_rows(shared_address(which == 0 ? smem.K_tile(0, tile) : smem.V_tile(0, tile)), which == 0 ? K_map : V_map,
                  first_key_of_cta + tile * kWarps * kKeys, group % Hkv, group / Hkv, barrier);
      }
    }
  }
  __syncthreads();
  if (warp == kWarps) {
    if (lane == 0) {
      int slot = 0;
      int parity = 0;
      for (int tile = kStages; tile < tiles; ++tile) {
#pragma unroll
        for (int which = 0; which < 2; ++which) {
          const unsigned barrier = barrier_of(which, slot);
          wait(empty_of(which, slot), parity);
          asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(kWarps * kTileBytes) : "memory");
          copy_rows(shared_address(which == 0 ? smem.K_tile(0, slot) : smem.V_tile(0, slot)), which == 0 ? K_map : V_map,
                    first_key_of_cta + tile * kWarps * kKeys, group % Hkv, group / Hkv, barrier);
        }
        if (++slot == kStages) {
          slot = 0;
          parity ^= 1;
        }
      }
    }
    if (kSplit > 1) let_next_launch_start();
    __syncthreads();  // of the merge
    return;
  }
#else
  if (lane == 0) {
#pragma unroll
    for (int i = 0; i < 2 * kStages; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&smem.full[warp][0][i])) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  const int first_key_of_warp = first_key_of_cta + warp * kKeys;
  const int tiles = max(0, (key_end - first_key_of_warp + kWarps * kKeys - 1) / (kWarps * kKeys));
  const auto key_of_tile = [&](int tile) { return first_key_of_warp + tile * kWarps * kKeys; };
  // Of K (0) or V (1).
  const auto start_copy = [&](int which, int tile, int slot) {
    const unsigned barrier = barrier_of(which, slot);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(kTileBytes) : "memory");
    copy_rows(shared_address(which == 0 ? smem.K_tile(warp, slot) : smem.V_tile(warp, slot)), which == 0 ? K_map : V_map,
              key_of_tile(tile), group % Hkv, group / Hkv, barrier);
  };
  if (lane == 0) {
    for (int tile = 0; tile < min(kStages, tiles); ++tile) {
      start_copy(0, tile, tile);
      start_copy(1, tile, tile);
    }
  }
#endif

  // First, because scores wait for it and loads come back in order. Behind the last head the last again, which nobody stores.
  Vector query[kChunks];
#pragma unroll
  for (int c = 0; c < kChunks; ++c) query[c] = load(Q + (first_head + min(g, rows - 1)) * kHeadDim + 32 * c + 8 * t);

  Accumulator output[kHeadDim / 16] = {};
  float max[2] = {-INFINITY, -INFINITY};  // of heads 2t, 2t + 1
  float sum[2] = {};                      // of this lane's keys
  int slot = 0;
  int parity = 0;
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    const int left = key_end - key_of_tile(tile);
    wait(barrier_of(0, slot), parity);
    const unsigned K_tile = shared_address(smem.K_tile(warp, slot));
    const unsigned V_tile = shared_address(smem.V_tile(warp, slot));
#if PARTS > 0
    Accumulator score[kKeyGroups] = {};
#pragma unroll
    for (int m = 0; m < kKeyGroups; ++m) {
      Vector upper[kChunks], lower[kChunks];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        upper[c] = load_shared(K_tile + place_of<kHeadDim>(16 * m + key_of<kHeadDim>(g), 4 * c + t));
        lower[c] = load_shared(K_tile + place_of<kHeadDim>(16 * m + 8 + key_of<kHeadDim>(g), 4 * c + t));
      }
      Accumulator chains[2] = {};
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const unsigned(&q)[4] = query[c].pair;
        Format<Element>::multiply_add(chains[0], {{upper[c].pair[0], lower[c].pair[0], upper[c].pair[1], lower[c].pair[1]}}, q[0], q[1]);
        Format<Element>::multiply_add(chains[1], {{upper[c].pair[2], lower[c].pair[2], upper[c].pair[3], lower[c].pair[3]}}, q[2], q[3]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) score[m].value[i] = chains[0].value[i] + chains[1].value[i];
    }
#if PRODUCER
    __syncwarp();
    if (lane == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty_of(0, slot)) : "memory");
#elif EARLY
    __syncwarp();
    if (lane == 0 && tile + kStages < tiles) start_copy(0, tile + kStages, slot);
#endif
    if (left < kKeys) {
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (16 * m + i / 2 * 8 + key_of<kHeadDim>(g) >= left) score[m].value[i] = -INFINITY;
        }
      }
    }
    float origin[2];
    float correction[2];
    bool grows = false;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = max[h];
#pragma unroll
      for (int m = 0; m < kKeyGroups; ++m) largest = fmaxf(largest, fmaxf(score[m].value[h], score[m].value[h + 2]));
      largest = max_over_keys(largest);
      // Scores may all be -infinity: weights are then exp2(-infinity - 0).
      origin[h] = largest == -INFINITY ? 0.0f : largest * scale_log2;
      correction[h] = fast_exp2(max[h] * scale_log2 - origin[h]);
      grows = grows || largest > max[h];
      max[h] = largest;
    }
    // Never the sums without the outputs: of large scores, a correction is not quite 1 where the maximum is as before.
    if (!SKIP || __any_sync(kAllLanes, grows)) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        sum[h] *= correction[h];
#pragma unroll
        for (int d = 0; d < kHeadDim / 16; ++d) {
          output[d].value[h] *= correction[h];
          output[d].value[h + 2] *= correction[h];
        }
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
      if (m == 0) wait(barrier_of(1, slot), parity);
      Vector value[kOutputChunks][4];
#pragma unroll
      for (int e = 0; e < kOutputChunks; ++e) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = 16 * m + i / 2 * 8 + key_of<kHeadDim>(i % 2 + 2 * t);
          value[e][i] = load_shared(V_tile + place_of<kHeadDim>(row, 8 * e + g));
        }
      }
      if (left < kKeys) {  // no weight of 0 times what is no number
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const bool inside = 16 * m + i / 2 * 8 + key_of<kHeadDim>(i % 2 + 2 * t) < left;
#pragma unroll
          for (int e = 0; e < kOutputChunks; ++e) {
            if (!inside) value[e][i] = {{0, 0, 0, 0}};
          }
        }
      }
#pragma unroll
      for (int e = 0; e < kOutputChunks; ++e) {
        const Vector(&keys_of)[4] = value[e];
        // Column j of two keys.
        const auto pair = [&](int first, int j) {
          return __byte_perm(keys_of[first].pair[j / 2], keys_of[first + 1].pair[j / 2], j % 2 == 0 ? 0x5410 : 0x7632);
        };
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          Format<Element>::multiply_add(output[4 * e + j], {{pair(0, j), pair(0, j + 4), pair(2, j), pair(2, j + 4)}}, low, high);
        }
      }
    }
#else
    wait(barrier_of(1, slot), parity);
#endif
    __syncwarp();
#if PRODUCER
    if (lane == 0) {
#if PARTS == 0
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty_of(0, slot)) : "memory");
#endif
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty_of(1, slot)) : "memory");
    }
#else
    if (lane == 0 && tile + kStages < tiles) {
#if !EARLY || PARTS == 0
      start_copy(0, tile + kStages, slot);
#endif
      start_copy(1, tile + kStages, slot);
    }
#endif
    if (++slot == kStages) {
      slot = 0;
      parity ^= 1;
    }
  }
  if (kSplit > 1 && !PRODUCER) let_next_launch_start();
#if PRODUCER && PARTS < 2
  __syncthreads();
#endif
#if PARTS == 1
  float all = sum[0] + sum[1];
#pragma unroll
  for (int d = 0; d < kHeadDim / 16; ++d) all += output[d].value[0] + output[d].value[1] + output[d].value[2] + output[d].value[3];
  if (all == 12345.0f) O[threadIdx.x] = __float2half(all);  // never, but the compiler does not know
#endif
#if PARTS > 1

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
        *reinterpret_cast<float4*>(&smem.output(warp, head)[64 * e + 8 * g + 4 * i]) =
            make_float4(of[4 * e].value[h + 2 * i], of[4 * e + 1].value[h + 2 * i], of[4 * e + 2].value[h + 2 * i],
                        of[4 * e + 3].value[h + 2 * i]);
      }
    }
  }
  __syncthreads();

  const auto store = [&](int piece, float4 part, float row_max, float total) {
    const float inverse_sum = 1.0f / total;
    const uint2 pairs = make_uint2(Format<Element>::pack(part.x * inverse_sum, part.y * inverse_sum),
                                   Format<Element>::pack(part.z * inverse_sum, part.w * inverse_sum));
    *reinterpret_cast<uint2*>(O + first_head * kHeadDim + piece * 4) = pairs;
    if (LSE != nullptr && piece % kPiecesPerRow == 0) {
      LSE[first_head + piece / kPiecesPerRow] = row_max * softmax_scale + logf(total);
    }
  };
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
      const float4 own = *reinterpret_cast<const float4*>(&smem.output(i, row)[column]);
      total += weight * smem.state[i][row].y;
      part.x += weight * own.x;
      part.y += weight * own.y;
      part.z += weight * own.z;
      part.w += weight * own.w;
    }
    if (kSplit == 1) {
      store(piece, part, cta_max, total);
      continue;
    }
    const size_t place = static_cast<size_t>(rank) * (gridDim.x / kSplit) * rows + first_head + row;
    *reinterpret_cast<float4*>(parts + place * kHeadDim + column) = part;
    if (column == 0) states[place] = make_float2(cta_max, total);
  }
#endif
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
  const float inverse_sum = 1.0f / total;
  const uint2 pairs = make_uint2(Format<Element>::pack(output.x * inverse_sum, output.y * inverse_sum),
                                 Format<Element>::pack(output.z * inverse_sum, output.w * inverse_sum));
  *reinterpret_cast<uint2*>(O + static_cast<size_t>(blockIdx.x) * kHeadDim + piece * 4) = pairs;
  if (LSE != nullptr && piece == 0) LSE[blockIdx.x] = row_max * softmax_scale + logf(total);
}

#define INSTANTIATE(D)                                                                                                        \
  template __global__ void decode<D>(const Element*, const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,    \
                                     Element*, float*, float*, float2*, int, int, int, float);                                \
  template __global__ void merge<D>(const float*, const float2*, Element*, float*, int, float);
INSTANTIATE(64)
INSTANTIATE(128)
