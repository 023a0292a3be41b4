#include <cstdint>

constexpr int COLUMNS = 1024;
constexpr int BYTES = COLUMNS * sizeof(float);
constexpr int BLOCK = 128;

__device__ uint32_t inShared(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// An mbarrier for one thread that arrives, and for bytes that arrive. After
// the fence the copy engine knows it, too.
__device__ void init(uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(inShared(barrier)) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Arrives, and says how many bytes must arrive before the phase is complete.
__device__ void expect(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(inShared(barrier)), "r"(bytes)
               : "memory");
}

// Orders a copy of a whole row. It runs by itself, and tells the barrier.
__device__ void copy(float* to, const float* from, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   inShared(to)),
               "l"(from), "r"(BYTES), "r"(inShared(barrier))
               : "memory");
}

// Waits until the phase of this parity is complete: 0, 1, 0, 1, ...
__device__ void wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred complete;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1;\n"
      "@!complete bra again;\n"
      "}\n" ::"r"(inShared(barrier)),
      "r"(parity)
      : "memory");
}

// The sum over the block, for all of its threads.
__device__ float blockSum(float value, float* sums) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// Every use of the barrier is a phase; their parities alternate.
__global__ void dots(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ d, int rows) {
  __shared__ alignas(16) float a[COLUMNS];
  __shared__ alignas(16) float b[COLUMNS];
  __shared__ float sums[BLOCK / 32];
  __shared__ alignas(8) uint64_t arrived;
  if (threadIdx.x == 0) init(&arrived);
  __syncthreads();
  int parity = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    if (threadIdx.x == 0) {
      expect(&arrived, 2 * BYTES);
      copy(a, x + static_cast<size_t>(row) * COLUMNS, &arrived);
      copy(b, y + static_cast<size_t>(row) * COLUMNS, &arrived);
    }
    wait(&arrived, parity);
    parity ^= 1;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < COLUMNS; c += BLOCK) sum += a[c] * b[c];
    sum = blockSum(sum, sums);
    if (threadIdx.x == 0) d[row] = sum;
    __syncthreads();
  }
}
