// One-warp kernels around mma.sync, ldmatrix and cp.async. A [16, K] and B [K, 8] are half, C and D [16, 8] float.

#include <cuda_fp16.h>

extern "C" __global__ void mma_f16_k16(const half* A, const half* B, const float* C, float* D) {
  const int group = threadIdx.x / 4, quad = threadIdx.x % 4;
  const auto pair = [](half low, half high) {
    return static_cast<unsigned>(__half_as_ushort(low)) | static_cast<unsigned>(__half_as_ushort(high)) << 16;
  };
  unsigned a[4], b[2];
  for (int r = 0; r < 4; ++r) {
    const int row = group + (r % 2) * 8, column = quad * 2 + (r / 2) * 8;
    a[r] = pair(A[row * 16 + column], A[row * 16 + column + 1]);
  }
  for (int r = 0; r < 2; ++r) {
    const int row = quad * 2 + r * 8;
    b[r] = pair(B[row * 8 + group], B[(row + 1) * 8 + group]);
  }
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = C[(group + (i / 2) * 8) * 8 + quad * 2 + i % 2];
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) D[(group + (i / 2) * 8) * 8 + quad * 2 + i % 2] = d[i];
}

// Four 8×8 matrices stacked as 32 rows of 8; lane l's registers go to out[l * 4 …].
template <bool kTransposed>
__device__ void load_matrices(const unsigned short* rows, unsigned* out) {
  __shared__ __align__(16) unsigned short tile[32 * 8];
  for (int i = 0; i < 8; ++i) tile[threadIdx.x * 8 + i] = rows[threadIdx.x * 8 + i];
  __syncwarp();
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x * 8));
  unsigned r[4];
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = r[i];
}
extern "C" __global__ void ldmatrix_x4(const unsigned short* rows, unsigned* out) { load_matrices<false>(rows, out); }
extern "C" __global__ void ldmatrix_x4_trans(const unsigned short* rows, unsigned* out) {
  load_matrices<true>(rows, out);
}

// Twice, one matrix and then two. Rows of the first lie 128 bytes apart, those of the second side by side; further lanes have no rows.
extern "C" __global__ void ldmatrix_few(unsigned* out) {
  __shared__ __align__(16) unsigned tile[512];
  for (int i = threadIdx.x; i < 512; i += 32) tile[i] = i;
  __syncwarp();
  const unsigned lane = threadIdx.x;
  const unsigned place = lane < 8 ? lane * 128 : lane < 16 ? 1024 + (lane - 8) * 16 : 3;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(tile)) + place;
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    unsigned r[3];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address + 16 * i));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[1]), "=r"(r[2])
                 : "r"(address + 16 * i));
    sum += r[0] + 3 * r[1] + 5 * r[2];
  }
  out[lane] = sum;
}

// The last lane's row lies `offset` bytes behind its place.
extern "C" __global__ void ldmatrix_at(unsigned* out, int offset) {
  __shared__ __align__(16) unsigned short tile[32 * 8];
  const unsigned address =
      static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x * 8)) + (threadIdx.x == 31 ? offset : 0);
  unsigned r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = r[i];
}

// Copies 16 bytes per lane; reads the tile before and after waiting.
extern "C" __global__ void copy_and_wait(const unsigned* in, unsigned* before, unsigned* after) {
  __shared__ __align__(16) unsigned tile[128];
  for (int i = 0; i < 4; ++i) tile[threadIdx.x * 4 + i] = 7;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x * 4));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + threadIdx.x * 4) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  before[threadIdx.x] = tile[threadIdx.x * 4];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncwarp();
  for (int i = 0; i < 4; ++i) after[threadIdx.x * 4 + i] = tile[threadIdx.x * 4 + i];
}

// Copies as many of 16 bytes as `sizes` says, from `offset` bytes behind each lane's place; the rest become zeros. Odd lanes
// sit out of `copy_part`.
template <int kStep>
__device__ void copy(const unsigned char* in, const unsigned* sizes, unsigned* out, int offset) {
  __shared__ __align__(16) unsigned tile[128];
  for (int i = 0; i < 4; ++i) tile[threadIdx.x * 4 + i] = 0x77777777;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile + threadIdx.x * 4));
  if (threadIdx.x % kStep == 0)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(in + threadIdx.x * 16 + offset),
                 "r"(sizes[threadIdx.x])
                 : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = tile[threadIdx.x * 4 + i];
}
extern "C" __global__ void copy_part(const unsigned char* in, const unsigned* sizes, unsigned* out, int offset) {
  copy<2>(in, sizes, out, offset);
}
extern "C" __global__ void copy_all(const unsigned char* in, const unsigned* sizes, unsigned* out, int offset) {
  copy<1>(in, sizes, out, offset);
}
