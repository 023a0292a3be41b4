// 08_two_pass: several CTAs share out the keys of a query tile, and a second launch merges what they found.
//
// Idea      64 tiles of 64 rows leave half of an H200 without work, and a CTA walks all keys of its rows. Here KEY_SPLITS CTAs
//           have the same rows, and each walks every KEY_SPLITS-th tile of keys with a softmax of its own. They leave maximum,
//           sum and weighted values in device memory; a second launch brings them to the largest maximum, adds them in a
//           fixed order and divides. On Hopper it is resident before the first one ends (programmatic dependent launch).
// Change    From 07_cp_async: a third axis of the grid over the keys, a store of fp32 parts in place of O, and the launch that
//           merges. A CTA may see no key of a row, so a maximum of -infinity is one more case. 08_key_split does the same among
//           the warps of one CTA, through shared memory.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B, H, S, D], contiguous. grid = (ceil(S / BLOCK_M), B * H, KEY_SPLITS), block =
//           32 * WARPS; then one thread for each 4 columns of O. parts: fp32 [KEY_SPLITS, B * H, S, D]; states: (maximum,
//           sum) [KEY_SPLITS, B * H, S]. Row r of a tile holds its 16-byte piece c at piece c ^ (r % 8), or c ^ (r / 2 % 4):
//           see 06_ldmatrix. mma.sync m16n8k16, with g = lane / 4 and t = lane % 4: see 05_mma. Tile i of the keys belongs
//           to CTA i % KEY_SPLITS, so that causal shares differ by one tile at most.
// Tile      BLOCK_M queries x BLOCK_N keys per CTA; a warp owns BLOCK_M / WARPS rows, 16 or 32, and all keys of a tile.
// Resources As 07_cp_async. Device memory: 4 KEY_SPLITS B H S (D + 2) bytes, which the merge reads once.
// Bound     B1 H8 S512 D64 on an H200: with 32 rows and 2 splits 256 CTAs read 128 KiB / 2 of keys each, 16 MB from L2 in
//           all, 1.1 us; parts of 2 MB go to L2 and come back, 0.5 us each; the second launch adds about 1 us even if it is
//           resident. 4 to 5 us.
// Limits    D in {32, 64, 96, 128}; any S >= 1; B * H <= 65535 (grid.y). Parts cost 2 KEY_SPLITS times the bytes of O, each
//           way: at long sequences, where CTAs are plenty, that is all it does.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;  // keys per tile
constexpr int kWarps = WARPS;
constexpr int kStages = STAGES;  // tiles in shared memory; all but one are on their way
constexpr int kSplit = KEY_SPLITS;    // CTAs that share out the keys of a query tile
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kMergeThreads = 128;

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

// The next launch of the stream may start once every CTA has said so; it waits for this one's end, whose writes it sees.
__device__ void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
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

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    split(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
          const Element* __restrict__ K,  // [B * H, S, kHeadDim]
          const Element* __restrict__ V,  // [B * H, S, kHeadDim]
          float* __restrict__ parts,      // [kSplit, B * H, S, kHeadDim], not divided by a sum
          float2* __restrict__ states,    // [kSplit, B * H, S]: maximum of the scores, sum of the weights relative to it
          int S, int causal, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / kMmaK;    // of Q K^T
  constexpr int kColumnTiles = kHeadDim / kMmaN;  // of the output
  constexpr int kRowBytes = kHeadDim * sizeof(Element);

  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedTiles<kHeadDim>*>(shared_bytes);

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int g = lane / 4;
  const int t = lane % 4;
  const size_t matrix = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  const int first_row = blockIdx.x * kBlockM;
  const int warp_row = first_row + warp * kRowTiles * kMmaM;
  const float scale_log2 = softmax_scale * kLog2E;

  const int key_end = causal ? min(S, first_row + kBlockM) : S;
  const int tile_count = (key_end + kBlockN - 1) / kBlockN;

  // Every tile is two groups of copies, also one beyond the last, so that groups can be counted.
  const auto start_tile = [&](int tile, int slot) {
    if (tile < tile_count) copy_tile<kHeadDim>(smem.K[slot], K + matrix, tile * kBlockN, S);
    __pipeline_commit();
    if (tile < tile_count) copy_tile<kHeadDim>(smem.V[slot], V + matrix, tile * kBlockN, S);
    __pipeline_commit();
  };
  const int first_tile = blockIdx.z;
  for (int i = 0; i < kStages - 1; ++i) start_tile(first_tile + i * kSplit, i);

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
  let_next_launch_start();

  // The row whose 16 bytes a lane hands to ldmatrix. The four matrices are, of K: keys 0-7 and columns 0-7, the same
  // keys and columns 8-15, keys 8-15 and columns 0-7, both; of V: the same with keys and columns swapped.
  const unsigned K_address = piece_address<kHeadDim>(smem.K[0], lane / 16 * 8 + lane % 8, lane / 8 % 2);
  const unsigned V_address = piece_address<kHeadDim>(smem.V[0], lane % 16, lane / 16);

  int slot = 0;
  for (int tile = first_tile; tile < tile_count; tile += kSplit) {
    const int first_key = tile * kBlockN;
    const unsigned slot_bytes = slot * kBlockN * kRowBytes;
    __pipeline_wait_prior(2 * kStages - 3);  // this thread's copies of K have arrived
    __syncthreads();                         // and everybody's; and all are done with the slot that is filled next
    start_tile(tile + (kStages - 1) * kSplit, slot == 0 ? kStages - 1 : slot - 1);
    slot = slot == kStages - 1 ? 0 : slot + 1;

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

  const size_t part = static_cast<size_t>(blockIdx.z) * gridDim.y + blockIdx.y;  // [kSplit, B * H]
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = warp_row + r * kMmaM + g + h * 8;
      const float sum = quad_sum(state[r].sum[h]);
      if (row >= S) continue;
      const size_t place = part * S + row;
      if (t == 0) states[place] = make_float2(state[r].max[h], sum);
#pragma unroll
      for (int d = 0; d < kColumnTiles; ++d) {
        const float* pair = &output[r][d].value[2 * h];
        *reinterpret_cast<float2*>(parts + place * kHeadDim + d * kMmaN + 2 * t) = make_float2(pair[0], pair[1]);
      }
    }
  }
}

// Four columns of one row a thread.
template <int kHeadDim>
__global__ void __launch_bounds__(kMergeThreads)
    merge(const float* __restrict__ parts,    // [kSplit, rows, kHeadDim]
          const float2* __restrict__ states,  // [kSplit, rows]
          Element* __restrict__ O,            // [rows, kHeadDim]
          int rows, float softmax_scale) {
  constexpr int kPiecesPerRow = kHeadDim / 4;
  const int piece = blockIdx.x * kMergeThreads + threadIdx.x;
  const int row = piece / kPiecesPerRow;
  const int column = piece % kPiecesPerRow * 4;
  if (row >= rows) return;
  wait_for_launch_before();

  const float scale_log2 = softmax_scale * kLog2E;
  float2 state[kSplit];
  float max = -INFINITY;  // finite after the loop: the first part has key 0
#pragma unroll
  for (int i = 0; i < kSplit; ++i) {
    state[i] = states[static_cast<size_t>(i) * rows + row];
    max = fmaxf(max, state[i].x);
  }
  float sum = 0.0f;
  float4 output = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < kSplit; ++i) {
    const size_t place = static_cast<size_t>(i) * rows + row;
    const float4 part = *reinterpret_cast<const float4*>(parts + place * kHeadDim + column);
    const float weight = fast_exp2((state[i].x - max) * scale_log2);
    sum += weight * state[i].y;
    output.x += weight * part.x;
    output.y += weight * part.y;
    output.z += weight * part.z;
    output.w += weight * part.w;
  }
  const float inverse_sum = 1.0f / sum;
  const uint2 pairs = make_uint2(pack(output.x * inverse_sum, output.y * inverse_sum),
                                 pack(output.z * inverse_sum, output.w * inverse_sum));
  *reinterpret_cast<uint2*>(O + static_cast<size_t>(row) * kHeadDim + column) = pairs;
}

template __global__ void split<32>(const Element*, const Element*, const Element*, float*, float2*, int, int, float);
template __global__ void merge<32>(const float*, const float2*, Element*, int, float);
template __global__ void split<64>(const Element*, const Element*, const Element*, float*, float2*, int, int, float);
template __global__ void merge<64>(const float*, const float2*, Element*, int, float);
template __global__ void split<96>(const Element*, const Element*, const Element*, float*, float2*, int, int, float);
template __global__ void merge<96>(const float*, const float2*, Element*, int, float);
template __global__ void split<128>(const Element*, const Element*, const Element*, float*, float2*, int, int, float);
template __global__ void merge<128>(const float*, const float2*, Element*, int, float);
