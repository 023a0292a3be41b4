// Dots of int8, sorts, histograms and scans: exact, whatever the order.
constexpr int MOST = 256;  // elements of a row that is sorted or scanned, one thread each
constexpr int BINS = 16;

extern "C" __global__ void dot_scalar(const signed char* a, const signed char* b, int* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  int sum = 0;
  for (int c = 0; c < N; ++c) sum += a[row * N + c] * b[row * N + c];
  y[row] = sum;
}

// Four products an instruction; N is a multiple of four.
extern "C" __global__ void dot_dp4a(const signed char* a, const signed char* b, int* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  const int* left = reinterpret_cast<const int*>(a + row * N);
  const int* right = reinterpret_cast<const int*>(b + row * N);
  int sum = 0;
  for (int i = 0; i < N / 4; ++i) sum = __dp4a(left[i], right[i], sum);
  y[row] = sum;
}

extern "C" __global__ void sort_bitonic(const unsigned* x, unsigned* y, int N) {
  __shared__ unsigned values[MOST];
  const int i = threadIdx.x;
  values[i] = i < N ? x[blockIdx.x * N + i] : 0xffffffffu;
  __syncthreads();
  for (int size = 2; size <= MOST; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = i ^ stride;
      if (other > i) {
        const unsigned low = values[i], high = values[other];
        if ((low > high) == ((i & size) == 0)) {
          values[i] = high;
          values[other] = low;
        }
      }
      __syncthreads();
    }
  }
  if (i < N) y[blockIdx.x * N + i] = values[i];
}

// The place of a value is how many are smaller, or equal and before it.
extern "C" __global__ void sort_by_rank(const unsigned* x, unsigned* y, int N) {
  const unsigned* row = x + blockIdx.x * N;
  const int i = threadIdx.x;
  if (i >= N) return;
  int rank = 0;
  for (int j = 0; j < N; ++j) rank += row[j] < row[i] || (row[j] == row[i] && j < i);
  y[blockIdx.x * N + rank] = row[i];
}

// Least significant bit first, each pass stable.
extern "C" __global__ void sort_radix(const unsigned* x, unsigned* y, int N) {
  __shared__ unsigned values[MOST];
  const int i = threadIdx.x;
  if (i < N) values[i] = x[blockIdx.x * N + i];
  __syncthreads();
  for (int bit = 0; bit < 32; ++bit) {
    int zeros = 0, before = 0;
    unsigned value = 0;
    if (i < N) {
      value = values[i];
      for (int j = 0; j < N; ++j) {
        const bool isZero = (values[j] >> bit & 1) == 0;
        zeros += isZero;
        before += isZero && j < i;
      }
    }
    __syncthreads();
    if (i < N) values[value >> bit & 1 ? zeros + i - before : before] = value;
    __syncthreads();
  }
  if (i < N) y[blockIdx.x * N + i] = values[i];
}

extern "C" __global__ void clear(int* counts) { counts[threadIdx.x] = 0; }

extern "C" __global__ void histogram_atomics(const unsigned char* x, int* counts, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) atomicAdd(&counts[x[i]], 1);
}

extern "C" __global__ void histogram_shared(const unsigned char* x, int* counts, int N) {
  __shared__ int own[BINS];
  if (threadIdx.x < BINS) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1);
  __syncthreads();
  if (threadIdx.x < BINS && own[threadIdx.x] > 0) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

// One thread a bin, no atomics at all.
extern "C" __global__ void histogram_by_bin(const unsigned char* x, int* counts, int N) {
  int count = 0;
  for (int i = 0; i < N; ++i) count += x[i] == threadIdx.x;
  counts[threadIdx.x] = count;
}

extern "C" __global__ void scan_serial(const int* x, int* y, int N) {
  int sum = 0;
  for (int i = 0; i < N; ++i) y[i] = sum += x[i];
}

extern "C" __global__ void scan_doubling(const int* x, int* y, int N) {
  __shared__ int values[MOST];
  const int i = threadIdx.x;
  values[i] = i < N ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < MOST; step *= 2) {
    const int before = i >= step ? values[i - step] : 0;
    __syncthreads();
    values[i] += before;
    __syncthreads();
  }
  if (i < N) y[i] = values[i];
}

// Up the tree and down again.
extern "C" __global__ void scan_blelloch(const int* x, int* y, int N) {
  __shared__ int values[MOST];
  const int i = threadIdx.x;
  const int own = i < N ? x[i] : 0;
  values[i] = own;
  __syncthreads();
  for (int step = 1; step < MOST; step *= 2) {
    if (i % (2 * step) == 2 * step - 1) values[i] += values[i - step];
    __syncthreads();
  }
  if (i == MOST - 1) values[i] = 0;
  __syncthreads();
  for (int step = MOST / 2; step > 0; step /= 2) {
    if (i % (2 * step) == 2 * step - 1) {
      const int left = values[i - step];
      values[i - step] = values[i];
      values[i] += left;
    }
    __syncthreads();
  }
  if (i < N) y[i] = values[i] + own;
}
