// 05_tensor_cores: the products on the matrix units, fed by asynchronous copies.
//
// Idea      mma.sync multiplies a 16 x 16 by a 16 x 8 tile (fp16 or bf16) of a warp and adds it to fp32 accumulators: 4096 FLOP
//           for one instruction, where a warp's FMA does 64. ldmatrix reads operands from shared memory in the layout
//           that mma.sync wants, four 8 x 8 matrices at a time (transposed on the way for B). cp.async copies STAGES - 1
//           tiles ahead straight into shared memory, past the registers.
// Change    From 04_vectorised: tiles stay as they are in shared memory, a warp instead of a thread owns a tile of C, copies are
//           asynchronous.
// Layouts   A [M, K], B [K, N], C [M, N], row-major, elements of type DTYPE (half or bf16). One launch,
//           grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)), block = 32 * WARPS; warps stand in 2 rows and WARPS / 2 columns. Rows in shared memory are padded by PAD
//           elements: ldmatrix reads 16 bytes of each of 8 rows at once; 8 elements put them on 8 different groups of 4
//           banks (rows of 80 and 144 bytes: steps of 5 and 9 groups), 0 puts them on 2 groups or on one.
// Tile      BLOCK_M x BLOCK_N elements of C per CTA, BLOCK_M / 2 x BLOCK_N / (WARPS / 2) per warp; BLOCK_K terms per tile.
//           Zeros beyond the matrices.
// Resources Shared bytes: 2 STAGES (BLOCK_M (BLOCK_K + PAD) + BLOCK_K (BLOCK_N + PAD)): 29 KiB for 64 x 64 x 32, 3
//           stages. Registers: accumulators BLOCK_M BLOCK_N / (32 WARPS), 32 for 64 x 64 and 4 warps, + operands of one
//           step of 16 terms.
// Bound     L4: 58 SMs * 1024 tensor FLOP per clock * 2.04 GHz = 121 TFLOP/s: 2.2 us for 268 MFLOP. A warp's 32 x 32
//           tile needs 4 ldmatrix.x4 (16 wavefronts) for 8 mma.sync: 8 clocks of shared memory a warp tile step per 16
//           clocks of the four tensor units, so the copies and the few steps (K / BLOCK_K) bind at small shapes.
// Limits    Any M, N, K >= 1; M <= 64 * 65535 (grid.y). Rows of A and B that do not start on 16 bytes (K % 8 or N % 8
//           not 0) are copied element by element, without cp.async: gemm<false>.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;
constexpr int kBlockN = BLOCK_N;
constexpr int kBlockK = BLOCK_K;
constexpr int kWarps = WARPS;
constexpr int kStages = STAGES;  // tiles in shared memory; all but one are on their way
constexpr int kPad = PAD;        // elements added to a row of shared memory
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kVectorWidth = 8;  // elements of a 16-byte copy

// mma.sync.m16n8k16
constexpr int kMmaM = 16;
constexpr int kMmaN = 8;
constexpr int kMmaK = 16;

constexpr int kWarpRows = 2;
constexpr int kWarpColumns = kWarps / kWarpRows;
constexpr int kWarpM = kBlockM / kWarpRows;     // rows of C per warp
constexpr int kWarpN = kBlockN / kWarpColumns;  // columns of C per warp
constexpr int kTilesM = kWarpM / kMmaM;
constexpr int kTilesN = kWarpN / kMmaN;
static_assert(kWarps % kWarpRows == 0, "warps must fill two rows");
static_assert(kTilesM * kMmaM * kWarpRows == kBlockM, "mma tiles must fill the rows of a CTA");
static_assert(kTilesN * kMmaN * kWarpColumns == kBlockN, "mma tiles must fill the columns of a CTA");
static_assert(kTilesN % 2 == 0, "ldmatrix.x4 reads two mma tiles of B");
static_assert(kBlockK % kMmaK == 0, "tiles must hold whole steps of mma");
static_assert(kPad % kVectorWidth == 0, "rows in shared memory must stay 16-byte aligned");
static_assert(kStages >= 2, "one tile is used while the others are on their way");

struct SharedTiles {
  alignas(16) Element A[kBlockM][kBlockK + kPad];
  alignas(16) Element B[kBlockK][kBlockN + kPad];
};

// The operands of one mma.sync, as a lane holds them: PTX ISA, matrix fragments for mma.m16n8k16.
struct FragmentA {
  unsigned registers[4];
};
struct FragmentB {
  unsigned registers[2];
};
struct Accumulator {
  float value[4];  // rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4) and the next
};

// Rows lane % 16 and columns 8 (lane / 16) ... of the 16 x 16 elements at `corner`, of rows kStride apart.
template <int kStride>
__device__ unsigned ldmatrix_address(const Element* corner) {
  const int lane = threadIdx.x % kWarpSize;
  return static_cast<unsigned>(__cvta_generic_to_shared(corner + lane % 16 * kStride + lane / 16 * 8));
}

template <int kStride>
__device__ FragmentA load_a(const Element* corner) {
  FragmentA a;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a.registers[0]), "=r"(a.registers[1]), "=r"(a.registers[2]), "=r"(a.registers[3])
               : "r"(ldmatrix_address<kStride>(corner))
               : "memory");
  return a;
}

// Two neighbouring operands: 16 terms x 16 columns.
template <int kStride>
__device__ void load_b(FragmentB& left, FragmentB& right, const Element* corner) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(left.registers[0]), "=r"(left.registers[1]), "=r"(right.registers[0]), "=r"(right.registers[1])
               : "r"(ldmatrix_address<kStride>(corner))
               : "memory");
}

// D += A B for 16-bit elements.
template <typename T>
struct Mma;
template <>
struct Mma<half> {
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b.registers[0]),
          "r"(b.registers[1]));
  }
};
template <>
struct Mma<__nv_bfloat16> {
  __device__ static void multiply_add(Accumulator& d, const FragmentA& a, const FragmentB& b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d.value[0]), "+f"(d.value[1]), "+f"(d.value[2]), "+f"(d.value[3])
        : "r"(a.registers[0]), "r"(a.registers[1]), "r"(a.registers[2]), "r"(a.registers[3]), "r"(b.registers[0]),
          "r"(b.registers[1]));
  }
};

__device__ void convert(half& to, float value) { to = __float2half(value); }
__device__ void convert(__nv_bfloat16& to, float value) { to = __float2bfloat16(value); }
// Two neighbours in one store; the address must be aligned to 4 bytes.
__device__ void store_pair(half* address, float left, float right) {
  *reinterpret_cast<half2*>(address) = __floats2half2_rn(left, right);
}
__device__ void store_pair(__nv_bfloat16* address, float left, float right) {
  *reinterpret_cast<__nv_bfloat162*>(address) = __floats2bfloat162_rn(left, right);
}

// Starts to copy the kRows x kColumns tile at (first_row, first_column) of a matrix [rows, columns]; zeros beyond the
// matrix. kAligned: 16-byte pieces are whole and aligned.
template <bool kAligned, int kRows, int kColumns>
__device__ void copy_tile(Element (&tile)[kRows][kColumns + kPad], const Element* __restrict__ matrix, int first_row,
                          int first_column, int rows, int columns) {
  constexpr int kPiecesPerRow = kColumns / kVectorWidth;
  static_assert(kRows * kPiecesPerRow % kThreads == 0, "threads must share a tile evenly");
#pragma unroll
  for (int p = 0; p < kRows * kPiecesPerRow / kThreads; ++p) {
    const int piece = threadIdx.x + p * kThreads;
    const int tile_row = piece / kPiecesPerRow;
    const int tile_column = piece % kPiecesPerRow * kVectorWidth;
    const int row = first_row + tile_row;
    const int column = first_column + tile_column;
    const Element* from = matrix + static_cast<size_t>(row) * columns + column;
    Element* to = &tile[tile_row][tile_column];
    if (kAligned) {
      const bool inside = row < rows && column < columns;
      // Of a piece outside, no byte is read and 16 are zeroed.
      __pipeline_memcpy_async(to, inside ? from : matrix, 16, inside ? 0 : 16);
    } else {
#pragma unroll
      for (int i = 0; i < kVectorWidth; ++i) {
        if (row < rows && column + i < columns) {
          to[i] = from[i];
        } else {
          convert(to[i], 0.0f);
        }
      }
    }
  }
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    gemm(const Element* __restrict__ A,  // [M, K]
         const Element* __restrict__ B,  // [K, N]
         Element* __restrict__ C,        // [M, N]
         int M, int N, int K) {
  static_assert(kStages * sizeof(SharedTiles) <= 99 * 1024, "tiles exceed one CTA's shared memory on sm_89");
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  SharedTiles* smem = reinterpret_cast<SharedTiles*>(shared_bytes);  // [kStages]

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int first_row = blockIdx.y * kBlockM;
  const int first_column = blockIdx.x * kBlockN;
  const int warp_row = warp / kWarpColumns * kWarpM;  // within the CTA
  const int warp_column = warp % kWarpColumns * kWarpN;
  const int tile_count = (K + kBlockK - 1) / kBlockK;

  // Every tile, also one beyond the last, ends a group of copies, so that groups can be counted.
  const auto start_tile = [&](int tile) {
    if (tile < tile_count) {
      SharedTiles& stage = smem[tile % kStages];
      copy_tile<kAligned, kBlockM, kBlockK>(stage.A, A, first_row, tile * kBlockK, M, K);
      copy_tile<kAligned, kBlockK, kBlockN>(stage.B, B, tile * kBlockK, first_column, K, N);
    }
    __pipeline_commit();
  };

  Accumulator sum[kTilesM][kTilesN] = {};
  for (int tile = 0; tile < kStages - 1; ++tile) start_tile(tile);
  for (int tile = 0; tile < tile_count; ++tile) {
    __pipeline_wait_prior(kStages - 2);  // this thread's copies of the tile have arrived
    __syncthreads();                     // and everybody's; and all are done with the stage that is filled next
    start_tile(tile + kStages - 1);
    const SharedTiles& stage = smem[tile % kStages];
#pragma unroll
    for (int k = 0; k < kBlockK; k += kMmaK) {
      FragmentA a[kTilesM];
      FragmentB b[kTilesN];
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) a[i] = load_a<kBlockK + kPad>(&stage.A[warp_row + i * kMmaM][k]);
#pragma unroll
      for (int j = 0; j < kTilesN; j += 2) load_b<kBlockN + kPad>(b[j], b[j + 1], &stage.B[k][warp_column + j * kMmaN]);
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < kTilesN; ++j) Mma<Element>::multiply_add(sum[i][j], a[i], b[j]);
      }
    }
  }

#pragma unroll
  for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
    for (int half_tile = 0; half_tile < 2; ++half_tile) {
      const int row = first_row + warp_row + i * kMmaM + half_tile * 8 + lane / 4;
      if (row >= M) continue;
      Element* C_row = C + static_cast<size_t>(row) * N;
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
        const int column = first_column + warp_column + j * kMmaN + lane % 4 * 2;
        const float left = sum[i][j].value[2 * half_tile];
        const float right = sum[i][j].value[2 * half_tile + 1];
        if (kAligned) {
          if (column < N) store_pair(C_row + column, left, right);
        } else {
          if (column < N) convert(C_row[column], left);
          if (column + 1 < N) convert(C_row[column + 1], right);
        }
      }
    }
  }
}

template __global__ void gemm<true>(const Element*, const Element*, Element*, int, int, int);
template __global__ void gemm<false>(const Element*, const Element*, Element*, int, int, int);
