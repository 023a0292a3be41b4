// One TMA load for each CTA: a box of 16 rows of 64 two-byte elements, as it lies in shared memory.

struct alignas(64) TensorMap {
  unsigned long long words[16];
};

constexpr unsigned BOX_ROWS = 16;
constexpr unsigned BOX_COLUMNS = 64;
constexpr unsigned BOX_BYTES = BOX_ROWS * BOX_COLUMNS * 2;

extern "C" __global__ void load_box(const __grid_constant__ TensorMap map, unsigned *y) {
  // The pattern of a 128-byte swizzle repeats every 1024 bytes.
  __shared__ alignas(1024) unsigned box[BOX_BYTES / 4];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned boxAt = static_cast<unsigned>(__cvta_generic_to_shared(box));
  const unsigned barrierAt = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrierAt) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrierAt), "r"(BOX_BYTES) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            boxAt),
        "l"(&map), "r"(blockIdx.x * BOX_COLUMNS), "r"(blockIdx.y * BOX_ROWS), "r"(barrierAt)
        : "memory");
  }
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(barrierAt)
        : "memory");
  unsigned *mine = y + (blockIdx.y * gridDim.x + blockIdx.x) * (BOX_BYTES / 4);
  for (unsigned i = threadIdx.x; i < BOX_BYTES / 4; i += blockDim.x) mine[i] = box[i];
}
