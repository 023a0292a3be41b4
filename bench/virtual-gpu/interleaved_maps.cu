// What a GPU copies through interleaved tensor maps (cuTensorMapEncodeTiled with CU_TENSOR_MAP_INTERLEAVE_16B and _32B), and which
// maps its driver takes. Plain maps stand beside them where the answer is the same.
//
// Prints one JSON line per box, and one per sweep over the values of a field. Numbers of chunks count 16 bytes.
//   i       index; -3 the header, -1 a sweep          op    L load, S store, A reduction by add
//   il      bytes of a slice, 0 if not interleaved    str   strides in bytes
//   swz     the driver's number of the swizzle        shift bytes added to the tensor's address
//   encode  the driver's error: it refused the map    error the copy stopped the GPU
//   got     of a load, chunks of shared memory in order, the swizzle undone: `a+n` n chunks from chunk a of the tensor on, `z*n`
//           zeros, `p*n` untouched, `=hex*n` a word throughout; of a store, `a<s+n`: n chunks of the tensor from chunk a on came
//           from chunk s of shared memory on, what lay there before taken off
//   bytes   what the mbarrier is told to expect; done: the phase ended; doneOf16More: it did so, too, with 16 more expected
//   taken   the values that the driver takes, `from..to/step`
//   nvcc -std=c++17 -arch=sm_90a -O1 -o interleaved_maps interleaved_maps.cu && ./interleaved_maps [SECONDS [PROCESSES]] > maps.jsonl
//   node bench/virtual-gpu/keep-interleaved-maps.ts maps.jsonl --recorded-at DATE
// Boxes are copied in child processes, since one that stops the GPU takes its context along. Parts of the output are kept in
// interleaved-maps.N.jsonl as they come. With eight processes an H200 took 23 s.
#include <cuda.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
using std::string;
using std::vector;

typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                           const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// ---------------------------------------------------------------- device
const unsigned POISON = 0xDEADBEEFu;
const unsigned V0 = 0x3C003C00u;           // shared word i of a store holds V0 + i: normal numbers as f16, f32 and u32
const size_t WORDS = size_t(16) << 20;     // 64 MiB of global memory, word i holds i
const size_t BASE_WORD = size_t(4) << 20;  // where tensors begin
const int SHARED = 200 * 1024;
const int BARRIER_AT = SHARED;
struct Coordinates { int c[5]; };

__device__ unsigned sharedAddress(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

template <int RANK> __device__ void issueLoad(const CUtensorMap *map, Coordinates at, unsigned to, unsigned barrier) {
  if constexpr (RANK == 1) asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(at.c[0]) : "memory");
  if constexpr (RANK == 2) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(at.c[0]), "r"(at.c[1]) : "memory");
  if constexpr (RANK == 3) asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]) : "memory");
  if constexpr (RANK == 4) asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]) : "memory");
  if constexpr (RANK == 5) asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5,%6,%7}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]) : "memory");
}
template <int RANK, bool ADD> __device__ void issueStore(const CUtensorMap *map, Coordinates at, unsigned from) {
#define OUT(TEXT, ...) if (ADD) asm volatile("cp.reduce.async.bulk.tensor." TEXT "d.global.shared::cta.add.tile.bulk_group " __VA_ARGS__ : "memory"); else asm volatile("cp.async.bulk.tensor." TEXT "d.global.shared::cta.tile.bulk_group " __VA_ARGS__ : "memory");
  if constexpr (RANK == 1) { OUT("1", "[%1, {%2}], [%0];" ::"r"(from), "l"(map), "r"(at.c[0])) }
  if constexpr (RANK == 2) { OUT("2", "[%1, {%2,%3}], [%0];" ::"r"(from), "l"(map), "r"(at.c[0]), "r"(at.c[1])) }
  if constexpr (RANK == 3) { OUT("3", "[%1, {%2,%3,%4}], [%0];" ::"r"(from), "l"(map), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2])) }
  if constexpr (RANK == 4) { OUT("4", "[%1, {%2,%3,%4,%5}], [%0];" ::"r"(from), "l"(map), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3])) }
  if constexpr (RANK == 5) { OUT("5", "[%1, {%2,%3,%4,%5,%6}], [%0];" ::"r"(from), "l"(map), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4])) }
#undef OUT
}

template <int RANK>
__global__ void loadBox(const __grid_constant__ CUtensorMap map, Coordinates at, int words, unsigned expect, int waits, unsigned *out) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned *shared = (unsigned *)smem;
  for (int i = threadIdx.x; i < words; i += blockDim.x) shared[i] = POISON;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned b = sharedAddress(smem + BARRIER_AT), done = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(expect) : "memory");
    issueLoad<RANK>(&map, at, sharedAddress(smem), b);
    // Bounded: until the phase is over, or `waits` looks of a microsecond.
    for (int i = 0; i < waits && !done; i++) {
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(b) : "memory");
      __nanosleep(1000);
    }
    // What lands later lands now.
    for (int i = 0; i < 40; i++) __nanosleep(1000);
    out[words] = done;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = ((volatile unsigned *)shared)[i];
}

template <int RANK, bool ADD> __global__ void storeBox(const __grid_constant__ CUtensorMap map, Coordinates at, int words) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned *shared = (unsigned *)smem;
  for (int i = threadIdx.x; i < words; i += blockDim.x) shared[i] = V0 + i;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    issueStore<RANK, ADD>(&map, at, sharedAddress(smem));
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

__global__ void fill(unsigned *memory, unsigned value, bool numbered) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < WORDS; i += size_t(gridDim.x) * blockDim.x) memory[i] = numbered ? (unsigned)i : value;
}
const int MOST_CHANGES = 1 << 18;
__global__ void changes(const unsigned *memory, unsigned value, unsigned *count, uint2 *list) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < WORDS; i += size_t(gridDim.x) * blockDim.x)
    if (memory[i] != value) {
      unsigned at = atomicAdd(count, 1);
      if (at < MOST_CHANGES) list[at] = make_uint2((unsigned)i, memory[i]);
    }
}

// ---------------------------------------------------------------- configurations
struct Type { const char *name; CUtensorMapDataType code; int bytes; bool floating; };
const Type U8 = {"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, false}, U16 = {"u16", CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, false},
           U32 = {"u32", CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, false}, I32 = {"i32", CU_TENSOR_MAP_DATA_TYPE_INT32, 4, false},
           U64 = {"u64", CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, false}, F16 = {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, true},
           BF16 = {"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, true}, F32 = {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, true},
           F64 = {"f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, true};

struct Cfg {
  string family;
  char op = 'L';  // L load, S store, A reduce add
  int unit = 16;  // bytes of a slice; 0: not interleaved
  Type type = U8;
  int rank = 3;
  long long dim[5] = {48, 5, 4, 3, 3};
  long long str[4] = {64, 1024, 8192, 65536};  // in units (bytes when not interleaved)
  int box[5] = {16, 3, 2, 2, 2};
  int es[5] = {1, 1, 1, 1, 1};
  int swz = 0, fill = 0;
  int at[5] = {0, 0, 0, 0, 0};
  int shift = 0;  // bytes added to the tensor's address
};

Encode encode;
CUresult encodeAt(const Cfg &c, void *base, CUtensorMap *map) {
  cuuint64_t dim[5], str[5];
  cuuint32_t box[5], es[5];
  for (int i = 0; i < 5; i++) dim[i] = c.dim[i], box[i] = c.box[i], es[i] = c.es[i], str[i] = i < 4 ? c.str[i] * (c.unit ? c.unit : 1) : 0;
  return encode(map, c.type.code, c.rank, (char *)base + c.shift, dim, str, box, es, (CUtensorMapInterleave)(c.unit / 16), (CUtensorMapSwizzle)c.swz,
                CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)c.fill);
}

vector<Cfg> cases;
void add(Cfg c) { cases.push_back(c); }

Cfg base(const char *family, int unit, Type type, int rank) {
  Cfg c;
  c.family = family, c.unit = unit, c.type = type, c.rank = rank;
  c.swz = unit == 32 ? 1 : 0;
  c.box[0] = unit / type.bytes;  // a slice's worth of elements
  c.dim[0] = 3 * c.box[0];
  return c;
}

// Coordinates: origin, a step in, across the upper bound, before the tensor, wholly beyond, wholly before.
vector<vector<int>> places(const Cfg &c) {
  vector<vector<int>> out{vector<int>(5, 0)};
  for (int axis = 0; axis < c.rank; axis++)
    for (long long at : {1LL, c.dim[axis] - c.box[axis] + 1, -1LL, c.dim[axis], (long long)-c.box[axis]}) {
      vector<int> p(5, 0);
      p[axis] = (int)at;
      out.push_back(p);
    }
  vector<int> corner(5, 0), low(5, 0);
  for (int axis = 0; axis < c.rank; axis++) corner[axis] = (int)c.dim[axis] - (axis ? 1 : c.box[0] / 2), low[axis] = axis ? -1 : -c.box[0] / 2;
  out.push_back(corner);
  out.push_back(low);
  return out;
}
void addPlaces(Cfg c, const vector<vector<int>> &at) {
  for (auto &p : at) {
    for (int i = 0; i < 5; i++) c.at[i] = i < c.rank ? p[i] : 0;
    add(c);
  }
}

void buildCases() {
  const int units[] = {16, 32};
  const Type types[] = {U8, F16, F32};
  // 1. Which stride goes with which axis; bounds; byte counts.
  for (int unit : units)
    for (Type type : types)
      for (int rank : {3, 4, 5}) {
        Cfg c = base("axes", unit, type, rank);
        c.fill = type.code == F16.code;
        addPlaces(c, places(c));
      }
  // 2. Slices of one axis side by side with those of the next.
  for (int unit : units) {
    Cfg c = base("close", unit, U8, 3);
    long long dim[] = {unit, 6, 4}, str[] = {1, 6};
    int box[] = {unit, 4, 2};
    for (int i = 0; i < 3; i++) c.dim[i] = dim[i], c.box[i] = box[i];
    c.str[0] = str[0], c.str[1] = str[1];
    addPlaces(c, {{0, 0, 0, 0, 0}, {0, 1, 1, 0, 0}});
  }
  // 3. Widths of the box along the innermost axis, whole slices or not; and of the tensor.
  for (int unit : units)
    for (Type type : {U8, F16, F32, F64})
      for (int width : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64}) {
        Cfg c = base("width", unit, type, 3);
        c.box[0] = width;
        c.dim[0] = 48;
        add(c);
      }
  for (int unit : units)
    for (Type type : types)
      for (int size : {1, 2, 3, 4, 6, 7, 8, 10, 13, 16, 17, 20, 31, 32, 33}) {
        Cfg c = base("size", unit, type, 3);
        c.dim[0] = size;
        add(c);
      }
  // 4. The innermost coordinate.
  for (int unit : units)
    for (Type type : types)
      for (int at : {2, 3, 4, 5, 7, 8, 11, 15, 16, 17, 24, 31, 32, 40, 44, 47, 48, 63, -2, -3, -4, -8, -15, -17, -32}) {
        Cfg c = base("first", unit, type, 3);
        c.at[0] = at;
        c.fill = type.code == F32.code && unit == 16;
        add(c);
      }
  // 5. Steps.
  for (int unit : units)
    for (Type type : types)
      for (auto &es : vector<vector<int>>{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2}, {3, 1, 1}, {3, 2, 1}, {8, 1, 1}, {1, 3, 1}, {4, 3, 2}}) {
        Cfg c = base("steps", unit, type, 3);
        for (int i = 0; i < 3; i++) c.es[i] = es[i];
        c.box[2] = 3;
        int b = c.box[0], d = (int)c.dim[0];
        addPlaces(c, {{0, 0, 0, 0, 0}, {1, 1, 1, 0, 0}, {d - b / 2, 3, 2, 0, 0}, {-b / 2, -1, -1, 0, 0}, {-1, -2, -2, 0, 0}});
      }
  for (int unit : units) {
    Cfg c = base("steps", unit, U8, 5);
    for (int i = 0; i < 5; i++) c.es[i] = 2;
    addPlaces(c, {{0, 0, 0, 0, 0}, {-1, -1, -1, -1, -1}});
  }
  // 6. Orders of strides.
  for (int unit : units)
    for (Type type : {U8, F32})
      for (auto &str : vector<vector<long long>>{{8192, 64, 1024, 65536}, {65536, 8192, 1024, 64}, {1024, 64, 65536, 8192}, {64, 64, 64, 64}, {1, 1024, 8192, 65536}, {1024, 1, 8192, 65536}, {0, 1024, 8192, 65536}})
        for (int rank : {3, 4, 5}) {
          Cfg c = base("strides", unit, type, rank);
          for (int i = 0; i < 4; i++) c.str[i] = str[i];
          addPlaces(c, {{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}});
        }
  // 7. Swizzles, rows narrower and wider than the swizzle's.
  for (int unit : units)
    for (int swz : {0, 1, 2, 3, 4, 5, 6})
      for (Type type : {U8, F16, F32, F64})
        for (int wide : {1, 2, 3}) {
          Cfg c = base("swizzle", unit, type, 3);
          c.swz = swz;
          c.box[0] *= wide;
          c.box[1] = 5;
          c.dim[0] = 64;
          c.dim[1] = 9;
          addPlaces(c, {{0, 0, 0, 0, 0}, {1, 1, 1, 0, 0}});
        }
  // 8. Fills.
  for (int unit : units)
    for (Type type : {F16, BF16, F32, F64, U16, U32, U64}) {
      Cfg c = base("fill", unit, type, 3);
      c.fill = type.floating;
      addPlaces(c, {{-1, 0, 0, 0, 0}, {0, -1, 0, 0, 0}, {0, 0, -1, 0, 0}, {(int)c.dim[0] - 1, 4, 3, 0, 0}});
    }
  // 9. A tensor 16 bytes further.
  for (int unit : units)
    for (int shift : {16, 32}) {
      Cfg c = base("shift", unit, U8, 3);
      c.shift = shift;
      add(c);
    }
  // 10. Out again.
  for (int unit : units)
    for (Type type : {U8, F16, F32, U32})
      for (int rank : {3, 4, 5}) {
        Cfg c = base("store", unit, type, rank);
        c.op = 'S';
        vector<vector<int>> at{{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}};
        if (type.code == U8.code || (type.code == F32.code && rank == 3)) at = places(c);
        addPlaces(c, at);
      }
  for (int unit : units)
    for (int swz : {0, 1, 2, 3})
      for (Type type : {U8, F32}) {
        Cfg c = base("store swizzled", unit, type, 3);
        c.op = 'S';
        c.swz = swz;
        c.box[1] = 5;
        c.dim[1] = 9;
        addPlaces(c, {{0, 0, 0, 0, 0}, {1, 2, 1, 0, 0}});
      }
  for (int unit : units)
    for (auto &es : vector<vector<int>>{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2}, {3, 2, 1}}) {
      Cfg c = base("store steps", unit, F16, 3);
      c.op = 'S';
      for (int i = 0; i < 3; i++) c.es[i] = es[i];
      addPlaces(c, {{0, 0, 0, 0, 0}, {1, 1, 1, 0, 0}, {-1, -1, -1, 0, 0}});
    }
  // 11. Bytes that the mbarrier counts: types, ranks, outside, steps, swizzles, wide rows; a plain box for comparison.
  for (int unit : units)
    for (Type type : {U8, F16, F32})
      for (int rank : {3, 5}) {
        Cfg c = base("bytes", unit, type, rank);
        addPlaces(c, {{0, 0, 0, 0, 0}, {(int)c.dim[0] - 1, 4, 3, 2, 2}, {-100, 0, 0, 0, 0}});
      }
  for (int unit : units)
    for (auto &es : vector<vector<int>>{{2, 1, 1}, {3, 2, 1}, {1, 1, 2}}) {
      Cfg c = base("bytes", unit, F16, 3);
      for (int i = 0; i < 3; i++) c.es[i] = es[i];
      c.box[2] = 3;
      addPlaces(c, {{0, 0, 0, 0, 0}});
    }
  for (int unit : units)
    for (int swz : {0, 1, 2, 3}) {
      Cfg c = base("bytes", unit, U8, 4);
      c.swz = swz;
      addPlaces(c, {{1, 1, 1, 1, 0}});
    }
  { Cfg c = base("bytes", 0, F32, 2); c.dim[0] = 12, c.dim[1] = 5, c.box[0] = 8, c.box[1] = 3, c.str[0] = 64; c.swz = 1; add(c); }
  // 12. Adds.
  for (int unit : units)
    for (Type type : {U32, F32, F16, BF16, U64, F64, I32})
      for (int rank : {3, 4, 5}) {
        Cfg c = base("add", unit, type, rank);
        c.op = 'A';
        if (type.bytes != 4 && rank == 4) continue;
        addPlaces(c, {{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {(int)c.dim[0] - 1, 3, 3, 0, 0}});
      }
  for (int unit : units)
    for (int swz : {0, 2, 3}) {
      Cfg c = base("add swizzled", unit, U32, 3);
      c.op = 'A', c.swz = swz;
      addPlaces(c, {{1, 1, 1, 0, 0}});
    }
  // 13. Stores again: 32B, swizzles, steps.
  for (int unit : units)
    for (Type type : {U8, F16, F32, U32})
      for (int rank : {3, 4, 5}) {
        Cfg c = base("store", unit, type, rank);
        c.op = 'S';
        if (unit == 16 && type.bytes != 2) continue;  // above
        addPlaces(c, {{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {(int)c.dim[0] - 1, 3, 3, 2, 2}});
      }
  for (int unit : units)
    for (int swz : {0, 1, 2, 3})
      for (Type type : {U8, F32}) {
        Cfg c = base("store swizzled", unit, type, 3);
        c.op = 'S', c.swz = swz;
        c.box[0] *= 3, c.dim[0] = 64;
        addPlaces(c, {{0, 0, 0, 0, 0}, {1, 2, 1, 0, 0}});
      }
  for (int unit : units)
    for (auto &es : vector<vector<int>>{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {3, 2, 1}}) {
      Cfg c = base("store steps", unit, F16, 3);
      c.op = 'S';
      for (int i = 0; i < 3; i++) c.es[i] = es[i];
      addPlaces(c, {{0, 0, 0, 0, 0}, {1, 1, 1, 0, 0}});
    }
  // 14. Last, since each may end the process: stores and adds before the tensor, plain ones first.
  auto before = [&](char op, int unit, Type type, int rank, vector<int> at) {
    Cfg c = base("before", unit, type, rank);
    int step = 16 / type.bytes;
    c.op = op;
    if (!unit) c.dim[0] = 3 * step, c.dim[1] = 5, c.dim[2] = 4, c.box[0] = 2 * step, c.box[1] = 3, c.box[2] = 2, c.str[0] = 64, c.str[1] = 1024;
    addPlaces(c, {at});
  };
  before('S', 0, I32, 2, {4, 4, 0, 0, 0});   // beyond: for comparison
  before('S', 0, I32, 2, {0, -1, 0, 0, 0});
  before('S', 0, I32, 1, {-4, 0, 0, 0, 0});
  before('S', 0, U8, 3, {0, 0, -1, 0, 0});
  before('A', 0, I32, 2, {0, -1, 0, 0, 0});
  before('A', 16, U32, 3, {0, -1, 0, 0, 0});
  before('S', 32, U8, 3, {-1, 0, 0, 0, 0});
}

// ---------------------------------------------------------------- text
string text(const char *format, ...) {
  char buffer[512];
  va_list list;
  va_start(list, format);
  vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  return buffer;
}
template <class T> string numbers(const T *values, int count, long long times = 1) {
  string out = "[";
  for (int i = 0; i < count; i++) out += (i ? "," : "") + std::to_string((long long)values[i] * times);
  return out + "]";
}
string describe(int index, const Cfg &c) {
  return text("{\"i\":%d,\"family\":\"%s\",\"op\":\"%c\",\"il\":%d,\"type\":\"%s\",\"dim\":", index, c.family.c_str(), c.op, c.unit, c.type.name) + numbers(c.dim, c.rank) +
         ",\"str\":" + numbers(c.str, c.rank - 1, c.unit ? c.unit : 1) + ",\"box\":" + numbers(c.box, c.rank) + ",\"es\":" + numbers(c.es, c.rank) +
         text(",\"swz\":%d,\"fill\":%d,\"shift\":%d,\"at\":", c.swz, c.fill, c.shift) + numbers(c.at, c.rank);
}

// Chunks of 16 bytes. The standard swizzles exchange chunks by bits of the address; what is printed is put back in order by it.
size_t swizzled(size_t chunk, int swz) {
  size_t line = chunk >> 3;
  return swz == 1 ? chunk ^ ((line & 1)) : swz == 2 ? chunk ^ ((chunk >> 3) & 3) : swz == 3 ? chunk ^ (line & 7) : chunk;
}

// A list of tokens: "a+n": n chunks from chunk a on (of the tensor, in 16 bytes, may be negative); "p*n" poison; "z*n" zeros; "=hex*n" one word throughout; "w:a,b,c,d" four words in hex.
struct Runs {
  string out, kind;
  long long from = 0, count = 0, step = 0;
  void flush() {
    if (!count) return;
    out += out.empty() ? "" : " ";
    if (kind == "#") out += count == 1 ? std::to_string(from) : std::to_string(from) + "+" + std::to_string(count);
    else out += count == 1 ? kind : kind + "*" + std::to_string(count);
    count = 0;
  }
  void number(long long value) {
    if (kind == "#" && count && value == from + count) { count++; return; }
    flush();
    kind = "#", from = value, count = 1;
  }
  void word(const string &what) {
    if (kind == what && count) { count++; return; }
    flush();
    kind = what, count = 1;
  }
};

string dumpOfLoad(const vector<unsigned> &words, const Cfg &c) {
  size_t chunks = words.size() / 4;
  vector<const unsigned *> order;
  for (size_t i = 0; i < chunks; i++) {
    size_t at = swizzled(i, c.swz);
    if (at < chunks) order.push_back(&words[at * 4]);
  }
  while (!order.empty() && order.back()[0] == POISON && order.back()[1] == POISON && order.back()[2] == POISON && order.back()[3] == POISON) order.pop_back();
  Runs runs;
  for (const unsigned *w : order) {
    bool equal = w[0] == w[1] && w[1] == w[2] && w[2] == w[3];
    bool counts = w[1] == w[0] + 1 && w[2] == w[0] + 2 && w[3] == w[0] + 3;
    long long at = (long long)w[0] - (long long)BASE_WORD - c.shift / 4;
    if (equal) runs.word(w[0] == POISON ? "p" : w[0] == 0 ? "z" : text("=%x", w[0]));
    else if (counts && at % 4 == 0) runs.number(at / 4);
    else runs.word(text("w:%x,%x,%x,%x", w[0], w[1], w[2], w[3]));
  }
  runs.flush();
  return runs.out;
}

// Tokens "a<s+n": n chunks of memory from chunk a on came from shared chunks s, s+1, ... (put in order by the swizzle);
// a chunk not wholly of that form: "a:w0,w1,w2,w3" with words in hex, "." for one unchanged.
string dumpOfStore(vector<uint2> list, const Cfg &c, unsigned before) {
  std::sort(list.begin(), list.end(), [](uint2 a, uint2 b) { return a.x < b.x; });
  string out;
  long long runA = 0, runS = 0, run = 0;
  auto flush = [&] {
    if (run) out += (out.empty() ? "" : " ") + text("%lld<%lld+%lld", runA, runS, run);
    run = 0;
  };
  unsigned offset = c.op == 'A' ? before : 0;
  for (size_t i = 0; i < list.size();) {
    unsigned chunk = list[i].x / 4;
    bool has[4] = {};
    unsigned w[4] = {};
    for (; i < list.size() && list[i].x / 4 == chunk; i++) has[list[i].x % 4] = true, w[list[i].x % 4] = list[i].y - offset;
    long long a = (long long)chunk - (long long)(BASE_WORD / 4) - c.shift / 16;
    bool whole = has[0] && has[1] && has[2] && has[3] && w[1] == w[0] + 1 && w[2] == w[0] + 2 && w[3] == w[0] + 3 && (w[0] - V0) % 4 == 0 && w[0] - V0 < SHARED / 4;
    if (whole) {
      long long s = (long long)swizzled((w[0] - V0) / 4, c.swz);
      if (run && a == runA + run && s == runS + run) { run++; continue; }
      flush();
      runA = a, runS = s, run = 1;
      continue;
    }
    flush();
    out += (out.empty() ? "" : " ") + text("%lld:", a);
    for (int k = 0; k < 4; k++) out += (k ? "," : "") + (has[k] ? text("%x", w[k]) : string("."));
  }
  flush();
  return out;
}

// ---------------------------------------------------------------- running
FILE *lines;
void line(const string &l) { fputs((l + "\n").c_str(), lines); fflush(lines); }

struct Gpu { unsigned *memory, *out, *count; uint2 *list; bool numbered = false; } gpu;
const int WAITS = 300;

bool failed(const char *where, string &why) {
  cudaError_t e = cudaDeviceSynchronize();
  if (e == cudaSuccess) e = cudaGetLastError();
  if (e != cudaSuccess) why = text("%s: %s", where, cudaGetErrorName(e));
  return e != cudaSuccess;
}
void launchLoad(const CUtensorMap &map, const Cfg &c, int words, unsigned expect, int waits) {
  Coordinates at;
  for (int i = 0; i < 5; i++) at.c[i] = c.at[i];
  const int bytes = SHARED + 16;
#define GO(R) { static bool set = (cudaFuncSetAttribute(loadBox<R>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), true); (void)set; loadBox<R><<<1, 128, bytes>>>(map, at, words, expect, waits, gpu.out); }
  if (c.rank == 1) GO(1) else if (c.rank == 2) GO(2) else if (c.rank == 3) GO(3) else if (c.rank == 4) GO(4) else GO(5)
#undef GO
}
template <bool ADD> void launchStore(const CUtensorMap &map, const Cfg &c, int words) {
  Coordinates at;
  for (int i = 0; i < 5; i++) at.c[i] = c.at[i];
#define GO(R) { static bool set = (cudaFuncSetAttribute(storeBox<R, ADD>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED), true); (void)set; storeBox<R, ADD><<<1, 128, SHARED>>>(map, at, words); }
  if (c.rank == 1) GO(1) else if (c.rank == 2) GO(2) else if (c.rank == 3) GO(3) else if (c.rank == 4) GO(4) else GO(5)
#undef GO
}

// The box, and behind it whether the phase ended.
bool fetchBox(int words, vector<unsigned> &box) {
  box.resize(words + 1);
  cudaMemcpy(box.data(), gpu.out, box.size() * 4, cudaMemcpyDeviceToHost);
  bool done = box.back();
  box.pop_back();
  return done;
}
bool prepare() {
  if (cudaFree(0) != cudaSuccess) return false;
  void *f = nullptr;
  cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &result) != cudaSuccess || !f) return false;
  encode = (Encode)f;
  return !cudaMalloc(&gpu.memory, WORDS * 4) && !cudaMalloc(&gpu.out, SHARED + 64) && !cudaMalloc(&gpu.count, 4) &&
         !cudaMalloc(&gpu.list, MOST_CHANGES * sizeof(uint2));
}

// 0: went on; 1: the context is dead.
int runCase(int index) {
  const Cfg &c = cases[index];
  string head = describe(index, c), why;
  CUtensorMap map;
  CUresult r = encodeAt(c, gpu.memory + BASE_WORD, &map);
  if (r != CUDA_SUCCESS) {
    line(head + text(",\"encode\":%d}", r));
    return 0;
  }
  size_t volume = 1;
  for (int i = 0; i < c.rank; i++) volume *= c.box[i];
  int words = (int)std::min<size_t>(SHARED, volume * (c.unit ? c.unit : c.type.bytes) * 2 + 2048) / 4 / 32 * 32;
  if (c.op == 'L') {
    if (volume * (c.unit ? c.unit : c.type.bytes) > (size_t)SHARED) { line(head + ",\"skipped\":\"too big\"}"); return 0; }
    if (!gpu.numbered) fill<<<1024, 256>>>(gpu.memory, 0, true), gpu.numbered = true;
    // The rule: ceil(box / step) of every axis but the last but one, which counts 1; slices, or elements, of so many bytes.
    long long bytes = c.unit ? c.unit : c.type.bytes;
    for (int i = 0; i < c.rank; i++) bytes *= c.unit && i == c.rank - 2 ? 1 : c.unit || i ? (c.box[i] + c.es[i] - 1) / c.es[i] : c.box[i];
    vector<unsigned> got, again;
    bool done[2];
    for (int more : {0, 16}) {
      launchLoad(map, c, words, (unsigned)bytes + more, more ? 40 : WAITS);
      if (failed("load", why)) { line(head + text(",\"bytes\":%lld,\"error\":\"%s\"}", bytes + more, why.c_str())); return 1; }
      done[more / 16] = fetchBox(words, more ? again : got);
    }
    line(head + text(",\"bytes\":%lld,\"done\":%d,\"doneOf16More\":%d,\"got\":\"", bytes, done[0], done[1]) + dumpOfLoad(got, c) + "\"}");
    return 0;
  }
  unsigned before = c.op == 'S' ? POISON : c.type.floating ? 0 : 5;
  fill<<<1024, 256>>>(gpu.memory, before, false);
  gpu.numbered = false;
  cudaMemset(gpu.count, 0, 4);
  if (c.op == 'S') launchStore<false>(map, c, words); else launchStore<true>(map, c, words);
  if (failed("store", why)) { line(head + ",\"error\":\"" + why + "\"}"); return 1; }
  changes<<<1024, 256>>>(gpu.memory, before, gpu.count, gpu.list);
  if (failed("scan", why)) { line(head + ",\"error\":\"" + why + "\"}"); return 1; }
  unsigned count;
  cudaMemcpy(&count, gpu.count, 4, cudaMemcpyDeviceToHost);
  vector<uint2> list(std::min<unsigned>(count, MOST_CHANGES));
  cudaMemcpy(list.data(), gpu.list, list.size() * sizeof(uint2), cudaMemcpyDeviceToHost);
  line(head + text(",\"changed\":%u,\"got\":\"", count * 4) + dumpOfStore(list, c, before) + "\"}");
  return 0;
}

string ranges(const vector<long long> &taken) {
  string out;
  for (size_t i = 0; i < taken.size();) {
    size_t j = i;
    long long step = i + 1 < taken.size() ? taken[i + 1] - taken[i] : 1;
    while (j + 1 < taken.size() && taken[j + 1] - taken[j] == step) j++;
    if (j - i < 2) { out += (out.empty() ? "" : " ") + std::to_string(taken[i]); i++; continue; }
    out += (out.empty() ? "" : " ") + std::to_string(taken[i]) + ".." + std::to_string(taken[j]) + (step == 1 ? "" : "/" + std::to_string(step));
    i = j + 1;
  }
  return out;
}
template <class F> void sweep(const string &name, const Cfg &c, long long from, long long to, F change) {
  vector<long long> taken;
  CUtensorMap map;
  for (long long v = from; v <= to; v++) {
    Cfg d = c;
    change(d, v);
    if (encodeAt(d, gpu.memory + BASE_WORD, &map) == CUDA_SUCCESS) taken.push_back(v);
  }
  line(describe(-1, c) + text(",\"sweep\":\"%s\",\"from\":%lld,\"to\":%lld,\"taken\":\"", name.c_str(), from, to) + ranges(taken) + "\"}");
}
// What the driver takes: one value varied at a time around maps that it takes, and around one that it refuses.
void sweepFields() {
  for (int unit : {16, 32})
    for (Type type : {U8, F16, F32, F64}) {
      for (int which = 0; which < 3; which++) {
        Cfg c = base(which == 0 ? "sweep wide" : which == 1 ? "sweep close" : "sweep refused", unit, type, 3);
        if (which == 1) c.dim[0] = unit, c.dim[1] = 6, c.dim[2] = 4, c.box[0] = unit, c.box[1] = 4, c.box[2] = 2, c.str[0] = 1, c.str[1] = 6;
        if (which == 2) c.dim[0] = 6, c.dim[1] = 4, c.dim[2] = 3, c.box[0] = 4, c.box[1] = 3, c.box[2] = 2, c.str[0] = 8, c.str[1] = 32;
        for (int axis = 0; axis < 3; axis++) {
          sweep(text("box%d", axis), c, 0, 258, [&](Cfg &d, long long v) { d.box[axis] = (int)v; });
          sweep(text("dim%d", axis), c, 0, 300, [&](Cfg &d, long long v) { d.dim[axis] = v; });
          sweep(text("es%d", axis), c, 0, 10, [&](Cfg &d, long long v) { d.es[axis] = (int)v; });
        }
        for (int axis = 0; axis < 2; axis++) sweep(text("str%d", axis), c, 0, 1100, [&](Cfg &d, long long v) { d.str[axis] = v; });
        sweep("rank", c, 0, 5, [&](Cfg &d, long long v) { d.rank = (int)v; });
        sweep("swizzle", c, 0, 7, [&](Cfg &d, long long v) { d.swz = (int)v; });
        sweep("fill", c, 0, 2, [&](Cfg &d, long long v) { d.fill = (int)v; });
        sweep("address in 16 bytes", c, 0, 8, [&](Cfg &d, long long v) { d.shift = (int)v * 16; });
        // Both of the innermost axis at once: a row of the answer per width of the box.
        for (int box0 : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64})
          sweep(text("dim0 at box0=%d", box0), c, 1, 140, [&](Cfg &d, long long v) { d.box[0] = box0, d.dim[0] = v; });
        for (int boxes : {1, 2, 3, 4, 8, 16, 32})
          sweep(text("box0 at box1=box2=%d", boxes), c, 1, 256, [&](Cfg &d, long long v) { d.box[0] = (int)v, d.box[1] = d.box[2] = boxes; });
      }
    }
}

// Sizes of boxes, and strides in bytes; of plain maps, too.
void sweepSizes() {
  for (int unit : {0, 16, 32})
    for (Type type : {U8, F32, F64}) {
      Cfg c = base("sweep", unit, type, 3);
      c.swz = 0;
      if (!unit) c.box[0] = 16 / type.bytes, c.dim[0] = 3 * c.box[0], c.str[0] = 1024, c.str[1] = 16384;
      // Bytes of a box, with and without steps: 16 bytes wide, 32 high.
      for (int es : {1, 2})
        for (int axis : {0, 1, 2})
          sweep(text("box2 at es%d=%d", axis, es), c, 1, 256, [&](Cfg &d, long long v) { d.box[0] *= 4, d.box[1] = 32, d.box[2] = (int)v, d.es[axis] = es; });
      for (int boxes : {16, 32, 64, 128, 256})
        sweep(text("box2 at box1=%d", boxes), c, 1, 256, [&](Cfg &d, long long v) { d.box[1] = boxes, d.box[2] = (int)v; });
      // Strides in steps of 16 bytes, and their upper end.
      if (unit) {
        Cfg e = c;
        e.unit = unit;
        CUtensorMap map;
        for (int axis : {0, 1}) {
          vector<long long> taken;
          for (long long v = 0; v <= 130; v++) {
            cuuint64_t dim[5], str[4];
            cuuint32_t box[5], es[5];
            for (int i = 0; i < 5; i++) dim[i] = e.dim[i], box[i] = e.box[i], es[i] = 1, i < 4 ? str[i] = e.str[i] * unit : 0;
            str[axis] = v;
            if (encode(&map, e.type.code, 3, gpu.memory + BASE_WORD, dim, str, box, es, (CUtensorMapInterleave)(unit / 16), CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS) taken.push_back(v);
          }
          line(describe(-1, e) + text(",\"sweep\":\"str%d in bytes\",\"from\":0,\"to\":130,\"taken\":\"", axis) + ranges(taken) + "\"}");
        }
      } else
        sweep("str0", c, 0, 130, [&](Cfg &d, long long v) { d.str[0] = v; });
      sweep("swizzle", c, 0, 7, [&](Cfg &d, long long v) { d.swz = (int)v; });
      sweep("box0 at swizzle 32B", c, 1, 256, [&](Cfg &d, long long v) { d.swz = 1, d.box[0] = (int)v; });
    }
}

int child(int worker, int workers, int from, const string &part) {
  lines = fopen(part.c_str(), "a");
  if (!lines) return 3;
  alarm(10);
  if (!prepare()) { line(text("{\"i\":%d,\"error\":\"no device, or no cuTensorMapEncodeTiled\"}", -2)); return 3; }
  if (from < 0) {
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    int driver = 0;
    cudaDriverGetVersion(&driver);
    line(text("{\"i\":-3,\"device\":\"%s\",\"driver\":%d,\"cases\":%zu,\"baseWord\":%zu}", p.name, driver, cases.size(), BASE_WORD));
    sweepFields();
    sweepSizes();
    return 0;
  }
  for (int i = from; i < (int)cases.size(); i += workers) {
    alarm(4);
    // Progress for the parent: what was running when a signal came.
    FILE *mark = fopen((part + ".at").c_str(), "w");
    if (mark) fprintf(mark, "%d", i), fclose(mark);
    if (runCase(i)) return 2;
  }
  return 0;
}

int main(int count, char **words) {
  buildCases();
  if (count > 1 && !strcmp(words[1], "child")) return child(atoi(words[2]), atoi(words[3]), atoi(words[4]), words[5]);
  if (count > 1 && !strcmp(words[1], "list")) {
    for (size_t i = 0; i < cases.size(); i++) puts((describe((int)i, cases[i]) + "}").c_str());
    return 0;
  }
  double budget = count > 1 ? atof(words[1]) : 300;
  int workers = count > 2 ? atoi(words[2]) : 1;
  auto start = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  struct Worker { pid_t pid = 0; int next = 0, restarts = 0; string part; };
  vector<Worker> all(workers + 1);
  auto startWorker = [&](int w) {
    pid_t pid = fork();
    if (pid == 0) {
      execl("/proc/self/exe", "interleaved_maps", "child", std::to_string(w).c_str(), std::to_string(workers).c_str(), std::to_string(all[w].next).c_str(), all[w].part.c_str(), (char *)0);
      _exit(4);
    }
    all[w].pid = pid;
  };
  for (int w = 0; w <= workers; w++) {
    all[w].part = text("interleaved-maps.%d.jsonl", w);
    remove(all[w].part.c_str());
    remove((all[w].part + ".at").c_str());
    all[w].next = w == workers ? -1 : w;
    startWorker(w);
  }
  int left = workers + 1;
  while (left) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) {
      if (seconds() > budget) {
        fprintf(stderr, "budget of %.0f s is spent\n", budget);
        for (auto &w : all) if (w.pid) kill(w.pid, SIGKILL), waitpid(w.pid, &status, 0), w.pid = 0;
        break;
      }
      usleep(5000);
      continue;
    }
    for (int w = 0; w <= workers; w++) {
      if (all[w].pid != pid) continue;
      all[w].pid = 0;
      bool fine = WIFEXITED(status) && WEXITSTATUS(status) == 0, lost = WIFEXITED(status) && WEXITSTATUS(status) == 2;
      // No device just now, such as one for a single process at a time: later again.
      if (WIFEXITED(status) && WEXITSTATUS(status) == 3 && all[w].restarts++ < 40 && seconds() < budget) { usleep(500000); startWorker(w); break; }
      if (fine || w == workers || (WIFEXITED(status) && !lost)) { fprintf(stderr, "worker %d ends with status %d after %.1f s, %d restarts\n", w, status, seconds(), all[w].restarts); left--; break; }
      int at = all[w].next;
      if (FILE *mark = fopen((all[w].part + ".at").c_str(), "r")) { if (fscanf(mark, "%d", &at) != 1) at = all[w].next; fclose(mark); }
      if (WIFSIGNALED(status)) {
        FILE *f = fopen(all[w].part.c_str(), "a");
        if (f) fputs((describe(at, cases[at]) + text(",\"error\":\"signal %d\"}\n", WTERMSIG(status))).c_str(), f), fclose(f);
      }
      all[w].next = at + workers;
      all[w].restarts++;
      if (all[w].next < (int)cases.size() && seconds() < budget) startWorker(w); else left--;
      break;
    }
  }
  vector<std::pair<int, string>> out;
  for (auto &w : all) {
    FILE *f = fopen(w.part.c_str(), "r");
    if (!f) continue;
    string l;
    for (int ch; (ch = fgetc(f)) != EOF;) {
      if (ch != '\n') { l += (char)ch; continue; }
      out.push_back({atoi(l.c_str() + 5), l});
      l.clear();
    }
    fclose(f);
    remove((w.part + ".at").c_str());
  }
  std::stable_sort(out.begin(), out.end(), [](auto &a, auto &b) { return a.first < b.first; });
  for (auto &o : out) puts(o.second.c_str());
  fprintf(stderr, "%zu lines for %zu cases in %.1f s\n", out.size(), cases.size(), seconds());
  return 0;
}
