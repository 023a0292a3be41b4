// Tensor-core fragments: C = A B + C for one tile.
#include <mma.h>
using namespace nvcuda;

template <int m, int n, int k, typename T, typename Accumulator, typename ALayout, typename BLayout>
__device__ void multiply(const T* a, int lda, const T* b, int ldb, Accumulator* c, int ldc, wmma::layout_t layout) {
  wmma::fragment<wmma::matrix_a, m, n, k, T, ALayout> left;
  wmma::fragment<wmma::matrix_b, m, n, k, T, BLayout> right;
  wmma::fragment<wmma::accumulator, m, n, k, Accumulator> result;
  wmma::load_matrix_sync(left, a, lda);
  wmma::load_matrix_sync(right, b, ldb);
  wmma::load_matrix_sync(result, c, ldc, layout);
  wmma::mma_sync(result, left, right, result);
  wmma::store_matrix_sync(c, result, ldc, layout);
}

extern "C" __global__ void half_row_col(const half* a, const half* b, float* c) {
  multiply<16, 16, 16, half, float, wmma::row_major, wmma::col_major>(a, 16, b, 16, c, 16, wmma::mem_row_major);
}
extern "C" __global__ void half_col_row(const half* a, const half* b, float* c) {
  multiply<16, 16, 16, half, float, wmma::col_major, wmma::row_major>(a, 16, b, 16, c, 16, wmma::mem_col_major);
}
extern "C" __global__ void half_accumulated(const half* a, const half* b, half* c) {
  multiply<16, 16, 16, half, half, wmma::row_major, wmma::row_major>(a, 16, b, 16, c, 16, wmma::mem_row_major);
}
extern "C" __global__ void half_tall(const half* a, const half* b, float* c) {
  multiply<32, 8, 16, half, float, wmma::row_major, wmma::col_major>(a, 16, b, 16, c, 8, wmma::mem_row_major);
}
extern "C" __global__ void half_wide(const half* a, const half* b, float* c) {
  multiply<8, 32, 16, half, float, wmma::row_major, wmma::col_major>(a, 16, b, 16, c, 32, wmma::mem_row_major);
}
extern "C" __global__ void bfloat16_row_col(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  multiply<16, 16, 16, __nv_bfloat16, float, wmma::row_major, wmma::col_major>(a, 16, b, 16, c, 16, wmma::mem_row_major);
}
extern "C" __global__ void bytes(const signed char* a, const signed char* b, int* c) {
  multiply<16, 16, 16, signed char, int, wmma::row_major, wmma::col_major>(a, 16, b, 16, c, 16, wmma::mem_row_major);
}

extern "C" __global__ void tf32(const float* a, const float* b, float* c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> result;
  wmma::fill_fragment(result, 1.0f);
  wmma::load_matrix_sync(left, a, 8);
  wmma::load_matrix_sync(right, b, 8);
  for (int i = 0; i < left.num_elements; i++) left.x[i] = wmma::__float_to_tf32(left.x[i]);
  for (int i = 0; i < right.num_elements; i++) right.x[i] = wmma::__float_to_tf32(right.x[i]);
  wmma::mma_sync(result, left, right, result);
  for (int i = 0; i < result.num_elements; i++) result.x[i] *= 2.0f;
  wmma::store_matrix_sync(c, result, 16, wmma::mem_row_major);
}
