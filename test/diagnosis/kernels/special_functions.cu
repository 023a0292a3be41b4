extern "C" __global__ void exponentials(float* x, int iterations) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = x[i], b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
  for (int k = 0; k < iterations; ++k) {
    a = __expf(-a);
    b = __expf(-b);
    c = __expf(-c);
    d = __expf(-d);
  }
  x[i] = a + b + c + d;
}

extern "C" __global__ void polynomials(float* x, int iterations) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = x[i], b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
  for (int k = 0; k < iterations; ++k) {
    a = fmaf(a, fmaf(a, 0.1f, -0.5f), 0.9f);
    b = fmaf(b, fmaf(b, 0.1f, -0.5f), 0.9f);
    c = fmaf(c, fmaf(c, 0.1f, -0.5f), 0.9f);
    d = fmaf(d, fmaf(d, 0.1f, -0.5f), 0.9f);
  }
  x[i] = a + b + c + d;
}
