// 04_warp: register tiles, reductions inside the warp, wide loads.
//
// Idea      A warp owns BLOCK_M / WARPS query rows from the first score to the last store. Lane j scores keys
//           j, j + 32, ... for all of the warp's rows at once, so one K element read from shared memory is used
//           BLOCK_M / WARPS times from a register; the row maxima and sums are butterfly shuffles; the weights pass
//           through shared memory that belongs to the warp alone. Barriers remain only around the K and V tiles.
// Change    From 03_rows: shuffles instead of every thread walking the scores; a register tile of rows x keys instead
//           of one score at a time; global loads of VECTOR_WIDTH halves, shared loads of 16 bytes; the softmax in base
//           2, so that the scale and log2(e) are one factor on Q; Q converted to fp32 once.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B, H, S, D], contiguous. grid = (ceil(S / BLOCK_M), B * H), block = 32 * WARPS.
//           K_smem rows are padded by PAD halves: 8 put the 16-byte reads of neighbouring keys 4 banks apart
//           (D = 64: 144 bytes, 8 lanes cover all 32 banks); 0 puts them all on the same banks.
// Tile      BLOCK_M queries x BLOCK_N keys per CTA; BLOCK_M / WARPS x BLOCK_N / 32 scores per lane.
// Resources Shared bytes: 4 BLOCK_M D (Q, fp32) + 2 BLOCK_N (D + PAD) (K) + 2 BLOCK_N D (V) + 4 BLOCK_M BLOCK_N
//           (weights): 33 KiB for the default 32 x 64, 4 warps, at D = 64. Registers: R BLOCK_N / 32 scores + R D / 32
//           accumulators, R = BLOCK_M / WARPS.
// Bound     FP32: 537 MFLOP at 58 SMs * 128 lanes * 2 * 2.04 GHz = 30.3 TFLOP/s is 17.7 us for B1 H8 S512 D64 on
//           an L4. Per 8 columns of a score tile, R = 8: 128 FMA, 16 conversions, 18 shared loads; per key of the value
//           pass: 16 FMA, 2 conversions, 3 shared loads: about 3/4 of the issue slots are FMAs, so 24 us of issue.
//           128 CTAs on 58 SMs leave the last wave partly empty.
// Limits    D in {32, 64, 96, 128}; any S >= 1; B * H <= 65535 (grid.y); no tensor cores.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

__device__ float to_float(half value) { return __half2float(value); }
__device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
template <typename T>
__device__ T rounded(float value);
template <>
__device__ half rounded<half>(float value) { return __float2half(value); }
template <>
__device__ __nv_bfloat16 rounded<__nv_bfloat16>(float value) { return __float2bfloat16(value); }

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;  // keys per tile
constexpr int kWarps = WARPS;
constexpr int kVectorWidth = VECTOR_WIDTH;  // halves per global load of K and V
constexpr int kPad = PAD;                   // halves added to a row of K_smem
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kRowsPerWarp = kBlockM / kWarps;
constexpr int kKeysPerLane = kBlockN / kWarpSize;
constexpr int kChunk = 8;  // halves in a 16-byte shared load of K
constexpr int kRowGroup = kRowsPerWarp < 4 ? kRowsPerWarp : 4;  // rows whose weights travel as one vector
static_assert(kBlockM % kWarps == 0, "every warp must own the same number of rows");
static_assert(kRowsPerWarp % kRowGroup == 0, "rows of a warp must fill whole groups of weights");
static_assert(kBlockN % kWarpSize == 0, "every lane must score the same number of keys");
static_assert(kPad % kChunk == 0, "rows of K_smem must stay 16-byte aligned");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;

__device__ float warp_max(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  return value;
}

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// kCount neighbouring elements as one load or store; the address must be aligned to the whole.
template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T element[kCount];
};

template <int kCount, typename T>
__device__ Vector<T, kCount> load(const T* address) {
  return *reinterpret_cast<const Vector<T, kCount>*>(address);
}

template <int kCount, typename T>
__device__ void store(T* address, const Vector<T, kCount>& value) {
  *reinterpret_cast<Vector<T, kCount>*>(address) = value;
}

template <int kHeadDim>
struct SharedTiles {
  alignas(16) float Q[kBlockM][kHeadDim];          // times softmax_scale * log2(e)
  alignas(16) Element K[kBlockN][kHeadDim + kPad];
  alignas(16) Element V[kBlockN][kHeadDim];
  // Weights of one key for a group of rows lie side by side: written and read as one vector, without conflicts.
  alignas(16) float weights[kWarps][kRowsPerWarp / kRowGroup][kBlockN][kRowGroup];
};

using Piece = Vector<Element, kVectorWidth>;

// Element [row, column ...] of a matrix [S, kHeadDim]; zeros for rows from S on.
template <int kHeadDim>
__device__ Piece load_or_zero(const Element* __restrict__ matrix, int row, int column, int S) {
  if (row < S) return load<kVectorWidth>(matrix + static_cast<size_t>(row) * kHeadDim + column);
  Piece zeros;
#pragma unroll
  for (int i = 0; i < kVectorWidth; ++i) zeros.element[i] = rounded<Element>(0.0f);
  return zeros;
}

// Copies rows first_key ... first_key + kBlockN - 1 of a matrix [S, kHeadDim] into shared memory.
template <int kHeadDim, int kStride>
__device__ void load_tile(Element (&tile)[kBlockN][kStride], const Element* __restrict__ matrix, int first_key, int S) {
  constexpr int kPiecesPerRow = kHeadDim / kVectorWidth;
  for (int piece = threadIdx.x; piece < kBlockN * kPiecesPerRow; piece += kThreads) {
    const int key = piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * kVectorWidth;
    store(&tile[key][column], load_or_zero<kHeadDim>(matrix, first_key + key, column, S));
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
              const Element* __restrict__ K,  // [B * H, S, kHeadDim]
              const Element* __restrict__ V,  // [B * H, S, kHeadDim]
              Element* __restrict__ O,        // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  constexpr int kColumnsPerLane = kHeadDim / kWarpSize;
  // A lane's columns are neighbours where their number is a power of two, else (D = 96) 32 apart.
  constexpr int kValueWidth = kColumnsPerLane == 3 ? 1 : kColumnsPerLane;
  static_assert(sizeof(SharedTiles<kHeadDim>) <= 99 * 1024, "tiles exceed one CTA's shared memory on sm_89");

  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedTiles<kHeadDim>*>(shared_bytes);

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const size_t matrix = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  const int first_row = blockIdx.x * kBlockM;
  const int warp_row = warp * kRowsPerWarp;  // within the CTA

  // A warp loads the rows it alone will read.
  constexpr int kPiecesPerRow = kHeadDim / kVectorWidth;
  for (int piece = lane; piece < kRowsPerWarp * kPiecesPerRow; piece += kWarpSize) {
    const int row = warp_row + piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * kVectorWidth;
    const auto q = load_or_zero<kHeadDim>(Q + matrix, first_row + row, column, S);
#pragma unroll
    for (int i = 0; i < kVectorWidth; ++i) {
      smem.Q[row][column + i] = to_float(q.element[i]) * softmax_scale * kLog2E;
    }
  }

  float running_max[kRowsPerWarp];
  float running_sum[kRowsPerWarp];  // of this lane's keys only, until the end
  float accumulator[kRowsPerWarp][kColumnsPerLane] = {};
#pragma unroll
  for (int r = 0; r < kRowsPerWarp; ++r) {
    running_max[r] = -INFINITY;
    running_sum[r] = 0.0f;
  }

  const int key_end = causal ? min(S, first_row + kBlockM) : S;
  for (int first_key = 0; first_key < key_end; first_key += kBlockN) {
    __syncthreads();  // every warp is done with the previous tile
    load_tile<kHeadDim>(smem.K, K + matrix, first_key, S);
    load_tile<kHeadDim>(smem.V, V + matrix, first_key, S);
    __syncthreads();

    float score[kRowsPerWarp][kKeysPerLane] = {};
#pragma unroll 1
    for (int d = 0; d < kHeadDim; d += kChunk) {
      float k[kKeysPerLane][kChunk];
#pragma unroll
      for (int n = 0; n < kKeysPerLane; ++n) {
        const auto chunk = load<kChunk>(&smem.K[n * kWarpSize + lane][d]);
#pragma unroll
        for (int i = 0; i < kChunk; ++i) k[n][i] = to_float(chunk.element[i]);
      }
#pragma unroll
      for (int r = 0; r < kRowsPerWarp; ++r) {
#pragma unroll
        for (int i = 0; i < kChunk; i += 4) {
          const auto q = load<4>(&smem.Q[warp_row + r][d + i]);  // same for all lanes
#pragma unroll
          for (int n = 0; n < kKeysPerLane; ++n) {
#pragma unroll
            for (int j = 0; j < 4; ++j) score[r][n] += q.element[j] * k[n][i + j];
          }
        }
      }
    }

#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const int visible_end = causal ? min(S, first_row + warp_row + r + 1) : S;
      float tile_max = -INFINITY;
#pragma unroll
      for (int n = 0; n < kKeysPerLane; ++n) {
        if (first_key + n * kWarpSize + lane >= visible_end) score[r][n] = -INFINITY;
        tile_max = fmaxf(tile_max, score[r][n]);
      }
      // Key 0 is visible to every row, so new_max is finite from the first tile on.
      const float new_max = fmaxf(running_max[r], warp_max(tile_max));
      const float correction = exp2f(running_max[r] - new_max);
      running_max[r] = new_max;
      running_sum[r] *= correction;
#pragma unroll
      for (int n = 0; n < kKeysPerLane; ++n) {
        const float weight = exp2f(score[r][n] - new_max);
        running_sum[r] += weight;
        score[r][n] = weight;
      }
#pragma unroll
      for (int c = 0; c < kColumnsPerLane; ++c) accumulator[r][c] *= correction;
    }

#pragma unroll
    for (int n = 0; n < kKeysPerLane; ++n) {
#pragma unroll
      for (int g = 0; g < kRowsPerWarp / kRowGroup; ++g) {
        Vector<float, kRowGroup> group;
#pragma unroll
        for (int i = 0; i < kRowGroup; ++i) group.element[i] = score[g * kRowGroup + i][n];
        store(&smem.weights[warp][g][n * kWarpSize + lane][0], group);
      }
    }
    __syncwarp();  // the weights other lanes of this warp wrote

#pragma unroll 4
    for (int key = 0; key < kBlockN; ++key) {
      float v[kColumnsPerLane];
#pragma unroll
      for (int c = 0; c < kColumnsPerLane; c += kValueWidth) {
        const auto piece = load<kValueWidth>(&smem.V[key][c * kWarpSize + lane * kValueWidth]);
#pragma unroll
        for (int i = 0; i < kValueWidth; ++i) v[c + i] = to_float(piece.element[i]);
      }
#pragma unroll
      for (int g = 0; g < kRowsPerWarp / kRowGroup; ++g) {
        const auto weight = load<kRowGroup>(&smem.weights[warp][g][key][0]);  // same for all lanes
#pragma unroll
        for (int i = 0; i < kRowGroup; ++i) {
#pragma unroll
          for (int c = 0; c < kColumnsPerLane; ++c) {
            accumulator[g * kRowGroup + i][c] += weight.element[i] * v[c];
          }
        }
      }
    }
  }

#pragma unroll
  for (int r = 0; r < kRowsPerWarp; ++r) {
    const int row = first_row + warp_row + r;
    const float inverse_sum = 1.0f / warp_sum(running_sum[r]);
    if (row >= S) continue;  // the same for all lanes
    Element* O_row = O + matrix + static_cast<size_t>(row) * kHeadDim;
#pragma unroll
    for (int c = 0; c < kColumnsPerLane; c += kValueWidth) {
      Vector<Element, kValueWidth> piece;
#pragma unroll
      for (int i = 0; i < kValueWidth; ++i) piece.element[i] = rounded<Element>(accumulator[r][c + i] * inverse_sum);
      store(O_row + c * kWarpSize + lane * kValueWidth, piece);
    }
  }
}

template __global__ void attention<32>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<64>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<96>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<128>(const Element*, const Element*, const Element*, Element*, int, int, float);
