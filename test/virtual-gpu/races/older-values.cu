// CTA 1 waits for CTA 0, which announces a value by a flag. `value` and `flag` begin as zeros.

__device__ void wait_for(unsigned* flag) {
  while (*static_cast<volatile unsigned*>(flag) == 0) {}
}

extern "C" __global__ void announces_unfenced(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    *value = 42;
    atomicExch(flag, 1);
  } else {
    wait_for(flag);
    *y = *value;
  }
}

extern "C" __global__ void announces(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    *value = 42;
    __threadfence();
    atomicExch(flag, 1);
  } else {
    wait_for(flag);
    *y = *value;
  }
}

// Whoever polls by an atomic that changes nothing meets every state, and gives up after 1000 polls.
extern "C" __global__ void gives_up(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    *value = 42;
    __threadfence();
    atomicExch(flag, 1);
  } else {
    int polls = 0;
    while (atomicAdd(flag, 0) == 0 && polls < 1000) ++polls;
    *y = polls < 1000 ? *value : 7;
  }
}

// The same by reads, with the count in a register, in shared memory, in device memory behind the value, and by the clock.
__device__ void announce(volatile unsigned* value, unsigned* flag) {
  *value = 42;
  __threadfence();
  atomicExch(flag, 1);
}
__device__ unsigned seen(unsigned* flag) { return *static_cast<volatile unsigned*>(flag); }

extern "C" __global__ void gives_up_reading(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    announce(value, flag);
  } else {
    int polls = 0;
    while (seen(flag) == 0 && polls < 1000) ++polls;
    *y = polls < 1000 ? *value : 7;
  }
}

extern "C" __global__ void gives_up_counting_in_shared_memory(volatile unsigned* value, unsigned* flag, unsigned* y) {
  __shared__ volatile int polls;
  polls = 0;
  if (blockIdx.x == 0) {
    announce(value, flag);
  } else {
    while (seen(flag) == 0 && polls < 1000) polls = polls + 1;
    *y = polls < 1000 ? *value : 7;
  }
}

extern "C" __global__ void gives_up_counting_in_device_memory(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    announce(value, flag);
  } else {
    while (seen(flag) == 0 && value[1] < 1000) value[1] = value[1] + 1;
    *y = value[1] < 1000 ? *value : 7;
  }
}

extern "C" __global__ void gives_up_by_the_clock(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    announce(value, flag);
  } else {
    const long long start = clock64();
    while (seen(flag) == 0 && clock64() - start < 5000) {}
    *y = clock64() - start < 5000 ? *value : 7;
  }
}

// A word that says by itself that it has come needs no fence.
extern "C" __global__ void complete_words(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    *value = 42;
  } else {
    unsigned seen;
    do seen = *value;
    while (seen == 0);
    *y = seen;
  }
}

// An atomic that changes the value is never early, and one that compares sees what it would change.
extern "C" __global__ void counts(volatile unsigned* value, unsigned* flag, unsigned* y) {
  const unsigned ticket = atomicAdd(flag, 1);
  if (ticket == 1 && atomicCAS(flag, 2, 9) == 2) *y = 42;
}

// Between warps of a CTA, in shared memory; a barrier orders what a flag without a fence does not.
extern "C" __global__ void in_shared_memory(volatile unsigned* value, unsigned* flag, unsigned* y) {
  __shared__ volatile unsigned best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  const unsigned own = threadIdx.x < 32 ? 41 : 40;
  if (threadIdx.x % 32 == 0 && best < own) best = own;
  __syncthreads();
  if (threadIdx.x == 0) *y = best;
}

extern "C" __global__ void reads_non_coherently(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x > 0) return;
  if (threadIdx.x == 0) *flag = 42;
  __syncthreads();
  if (threadIdx.x == 0) *y = __ldg(flag);
}

// Every CTA announces itself, in the end for good. Whoever looks back meets CTAs that have only half of it, as many as there are before it.
extern "C" __global__ void looks_back(volatile unsigned* value, unsigned* flag, unsigned* y) {
  atomicExch(flag + blockIdx.x, 1);
  unsigned halves = 0;
  for (int before = static_cast<int>(blockIdx.x) - 1; before >= 0; --before) {
    unsigned seen;
    do seen = *static_cast<volatile unsigned*>(flag + before);
    while (seen == 0);
    halves += seen == 1;
  }
  atomicExch(flag + blockIdx.x, 2);
  y[blockIdx.x] = halves;
}

// After 20,000 polls: more than most waits are given.
extern "C" __global__ void gives_up_late(volatile unsigned* value, unsigned* flag, unsigned* y) {
  if (blockIdx.x == 0) {
    announce(value, flag);
  } else {
    int polls = 0;
    while (seen(flag) == 0 && polls < 20000) ++polls;
    *y = polls < 20000 ? *value : 7;
  }
}
