// Cooperative groups: thread blocks, tiles of a warp, coalesced threads, clusters, the grid.
#pragma once
#include "warpsmith/prelude.h"
#include "type_traits"

namespace cooperative_groups {
namespace __ws {
__device__ __forceinline__ unsigned int lane() { return __nvvm_read_ptx_sreg_laneid(); }
__device__ __forceinline__ unsigned int linear_thread() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

// Any trivially copyable value travels as 32-bit words.
template <class type, class shuffle>
__device__ __forceinline__ type by_words(const type& value, shuffle move) {
  static_assert(__is_trivially_copyable(type) && sizeof(type) <= 32, "only small, trivially copyable values can be shuffled");
  constexpr int count = (sizeof(type) + 3) / 4;
  unsigned int words[count] = {};
  __builtin_memcpy(words, &value, sizeof(type));
#pragma unroll
  for (int i = 0; i < count; i++) words[i] = move(words[i]);
  type result;
  __builtin_memcpy(&result, words, sizeof(type));
  return result;
}
}  // namespace __ws

// A group whose kind and size only running code knows: a block, or lanes of a warp.
class thread_group {
 public:
  __device__ __forceinline__ explicit thread_group(unsigned int lanes, bool is_block = false) : lanes(lanes), is_block(is_block) {}
  __device__ __forceinline__ unsigned int size() const {
    return is_block ? blockDim.x * blockDim.y * blockDim.z : (unsigned int)__popc((int)lanes);
  }
  __device__ __forceinline__ unsigned int num_threads() const { return size(); }
  __device__ __forceinline__ unsigned int thread_rank() const {
    return is_block ? __ws::linear_thread() : (unsigned int)__popc((int)(lanes & __nvvm_read_ptx_sreg_lanemask_lt()));
  }
  __device__ __forceinline__ void sync() const {
    if (is_block) __syncthreads();
    else __syncwarp(lanes);
  }

 private:
  unsigned int lanes;
  bool is_block;
  friend __device__ __forceinline__ thread_group tiled_partition(const thread_group& parent, unsigned int width);
};
// `width` is a power of two up to 32.
__device__ __forceinline__ thread_group tiled_partition(const thread_group& parent, unsigned int width) {
  const unsigned int rank = parent.is_block ? __ws::lane() : parent.thread_rank();
  const unsigned int first = rank & ~(width - 1);
  unsigned int left = parent.is_block ? 0xffffffffu : parent.lanes;
  for (unsigned int i = 0; i < first; i++) left &= left - 1;
  unsigned int own = 0;
  for (unsigned int i = 0; i < width && left != 0; i++) {
    own |= left & (0u - left);
    left &= left - 1;
  }
  return thread_group(own);
}

// --- The block ------------------------------------------------------------------------------------------------------
class thread_block {
 public:
  __device__ __forceinline__ static void sync() { __syncthreads(); }
  __device__ __forceinline__ static unsigned int thread_rank() { return __ws::linear_thread(); }
  __device__ __forceinline__ static unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
  __device__ __forceinline__ static unsigned int num_threads() { return size(); }
  __device__ __forceinline__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __device__ __forceinline__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  __device__ __forceinline__ static dim3 group_dim() { return blockDim; }
  __device__ __forceinline__ static dim3 dim_threads() { return blockDim; }
  __device__ __forceinline__ operator thread_group() const { return thread_group(0, true); }
};
__device__ __forceinline__ thread_block this_thread_block() { return {}; }
template <unsigned int threads>
struct block_tile_memory {};
template <unsigned int threads>
__device__ __forceinline__ thread_block this_thread_block(block_tile_memory<threads>&) {
  return {};
}
__device__ __forceinline__ thread_group tiled_partition(const thread_block&, unsigned int width) {
  return tiled_partition(thread_group(0, true), width);
}

// Sync needs every CTA to be resident at once: a cooperative launch.
class grid_group {
 public:
  __device__ __forceinline__ static unsigned long long block_rank() {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  __device__ __forceinline__ static unsigned long long num_blocks() {
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
  }
  __device__ __forceinline__ static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  __device__ __forceinline__ static unsigned long long size() { return num_blocks() * thread_block::size(); }
  __device__ __forceinline__ static unsigned long long num_threads() { return size(); }
  __device__ __forceinline__ static dim3 group_dim() { return gridDim; }
  // Where the driver keeps a barrier: only in a cooperative launch.
  __device__ __forceinline__ static bool is_valid() { return workspace() != 0; }
  struct arrival_token {
    unsigned int before;
  };
  // The word's highest bit flips when all have arrived: the first CTA adds what the others lack to that.
  __device__ __forceinline__ static arrival_token barrier_arrive() {
    if (!is_valid()) __trap();
    __syncthreads();
    arrival_token token = {0};
    if (thread_block::thread_rank() == 0) {
      const unsigned int own = block_rank() == 0 ? 0x80000000u - ((unsigned int)num_blocks() - 1) : 1u;
      __threadfence();
      token.before = atomicAdd(barrier(), own);
    }
    return token;
  }
  __device__ __forceinline__ static void barrier_wait(arrival_token&& token) {
    if (thread_block::thread_rank() == 0) {
      const volatile unsigned int* word = barrier();
      while (((token.before ^ *word) & 0x80000000u) == 0) {
      }
      __threadfence();
    }
    __syncthreads();
  }
  __device__ __forceinline__ static void sync() { barrier_wait(barrier_arrive()); }

 private:
  __device__ __forceinline__ static unsigned long long workspace() {
    unsigned int high, low;
    asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
    return (unsigned long long)high << 32 | low;
  }
  // Behind the size of what the driver keeps.
  __device__ __forceinline__ static unsigned int* barrier() { return reinterpret_cast<unsigned int*>(workspace() + 4); }
};
__device__ __forceinline__ grid_group this_grid() { return {}; }

#if __CUDA_ARCH__ >= 900
// --- The cluster ----------------------------------------------------------------------------------------------------
class cluster_group {
  template <class type>
  __device__ __forceinline__ static unsigned long long address_of(type* pointer) {
    return reinterpret_cast<unsigned long long>(pointer);
  }

 public:
  struct arrival_token {};

  __device__ __forceinline__ static void sync() {
    barrier_arrive();
    barrier_wait();
  }
  __device__ __forceinline__ static arrival_token barrier_arrive() {
    asm volatile("barrier.cluster.arrive;" ::: "memory");
    return {};
  }
  __device__ __forceinline__ static void barrier_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
  __device__ __forceinline__ static void barrier_wait(arrival_token&&) { barrier_wait(); }

  // The same variable in the shared memory of another block.
  template <class type>
  __device__ __forceinline__ static type* map_shared_rank(type* pointer, int rank) {
    unsigned long long there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(address_of(pointer)), "r"(rank));
    return reinterpret_cast<type*>(there);
  }
  __device__ __forceinline__ static unsigned int query_shared_rank(const void* pointer) {
    unsigned int rank;
    asm("getctarank.u64 %0, %1;" : "=r"(rank) : "l"(address_of(pointer)));
    return rank;
  }

  __device__ __forceinline__ static dim3 block_index() {
    dim3 index;
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(index.x));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(index.y));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(index.z));
    return index;
  }
  __device__ __forceinline__ static unsigned int block_rank() {
    unsigned int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
  }
  __device__ __forceinline__ static dim3 dim_blocks() {
    dim3 extents;
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(extents.x));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(extents.y));
    asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(extents.z));
    return extents;
  }
  __device__ __forceinline__ static unsigned int num_blocks() {
    unsigned int count;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
    return count;
  }
  __device__ __forceinline__ static dim3 thread_index() {
    const dim3 block = block_index();
    return dim3(block.x * blockDim.x + threadIdx.x, block.y * blockDim.y + threadIdx.y, block.z * blockDim.z + threadIdx.z);
  }
  __device__ __forceinline__ static dim3 dim_threads() {
    const dim3 blocks = dim_blocks();
    return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z);
  }
  __device__ __forceinline__ static unsigned int thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
  __device__ __forceinline__ static unsigned int num_threads() { return num_blocks() * thread_block::size(); }
  __device__ __forceinline__ static unsigned int size() { return num_threads(); }
};
__device__ __forceinline__ cluster_group this_cluster() { return {}; }
#endif

// --- Tiles of a warp ------------------------------------------------------------------------------------------------
template <unsigned int width, class parent = void>
class thread_block_tile {
  static_assert(width > 0 && width <= 32 && (width & (width - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

 public:
  thread_block_tile() = default;
  // The parent is part of the type only where the user names it.
  template <class other>
  __device__ __forceinline__ thread_block_tile(const thread_block_tile<width, other>&) {}

  __device__ __forceinline__ static unsigned int thread_rank() { return __ws::lane() & (width - 1); }
  __device__ __forceinline__ static constexpr unsigned int size() { return width; }
  __device__ __forceinline__ static constexpr unsigned int num_threads() { return width; }
  __device__ __forceinline__ static unsigned int meta_group_rank() { return __ws::linear_thread() / width; }
  __device__ __forceinline__ static unsigned int meta_group_size() { return (thread_block::size() + width - 1) / width; }
  __device__ __forceinline__ static void sync() { __syncwarp(mask()); }

  template <class type>
  __device__ __forceinline__ type shfl(type value, int source) const {
    return __ws::by_words(value, [&](unsigned int word) { return __shfl_sync(mask(), word, source, width); });
  }
  template <class type>
  __device__ __forceinline__ type shfl_up(type value, unsigned int delta) const {
    return __ws::by_words(value, [&](unsigned int word) { return __shfl_up_sync(mask(), word, delta, width); });
  }
  template <class type>
  __device__ __forceinline__ type shfl_down(type value, unsigned int delta) const {
    return __ws::by_words(value, [&](unsigned int word) { return __shfl_down_sync(mask(), word, delta, width); });
  }
  template <class type>
  __device__ __forceinline__ type shfl_xor(type value, int lanes) const {
    return __ws::by_words(value, [&](unsigned int word) { return __shfl_xor_sync(mask(), word, lanes, width); });
  }
  __device__ __forceinline__ int any(int predicate) const { return ballot(predicate) != 0; }
  __device__ __forceinline__ int all(int predicate) const { return ballot(predicate) == full(); }
  __device__ __forceinline__ unsigned int ballot(int predicate) const {
    return (__ballot_sync(mask(), predicate) >> first_lane()) & full();
  }
  template <class type>
  __device__ __forceinline__ unsigned int match_any(type value) const {
    return (__match_any_sync(mask(), value) >> first_lane()) & full();
  }
  template <class type>
  __device__ __forceinline__ unsigned int match_all(type value, int& predicate) const {
    return (__match_all_sync(mask(), value, &predicate) >> first_lane()) & full();
  }

  __device__ __forceinline__ operator thread_group() const { return thread_group(mask()); }
  __device__ __forceinline__ static unsigned int __ws_lanes() { return mask(); }

 private:
  __device__ __forceinline__ static constexpr unsigned int full() { return width == 32 ? 0xffffffffu : (1u << (width & 31)) - 1; }
  __device__ __forceinline__ static unsigned int first_lane() { return __ws::lane() & ~(width - 1); }
  __device__ __forceinline__ static unsigned int mask() { return width == 32 ? 0xffffffffu : full() << first_lane(); }
};
template <unsigned int width, class parent>
__device__ __forceinline__ thread_block_tile<width, parent> tiled_partition(const parent&) {
  return {};
}

// --- Whoever is active here -----------------------------------------------------------------------------------------
class coalesced_group {
 public:
  __device__ __forceinline__ explicit coalesced_group(unsigned int mask) : members(mask) {}
  __device__ __forceinline__ unsigned int size() const { return (unsigned int)__popc(members); }
  __device__ __forceinline__ unsigned int num_threads() const { return size(); }
  __device__ __forceinline__ unsigned int thread_rank() const {
    return (unsigned int)__popc(members & __nvvm_read_ptx_sreg_lanemask_lt());
  }
  __device__ __forceinline__ void sync() const { __syncwarp(members); }
  __device__ __forceinline__ operator thread_group() const { return thread_group(members); }
  __device__ __forceinline__ unsigned int __ws_lanes() const { return members; }
  template <class type>
  __device__ __forceinline__ type shfl(type value, int source) const {
    return from_lane(value, lane_of((unsigned int)source));
  }
  template <class type>
  __device__ __forceinline__ type shfl_down(type value, unsigned int delta) const {
    const unsigned int rank = thread_rank() + delta;
    return from_lane(value, rank < size() ? lane_of(rank) : __ws::lane());
  }
  template <class type>
  __device__ __forceinline__ type shfl_up(type value, unsigned int delta) const {
    const unsigned int rank = thread_rank();
    return from_lane(value, rank >= delta ? lane_of(rank - delta) : __ws::lane());
  }
  __device__ __forceinline__ int any(int predicate) const { return __any_sync(members, predicate); }
  __device__ __forceinline__ int all(int predicate) const { return __all_sync(members, predicate); }
  __device__ __forceinline__ unsigned int ballot(int predicate) const {
    const unsigned int lanes = __ballot_sync(members, predicate);
    unsigned int ranks = 0;
    unsigned int left = members;
    for (unsigned int rank = 0; left != 0; rank++, left &= left - 1) {
      ranks |= ((lanes >> (__ffs((int)left) - 1)) & 1u) << rank;
    }
    return ranks;
  }

 private:
  // The lane of the member with this rank: drop the lower set bits, take the next.
  __device__ __forceinline__ unsigned int lane_of(unsigned int rank) const {
    unsigned int left = members;
    for (unsigned int i = 0; i < rank; i++) left &= left - 1;
    return (unsigned int)__ffs((int)left) - 1;
  }
  template <class type>
  __device__ __forceinline__ type from_lane(const type& value, unsigned int lane) const {
    return __ws::by_words(value, [&](unsigned int word) { return __shfl_sync(members, word, (int)lane); });
  }
  unsigned int members;
};
__device__ __forceinline__ coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
template <class group>
__device__ __forceinline__ coalesced_group binary_partition(const group& g, bool side) {
  const unsigned int holds = __ballot_sync(g.__ws_lanes(), side);
  return coalesced_group(side ? holds : g.__ws_lanes() & ~holds);
}
template <class group, class label>
__device__ __forceinline__ coalesced_group labeled_partition(const group& g, label value) {
  return coalesced_group(__match_any_sync(g.__ws_lanes(), value));
}
template <class group, class function>
__device__ __forceinline__ void invoke_one(const group& g, function call) {
  if (g.thread_rank() == 0) call();
}

template <class group>
__device__ __forceinline__ void sync(const group& g) {
  g.sync();
}
template <class group>
__device__ __forceinline__ unsigned int thread_rank(const group& g) {
  return (unsigned int)g.thread_rank();
}
template <class group>
__device__ __forceinline__ unsigned int group_size(const group& g) {
  return (unsigned int)g.size();
}
}  // namespace cooperative_groups
