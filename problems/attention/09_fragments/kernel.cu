// 09_fragments: K and V go from global memory straight into mma.sync's registers.
//
// Idea      A group of one warp shares K and V with nobody, so shared memory only adds a trip. mma.sync sums over k in any
//           order, and its rows and columns may be any permutation as long as both operands and the result agree. So a
//           lane loads 16 bytes of a row and calls them the columns that it is to hold: no ldmatrix, no swizzle, no ring,
//           no barrier before the merge. All loads of a tile are in flight at once.
// Change    From 08_key_split: operands by 16-byte global loads. The next tile's K is loaded when Q K^T is done with this
//           one's registers, its V when P V is. Rows beyond S are read at row S - 1 and masked. Shared memory is for the
//           merge alone.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B, H, S, D], contiguous. grid = (ceil(S / BLOCK_M), B * H), block = 32 * WARPS.
//           mma.sync m16n8k16, with g = lane / 4 and t = lane % 4: see 05_mma.
//           Q K^T: of every 32 columns, a lane loads 8t ... 8t + 7 of row g of Q and K: two steps' operands, the first
//           four halves being what mma.sync calls columns 2t, 2t + 1, 2t + 8, 2t + 9 of the first.
//           P V: of keys 2t, 2t + 1, 2t + 8, 2t + 9 of 16, a lane loads columns 8g ... 8g + 7 of 64 (4g ... 4g + 3 of the
//           last 32 where D is 96 or 32). Tile j of the output is columns 8n + j, n = 0 ... 7: PRMTs pair the keys. A lane
//           ends up with 16 neighbouring columns of rows g and g + 8: 16t ... 16t + 15 of 64.
// Tile      BLOCK_M queries per CTA, ROWS_PER_WARP per warp; BLOCK_N keys per group.
// Resources Groups = WARPS ROWS_PER_WARP / BLOCK_M. Shared bytes: groups (4 BLOCK_M (D + 16) + 8 BLOCK_M): 41 KiB for
//           16 rows and 8 groups at D = 64. Registers per lane: BLOCK_N D / 32 (K and V), and for each 16 rows D / 4 (Q)
//           + BLOCK_N / 2 (scores) + D / 2 (output).
// Bound     B1 H1 S128 D64 on an H200: 8 CTAs of 8 warps, 16 keys each: a launch, one trip to L2 for everything (0.5 us),
//           8 + 8 mma.sync in rows of 4 (33 clocks each), 8 exponentials a lane, a merge of 8 * 4 KiB: about 600 clocks,
//           0.3 us. So 2 us with a launch of 1 us.
// Limits    D in {32, 64, 96, 128}; any S >= 1; B * H <= 65535 (grid.y). Warps that share keys each load them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;  // keys per tile of a group
constexpr int kWarps = WARPS;
constexpr int kRowsPerWarp = ROWS_PER_WARP;
constexpr int kThreads = kWarps * kWarpSize;

// mma.sync.m16n8k16
constexpr int kMmaM = 16;
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;

constexpr int kVectorWidth = 8;                   // halves of a 16-byte load
constexpr int kVectorColumns = 4 * kVectorWidth;  // of Q and K that four lanes load of a row at once
constexpr int kColumnBlock = 8 * kVectorWidth;    // columns of V that eight lanes load of a row at once

constexpr int kRowTiles = kRowsPerWarp / kMmaM;          // of a warp
constexpr int kKeyTiles = kBlockN / kMmaN;               // of a tile of scores
constexpr int kGroupWarps = kBlockM / kRowsPerWarp;      // warps that walk the same keys, for different rows
constexpr int kGroups = kWarps / kGroupWarps;            // groups that walk different keys, for the same rows
constexpr int kGroupThreads = kGroupWarps * kWarpSize;
static_assert(kRowTiles * kMmaM == kRowsPerWarp, "mma tiles must fill the rows of every warp");
static_assert(kGroupWarps * kRowsPerWarp == kBlockM, "warps must fill the rows of a CTA");
static_assert(kGroups * kGroupWarps == kWarps, "groups must be whole");
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

// Largest, or sum, over the four lanes that share a row.
__device__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}
__device__ float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

// What a group of warps hands to the merge.
template <int kHeadDim>
struct alignas(16) GroupResult {
  // Not yet divided by a sum. 16 more floats put the 16-byte stores of two neighbouring rows on all 32 banks.
  float output[kBlockM][kHeadDim + 16];
  float max[kBlockM];
  float sum[kBlockM];
};

// Columns that a lane loads of a row of V, of the block of columns that starts at kColumnBlock `block`.
template <int kHeadDim>
__device__ constexpr int block_width(int block) {
  return kHeadDim - block * kColumnBlock >= kColumnBlock ? 8 : 4;
}

// Four neighbouring registers: eight halves.
struct Vector {
  unsigned registers[4];
};

__device__ Vector load_vector(const Element* address) {
  const uint4 v = __ldg(reinterpret_cast<const uint4*>(address));
  return {{v.x, v.y, v.z, v.w}};
}

// Four halves and four that nobody looks at.
__device__ Vector load_half_vector(const Element* address) {
  const uint2 v = __ldg(reinterpret_cast<const uint2*>(address));
  return {{v.x, v.y, 0, 0}};
}

// A lane's part of kRows rows of Q or K [S, kHeadDim], rows first_row + g, + 8, ...
template <int kHeadDim, int kRows>
struct RowVectors {
  Vector row[kRows / 8][kHeadDim / kVectorColumns];

  __device__ void load(const Element* __restrict__ matrix, int first_row, int S) {
    const int g = threadIdx.x % kWarpSize / 4;
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < kRows / 8; ++n) {
      const Element* from = matrix + static_cast<size_t>(min(first_row + n * 8 + g, S - 1)) * kHeadDim + t * kVectorWidth;
#pragma unroll
      for (int c = 0; c < kHeadDim / kVectorColumns; ++c) row[n][c] = load_vector(from + c * kVectorColumns);
    }
  }

  // Columns 16 `step` ... 16 `step` + 15, as mma.sync counts them, of 8 rows.
  __device__ FragmentB operand_b(int n, int step) const {
    const Vector& v = row[n][step / 2];
    return {{v.registers[step % 2 * 2], v.registers[step % 2 * 2 + 1]}};
  }
  // ... of 16 rows.
  __device__ FragmentA operand_a(int n, int step) const {
    const FragmentB top = operand_b(2 * n, step);
    const FragmentB bottom = operand_b(2 * n + 1, step);
    return {{top.registers[0], bottom.registers[0], top.registers[1], bottom.registers[1]}};
  }
};

// A lane's part of kBlockN rows of V [S, kHeadDim]: of each 16 keys, 2t, 2t + 1, 2t + 8, 2t + 9.
template <int kHeadDim>
struct KeyVectors {
  static constexpr int kBlocks = (kHeadDim + kColumnBlock - 1) / kColumnBlock;
  Vector key[kBlockN / 4][kBlocks];

  __device__ void load(const Element* __restrict__ V, int first_key, int S) {
    const int g = threadIdx.x % kWarpSize / 4;
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < kBlockN / 4; ++n) {
      const int row = min(first_key + n / 2 * 8 + 2 * t + n % 2, S - 1);
#pragma unroll
      for (int c = 0; c < kBlocks; ++c) {
        const int width = block_width<kHeadDim>(c);
        const Element* from = V + static_cast<size_t>(row) * kHeadDim + c * kColumnBlock + g * width;
        key[n][c] = width == kVectorWidth ? load_vector(from) : load_half_vector(from);
      }
    }
  }

  // Keys 16 k ... 16 k + 15, columns 8n + j (or 4n + j) of block c.
  __device__ FragmentB operand_b(int k, int c, int j) const {
    const unsigned halves = j % 2 == 0 ? 0x5410 : 0x7632;  // the low ones of two registers, or the high ones
    FragmentB b;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned even = key[4 * k + 2 * i][c].registers[j / 2];
      const unsigned odd = key[4 * k + 2 * i + 1][c].registers[j / 2];
      b.registers[i] = __byte_perm(even, odd, halves);
    }
    return b;
  }
};

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
    const float new_max = fmaxf(state.max[h], quad_max(tile_max));
    // While a row has seen none of its keys, its weights are exp2(-infinity - 0).
    const float origin = new_max == -INFINITY ? 0.0f : new_max * scale_log2;
    const float correction = fast_exp2(state.max[h] * scale_log2 - origin);
    state.max[h] = new_max;
    state.sum[h] *= correction;
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int i = 2 * h; i < 2 * h + 2; ++i) {
        const float weight = fast_exp2(score[n].value[i] * scale_log2 - origin);
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

// Adds up what the groups have for each row, four columns a thread, and stores rows first_row ... of O [S, kHeadDim].
template <int kHeadDim>
__device__ void merge(const GroupResult<kHeadDim>* groups, Element* __restrict__ O, int first_row, int S,
                      float scale_log2) {
  constexpr int kPiecesPerRow = kHeadDim / 4;
#pragma unroll
  for (int piece = threadIdx.x; piece < kBlockM * kPiecesPerRow; piece += kThreads) {
    const int row = piece / kPiecesPerRow;
    const int place = piece % kPiecesPerRow * 4;
    float max = -INFINITY;  // finite after the loop: some group has key 0
#pragma unroll
    for (int i = 0; i < kGroups; ++i) max = fmaxf(max, groups[i].max[row]);
    float sum = 0.0f;
    float4 output = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const float weight = fast_exp2((groups[i].max[row] - max) * scale_log2);
      const float4 part = *reinterpret_cast<const float4*>(&groups[i].output[row][place]);
      sum += weight * groups[i].sum[row];
      output.x += weight * part.x;
      output.y += weight * part.y;
      output.z += weight * part.z;
      output.w += weight * part.w;
    }
    if (first_row + row >= S) continue;
    const float inverse_sum = 1.0f / sum;
    const uint2 halves = make_uint2(pack(output.x * inverse_sum, output.y * inverse_sum),
                                    pack(output.z * inverse_sum, output.w * inverse_sum));
    // Piece q of lane t of a block lies at 4q + t, so that four lanes store 64 bytes side by side.
    const int block = place / kColumnBlock;
    const int t = piece % 4;
    const int q = place % kColumnBlock / 16;
    const int column = block * kColumnBlock + t * 2 * block_width<kHeadDim>(block) + q * 4;
    *reinterpret_cast<uint2*>(O + static_cast<size_t>(first_row + row) * kHeadDim + column) = halves;
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
              const Element* __restrict__ K,  // [B * H, S, kHeadDim]
              const Element* __restrict__ V,  // [B * H, S, kHeadDim]
              Element* __restrict__ O,        // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / kMmaK;    // of Q K^T
  constexpr int kColumnTiles = kHeadDim / kMmaN;  // of the output

  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto* groups = reinterpret_cast<GroupResult<kHeadDim>*>(shared_bytes);  // [kGroups]

  const int group = threadIdx.x / kGroupThreads;
  const int group_thread = threadIdx.x % kGroupThreads;
  const int g = threadIdx.x % kWarpSize / 4;
  const int t = threadIdx.x % 4;
  const size_t matrix = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  const int first_row = blockIdx.x * kBlockM;
  const int row_in_block = group_thread / kWarpSize * kRowsPerWarp;  // the warp's first
  const int warp_row = first_row + row_in_block;
  const float scale_log2 = softmax_scale * kLog2E;

  const int key_end = causal ? min(S, first_row + kBlockM) : S;
  const int tile_end = (key_end + kBlockN - 1) / kBlockN;

  RowVectors<kHeadDim, kRowsPerWarp> Q_rmem;
  RowVectors<kHeadDim, kBlockN> K_rmem;
  KeyVectors<kHeadDim> V_rmem;
  Q_rmem.load(Q + matrix, warp_row, S);
  K_rmem.load(K + matrix, group * kBlockN, S);
  V_rmem.load(V + matrix, group * kBlockN, S);

  Accumulator output[kRowTiles][kColumnTiles] = {};
  RowState state[kRowTiles];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) state[r] = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};

  for (int tile = group; tile < tile_end; tile += kGroups) {
    const int first_key = tile * kBlockN;
    const int next_key = first_key + kGroups * kBlockN;

    Accumulator score[kRowTiles][kKeyTiles] = {};
#pragma unroll
    for (int k = 0; k < kHeadSteps; ++k) {
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) {
        const FragmentB b = K_rmem.operand_b(n, k);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) multiply_add(score[r][n], Q_rmem.operand_a(r, k), b);
      }
    }
    if (next_key < key_end) K_rmem.load(K + matrix, next_key, S);

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
      for (int d = 0; d < kColumnTiles; ++d) {
        const FragmentB b = V_rmem.operand_b(n / 2, d / 8, d % 8);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) multiply_add(output[r][d], weight[r], b);
      }
    }
    if (next_key < key_end) V_rmem.load(V + matrix, next_key, S);
  }

  GroupResult<kHeadDim>& result = groups[group];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = row_in_block + r * kMmaM + g + h * 8;
      const float sum = quad_sum(state[r].sum[h]);
      if (t == 0) {
        result.max[row] = state[r].max[h];
        result.sum[row] = sum;
      }
#pragma unroll
      for (int c = 0; c < KeyVectors<kHeadDim>::kBlocks; ++c) {
        const int width = block_width<kHeadDim>(c);  // of tiles in the block, and of columns for each n
#pragma unroll
        for (int q = 0; q < width / 2; ++q) {  // columns 2t width + 4q ... 2t width + 4q + 3 of the block
          const Accumulator* tile = &output[r][c * 8 + q * 4 % width];
          const int i = 2 * h + q * 4 / width;
          *reinterpret_cast<float4*>(&result.output[row][c * kColumnBlock + (q * 4 + t) * 4]) =
              make_float4(tile[0].value[i], tile[1].value[i], tile[2].value[i], tile[3].value[i]);
        }
      }
    }
  }
  __syncthreads();
  merge<kHeadDim>(groups, O + matrix, first_row, S, scale_log2);
}

template __global__ void attention<32>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<64>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<96>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<128>(const Element*, const Element*, const Element*, Element*, int, int, float);
