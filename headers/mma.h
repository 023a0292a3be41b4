// nvcuda::wmma: matrix fragments of a warp, on mma.sync. How elements lie in a fragment is left open by CUDA; here they lie
// as mma.m16n8k* wants them (PTX ISA, matrix fragments for mma), so that mma_sync needs no data movement.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "type_traits"

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
namespace precision {
struct tf32;
}
enum layout_t { mem_row_major, mem_col_major };

namespace __ws {
template <class type>
struct storage {
  using element = type;
  static constexpr int per_register = 4 / sizeof(type);
};
template <>
struct storage<precision::tf32> {
  using element = float;
  static constexpr int per_register = 1;
};

struct position {
  int row, column;
};
__device__ __forceinline__ int lane() { return (int)__nvvm_read_ptx_sreg_laneid(); }

// The left operand of mma: 16 rows per tile. Element e of a lane, counted over tiles and registers.
template <int per_register, int k>
__device__ __forceinline__ position left_position(int e) {
  constexpr int per_tile = 16 * k / 32;
  const int tile = e / per_tile, register_index = (e % per_tile) / per_register, i = e % per_register;
  return {16 * tile + (lane() >> 2) + 8 * (register_index & 1),
          (lane() & 3) * per_register + (register_index >> 1) * per_register * 4 + i};
}
// The right operand: 8 columns per tile.
template <int per_register, int k>
__device__ __forceinline__ position right_position(int e) {
  constexpr int per_tile = 8 * k / 32;
  const int tile = e / per_tile, register_index = (e % per_tile) / per_register, i = e % per_register;
  return {(lane() & 3) * per_register + register_index * per_register * 4 + i, 8 * tile + (lane() >> 2)};
}
// The result: 16 x 8 per tile, four elements each; left tiles vary slowest.
template <int right_tiles>
__device__ __forceinline__ position result_position(int e) {
  const int tile = e / 4, i = e & 3;
  return {16 * (tile / right_tiles) + (lane() >> 2) + 8 * (i >> 1), 8 * (tile % right_tiles) + (lane() & 3) * 2 + (i & 1)};
}

// With 8 rows the product is formed transposed: C^T = B^T A^T, whose left operand has 32 rows.
template <class use, int m, int n, int k, class type>
__device__ __forceinline__ position position_of(int e) {
  constexpr int per_register = storage<type>::per_register;
  constexpr bool transposed = m == 8;
  position p;
  if constexpr (__is_same(use, accumulator)) {
    p = result_position<(transposed ? m : n) / 8>(e);
  } else if constexpr (__is_same(use, matrix_a) != transposed) {
    p = left_position<per_register, k>(e);
  } else {
    p = right_position<per_register, k>(e);
  }
  return transposed ? position{p.column, p.row} : p;
}

template <class use, int m, int n, int k>
constexpr int elements_per_lane = (__is_same(use, matrix_a) ? m * k : __is_same(use, matrix_b) ? k * n : m * n) / 32;

template <class type>
struct multiply;
template <>
struct multiply<half> {
  __device__ __forceinline__ static void run(float* d, const unsigned int* a, const unsigned int* b, const float* c) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
  }
  __device__ __forceinline__ static void run(half* d, const unsigned int* a, const unsigned int* b, const half* c) {
    unsigned int result[2], addend[2];
    __builtin_memcpy(addend, c, sizeof(addend));
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"
        : "=r"(result[0]), "=r"(result[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(addend[0]), "r"(addend[1]));
    __builtin_memcpy(d, result, sizeof(result));
  }
};
template <>
struct multiply<__nv_bfloat16> {
  __device__ __forceinline__ static void run(float* d, const unsigned int* a, const unsigned int* b, const float* c) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
  }
};
template <>
struct multiply<precision::tf32> {
  __device__ __forceinline__ static void run(float* d, const unsigned int* a, const unsigned int* b, const float* c) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
  }
};
#define __WS_MMA_BYTES(type, word)                                                                                        \
  template <>                                                                                                             \
  struct multiply<type> {                                                                                                 \
    __device__ __forceinline__ static void run(int* d, const unsigned int* a, const unsigned int* b, const int* c) {      \
      asm("mma.sync.aligned.m16n8k16.row.col.s32." word "." word ".s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"     \
          : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                                \
          : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));                                 \
    }                                                                                                                     \
  };
__WS_MMA_BYTES(signed char, "s8")
__WS_MMA_BYTES(unsigned char, "u8")
#undef __WS_MMA_BYTES

template <class type, int m, int n, int k>
constexpr bool supported = (__is_same(type, precision::tf32) && m == 16 && n == 16 && k == 8) ||
                           (!__is_same(type, precision::tf32) && k == 16 &&
                            ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32)));
}  // namespace __ws

template <class use, int m, int n, int k, class type, class layout = void>
class fragment {
 public:
  using element_type = typename __ws::storage<type>::element;
  using storage_element_type = element_type;
  static constexpr int num_elements = __ws::elements_per_lane<use, m, n, k>;
  static constexpr int num_storage_elements = num_elements;
  element_type x[num_elements];
};

template <class use, int m, int n, int k, class type, class layout>
__device__ __forceinline__ void fill_fragment(fragment<use, m, n, k, type, layout>& f,
                                              const typename __ws::storage<type>::element& value) {
#pragma unroll
  for (int e = 0; e < f.num_elements; e++) f.x[e] = value;
}

namespace __ws {
// Two neighbours of a row are read and written at once where they are neighbours in memory too.
template <class use, int m, int n, int k, class type, class layout, class element>
__device__ __forceinline__ void load(fragment<use, m, n, k, type, layout>& f, const element* memory, unsigned int stride, bool by_rows) {
  constexpr bool pairs_in_row = storage<type>::per_register >= 2 || __is_same(use, accumulator);
  struct alignas(2 * sizeof(element)) pair {
    element first, second;
  };
#pragma unroll
  for (int e = 0; e < f.num_elements; e += pairs_in_row ? 2 : 1) {
    const position p = position_of<use, m, n, k, type>(e);
    const element* const place = memory + (by_rows ? p.row * stride + p.column : p.column * stride + p.row);
    if constexpr (pairs_in_row) {
      const position next = position_of<use, m, n, k, type>(e + 1);
      if ((next.column != p.column) == by_rows) {
        const pair both = *reinterpret_cast<const pair*>(place);
        f.x[e] = both.first;
        f.x[e + 1] = both.second;
      } else {
        f.x[e] = place[0];
        f.x[e + 1] = place[stride];
      }
    } else {
      f.x[e] = *place;
    }
  }
}
template <int m, int n, int k, class type, class element>
__device__ __forceinline__ void store(element* memory, const fragment<accumulator, m, n, k, type>& f, unsigned int stride, bool by_rows) {
  struct alignas(2 * sizeof(element)) pair {
    element first, second;
  };
#pragma unroll
  for (int e = 0; e < f.num_elements; e += 2) {
    const position p = position_of<accumulator, m, n, k, type>(e);
    const position next = position_of<accumulator, m, n, k, type>(e + 1);
    element* const place = memory + (by_rows ? p.row * stride + p.column : p.column * stride + p.row);
    if ((next.column != p.column) == by_rows) {
      *reinterpret_cast<pair*>(place) = pair{f.x[e], f.x[e + 1]};
    } else {
      place[0] = f.x[e];
      place[stride] = f.x[e + 1];
    }
  }
}
}  // namespace __ws

// As CUDA asks, the pointer is 32-byte aligned and the stride a multiple of 16 bytes.
template <class use, int m, int n, int k, class type, class layout, class element>
__device__ __forceinline__ void load_matrix_sync(fragment<use, m, n, k, type, layout>& f, const element* memory, unsigned int stride) {
  static_assert(!__is_same(use, accumulator), "an accumulator is loaded with mem_row_major or mem_col_major");
  __ws::load(f, memory, stride, __is_same(layout, row_major));
}
template <int m, int n, int k, class type, class element>
__device__ __forceinline__ void load_matrix_sync(fragment<accumulator, m, n, k, type>& f, const element* memory, unsigned int stride,
                                                 layout_t layout) {
  if (layout == mem_row_major) {
    __ws::load(f, memory, stride, true);
  } else {
    __ws::load(f, memory, stride, false);
  }
}
template <int m, int n, int k, class type, class element>
__device__ __forceinline__ void store_matrix_sync(element* memory, const fragment<accumulator, m, n, k, type>& f, unsigned int stride,
                                                  layout_t layout) {
  if (layout == mem_row_major) {
    __ws::store(memory, f, stride, true);
  } else {
    __ws::store(memory, f, stride, false);
  }
}

template <int m, int n, int k, class type, class a_layout, class b_layout, class result_type, class addend_type>
__device__ __forceinline__ void mma_sync(fragment<accumulator, m, n, k, result_type>& d, const fragment<matrix_a, m, n, k, type, a_layout>& a,
                                         const fragment<matrix_b, m, n, k, type, b_layout>& b,
                                         const fragment<accumulator, m, n, k, addend_type>& c) {
  static_assert(__ws::supported<type, m, n, k>, "this combination of shape and type is not available");
  static_assert(__is_same(result_type, addend_type), "C and D must have the same type");
  constexpr bool transposed = m == 8;
  constexpr int left_tiles = (transposed ? n : m) / 16, right_tiles = (transposed ? m : n) / 8;
  unsigned int left[left_tiles * 16 * k / 32 / __ws::storage<type>::per_register];
  unsigned int right[right_tiles * 8 * k / 32 / __ws::storage<type>::per_register];
  if constexpr (transposed) {
    __builtin_memcpy(left, b.x, sizeof(left));
    __builtin_memcpy(right, a.x, sizeof(right));
  } else {
    __builtin_memcpy(left, a.x, sizeof(left));
    __builtin_memcpy(right, b.x, sizeof(right));
  }
  constexpr int left_step = sizeof(left) / 4 / left_tiles, right_step = sizeof(right) / 4 / right_tiles;
#pragma unroll
  for (int i = 0; i < left_tiles; i++) {
#pragma unroll
    for (int j = 0; j < right_tiles; j++) {
      const int first = 4 * (i * right_tiles + j);
      __ws::multiply<type>::run(&d.x[first], &left[i * left_step], &right[j * right_step], &c.x[first]);
    }
  }
}

// Rounds to the 10-bit significand of TF32, to nearest, ties away from zero.
__device__ __forceinline__ float __float_to_tf32(float value) {
  unsigned int bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __uint_as_float(bits);
}
}  // namespace wmma
}  // namespace nvcuda
