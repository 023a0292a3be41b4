// Ways of getting at a pointer other than using a parameter as it is. Each kernel copies or sums 64 floats.
extern "C" __global__ void chosen(const float *a, const float *b, float *out, int n) {
  const float *from = threadIdx.x % 2 ? a : b;
  out[threadIdx.x] = from[threadIdx.x];
}

extern "C" __global__ void ping_pong(float *a, float *b, float *out, int n) {
  float *from = a, *to = b;
  for (int i = 0; i < n; i++) {
    to[threadIdx.x] = from[threadIdx.x] + 1;
    float *swapped = from;
    from = to;
    to = swapped;
    __syncthreads();
  }
  out[threadIdx.x] = from[threadIdx.x];
}

extern "C" __global__ void wide_indices(const float *a, const long long *b, float *out, int n) { out[threadIdx.x] = a[b[threadIdx.x]]; }

extern "C" __global__ void table(const float *const *a, const int *b, float *out, int n) {
  const float *row = a[b[threadIdx.x] % 2];
  out[threadIdx.x] = row[(long long)n * 0 + threadIdx.x];
}

extern "C" __global__ void chosen_or_loaded(const float *const *a, const float *b, float *out, int n) {
  const float *from = threadIdx.x % 2 ? a[1] : b;
  out[threadIdx.x] = from[threadIdx.x];
}

struct View {
  const float *data;
  long long stride;
};

extern "C" __global__ void in_local_memory(const float *a, const float *b, float *out, int n) {
  View views[2] = {{a, 1}, {b, 1}};
  View view = views[(threadIdx.x + n) & 1];
  out[threadIdx.x] = view.data[threadIdx.x * view.stride];
}

extern "C" __global__ void in_shared_memory(const float *a, const float *b, float *out, int n) {
  __shared__ const float *from;
  if (threadIdx.x == 0) from = n > 3 ? a : b;
  __syncthreads();
  out[threadIdx.x] = from[threadIdx.x];
}

extern "C" __global__ void rounded(const float *a, const float *b, float *out, int n) {
  auto address = reinterpret_cast<unsigned long long>(a + threadIdx.x) & ~15ull;
  float4 four = *reinterpret_cast<const float4 *>(address);
  float values[4] = {four.x, four.y, four.z, four.w};
  out[threadIdx.x] = values[threadIdx.x % 4];
}

extern "C" __global__ void by_difference(const float *a, const float *b, float *out, int n) {
  long long distance = b - a;
  const float *p = a + threadIdx.x;
  out[threadIdx.x] = *p + p[distance];
}

extern "C" __global__ void walked(const float *a, const float *b, float *out, int n) {
  const float *end = a + 64;
  float sum = 0;
  for (const float *p = a, *q = b; p != end; p++, q++) sum += *p * *q;
  out[threadIdx.x] = sum;
}

extern "C" __global__ void walked_back(const float *a, const float *b, float *out, int n) {
  float sum = 0;
  for (int i = 63; i >= 0; i--) sum += a[i] * b[63 - i];
  out[threadIdx.x] = sum;
}

extern "C" __global__ void exchanged(const float *a, const float *b, float *out, int n) {
  auto word = reinterpret_cast<unsigned long long>(threadIdx.x % 32 == 3 ? a : b);
  unsigned low = __shfl_sync(0xffffffff, (unsigned)word, 3), high = __shfl_sync(0xffffffff, (unsigned)(word >> 32), 3);
  const float *from = reinterpret_cast<const float *>(((unsigned long long)high << 32) | low);
  out[threadIdx.x] = from[threadIdx.x];
}

__device__ float scratch[64];

extern "C" __global__ void variable(const float *a, const float *b, float *out, int n) {
  float *to = n > 3 ? scratch : out;
  to[63 - threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = scratch[threadIdx.x];
}

extern "C" __global__ void far_offset(const float *a, const float *b, float *out, int n) {
  // The base lies far below the buffer, even below address 0, and the offset brings it back.
  out[threadIdx.x] = a[(int)threadIdx.x - n + 50000000];
}
