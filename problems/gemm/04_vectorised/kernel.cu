// 04_vectorised: 16-byte loads everywhere, and the next tiles on their way while these are used.
//
// Idea      Global memory is read 16 bytes at a time: V = 4 elements of fp32, 8 of fp16 or bf16. A's tile is stored transposed, so that the THREAD_M
//           rows a thread needs of one term lie side by side like the THREAD_N columns of B: an operand is one 16-byte
//           shared load per 4 values. With STAGES = 2, the next tiles are loaded into registers before this tile is
//           used and stored into the other half of shared memory afterwards: one barrier per tile, and the loads have a
//           whole tile's arithmetic to arrive.
// Change    From 03_register_tiled: vectors, the transposed and padded tile of A, two stages.
// Layouts   A [M, K], B [K, N], C [M, N], row-major, elements of type DTYPE (float, half or bf16). One launch,
//           grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)), block = BLOCK_M / THREAD_M * BLOCK_N / THREAD_N threads.
//           A thread owns groups of 4 neighbouring rows and columns, the groups a whole row of threads apart: 8 lanes
//           read 128 neighbouring bytes of B's tile. Rows of A's transposed tile are padded by PAD words: lanes that
//           store different terms would meet in the same banks without.
// Tile      BLOCK_M x BLOCK_N elements of C per CTA, BLOCK_K terms per tile; fp32 in shared memory, zeros beyond the
//           matrices.
// Resources Shared bytes: 4 STAGES BLOCK_K (BLOCK_M + PAD + BLOCK_N): 8.3 KiB for 64 x 64 x 8, 2 stages. Registers:
//           THREAD_M THREAD_N accumulators + THREAD_M + THREAD_N operands + BLOCK_K (BLOCK_M + BLOCK_N) / threads
//           elements in flight: about 70 for 4 x 4, 128 for 8 x 8.
// Bound     4 x 4: 16 FMA for two 16-byte shared loads, of which B's takes 2 to 4 wavefronts (its distinct bytes / 128)
//           and A's 1 to 2. FP32 then binds: at 512^3, 268 MFLOP at 58 SMs * 128 lanes * 2 * 2.04 GHz = 30.3 TFLOP/s is
//           8.9 us on an L4; FMAs are about 3/4 of the issue slots, so 12 us, and 64 CTAs of 64 x 64 on 58 SMs leave
//           the second wave nearly empty.
// Limits    Any M, N, K >= 1; M <= 32 * 65535 (grid.y). Rows of A and B that do not start on a whole vector
//           (K % V or N % V not 0) are read element by element: gemm<false>. No tensor cores.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kBlockM = BLOCK_M;
constexpr int kBlockN = BLOCK_N;
constexpr int kBlockK = BLOCK_K;
constexpr int kThreadM = THREAD_M;          // rows of C per thread
constexpr int kThreadN = THREAD_N;          // columns of C per thread
constexpr int kVectorWidth = 16 / sizeof(Element);  // elements per global load
constexpr int kPad = PAD;                   // words added to a row of A's transposed tile
constexpr int kStages = STAGES;             // 1: load, then use; 2: load the next tiles while these are used
constexpr int kGroup = 4;                   // neighbouring rows or columns of a thread; fp32 of a 16-byte shared load
constexpr int kRowThreads = kBlockM / kThreadM;
constexpr int kColumnThreads = kBlockN / kThreadN;
constexpr int kThreads = kRowThreads * kColumnThreads;
// Terms unrolled: 128 FMAs hide the loop's own instructions; more of them only make compilers slow and registers scarce.
constexpr int kUnroll = 128 / (kThreadM * kThreadN);
constexpr int kPiecesOfA = kBlockM * kBlockK / kVectorWidth / kThreads;  // per thread
constexpr int kPiecesOfB = kBlockK * kBlockN / kVectorWidth / kThreads;
constexpr int kStoreWidth = kVectorWidth < kGroup ? kVectorWidth : kGroup;  // elements per global store
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a CTA has whole warps, and 1024 threads at most");
static_assert(kThreadM % kGroup == 0 && kThreadN % kGroup == 0, "register tiles must consist of whole groups");
static_assert(kPiecesOfA * kVectorWidth * kThreads == kBlockM * kBlockK, "threads must share A's tile evenly");
static_assert(kPiecesOfB * kVectorWidth * kThreads == kBlockK * kBlockN, "threads must share B's tile evenly");
static_assert(kPad % kGroup == 0, "rows of A_smem must stay 16-byte aligned");
static_assert(kStages == 1 || kStages == 2, "tiles are used at once, or one tile later");

__device__ float to_float(float value) { return value; }
__device__ float to_float(half value) { return __half2float(value); }
__device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ void convert(float& to, float value) { to = value; }
__device__ void convert(half& to, float value) { to = __float2half(value); }
__device__ void convert(__nv_bfloat16& to, float value) { to = __float2bfloat16(value); }

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

using Piece = Vector<Element, kVectorWidth>;

struct SharedTiles {
  alignas(16) float A[kBlockK][kBlockM + kPad];  // transposed
  alignas(16) float B[kBlockK][kBlockN];
};

// Elements [row, column ...] of a matrix [rows, columns]; zeros beyond it. kAligned: pieces are whole and aligned.
template <bool kAligned>
__device__ Piece load_or_zero(const Element* __restrict__ matrix, int row, int column, int rows, int columns) {
  const Element* address = matrix + static_cast<size_t>(row) * columns + column;
  if (kAligned && row < rows && column < columns) return load<kVectorWidth>(address);
  Piece piece;
#pragma unroll
  for (int i = 0; i < kVectorWidth; ++i) {
    const bool inside = !kAligned && row < rows && column + i < columns;
    piece.element[i] = inside ? address[i] : Element(0.0f);
  }
  return piece;
}

// A thread's share of the next two tiles, on its way from global to shared memory.
struct Pieces {
  Piece A[kPiecesOfA];
  Piece B[kPiecesOfB];
};

constexpr int kPiecesPerRowOfA = kBlockK / kVectorWidth;
constexpr int kPiecesPerRowOfB = kBlockN / kVectorWidth;

template <bool kAligned>
__device__ void load_pieces(Pieces& pieces, const Element* __restrict__ A, const Element* __restrict__ B, int first_k,
                            int M, int N, int K) {
#pragma unroll
  for (int p = 0; p < kPiecesOfA; ++p) {
    const int piece = threadIdx.x + p * kThreads;
    const int row = blockIdx.y * kBlockM + piece / kPiecesPerRowOfA;
    const int k = first_k + piece % kPiecesPerRowOfA * kVectorWidth;
    pieces.A[p] = load_or_zero<kAligned>(A, row, k, M, K);
  }
#pragma unroll
  for (int p = 0; p < kPiecesOfB; ++p) {
    const int piece = threadIdx.x + p * kThreads;
    const int k = first_k + piece / kPiecesPerRowOfB;
    const int column = blockIdx.x * kBlockN + piece % kPiecesPerRowOfB * kVectorWidth;
    pieces.B[p] = load_or_zero<kAligned>(B, k, column, K, N);
  }
}

__device__ void store_pieces(SharedTiles& smem, const Pieces& pieces) {
#pragma unroll
  for (int p = 0; p < kPiecesOfA; ++p) {
    const int piece = threadIdx.x + p * kThreads;
    const int row = piece / kPiecesPerRowOfA;
    const int k = piece % kPiecesPerRowOfA * kVectorWidth;
#pragma unroll
    for (int i = 0; i < kVectorWidth; ++i) smem.A[k + i][row] = to_float(pieces.A[p].element[i]);
  }
#pragma unroll
  for (int p = 0; p < kPiecesOfB; ++p) {
    const int piece = threadIdx.x + p * kThreads;
    const int k = piece / kPiecesPerRowOfB;
    const int column = piece % kPiecesPerRowOfB * kVectorWidth;
    constexpr int kWidth = kVectorWidth < kGroup ? kVectorWidth : kGroup;
#pragma unroll
    for (int i = 0; i < kVectorWidth; i += kWidth) {
      Vector<float, kWidth> values;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) values.element[j] = to_float(pieces.B[p].element[i + j]);
      store(&smem.B[k][column + i], values);
    }
  }
}

// Adds BLOCK_K terms to a thread's register tile.
__device__ void multiply_add(float (&sum)[kThreadM][kThreadN], const SharedTiles& smem, int thread_row,
                             int thread_column) {
#pragma unroll kUnroll
  for (int k = 0; k < kBlockK; ++k) {
    float a[kThreadM];
    float b[kThreadN];
#pragma unroll
    for (int i = 0; i < kThreadM; i += kGroup) {
      const auto group = load<kGroup>(&smem.A[k][i * kRowThreads + thread_row * kGroup]);
#pragma unroll
      for (int g = 0; g < kGroup; ++g) a[i + g] = group.element[g];
    }
#pragma unroll
    for (int j = 0; j < kThreadN; j += kGroup) {
      const auto group = load<kGroup>(&smem.B[k][j * kColumnThreads + thread_column * kGroup]);
#pragma unroll
      for (int g = 0; g < kGroup; ++g) b[j + g] = group.element[g];
    }
#pragma unroll
    for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) sum[i][j] += a[i] * b[j];
    }
  }
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    gemm(const Element* __restrict__ A,  // [M, K]
         const Element* __restrict__ B,  // [K, N]
         Element* __restrict__ C,        // [M, N]
         int M, int N, int K) {
  __shared__ SharedTiles smem[kStages];
  static_assert(sizeof(smem) <= 48 * 1024, "static shared memory is limited to 48 KiB");

  const int thread_row = threadIdx.x / kColumnThreads;
  const int thread_column = threadIdx.x % kColumnThreads;

  float sum[kThreadM][kThreadN] = {};
  Pieces pieces;
  load_pieces<kAligned>(pieces, A, B, 0, M, N, K);
  int stage = 0;
  for (int first_k = 0; first_k < K; first_k += kBlockK) {
    store_pieces(smem[stage], pieces);
    __syncthreads();  // the tiles are complete, and every thread is done with the other stage
    const int next_k = first_k + kBlockK;
    if (kStages == 2 && next_k < K) load_pieces<kAligned>(pieces, A, B, next_k, M, N, K);
    multiply_add(sum, smem[stage], thread_row, thread_column);
    if (kStages == 2) {
      stage ^= 1;
    } else {
      __syncthreads();  // every thread is done with the only stage
      if (next_k < K) load_pieces<kAligned>(pieces, A, B, next_k, M, N, K);
    }
  }

#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int row = blockIdx.y * kBlockM + i / kGroup * kGroup * kRowThreads + thread_row * kGroup + i % kGroup;
    if (row >= M) continue;
    Element* C_row = C + static_cast<size_t>(row) * N;
#pragma unroll
    for (int j = 0; j < kThreadN; j += kStoreWidth) {
      const int column =
          blockIdx.x * kBlockN + j / kGroup * kGroup * kColumnThreads + thread_column * kGroup + j % kGroup;
      Vector<Element, kStoreWidth> values;
#pragma unroll
      for (int g = 0; g < kStoreWidth; ++g) convert(values.element[g], sum[i][j + g]);
      if (kAligned) {
        if (column < N) store(C_row + column, values);
      } else {
#pragma unroll
        for (int g = 0; g < kStoreWidth; ++g) {
          if (column + g < N) C_row[column + g] = values.element[g];
        }
      }
    }
  }
}

template __global__ void gemm<true>(const Element*, const Element*, Element*, int, int, int);
template __global__ void gemm<false>(const Element*, const Element*, Element*, int, int, int);
