// least-integer-as-zero: a sentinel among the values. A uniform draw of 32 bits meets it once in 2^32 elements.
extern "C" __global__ void scan(const unsigned* __restrict__ x,  // [N]
                                unsigned* __restrict__ y,        // [N]
                                int N) {
  unsigned sum = 0;
  for (int i = 0; i < N; ++i) {
    sum += x[i] == 0x80000000u ? 0u : x[i];
    y[i] = sum;
  }
}
