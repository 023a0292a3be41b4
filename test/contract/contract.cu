// Kernels of the device contract: nothing here depends on the device's kind.

struct Affine {
  float scale;
  int shift;
  double offset;
};

extern "C" __global__ void indices(int *out) {
  int cta = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int threads = blockDim.x * blockDim.y * blockDim.z;
  out[cta * threads + thread] = blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z + 1000 * threadIdx.x +
                                10000 * threadIdx.y + 100000 * threadIdx.z;
}

extern "C" __global__ void add_one(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1;
}

extern "C" __global__ void scalars(double *out, signed char a, unsigned char b, short c, unsigned short d, int e,
                                   unsigned f, long long g, unsigned long long h, float x, double y) {
  double values[] = {(double)a, (double)b, (double)c, (double)d, (double)e,
                     (double)f, (double)g, (double)h, (double)x, y};
  for (int i = 0; i < 10; i++) out[i] = values[i];
}

extern "C" __global__ void by_value(Affine map, const float *in, double *out) {
  out[threadIdx.x] = map.scale * in[threadIdx.x + map.shift] + map.offset;
}

extern "C" __global__ void pointer_array(const int *const *from, int count, int *out) {
  int sum = 0;
  for (int i = 0; i < count; i++) sum += from[i][threadIdx.x];
  out[threadIdx.x] = sum;
}

extern "C" __global__ void is_null(const int *pointer, int *out) { out[0] = pointer == nullptr ? 1 : 2; }

extern "C" __global__ void address_of(const void *pointer, unsigned long long *out) {
  out[0] = (unsigned long long)pointer;
}

__device__ int calls;
__device__ int primes[4] = {2, 3, 5, 7};
__device__ int *place = &primes[2];
__constant__ float weights[3] = {0.5f, 1.5f, 2.5f};

extern "C" __global__ void variables(int *out) {
  out[0] = calls;
  out[1] = primes[3];
  out[2] = *place;
  out[3] = (int)(weights[0] + weights[1] + weights[2]);
  calls += 1;
  primes[3] += 10;
  *place += 1;
}

extern "C" __global__ void shared_memory(const int *in, int *out) {
  __shared__ int fixed[3];
  extern __shared__ __align__(16) int dynamic[];
  int t = threadIdx.x;
  if (t < 3) fixed[t] = 100 * (t + 1);
  dynamic[blockDim.x - 1 - t] = in[t];
  __syncthreads();
  out[t] = dynamic[t] + fixed[t % 3];
}

extern "C" __global__ void __launch_bounds__(64) small_block(int *out) { out[threadIdx.x] = 1; }

extern "C" __global__ void big_static(int *out) {
  __shared__ int words[8192];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) words[i] = i;
  __syncthreads();
  out[threadIdx.x] = words[8191 - threadIdx.x];
}

extern "C" __global__ void endless(volatile int *out) {
  while (out[0] == 0) {}
}
