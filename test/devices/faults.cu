// Each kernel breaks one rule; test/devices/faults.test.ts says where and what must be reported.

extern "C" __global__ void shifted_read(const float *in, float *out, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i + by]; // line: shifted read
  out[i] = value;
}

extern "C" __global__ void shifted_write(const float *in, float *out, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i];
  out[i + by] = value; // line: shifted write
}

__device__ float fetch(const float *from, int i) {
  return from[i]; // line: read in a function
}

extern "C" __global__ void guarded_read(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > n) return; // one too many
  out[i] = fetch(in, i) * 2;
}

extern "C" __global__ void misaligned_vector(const float *in, float4 *out) {
  out[threadIdx.x] = *reinterpret_cast<const float4 *>(in + 4 * threadIdx.x + 1); // line: misaligned vector
}

extern "C" __global__ void shared_read(float *out, int index) {
  __shared__ float words[40];
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[index + threadIdx.x]; // line: shared read
}

extern "C" __global__ void dynamic_shared_write(float *out, int index) {
  extern __shared__ float dynamic[];
  dynamic[index * threadIdx.x] = 1; // line: dynamic shared write
  __syncthreads();
  out[threadIdx.x] = dynamic[0];
}

extern "C" __global__ void local_read(float *out, int index) {
  float values[8];
  for (int i = 0; i < 8; i++) values[(i * 3 + index) & 7] = i + threadIdx.x;
  out[threadIdx.x] = values[index]; // line: local read
}

extern "C" __global__ void deep(int *out) {
  int cta = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int threads = blockDim.x * blockDim.y * blockDim.z;
  out[cta * threads + thread] = 1; // line: deep write
}

extern "C" __global__ void stop(int *out) {
  if (threadIdx.x == 5) __trap(); // line: trap
  out[threadIdx.x] = 1;
}

extern "C" __global__ void counted_barrier(int *out) {
  if (threadIdx.x >= 32) return;
  asm volatile("barrier.sync 1, 64;"); // line: barrier
  out[threadIdx.x] = 1;
}

extern "C" __global__ void half_at_barrier(int *out) {
  if (threadIdx.x < 16)
    __syncthreads(); // line: half a warp
  else
    out[threadIdx.x] = __shfl_xor_sync(~0u, threadIdx.x, 1);
}

extern "C" __global__ void endless(volatile int *out) {
  while (out[0] == 0) {}
  out[1] = 1;
}

extern "C" __global__ void fault_then_endless(const int *in, int *out, int far) {
  if (blockIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < 200000; i++) sum += in[i & 7] * i;
    out[far + (sum & 1)] = sum; // line: late fault
  } else {
    while (in[0] == 0) __nanosleep(1);
    out[blockIdx.x] = 1;
  }
}

extern "C" __global__ void fill(int *out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }
