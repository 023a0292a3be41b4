// Ordinary launches whose CTAs wait for CTAs that begin after them.

// CTAs of a group of four exchange words, which are not 0 once they have come.
extern "C" __global__ void exchange(unsigned* words, unsigned* out) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  ((volatile unsigned*)words)[thread] = 1000 * blockIdx.x + threadIdx.x + 1;
  unsigned sum = 0;
  for (unsigned other = blockIdx.x / 4 * 4; other < blockIdx.x / 4 * 4 + 4; other++) {
    unsigned word;
    while ((word = ((volatile unsigned*)words)[other * blockDim.x + threadIdx.x]) == 0) {
    }
    sum += word;
  }
  out[thread] = sum;
}

// A counter that only grows.
extern "C" __global__ void by_hand(unsigned* words, unsigned* out) {
  if (threadIdx.x == 0) {
    words[blockIdx.x + 1] = blockIdx.x + 1;
    __threadfence();
    atomicAdd(&words[0], 1u);
    while (atomicAdd(&words[0], 0u) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = 0; i < gridDim.x; i++) sum += words[i + 1];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// The last one begins a chain.
extern "C" __global__ void from_the_last(unsigned* words, unsigned* out) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) {
    unsigned next = 0;
    if (blockIdx.x + 1 < gridDim.x)
      while ((next = ((volatile unsigned*)words)[blockIdx.x + 1]) == 0) __nanosleep(100);
    mine = next + 1;
    ((volatile unsigned*)words)[blockIdx.x] = next + 1;
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}

extern "C" __global__ void keeps(unsigned* words, unsigned* out) {
  __shared__ unsigned kept[64];
  const unsigned own = threadIdx.x * 7;
  kept[threadIdx.x] = 1000 * blockIdx.x + threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&words[0], 1u);
    while (atomicAdd(&words[0], 0u) < gridDim.x) {
    }
  }
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = kept[63 - threadIdx.x] + own;
}

// The flag comes before the data, as far as anybody can tell.
extern "C" __global__ void unfenced(unsigned* words, unsigned* out) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  words[64 + thread] = thread + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&words[0], 1u);
    while (*(volatile unsigned*)&words[0] < gridDim.x) {
    }
  }
  __syncthreads();
  out[thread] = words[64 + (thread + 64) % (gridDim.x * blockDim.x)];
}

// One warp hands numbers to another one through an mbarrier, while other CTAs have begun, too.
extern "C" __global__ void hands_over(unsigned* words, unsigned* out) {
  __shared__ unsigned tile[32];
  __shared__ unsigned long long barrier;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(at) : "memory");
    ((volatile unsigned*)words)[blockIdx.x] = 1;
    while (((volatile unsigned*)words)[(blockIdx.x + 1) % gridDim.x] == 0) {
    }
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    tile[lane] = 1000 * blockIdx.x + lane;
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(at) : "memory");
  } else {
    asm volatile("{ .reg .pred p; again: mbarrier.test_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }" ::"r"(at) : "memory");
    out[blockIdx.x * 32 + lane] = tile[31 - lane];
  }
}
