// The warp and block primitives of CUB, on shuffles and shared memory. Our own: the same names, arguments and results, but neither
// the same algorithms nor the same layout of TempStorage. Where CUB leaves a result undefined, so does this.
#pragma once
#include "warpsmith/prelude.h"
#include "type_traits"

namespace cub {
struct Sum {
  template <class type>
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return a + b; }
};
struct Max {
  template <class type>
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return a < b ? b : a; }
};
struct Min {
  template <class type>
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return b < a ? b : a; }
};
struct Equality {
  template <class type>
  __device__ __forceinline__ bool operator()(const type& a, const type& b) const { return a == b; }
};
template <class key, class value_type>
struct KeyValuePair {
  using Key = key;
  using Value = value_type;
  key key_;
  value_type value_;
};
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

namespace __ws {
__device__ __forceinline__ int thread() { return (int)((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x); }

// The value of the lane `delta` below in its segment of `width` lanes, or above; any trivially copyable type.
template <bool up, class type>
__device__ __forceinline__ type shuffle(const type& value, unsigned int delta, int width, unsigned int mask) {
  static_assert(__is_trivially_copyable(type), "only trivially copyable values travel between lanes");
  constexpr int count = (int)(sizeof(type) + 3) / 4;
  unsigned int words[count] = {};
  __builtin_memcpy(words, &value, sizeof(type));
#pragma unroll
  for (int i = 0; i < count; i++)
    words[i] = up ? __shfl_up_sync(mask, words[i], delta, width) : __shfl_down_sync(mask, words[i], delta, width);
  type result;
  __builtin_memcpy(&result, words, sizeof(type));
  return result;
}
template <int width>
__device__ __forceinline__ unsigned int lanes() {
  const unsigned int lane = __nvvm_read_ptx_sreg_laneid();
  return width == 32 ? 0xffffffffu : ((1u << (width & 31)) - 1u) << (lane & ~(unsigned int)(width - 1));
}
// Threads of the warp that exist: the last warp of a block may be partial.
template <int threads>
__device__ __forceinline__ unsigned int present() {
  const int left = threads - (thread() & ~31);
  return left >= 32 ? 0xffffffffu : (1u << left) - 1u;
}
// Inclusive scan over the first `count` lanes of a segment.
template <int width, class type, class operation>
__device__ __forceinline__ type scan(type value, operation combine, unsigned int mask) {
  const int lane = (int)__nvvm_read_ptx_sreg_laneid() & (width - 1);
#pragma unroll
  for (int delta = 1; delta < width; delta *= 2) {
    const type before = shuffle<true>(value, (unsigned int)delta, width, mask);
    if (lane >= delta) value = combine(before, value);
  }
  return value;
}
template <int width, class type, class operation>
__device__ __forceinline__ type fold(type value, operation combine, int count, unsigned int mask) {
  const int lane = (int)__nvvm_read_ptx_sreg_laneid() & (width - 1);
#pragma unroll
  for (int delta = 1; delta < width; delta *= 2) {
    const type other = shuffle<false>(value, (unsigned int)delta, width, mask);
    if (lane + delta < count) value = combine(value, other);
  }
  return value;
}
struct Empty {};
}  // namespace __ws

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0>
class WarpReduce {
  static constexpr int width = LOGICAL_WARP_THREADS;
  static_assert(width > 0 && width <= 32 && (width & (width - 1)) == 0, "a logical warp has 1, 2, 4, 8, 16 or 32 threads");

 public:
  using TempStorage = __ws::Empty;
  __device__ __forceinline__ explicit WarpReduce(TempStorage&) {}
  // Lane 0 of the logical warp gets the result.
  template <class operation>
  __device__ __forceinline__ T Reduce(T value, operation combine) { return Reduce(value, combine, width); }
  template <class operation>
  __device__ __forceinline__ T Reduce(T value, operation combine, int valid) {
    return __ws::fold<width>(value, combine, valid, __ws::lanes<width>());
  }
  __device__ __forceinline__ T Sum(T value) { return Reduce(value, cub::Sum()); }
  __device__ __forceinline__ T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
  __device__ __forceinline__ T Max(T value) { return Reduce(value, cub::Max()); }
  __device__ __forceinline__ T Min(T value) { return Reduce(value, cub::Min()); }
};

template <class T, int LOGICAL_WARP_THREADS = 32, int = 0>
class WarpScan {
  static constexpr int width = LOGICAL_WARP_THREADS;
  static_assert(width > 0 && width <= 32 && (width & (width - 1)) == 0, "a logical warp has 1, 2, 4, 8, 16 or 32 threads");
  __device__ __forceinline__ T last(T value) {
    constexpr int count = (int)(sizeof(T) + 3) / 4;
    unsigned int words[count] = {};
    __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int i = 0; i < count; i++) words[i] = __shfl_sync(__ws::lanes<width>(), words[i], width - 1, width);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
  }

 public:
  using TempStorage = __ws::Empty;
  __device__ __forceinline__ explicit WarpScan(TempStorage&) {}
  template <class operation>
  __device__ __forceinline__ void InclusiveScan(T input, T& output, operation combine) {
    output = __ws::scan<width>(input, combine, __ws::lanes<width>());
  }
  template <class operation>
  __device__ __forceinline__ void InclusiveScan(T input, T& output, operation combine, T& aggregate) {
    InclusiveScan(input, output, combine);
    aggregate = last(output);
  }
  template <class operation>
  __device__ __forceinline__ void ExclusiveScan(T input, T& output, T initial, operation combine) {
    const T inclusive = __ws::scan<width>(input, combine, __ws::lanes<width>());
    const T before = __ws::shuffle<true>(inclusive, 1u, width, __ws::lanes<width>());
    output = (__nvvm_read_ptx_sreg_laneid() & (width - 1)) == 0 ? initial : combine(initial, before);
  }
  template <class operation>
  __device__ __forceinline__ void ExclusiveScan(T input, T& output, T initial, operation combine, T& aggregate) {
    ExclusiveScan(input, output, initial, combine);
    aggregate = last(__ws::scan<width>(input, combine, __ws::lanes<width>()));
  }
  __device__ __forceinline__ void InclusiveSum(T input, T& output) { InclusiveScan(input, output, cub::Sum()); }
  __device__ __forceinline__ void InclusiveSum(T input, T& output, T& aggregate) {
    InclusiveScan(input, output, cub::Sum(), aggregate);
  }
  __device__ __forceinline__ void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(0), cub::Sum()); }
  __device__ __forceinline__ void ExclusiveSum(T input, T& output, T& aggregate) {
    ExclusiveScan(input, output, T(0), cub::Sum(), aggregate);
  }
};

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
  static constexpr int threads = X * Y * Z, warps = (threads + 31) / 32;

 public:
  struct TempStorage {
    T partial[warps];
  };
  __device__ __forceinline__ explicit BlockReduce(TempStorage& storage) : storage(storage) {}
  // Thread 0 gets the result.
  template <class operation>
  __device__ __forceinline__ T Reduce(T value, operation combine) { return Reduce(value, combine, threads); }
  template <class operation>
  __device__ __forceinline__ T Reduce(T value, operation combine, int valid) {
    const int thread = __ws::thread(), warp = thread / 32;
    const int own = min(valid - warp * 32, 32);
    value = __ws::fold<32>(value, combine, own, __ws::present<threads>());
    if (thread % 32 == 0) storage.partial[warp] = value;
    __syncthreads();
    if (thread == 0)
      for (int i = 1; i < warps; i++)
        if (i * 32 < valid) value = combine(value, storage.partial[i]);
    return value;
  }
  template <int items, class operation>
  __device__ __forceinline__ T Reduce(T (&values)[items], operation combine) {
    T value = values[0];
#pragma unroll
    for (int i = 1; i < items; i++) value = combine(value, values[i]);
    return Reduce(value, combine);
  }
  __device__ __forceinline__ T Sum(T value) { return Reduce(value, cub::Sum()); }
  __device__ __forceinline__ T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
  template <int items>
  __device__ __forceinline__ T Sum(T (&values)[items]) { return Reduce(values, cub::Sum()); }

 private:
  TempStorage& storage;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
  static constexpr int threads = X * Y * Z, warps = (threads + 31) / 32;

 public:
  struct TempStorage {
    T total[warps];
  };
  __device__ __forceinline__ explicit BlockScan(TempStorage& storage) : storage(storage) {}

  template <class operation>
  __device__ __forceinline__ void InclusiveScan(T input, T& output, operation combine, T& aggregate) {
    T before;
    inclusive(input, output, before, combine, aggregate);
  }
  template <class operation>
  __device__ __forceinline__ void InclusiveScan(T input, T& output, operation combine) {
    T aggregate;
    InclusiveScan(input, output, combine, aggregate);
  }
  template <class operation>
  __device__ __forceinline__ void ExclusiveScan(T input, T& output, T initial, operation combine, T& aggregate) {
    T inclusive_value, before;
    const bool hasBefore = inclusive(input, inclusive_value, before, combine, aggregate);
    output = hasBefore ? combine(initial, before) : initial;
  }
  template <class operation>
  __device__ __forceinline__ void ExclusiveScan(T input, T& output, T initial, operation combine) {
    T aggregate;
    ExclusiveScan(input, output, initial, combine, aggregate);
  }
  template <int items, class operation>
  __device__ __forceinline__ void InclusiveScan(T (&input)[items], T (&output)[items], operation combine, T& aggregate) {
    T sums[items];
    sums[0] = input[0];
#pragma unroll
    for (int i = 1; i < items; i++) sums[i] = combine(sums[i - 1], input[i]);
    T whole, before;
    const bool hasBefore = inclusive(sums[items - 1], whole, before, combine, aggregate);
#pragma unroll
    for (int i = 0; i < items; i++) output[i] = hasBefore ? combine(before, sums[i]) : sums[i];
  }
  template <int items, class operation>
  __device__ __forceinline__ void ExclusiveScan(T (&input)[items], T (&output)[items], T initial, operation combine, T& aggregate) {
    T sums[items];
    InclusiveScan(input, sums, combine, aggregate);
    // The last sum of the thread before comes through the first of this one's exclusive scan.
    T own = input[0];
#pragma unroll
    for (int i = 1; i < items; i++) own = combine(own, input[i]);
    T first, unused;
    __syncthreads();
    ExclusiveScan(own, first, initial, combine, unused);
#pragma unroll
    for (int i = items - 1; i > 0; i--) output[i] = combine(initial, sums[i - 1]);
    output[0] = first;
  }
  __device__ __forceinline__ void InclusiveSum(T input, T& output) { InclusiveScan(input, output, cub::Sum()); }
  __device__ __forceinline__ void InclusiveSum(T input, T& output, T& aggregate) {
    InclusiveScan(input, output, cub::Sum(), aggregate);
  }
  __device__ __forceinline__ void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(0), cub::Sum()); }
  __device__ __forceinline__ void ExclusiveSum(T input, T& output, T& aggregate) {
    ExclusiveScan(input, output, T(0), cub::Sum(), aggregate);
  }
  template <int items>
  __device__ __forceinline__ void InclusiveSum(T (&input)[items], T (&output)[items]) {
    T aggregate;
    InclusiveScan(input, output, cub::Sum(), aggregate);
  }
  template <int items>
  __device__ __forceinline__ void InclusiveSum(T (&input)[items], T (&output)[items], T& aggregate) {
    InclusiveScan(input, output, cub::Sum(), aggregate);
  }
  template <int items>
  __device__ __forceinline__ void ExclusiveSum(T (&input)[items], T (&output)[items]) {
    T aggregate;
    ExclusiveScan(input, output, T(0), cub::Sum(), aggregate);
  }
  template <int items>
  __device__ __forceinline__ void ExclusiveSum(T (&input)[items], T (&output)[items], T& aggregate) {
    ExclusiveScan(input, output, T(0), cub::Sum(), aggregate);
  }

 private:
  // Whether something lies before this thread; then `before` is the scan up to it.
  template <class operation>
  __device__ __forceinline__ bool inclusive(T input, T& output, T& before, operation combine, T& aggregate) {
    const int thread = __ws::thread(), warp = thread / 32, lane = thread % 32;
    const unsigned int mask = __ws::present<threads>();
    const T own = __ws::scan<32>(input, combine, mask);
    const T previous = __ws::shuffle<true>(own, 1u, 32, mask);
    if (lane == 31 || thread == threads - 1) storage.total[warp] = own;
    __syncthreads();
    T base = storage.total[0], all = storage.total[0];
    for (int i = 1; i < warps; i++) {
      if (i < warp) base = combine(base, storage.total[i]);
      all = combine(all, storage.total[i]);
    }
    aggregate = all;
    output = warp == 0 ? own : combine(base, own);
    before = lane == 0 ? base : warp == 0 ? previous : combine(base, previous);
    return thread > 0;
  }
  TempStorage& storage;
};

template <class T, int X, int ITEMS, BlockLoadAlgorithm algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
  static constexpr int threads = X * Y * Z;
  static constexpr bool exchanges = algorithm >= BLOCK_LOAD_TRANSPOSE;

 public:
  struct TempStorage {
    T items[exchanges ? threads * ITEMS : 1];
  };
  __device__ __forceinline__ BlockLoad() : storage(nullptr) {}
  __device__ __forceinline__ explicit BlockLoad(TempStorage& storage) : storage(&storage) {}
  template <class iterator>
  __device__ __forceinline__ void Load(iterator from, T (&items)[ITEMS]) { Load(from, items, threads * ITEMS); }
  template <class iterator>
  __device__ __forceinline__ void Load(iterator from, T (&items)[ITEMS], int valid) {
    const int thread = __ws::thread();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      const int at = exchanges || algorithm == BLOCK_LOAD_STRIPED ? i * threads + thread : thread * ITEMS + i;
      if (at < valid) {
        if constexpr (exchanges) storage->items[at] = from[at];
        else items[i] = from[at];
      }
    }
    if constexpr (exchanges) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < ITEMS; i++)
        if (thread * ITEMS + i < valid) items[i] = storage->items[thread * ITEMS + i];
    }
  }
  template <class iterator, class other>
  __device__ __forceinline__ void Load(iterator from, T (&items)[ITEMS], int valid, other otherwise) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) items[i] = (T)otherwise;
    Load(from, items, valid);
  }

 private:
  TempStorage* storage;
};

template <class T, int X, int ITEMS, BlockStoreAlgorithm algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
  static constexpr int threads = X * Y * Z;
  static constexpr bool exchanges = algorithm >= BLOCK_STORE_TRANSPOSE;

 public:
  struct TempStorage {
    T items[exchanges ? threads * ITEMS : 1];
  };
  __device__ __forceinline__ BlockStore() : storage(nullptr) {}
  __device__ __forceinline__ explicit BlockStore(TempStorage& storage) : storage(&storage) {}
  template <class iterator>
  __device__ __forceinline__ void Store(iterator to, T (&items)[ITEMS]) { Store(to, items, threads * ITEMS); }
  template <class iterator>
  __device__ __forceinline__ void Store(iterator to, T (&items)[ITEMS], int valid) {
    const int thread = __ws::thread();
    if constexpr (exchanges) {
#pragma unroll
      for (int i = 0; i < ITEMS; i++) storage->items[thread * ITEMS + i] = items[i];
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      const int at = exchanges || algorithm == BLOCK_STORE_STRIPED ? i * threads + thread : thread * ITEMS + i;
      if (at >= valid) continue;
      if constexpr (exchanges) to[at] = storage->items[at];
      else to[at] = items[i];
    }
  }

 private:
  TempStorage* storage;
};

template <class T, int X, int ITEMS, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
  static constexpr int threads = X * Y * Z;

 public:
  struct TempStorage {
    T items[threads * ITEMS];
  };
  __device__ __forceinline__ explicit BlockExchange(TempStorage& storage) : storage(storage) {}
  __device__ __forceinline__ void StripedToBlocked(T (&from)[ITEMS], T (&to)[ITEMS]) { move<true>(from, to); }
  __device__ __forceinline__ void BlockedToStriped(T (&from)[ITEMS], T (&to)[ITEMS]) { move<false>(from, to); }

 private:
  template <bool striped>
  __device__ __forceinline__ void move(T (&from)[ITEMS], T (&to)[ITEMS]) {
    const int thread = __ws::thread();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) storage.items[striped ? i * threads + thread : thread * ITEMS + i] = from[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) to[i] = storage.items[striped ? thread * ITEMS + i : i * threads + thread];
  }
  TempStorage& storage;
};

namespace __ws {
// Keys as unsigned integers in the order of the keys.
template <class key>
struct Radix {
  static constexpr int bits = 8 * (int)sizeof(key);
  using word = std::conditional_t<sizeof(key) == 8, unsigned long long, unsigned int>;
  static constexpr word top = word(1) << (bits - 1);
  static constexpr word every = bits == 8 * (int)sizeof(word) ? ~word(0) : (word(1) << (bits & (8 * (int)sizeof(word) - 1))) - 1;
  __device__ __forceinline__ static word encode(key value) {
    word raw = 0;
    __builtin_memcpy(&raw, &value, sizeof(key));
    if constexpr (std::is_floating_point_v<key>) return (raw & top ? ~raw : raw | top) & every;
    else if constexpr (std::is_signed_v<key>) return raw ^ top;
    else return raw;
  }
};
}  // namespace __ws

// Sorts by one bit at a time with a scan of the zeros: stable, whatever the block's size.
template <class Key, int X, int ITEMS, class Value = __ws::Empty, int = 4, bool = true, int = 0, int = 0, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
  static constexpr int threads = X * Y * Z;
  using radix = __ws::Radix<Key>;
  using Zeros = BlockScan<int, X, BLOCK_SCAN_WARP_SCANS, Y, Z>;
  static constexpr bool hasValues = !std::is_same_v<Value, __ws::Empty>;

 public:
  struct TempStorage {
    typename Zeros::TempStorage zeros;
    Key keys[threads * ITEMS];
    Value values[hasValues ? threads * ITEMS : 1];
  };
  __device__ __forceinline__ explicit BlockRadixSort(TempStorage& storage) : storage(storage) {}
  __device__ __forceinline__ void Sort(Key (&keys)[ITEMS], int first = 0, int end = radix::bits) { sort<false>(keys, none, first, end); }
  __device__ __forceinline__ void SortDescending(Key (&keys)[ITEMS], int first = 0, int end = radix::bits) {
    sort<true>(keys, none, first, end);
  }
  __device__ __forceinline__ void Sort(Key (&keys)[ITEMS], Value (&values)[ITEMS], int first = 0, int end = radix::bits) {
    sort<false>(keys, values, first, end);
  }
  __device__ __forceinline__ void SortDescending(Key (&keys)[ITEMS], Value (&values)[ITEMS], int first = 0, int end = radix::bits) {
    sort<true>(keys, values, first, end);
  }
  __device__ __forceinline__ void SortBlockedToStriped(Key (&keys)[ITEMS], int first = 0, int end = radix::bits) {
    Sort(keys, first, end);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) keys[i] = storage.keys[i * threads + __ws::thread()];
  }

 private:
  template <bool descending>
  __device__ __forceinline__ void sort(Key (&keys)[ITEMS], Value (&values)[ITEMS], int first, int end) {
    const int thread = __ws::thread();
    for (int bit = first; bit < end; bit++) {
      int isFirst[ITEMS], before[ITEMS], count;
#pragma unroll
      for (int i = 0; i < ITEMS; i++) isFirst[i] = (int)((radix::encode(keys[i]) >> bit) & 1) == (descending ? 1 : 0);
      __syncthreads();
      Zeros(storage.zeros).ExclusiveSum(isFirst, before, count);
#pragma unroll
      for (int i = 0; i < ITEMS; i++) {
        const int to = isFirst[i] ? before[i] : count + thread * ITEMS + i - before[i];
        storage.keys[to] = keys[i];
        if constexpr (hasValues) storage.values[to] = values[i];
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < ITEMS; i++) {
        keys[i] = storage.keys[thread * ITEMS + i];
        if constexpr (hasValues) values[i] = storage.values[thread * ITEMS + i];
      }
    }
  }
  TempStorage& storage;
  Value none[ITEMS];
};
}  // namespace cub
