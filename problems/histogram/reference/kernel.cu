// What reference.ts computes, on a GPU: counts in float64, which adds whole numbers exactly in any order up to 2^53. Trusted
// code: it says what right is for shapes that take too long on a host, so it is as plain as it can be.
constexpr int THREADS = 256;

extern "C" __global__ void histogram(const unsigned char* x, double* counts_exact, long long N, int bins) {
  const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (i < N && x[i] < bins) atomicAdd(&counts_exact[x[i]], 1.0);
}
