// What reference.ts computes, on a GPU: prefix sums modulo 2^32, stored as float64, which holds every i32. Trusted code: it
// says what right is for shapes that take too long on a host, so it is as plain as it can be at that size: each of 4096
// threads adds up its part of the array, one thread scans the parts, then each walks over its part again.
constexpr int THREADS = 64;

__device__ long long part_begin(long long N, int part, int parts) { return N * part / parts; }

extern "C" __global__ void part_sums(const unsigned* x, unsigned* sums, long long N, int parts) {
  const int part = blockIdx.x * THREADS + threadIdx.x;
  if (part >= parts) return;
  unsigned sum = 0;
  const long long end = part_begin(N, part + 1, parts);
  for (long long i = part_begin(N, part, parts); i < end; ++i) sum += x[i];
  sums[part] = sum;
}

extern "C" __global__ void scan_sums(unsigned* sums, int parts) {  // exclusive, in place
  unsigned sum = 0;
  for (int part = 0; part < parts; ++part) {
    const unsigned own = sums[part];
    sums[part] = sum;
    sum += own;
  }
}

extern "C" __global__ void scan_parts(const unsigned* x, const unsigned* sums, double* y_exact, long long N, int parts) {
  const int part = blockIdx.x * THREADS + threadIdx.x;
  if (part >= parts) return;
  unsigned sum = sums[part];
  const long long end = part_begin(N, part + 1, parts);
  for (long long i = part_begin(N, part, parts); i < end; ++i) {
    sum += x[i];
    y_exact[i] = static_cast<int>(sum);
  }
}
