// 07_queue: as many CTAs as fit on the GPU, which draw tiles of queries from a queue until none is left.
//
// Idea      A grid of one CTA per tile ends in a wave that fills part of the GPU, and causal tiles differ in length by the
//           number of keys that they see. Here a CTA takes the next tile from a counter in global memory when it is done
//           with one; causal tiles are handed out longest first, so that the last ones to start are short.
// Change    From 07_cp_async: a loop over tiles around everything, and the counter. The draw is on its way while the tile is
//           worked on; a barrier between two tiles hands it to all warps and frees the ring.
// Layouts   As 07_cp_async, except for the grid: min(SMs * CTAS_PER_SM, tiles). next_tile: one int, 0 before and after every
//           launch. Tile i is head i / row tiles if not causal: CTAs that run side by side read the same K and V; causal:
//           row tile of all heads before the next shorter one.
// Tile      BLOCK_M queries x BLOCK_N keys per CTA; a warp owns BLOCK_M / WARPS rows, 16 or 32, and all keys of a tile.
// Resources As 07_cp_async, + 4 bytes of static shared memory.
// Bound     As 07_cp_async for the work; the tail is at most one tile instead of one wave: of 64 x 8 tiles on 132 SMs with 2
//           CTAs each, 1.94 waves take the time of 2 either way, and causal ones, half as long in the mean, of 1 instead of
//           1.5. A tile pays one barrier and one atomicAdd, about 0.5 us that the other CTA of the SM covers.
// Limits    D in {32, 64, 96, 128}; any S >= 1. A virtual GPU runs CTAs one after the other, but lets them take turns at the
//           queue where it counts them, so that each draws as many tiles as on a GPU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;  // keys per tile
constexpr int kWarps = WARPS;
constexpr int kStages = STAGES;  // tiles in shared memory; all but one are on their way
constexpr int kThreads = kWarps * kWarpSize;

// mma.sync.m16n8k16
constexpr int kMmaM = 16;
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;

constexpr int kVectorWidth = 8;                          // halves of a 16-byte load
constexpr int kRowTiles = kBlockM / (kWarps * kMmaM);    // of a warp
constexpr int kKeyTiles = kBlockN / kMmaN;               // of a tile of scores
static_assert(kRowTiles * kWarps * kMmaM == kBlockM, "mma tiles must fill the rows of every warp");
static_assert(kStages >= 2, "one tile is used while the others are on their way");
static_assert(kBlockN % kMmaK == 0, "the keys of a tile are the terms of P V");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;

// The operands of one mma.sync, as a lane holds them; a register is two halves.
struct FragmentA {
  unsigned registers[4];  // rows g, g + 8, g, g + 8; columns 2t, 2t, 2t + 8, 2t + 8 and the next
};
struct FragmentB {
  unsigned registers[2];  // rows 2t, 2t + 8 and the next; column g
};
struct Accumulator {
  float value[4];  // rows g, g, g + 8, g + 8; columns 2t, 2t + 1, 2t, 2t + 1
};

// The running softmax of a lane's two rows of an mma tile, g and g + 8.
struct RowState {
  float max[2];
  float sum[2];  // over this lane's columns only, until the end
};

// What depends on the 16-bit format: the instruction, and two neighbours in a register.
template <typename T>
struct Format;
template <>
struct Format<half> {
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b.registers[0]),
          "r"(b.registers[1]));
  }
  __device__ static unsigned pack(float low, float high) {
    const half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
};
template <>
struct Format<__nv_bfloat16> {
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b.registers[0]),
          "r"(b.registers[1]));
  }
  __device__ static unsigned pack(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&pair);
  }
};

__device__ void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
  Format<Element>::multiply_add(d, a, b);
}
__device__ unsigned pack(float low, float high) { return Format<Element>::pack(low, high); }

// One instruction; exp2f would treat subnormal results apart, which a weight rounded to fp16 has no use for.
__device__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ unsigned load_pair(const Element* address) { return *reinterpret_cast<const unsigned*>(address); }

// Largest, or sum, over the four lanes that share a row.
__device__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}
__device__ float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

template <int kHeadDim>
struct SharedTiles {
  alignas(128) Element K[kStages][kBlockN][kHeadDim];
  alignas(128) Element V[kStages][kBlockN][kHeadDim];
};

// The pieces of 16 bytes that trade places in a row, and what row r trades them by.
template <int kHeadDim>
constexpr int kSwizzledPieces = kHeadDim % 64 == 0 ? 8 : 4;

template <int kHeadDim>
__device__ int swizzle(int row) {
  return kHeadDim % 64 == 0 ? row % 8 : row / 2 % 4;
}

// Where a lane reads a row of a tile at columns 16 `step` ..., given where it reads the row at step 0. A swizzle only
// changes an address's bits below kSwizzledPieces * 16, so that steps are XORs there and constants above.
template <int kHeadDim>
__device__ unsigned step_address(unsigned address, int step) {
  constexpr int kWindow = kSwizzledPieces<kHeadDim> * 16;  // bytes
  const int offset = step * kMmaK * static_cast<int>(sizeof(Element));
  return (address ^ offset % kWindow) + offset / kWindow * kWindow;
}

// Address of row `row`, columns 8 `piece` ..., of a swizzled tile.
template <int kHeadDim>
__device__ unsigned piece_address(const Element (&tile)[kBlockN][kHeadDim], int row, int piece) {
  const int column = (piece ^ swizzle<kHeadDim>(row)) * kVectorWidth;
  return static_cast<unsigned>(__cvta_generic_to_shared(&tile[row][column]));
}

// Two B operands: 16 columns of 16 keys of K; 16 keys of 16 columns of V.
__device__ void load_k(FragmentB& left, FragmentB& right, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(left.registers[0]), "=r"(left.registers[1]), "=r"(right.registers[0]), "=r"(right.registers[1])
               : "r"(address)
               : "memory");
}
__device__ void load_v(FragmentB& left, FragmentB& right, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(left.registers[0]), "=r"(left.registers[1]), "=r"(right.registers[0]), "=r"(right.registers[1])
               : "r"(address)
               : "memory");
}

// Starts to copy rows first_key ... first_key + kBlockN - 1 of a matrix [S, kHeadDim] into shared memory; zeros from row
// S on.
template <int kHeadDim>
__device__ void copy_tile(Element (&tile)[kBlockN][kHeadDim], const Element* __restrict__ matrix, int first_key, int S) {
  constexpr int kPiecesPerRow = kHeadDim / kVectorWidth;
#pragma unroll
  for (int piece = threadIdx.x; piece < kBlockN * kPiecesPerRow; piece += kThreads) {
    const int key = piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * kVectorWidth;
    const int place = ((piece % kPiecesPerRow) ^ swizzle<kHeadDim>(key)) * kVectorWidth;
    const bool inside = first_key + key < S;
    const Element* from = matrix + static_cast<size_t>(first_key + key) * kHeadDim + column;
    // Of a piece outside, no byte is read and 16 are zeroed.
    __pipeline_memcpy_async(&tile[key][place], inside ? from : matrix, 16, inside ? 0 : 16);
  }
}

// Rows first_row ... first_row + 15 and columns column ... column + 15 of Q [S, kHeadDim]; zeros from row S on.
template <int kHeadDim>
__device__ FragmentA load_q(const Element* __restrict__ Q, int first_row, int column, int S) {
  const int g = threadIdx.x % kWarpSize / 4;
  const int t = threadIdx.x % 4;
  FragmentA a;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = first_row + g + i % 2 * 8;
    const Element* address = Q + static_cast<size_t>(row) * kHeadDim + column + i / 2 * 8 + 2 * t;
    a.registers[i] = row < S ? load_pair(address) : 0;
  }
  return a;
}

// Softmax of one tile of scores, in place: scores become weights, and the accumulators are rescaled to the new maximum.
template <int kColumnTiles>
__device__ void softmax_tile(Accumulator (&score)[kKeyTiles], RowState& state, Accumulator (&output)[kColumnTiles],
                             float scale_log2) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {  // row g, row g + 8
    float tile_max = -INFINITY;
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
      tile_max = fmaxf(tile_max, fmaxf(score[n].value[2 * h], score[n].value[2 * h + 1]));
    }
    // Key 0 is visible to every row, so new_max is finite from the first tile on.
    const float new_max = fmaxf(state.max[h], quad_max(tile_max));
    const float correction = fast_exp2((state.max[h] - new_max) * scale_log2);
    state.max[h] = new_max;
    state.sum[h] *= correction;
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int i = 2 * h; i < 2 * h + 2; ++i) {
        const float weight = fast_exp2(score[n].value[i] * scale_log2 - new_max * scale_log2);
        state.sum[h] += weight;
        score[n].value[i] = weight;
      }
    }
#pragma unroll
    for (int d = 0; d < kColumnTiles; ++d) {
      output[d].value[2 * h] *= correction;
      output[d].value[2 * h + 1] *= correction;
    }
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
              const Element* __restrict__ K,  // [B * H, S, kHeadDim]
              const Element* __restrict__ V,  // [B * H, S, kHeadDim]
              Element* __restrict__ O,        // [B * H, S, kHeadDim]
              int* __restrict__ next_tile,    // how many have been drawn
              int S, int heads, int causal, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / kMmaK;    // of Q K^T
  constexpr int kColumnTiles = kHeadDim / kMmaN;  // of the output
  constexpr int kRowBytes = kHeadDim * sizeof(Element);

  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedTiles<kHeadDim>*>(shared_bytes);

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const float scale_log2 = softmax_scale * kLog2E;
  const int row_tiles = (S + kBlockM - 1) / kBlockM;
  const int query_tiles = row_tiles * heads;
  __shared__ int next_index;

#pragma unroll 1
  for (int index = blockIdx.x; index < query_tiles;) {
    const int drawn = threadIdx.x == 0 ? atomicAdd(next_tile, 1) : 0;
    const int head = causal ? index % heads : index / row_tiles;
    const int row_tile = causal ? row_tiles - 1 - index / heads : index % row_tiles;
    const size_t matrix = static_cast<size_t>(head) * S * kHeadDim;
    const int first_row = row_tile * kBlockM;
    const int warp_row = first_row + warp * kRowTiles * kMmaM;
    const int key_end = causal ? min(S, first_row + kBlockM) : S;
    const int tile_count = (key_end + kBlockN - 1) / kBlockN;

    // Every tile is two groups of copies, also one beyond the last, so that groups can be counted.
    const auto start_tile = [&](int tile) {
      const int slot = tile % kStages;
      if (tile < tile_count) copy_tile<kHeadDim>(smem.K[slot], K + matrix, tile * kBlockN, S);
      __pipeline_commit();
      if (tile < tile_count) copy_tile<kHeadDim>(smem.V[slot], V + matrix, tile * kBlockN, S);
      __pipeline_commit();
    };
    for (int tile = 0; tile < kStages - 1; ++tile) start_tile(tile);

    FragmentA Q_rmem[kRowTiles][kHeadSteps];
    Accumulator output[kRowTiles][kColumnTiles] = {};
    RowState state[kRowTiles];
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int k = 0; k < kHeadSteps; ++k) {
        Q_rmem[r][k] = load_q<kHeadDim>(Q + matrix, warp_row + r * kMmaM, k * kMmaK, S);
      }
      state[r] = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
    }

    // The row whose 16 bytes a lane hands to ldmatrix. The four matrices are, of K: keys 0-7 and columns 0-7, the same
    // keys and columns 8-15, keys 8-15 and columns 0-7, both; of V: the same with keys and columns swapped.
    const unsigned K_address = piece_address<kHeadDim>(smem.K[0], lane / 16 * 8 + lane % 8, lane / 8 % 2);
    const unsigned V_address = piece_address<kHeadDim>(smem.V[0], lane % 16, lane / 16);

    for (int tile = 0; tile < tile_count; ++tile) {
      const int first_key = tile * kBlockN;
      const unsigned slot_bytes = tile % kStages * kBlockN * kRowBytes;
      __pipeline_wait_prior(2 * kStages - 3);  // this thread's copies of K have arrived
      __syncthreads();                         // and everybody's; and all are done with the slot that is filled next
      start_tile(tile + kStages - 1);

      Accumulator score[kRowTiles][kKeyTiles] = {};
#pragma unroll
      for (int k = 0; k < kHeadSteps; ++k) {
        const unsigned address = step_address<kHeadDim>(K_address + slot_bytes, k);
#pragma unroll
        for (int n = 0; n < kKeyTiles; n += 2) {
          FragmentB left, right;  // keys 8n ... 8n + 7, and the next 8
          load_k(left, right, address + n * kMmaN * kRowBytes);
#pragma unroll
          for (int r = 0; r < kRowTiles; ++r) {
            multiply_add(score[r][n], Q_rmem[r][k], left);
            multiply_add(score[r][n + 1], Q_rmem[r][k], right);
          }
        }
      }

      const bool masked = first_key + kBlockN > S || (causal && first_key + kBlockN > warp_row + 1);
      if (masked) {
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
          for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              const int row = warp_row + r * kMmaM + g + i / 2 * 8;
              const int key = first_key + n * kMmaN + 2 * t + i % 2;
              if (key >= S || (causal && key > row)) score[r][n].value[i] = -INFINITY;
            }
          }
        }
      }

#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) softmax_tile(score[r], state[r], output[r], scale_log2);

      __pipeline_wait_prior(2 * kStages - 2);  // this thread's copies of V
      __syncthreads();                         // and everybody's

#pragma unroll
      for (int n = 0; n < kKeyTiles; n += 2) {  // 16 keys: two tiles of scores side by side are one A operand
        FragmentA weight[kRowTiles];
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float* pair = &score[r][n + i / 2].value[i % 2 * 2];
            weight[r].registers[i] = pack(pair[0], pair[1]);
          }
        }
#pragma unroll
        for (int d = 0; d < kColumnTiles; d += 2) {
          FragmentB left, right;  // columns 8d ... 8d + 7, and the next 8
          load_v(left, right, step_address<kHeadDim>(V_address + slot_bytes, d / 2) + n * kMmaN * kRowBytes);
#pragma unroll
          for (int r = 0; r < kRowTiles; ++r) {
            multiply_add(output[r][d], weight[r], left);
            multiply_add(output[r][d + 1], weight[r], right);
          }
        }
      }
    }

#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = warp_row + r * kMmaM + g + h * 8;
        const float inverse_sum = 1.0f / quad_sum(state[r].sum[h]);
        if (row >= S) continue;
        Element* O_row = O + matrix + static_cast<size_t>(row) * kHeadDim + 2 * t;
#pragma unroll
        for (int d = 0; d < kColumnTiles; ++d) {
          const float* pair = &output[r][d].value[2 * h];
          *reinterpret_cast<unsigned*>(O_row + d * kMmaN) = pack(pair[0] * inverse_sum, pair[1] * inverse_sum);
        }
      }
    }

    __pipeline_wait_prior(0);
    if (threadIdx.x == 0) {
      next_index = gridDim.x + drawn;
      // As many are drawn as there are tiles; who draws the last leaves 0 for the next launch.
      if (drawn == query_tiles - 1) *next_tile = 0;
    }
    __syncthreads();  // every warp is done with the ring
    index = next_index;
    __syncthreads();  // and has read the index
  }
}

template __global__ void attention<32>(const Element*, const Element*, const Element*, Element*, int*, int, int, int, float);
template __global__ void attention<64>(const Element*, const Element*, const Element*, Element*, int*, int, int, int, float);
template __global__ void attention<96>(const Element*, const Element*, const Element*, Element*, int*, int, int, int, float);
template __global__ void attention<128>(const Element*, const Element*, const Element*, Element*, int*, int, int, int, float);
