// CTAs, or warps, that draw their work from a queue; and warps of one CTA that hand work to each other.

// Tile `tile` of `tiles` takes `work × (tiles − tile)` rounds, the longest first.
__device__ unsigned rounds_of(unsigned tile, unsigned tiles, unsigned work) { return work * (tiles - tile); }

__device__ unsigned worked(unsigned value, unsigned rounds) {
#pragma unroll 1
  for (unsigned i = 0; i < rounds; i++) value = value * 1664525u + 1013904223u;
  return value;
}

// Thread 0 draws for its CTA.
extern "C" __global__ void ctas_draw(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  __shared__ unsigned drawn;
  for (;;) {
    if (threadIdx.x == 0) drawn = atomicAdd(queue, 1u);
    __syncthreads();
    const unsigned tile = drawn;
    __syncthreads();
    if (tile >= tiles) return;
    out[tile * blockDim.x + threadIdx.x] = worked(tile, rounds_of(tile, tiles, work));
  }
}

// Each warp draws for itself.
extern "C" __global__ void warps_draw(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  for (;;) {
    unsigned tile = 0;
    if (threadIdx.x % 32 == 0) tile = atomicAdd(queue, 1u);
    tile = __shfl_sync(~0u, tile, 0);
    if (tile >= tiles) return;
    out[tile * 32 + threadIdx.x % 32] = worked(tile, rounds_of(tile, tiles, work));
  }
}

// A warp draws the next tile while two others work on the one before, so the CTA always has something else to do where it draws.
extern "C" __global__ void drawn_ahead(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  __shared__ unsigned drawn[2];
  for (unsigned turn = 0;; turn++) {
    if (threadIdx.x == 0 && (turn == 0 || drawn[(turn + 1) % 2] < tiles)) drawn[turn % 2] = atomicAdd(queue, 1u);
    if (threadIdx.x >= 32 && turn > 0) {
      const unsigned tile = drawn[(turn + 1) % 2];
      if (tile < tiles) out[tile * blockDim.x + threadIdx.x] = worked(tile, rounds_of(tile, tiles, work));
    }
    __syncthreads();
    if (turn > 0 && drawn[(turn + 1) % 2] >= tiles) return;
  }
}

// Places in the output, which decide nothing: no queue.
extern "C" __global__ void places(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const unsigned place = atomicAdd(queue, 1u);
    out[place] = worked(tile, 0);
  }
}

__device__ void meet(unsigned id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }

// Two pairs of warps meet at barriers of their own, and work at different times.
extern "C" __global__ void pairs_apart(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  const unsigned pair = threadIdx.x / 64;
  unsigned value = threadIdx.x;
  for (unsigned tile = 0; tile < tiles; tile++) {
    value = worked(value, work);
    meet(1 + pair);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// The second pair waits for what the first one does, which only arrives.
extern "C" __global__ void pair_after_arrival(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  if (threadIdx.x < 64) {
    out[threadIdx.x] = worked(threadIdx.x, tiles * work);
    asm volatile("bar.arrive 1, 128;" ::: "memory");
    return;
  }
  asm volatile("bar.sync 1, 128;" ::: "memory");
  out[threadIdx.x] = worked(out[threadIdx.x - 64], tiles * work);
}

// All wait for one thread.
extern "C" __global__ void one_thread(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  if (threadIdx.x == 0) out[0] = worked(1, tiles * work);
  __syncthreads();
}

// One thread of a warp works beside another warp, which works longer.
extern "C" __global__ void one_thread_beside(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  if (threadIdx.x == 0) out[0] = worked(1, tiles * work);
  if (threadIdx.x >= 32) out[threadIdx.x] = worked(threadIdx.x, 2 * tiles * work);
  __syncthreads();
}

// The second pair waits for what the first one does, by an mbarrier.
extern "C" __global__ void pair_after_pair(unsigned* queue, unsigned* out, unsigned tiles, unsigned work) {
  __shared__ unsigned long long barrier;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at) : "memory");
  __syncthreads();
  if (threadIdx.x < 64) {
    out[threadIdx.x] = worked(threadIdx.x, tiles * work);
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(at) : "memory");
    return;
  }
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(at)
        : "memory");
  out[threadIdx.x] = worked(out[threadIdx.x - 64], tiles * work);
}
