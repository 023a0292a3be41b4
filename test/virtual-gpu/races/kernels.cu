// Kernels whose warps and CTAs share memory. Those named racy_* race; all others are in order, each by other means.
// All are launched with 4 CTAs of 128 threads (4 warps) unless the test says otherwise; n is 512, the buffers' elements.
#include <cooperative_groups.h>
#include <cuda_pipeline_primitives.h>

// ---- in order -----------------------------------------------------------------------------------------------------

extern "C" __global__ void double_buffer(const int* x, int* y, int n) {
  __shared__ int tile[2][128];
  int sum = 0;
  tile[0][threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    if (i < 3) tile[(i + 1) % 2][threadIdx.x] = x[(i + 1) * 128 + threadIdx.x];
    sum += tile[i % 2][127 - threadIdx.x];
    __syncthreads();
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

// Warps 0 and 1 produce, 2 and 3 consume: two named barriers per buffer, arrivals on both sides.
extern "C" __global__ void warp_specialised(const int* x, int* y, int n) {
  __shared__ int tile[2][64];
  const int thread = threadIdx.x % 64;
  int sum = 0;
  for (int i = 0; i < 8; ++i) {
    const int full = 1 + i % 2, empty = 3 + i % 2;
    if (threadIdx.x < 64) {
      if (i >= 2) asm volatile("bar.sync %0, 128;" ::"r"(empty) : "memory");
      tile[i % 2][thread] = x[i * 64 + thread];
      asm volatile("bar.arrive %0, 128;" ::"r"(full) : "memory");
    } else {
      asm volatile("bar.sync %0, 128;" ::"r"(full) : "memory");
      sum += tile[i % 2][63 - thread];
      if (i < 6) asm volatile("bar.arrive %0, 128;" ::"r"(empty) : "memory");
    }
  }
  if (threadIdx.x >= 64) y[blockIdx.x * 64 + thread] = sum;
}

// Each pair of warps meets at a barrier of its own.
extern "C" __global__ void pairs_of_warps(const int* x, int* y, int n) {
  __shared__ int tile[128];
  const int pair = threadIdx.x / 64;
  tile[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  asm volatile("barrier.sync %0, 64;" ::"r"(pair + 1) : "memory");
  y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x ^ 32];
}

extern "C" __global__ void copy_ring(const int* x, int* y, int n) {
  __shared__ __align__(16) int ring[3][128];
  int sum = 0;
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x < 32) __pipeline_memcpy_async(&ring[i][threadIdx.x * 4], &x[i * 128 + threadIdx.x * 4], 16);
    __pipeline_commit();
  }
  for (int i = 0; i < 4; ++i) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (i + 2 < 4 && threadIdx.x < 32)
      __pipeline_memcpy_async(&ring[(i + 2) % 3][threadIdx.x * 4], &x[(i + 2) * 128 + threadIdx.x * 4], 16);
    __pipeline_commit();
    sum += ring[i % 3][127 - threadIdx.x];
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

// Every CTA stores a partial sum; the one that comes last adds them up and resets the counter.
extern "C" __global__ void last_block(const int* x, int* y, int* partial, unsigned* count) {
  __shared__ int sums[128];
  __shared__ bool is_last;
  sums[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sums[0];
    __threadfence();
    is_last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  int total = 0;
  for (int cta = 0; cta < gridDim.x; ++cta) total += partial[cta];
  y[0] = total;
  *count = 0;
}

// Each CTA has a count of its own: a fence for its threads will do.
extern "C" __global__ void last_warp(const int* x, int* y, int* partial, unsigned* count) {
  if (threadIdx.x % 32 != 0) return;
  const int warp = blockIdx.x * 4 + threadIdx.x / 32;
  partial[warp] = x[warp];
  __threadfence_block();
  if (atomicAdd(&count[blockIdx.x], 1u) != 3) return;
  __threadfence_block();
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += partial[blockIdx.x * 4 + i];
  y[blockIdx.x] = sum;
}

// The same by the scope of the atomic.
extern "C" __global__ void last_warp_by_release(const int* x, int* y, int* partial, unsigned* count) {
  if (threadIdx.x % 32 != 0) return;
  const int warp = blockIdx.x * 4 + threadIdx.x / 32;
  partial[warp] = x[warp];
  unsigned before;
  asm volatile("atom.acq_rel.cta.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(count + blockIdx.x) : "memory");
  if (before != 3) return;
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += partial[blockIdx.x * 4 + i];
  y[blockIdx.x] = sum;
}

// Split-K: each thread of a CTA stores and fences, then the CTA meets, then one thread counts.
extern "C" __global__ void split_k(const int* x, int* y, int* partial, unsigned* count) {
  __shared__ bool is_last;
  partial[blockIdx.x * 128 + threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  int sum = 0;
  for (int cta = 0; cta < gridDim.x; ++cta) sum += partial[cta * 128 + threadIdx.x];
  y[threadIdx.x] = sum;
}

// Each CTA adds its share when the semaphore says that it is its turn.
extern "C" __global__ void turns(const int* x, int* y, unsigned* semaphore, int n) {
  if (threadIdx.x == 0)
    while (*(volatile unsigned*)semaphore != blockIdx.x) {}
  __syncthreads();
  y[threadIdx.x] += x[blockIdx.x * 128 + threadIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch(semaphore, blockIdx.x + 1);
}

// The same with acquire and release in PTX, and no fence.
extern "C" __global__ void turns_by_release(const int* x, int* y, unsigned* semaphore, int n) {
  if (threadIdx.x == 0) {
    unsigned turn;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(turn) : "l"(semaphore) : "memory");
    while (turn != blockIdx.x);
  }
  __syncthreads();
  y[threadIdx.x] += x[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(semaphore), "r"(blockIdx.x + 1) : "memory");
}

// Look-back: flag and value in one word, so no plain access is shared at all.
extern "C" __global__ void look_back(const int* x, int* y, unsigned long long* state, unsigned* ticket) {
  __shared__ unsigned tile;
  __shared__ int before;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < 128; ++i) sum += x[tile * 128 + i];
    unsigned long long previous = 0;
    if (tile > 0)
      while (((previous = ((volatile unsigned long long*)state)[tile - 1]) >> 32) == 0) {}
    before = static_cast<int>(previous);
    ((volatile unsigned long long*)state)[tile] = (1ull << 32) | static_cast<unsigned>(before + sum);
  }
  __syncthreads();
  y[tile * 128 + threadIdx.x] = before;
}

extern "C" __global__ void private_histograms(const int* x, int* y, int n) {
  __shared__ int counts[4][32];
  for (int i = threadIdx.x; i < 128; i += 128) counts[i / 32][i % 32] = 0;
  __syncthreads();
  atomicAdd(&counts[threadIdx.x / 32][x[blockIdx.x * 128 + threadIdx.x] % 32], 1);
  __syncthreads();
  if (threadIdx.x < 32) {
    int count = 0;
    for (int warp = 0; warp < 4; ++warp) count += counts[warp][threadIdx.x];
    atomicAdd(&y[threadIdx.x], count);
  }
}

extern "C" __global__ void in_place(int* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  y[i] = y[i] * 3 + 1;
}

// Row sums in place: a CTA reads its row, meets, and overwrites it.
extern "C" __global__ void row_in_place(int* y, int n) {
  __shared__ int sums[4];
  int sum = 0;
  for (int i = threadIdx.x % 32; i < 128; i += 32) sum += y[blockIdx.x * 128 + i];
  sum = __reduce_add_sync(~0u, sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  y[blockIdx.x * 128 + threadIdx.x] += sums[(threadIdx.x / 32 + 1) % 4];
}

extern "C" __global__ void warp_synchronous(const int* x, int* y, int n) {
  __shared__ int sums[128];
  int* mine = sums + threadIdx.x / 32 * 32;
  const int lane = threadIdx.x % 32;
  mine[lane] = x[blockIdx.x * 128 + threadIdx.x];
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    if (lane < half) mine[lane] += mine[lane + half];
    __syncwarp();
  }
  if (lane == 0) y[blockIdx.x * 4 + threadIdx.x / 32] = mine[0];
}

extern "C" __global__ void volatile_warp_reduction(const int* x, int* y, int n) {
  __shared__ volatile int sums[128];
  sums[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 64) sums[threadIdx.x] += sums[threadIdx.x + 64];
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int step = 32; step > 0; step /= 2) {
      const int other = sums[threadIdx.x + step];
      __syncwarp();
      sums[threadIdx.x] += other;
      __syncwarp();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
  }
}

// Every thread that finds something sets the flag to the same value.
extern "C" __global__ void common_flag(const int* x, int* y, int* flag, int n) {
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  if (x[blockIdx.x * 128 + threadIdx.x] >= 0) any = 1;
  if (x[threadIdx.x] >= 0) *flag = 7;
  __syncthreads();
  y[blockIdx.x * 128 + threadIdx.x] = any;
}

// Each warp makes the whole table for itself: the values are the same.
extern "C" __global__ void same_table(const int* x, int* y, int n) {
  __shared__ int table[32];
  table[threadIdx.x % 32] = (threadIdx.x % 32) * 5;
  __syncwarp();
  y[blockIdx.x * 128 + threadIdx.x] = table[x[blockIdx.x * 128 + threadIdx.x] & 31];
}

// A producer warp publishes by a volatile flag in shared memory. One warp waits: more of them do nothing else.
extern "C" __global__ void shared_flag(const int* x, int* y, int n) {
  __shared__ int data[32];
  __shared__ int ready;
  if (threadIdx.x == 0) *(volatile int*)&ready = 0;
  __syncthreads();
  if (threadIdx.x >= 64) return;
  if (threadIdx.x < 32) {
    data[threadIdx.x] = x[threadIdx.x];
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x == 0) *(volatile int*)&ready = 1;
  } else {
    while (*(volatile int*)&ready == 0) {}
    __threadfence_block();
  }
  y[blockIdx.x * 128 + threadIdx.x] = data[threadIdx.x % 32];
}

// Neighbouring bytes and halves belong to different warps.
extern "C" __global__ void neighbouring_bytes(const int* x, int* y, int n) {
  __shared__ unsigned char bytes[128];
  const int place = threadIdx.x % 32 * 4 + threadIdx.x / 32;
  bytes[place] = x[blockIdx.x * 128 + place];
  __syncthreads();
  y[blockIdx.x * 128 + threadIdx.x] = bytes[threadIdx.x];
}

// A barrier that also counts.
extern "C" __global__ void counting_barrier(const int* x, int* y, int n) {
  __shared__ int tile[128];
  tile[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  const int odd = __syncthreads_count(tile[threadIdx.x] & 1);
  y[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x] + odd;
}

// The result of one warp goes to the others through registers of a barrier's other side: a broadcast slot used twice.
extern "C" __global__ void broadcast_slot(const int* x, int* y, int n) {
  __shared__ int slot;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (threadIdx.x == 32 * i) slot = x[i];
    __syncthreads();
    sum += slot;
    __syncthreads();
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

// A spin lock around a plain update.
extern "C" __global__ void spin_lock(const int* x, int* y, unsigned* lock, int n) {
  if (threadIdx.x % 32 != 0) return;
  while (atomicCAS(lock, 0u, 1u) != 0) {}
  __threadfence();
  y[0] += x[blockIdx.x * 128 + threadIdx.x];
  __threadfence();
  atomicExch(lock, 0u);
}

// A plain look before an atomic: what it finds does not matter.
extern "C" __global__ void maximum_if_larger(const int* x, int* y, int n) {
  const int value = x[blockIdx.x * 128 + threadIdx.x];
  if (value > y[0]) atomicMax(y, value);
}

// Rows of a tile that the CTA does not have are read, and what was read is dropped.
extern "C" __global__ void padded_tile(const int* x, int* y, int n) {
  __shared__ __align__(16) int tile[132];
  if (threadIdx.x < 126) tile[threadIdx.x] = x[blockIdx.x * 126 + threadIdx.x];
  __syncthreads();
  const int4 four = *reinterpret_cast<const int4*>(&tile[threadIdx.x % 33 * 4]);
  const int first = threadIdx.x % 33 * 4;
  y[blockIdx.x * 128 + threadIdx.x] = (first < 126 ? four.x : 0) + (first + 3 < 126 ? four.w : 0);
}

namespace cg = cooperative_groups;

extern "C" __global__ void tiled_groups(const int* x, int* y, int n) {
  __shared__ int tile[128];
  const auto block = cg::this_thread_block();
  tile[block.thread_rank()] = x[blockIdx.x * 128 + block.thread_rank()];
  block.sync();
  y[blockIdx.x * 128 + threadIdx.x] = tile[127 - block.thread_rank()];
}

// A warp turns its own part of a tile: lanes meet between writing and reading, and before they write again.
extern "C" __global__ void lanes_turn(const int* x, int* y, int n) {
  __shared__ int tile[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[warp][lane] = x[i * 128 + threadIdx.x];
    __syncwarp();
    sum += tile[warp][31 - lane];
    __syncwarp();
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

// A shuffle is a meeting of lanes, too; and a lane reads what it wrote itself without any.
extern "C" __global__ void lanes_shuffle(const int* x, int* y, int n) {
  __shared__ volatile int tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  const int own = tile[threadIdx.x];
  const int other = __shfl_xor_sync(0xffffffffu, own, 1);
  y[blockIdx.x * 128 + threadIdx.x] = other + tile[threadIdx.x ^ 1];
}

// All lanes of a warp write the same value, and each reads it.
extern "C" __global__ void lanes_agree(const int* x, int* y, int n) {
  __shared__ volatile int first[4];
  first[threadIdx.x / 32] = x[threadIdx.x / 32 * 32];
  y[blockIdx.x * 128 + threadIdx.x] = first[threadIdx.x / 32];
}

// Lanes add up by atomics, then read.
extern "C" __global__ void lanes_count(const int* x, int* y, int n) {
  __shared__ int counts[4];
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) counts[warp] = 0;
  __syncwarp();
  atomicAdd(&counts[warp], x[threadIdx.x]);
  __syncwarp();
  y[blockIdx.x * 128 + threadIdx.x] = counts[warp];
}

// The same in device memory, with all that makes lanes meet: __syncwarp, a shuffle, a vote.
extern "C" __global__ void lanes_turn_in_device_memory(const int* x, int* y, int n) {
  const int first = blockIdx.x * 128 + threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  y[first + lane] = x[first + lane];
  __syncwarp();
  const int turned = y[first + 31 - lane];
  __shfl_xor_sync(~0u, turned, 1);
  y[first + lane] = turned + 1;
  __ballot_sync(~0u, turned > 5);
  const int neighbour = y[first + (lane ^ 1)];
  __syncwarp();
  y[first + lane] += neighbour;
}

// Lanes of a warp hand a place on by a fence and an atomic, as a tree that is built from its leaves does: who comes second reads both.
extern "C" __global__ void lanes_by_flags(const int* x, int* y, int* partial, unsigned* count) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  partial[i] = x[i];
  __threadfence();
  if (atomicAdd(&count[i / 2], 1u) == 0) return;
  y[i / 2] = partial[i] + partial[i ^ 1];
}

// Lanes take turns at a lock.
extern "C" __global__ void lanes_by_lock(const int* x, int* y, unsigned* lock, int n) {
  for (int turn = 0; turn < 32; ++turn) {
    if (threadIdx.x % 32 != turn) continue;
    while (atomicCAS(lock, 0u, 1u) != 0u) {}
    __threadfence();
    y[0] += x[blockIdx.x * 128 + threadIdx.x];
    __threadfence();
    atomicExch(lock, 0u);
  }
}

// Lanes of a warp that share a bin store the same, or by one instruction: one of the values stays.
extern "C" __global__ void lanes_store_together(const int* x, int* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  y[i / 32 * 32 + x[i] % 3] = i;
  y[i / 32 * 32 + 8 + (x[i] & 1)] = 7;
  y[i / 32 * 32 + 16] = 1;
  y[i / 32 * 32 + 16] = 2;
}

// ---- racing -------------------------------------------------------------------------------------------------------

extern "C" __global__ void racy_no_barrier(const int* x, int* y, int n) {
  __shared__ int tile[128];
  tile[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x ^ 32];
}

// The barrier before the next round's stores is missing.
extern "C" __global__ void racy_overwrite(const int* x, int* y, int n) {
  __shared__ int tile[128];
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[threadIdx.x] = x[i * 128 + threadIdx.x];
    __syncthreads();
    sum += tile[127 - threadIdx.x];
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

// Pairs of warps meet, but what is read belongs to the other pair.
extern "C" __global__ void racy_wrong_barrier(const int* x, int* y, int n) {
  __shared__ int tile[128];
  const int pair = threadIdx.x / 64;
  tile[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  asm volatile("barrier.sync %0, 64;" ::"r"(pair + 1) : "memory");
  y[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x ^ 64];
}

// Consumers only arrive where they must wait.
extern "C" __global__ void racy_arrive(const int* x, int* y, int n) {
  __shared__ int tile[64];
  if (threadIdx.x < 64) {
    tile[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.sync 1, 128;" ::: "memory");
  } else {
    asm volatile("bar.arrive 1, 128;" ::: "memory");
    y[blockIdx.x * 64 + threadIdx.x - 64] = tile[127 - threadIdx.x];
  }
}

// One's own copies have landed after the wait, those of other warps have not.
extern "C" __global__ void racy_copy(const int* x, int* y, int n) {
  __shared__ __align__(16) int tile[128];
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x];
}

// The copy into a buffer begins while other warps still read it.
extern "C" __global__ void racy_copy_too_early(const int* x, int* y, int n) {
  __shared__ __align__(16) int tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const int before = tile[127 - threadIdx.x];
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[128 + threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[blockIdx.x * 128 + threadIdx.x] = before + tile[127 - threadIdx.x];
}

extern "C" __global__ void racy_sum(const int* x, int* y, int n) {
  if (threadIdx.x == 0) y[0] += x[blockIdx.x * 128];
}

extern "C" __global__ void racy_last_writer(const int* x, int* y, int n) {
  if (threadIdx.x == 0) y[0] = x[blockIdx.x * 128];
}

// Reads what the CTA before has written, without waiting for it.
extern "C" __global__ void racy_neighbour(const int* x, int* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  const int before = blockIdx.x > 0 ? y[i - 128] : 0;
  y[i] = before + x[i];
}

// The partial sum may become visible after the count.
extern "C" __global__ void racy_no_fence(const int* x, int* y, int* partial, unsigned* count) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = x[blockIdx.x * 128];
  if (atomicAdd(count, 1u) != gridDim.x - 1) return;
  int total = 0;
  for (int cta = 0; cta < gridDim.x; ++cta) total += partial[cta];
  y[0] = total;
}

// The fence is for threads of the CTA alone.
extern "C" __global__ void racy_block_fence(const int* x, int* y, int* partial, unsigned* count) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = x[blockIdx.x * 128];
  __threadfence_block();
  if (atomicAdd(count, 1u) != gridDim.x - 1) return;
  int total = 0;
  for (int cta = 0; cta < gridDim.x; ++cta) total += partial[cta];
  y[0] = total;
}

// So is what is released here.
extern "C" __global__ void racy_block_release(const int* x, int* y, int* partial, unsigned* count) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = x[blockIdx.x * 128];
  unsigned before;
  asm volatile("atom.acq_rel.cta.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(count) : "memory");
  if (before != gridDim.x - 1) return;
  int total = 0;
  for (int cta = 0; cta < gridDim.x; ++cta) total += partial[cta];
  y[0] = total;
}

// Fenced and counted by thread 0, before the other warps have stored.
extern "C" __global__ void racy_no_meeting(const int* x, int* y, int* partial, unsigned* count) {
  __shared__ bool is_last;
  partial[blockIdx.x * 128 + threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];
  __threadfence();
  if (threadIdx.x == 0) is_last = atomicAdd(count, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  int sum = 0;
  for (int cta = 0; cta < gridDim.x; ++cta) sum += partial[cta * 128 + threadIdx.x];
  y[threadIdx.x] = sum;
}

// The first CTA clears what all add to.
extern "C" __global__ void racy_clearing(const int* x, int* y, int n) {
  if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = 0;
  if (threadIdx.x == 0) atomicAdd(y, x[blockIdx.x * 128]);
}

// Warps meet in shared memory, but talk through device memory without a barrier.
extern "C" __global__ void racy_device_memory(const int* x, int* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  y[i] = x[i];
  y[blockIdx.x * 128 + (threadIdx.x ^ 32)] += 1;
}

// Half-words of one word: the last one of each row is written by two warps.
extern "C" __global__ void racy_bytes(const int* x, int* y, int n) {
  __shared__ unsigned char bytes[160];
  bytes[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x % 32 == 0 && threadIdx.x > 0) bytes[threadIdx.x - 1] = 77;
  __syncthreads();
  y[blockIdx.x * 128 + threadIdx.x] = bytes[threadIdx.x];
}

// Lanes read what others wrote, and have not met since. Since Volta they need not run in step, volatile or not.
extern "C" __global__ void racy_lanes(const int* x, int* y, int n) {
  __shared__ volatile int tile[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  tile[warp][lane] = x[threadIdx.x];
  y[blockIdx.x * 128 + threadIdx.x] = tile[warp][31 - lane];
}

// The next round overwrites what other lanes are reading.
extern "C" __global__ void racy_lanes_overwrite(const int* x, int* y, int n) {
  __shared__ volatile int tile[4][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    tile[warp][lane] = x[i * 128 + threadIdx.x];
    __syncwarp();
    sum += tile[warp][31 - lane];
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

// One half of a warp writes, the other reads; nothing orders the branches.
extern "C" __global__ void racy_half_warps(const int* x, int* y, int n) {
  __shared__ volatile int half[4][16];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane < 16) half[warp][lane] = x[threadIdx.x];
  else y[blockIdx.x * 128 + threadIdx.x] = half[warp][lane - 16];
}

// A lane reads its own place last, and another lane's before: who writes it need not have waited for both.
extern "C" __global__ void racy_lanes_tree(const int* x, int* y, int n) {
  __shared__ volatile int sums[4][64];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  sums[warp][lane] = x[threadIdx.x];
  sums[warp][lane + 32] = 0;
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    const int other = sums[warp][lane + half];
    sums[warp][lane] = other + sums[warp][lane];
    __syncwarp();
  }
  y[blockIdx.x * 128 + threadIdx.x] = sums[warp][lane];
}

// All lanes read what the first of them then changes.
extern "C" __global__ void racy_lanes_round(const int* x, int* y, int n) {
  __shared__ volatile int round[4];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) round[warp] = 1;
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    __syncwarp();
    sum += x[round[warp] + lane];
    if (lane == 0) round[warp] = i + 2;
  }
  y[blockIdx.x * 128 + threadIdx.x] = sum;
}

// All lanes read what the first of them has just written.
extern "C" __global__ void racy_lanes_broadcast(const int* x, int* y, int n) {
  __shared__ volatile int first[4];
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) first[warp] = x[threadIdx.x];
  y[blockIdx.x * 128 + threadIdx.x] = first[warp];
}

// The same in device memory.
extern "C" __global__ void racy_lanes_broadcast_device(const int* x, int* y, int n) {
  int* first = y + blockIdx.x * 128 + threadIdx.x / 32 * 32;
  if (threadIdx.x % 32 == 0) *first = x[threadIdx.x];
  if (__ldcg(first) == n) y[blockIdx.x * 128 + threadIdx.x] = 1;
}

// The same between lanes in device memory.
extern "C" __global__ void racy_lanes_device(const int* x, int* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  y[i] = x[i];
  y[i ^ 1] += 1;
}

// In place: the neighbour may have been overwritten already.
extern "C" __global__ void racy_lanes_in_place(const int* x, int* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (threadIdx.x % 32 < 31) y[i] = y[i + 1] + x[i];
}

// Every lane clears the sum of its warp, then one stores it: a late lane may clear it again.
extern "C" __global__ void racy_lanes_clear(const int* x, int* y, int n) {
  const int warp = (blockIdx.x * 128 + threadIdx.x) / 32;
  y[warp] = 0;
  asm volatile("" ::: "memory");
  if (threadIdx.x % 32 == 5) y[warp] = x[threadIdx.x] + 1;
}

// The halves of a warp write different values to one place.
extern "C" __global__ void racy_lanes_write(const int* x, int* y, int n) {
  const int place = (blockIdx.x * 128 + threadIdx.x) / 32 * 16 + threadIdx.x % 16;
  if (threadIdx.x % 32 < 16) y[place] = x[threadIdx.x] + 1;
  asm volatile("" ::: "memory");
  if (threadIdx.x % 32 >= 16) y[place] = -x[threadIdx.x];
}

// All lanes read a counter, and one of them advances it.
extern "C" __global__ void racy_lanes_read(const int* x, int* y, int n) {
  const int warp = (blockIdx.x * 128 + threadIdx.x) / 32;
  const int before = y[warp];
  if (threadIdx.x % 32 == 0) y[warp] = before + 1 + x[0];
  if (before == 77) y[256 + threadIdx.x] = before;
}

// A fence alone is no meeting.
extern "C" __global__ void racy_lanes_fence(const int* x, int* y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  y[i] = x[i];
  __threadfence();
  y[i ^ 1] += 1;
}
