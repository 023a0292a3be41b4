// Atomic operations on global and shared memory.
template <typename T>
__device__ void all_operations(T* cells, T lane) {
  atomicAdd(&cells[0], lane);
  atomicMin(&cells[1], lane);
  atomicMax(&cells[2], lane);
  atomicAnd(&cells[3], ~(T(1) << (lane & 15)));
  atomicOr(&cells[4], T(1) << (lane & 15));
  atomicXor(&cells[5], lane);
  atomicExch(&cells[6], T(42));
  T seen = cells[7];
  for (T expected = seen + 1; expected != seen;) {
    expected = seen;
    seen = atomicCAS(&cells[7], expected, expected + 2);
    if (seen != expected) expected = seen + 1;
  }
}
extern "C" __global__ void atomics_int(int* cells) { all_operations<int>(cells, threadIdx.x); }
extern "C" __global__ void atomics_unsigned(unsigned int* cells) { all_operations<unsigned int>(cells, threadIdx.x); }
extern "C" __global__ void atomics_unsigned_long_long(unsigned long long* cells) { all_operations<unsigned long long>(cells, threadIdx.x); }

extern "C" __global__ void atomics_more(unsigned int* cells, float* floats, double* doubles, long long* longs, int* signed_cells) {
  atomicInc(&cells[0], 9);
  atomicDec(&cells[1], 9);
  atomicAdd_block(&cells[2], 1u);
  atomicAdd_system(&cells[3], 2u);
  atomicSub(&signed_cells[0], 3);
  atomicSub(&cells[4], 1u);
  atomicAdd(&floats[0], 0.5f);
  atomicExch(&floats[1], 3.5f);
  atomicAdd(&doubles[0], 0.25);
  atomicMin(&longs[0], (long long)threadIdx.x - 10);
  atomicMax(&longs[1], (long long)threadIdx.x - 10);
}

// Returned values are the cell's earlier ones: every ticket once.
extern "C" __global__ void tickets(unsigned int* counter, unsigned int* taken) {
  const unsigned int ticket = atomicAdd(counter, 1u);
  atomicAdd(&taken[ticket], 1u);
}

extern "C" __global__ void histogram(const unsigned char* in, unsigned int* out, int n) {
  __shared__ unsigned int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&bins[in[i] & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
