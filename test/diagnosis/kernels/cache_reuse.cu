// Both add up `passes` times all of `a`, which does not fit L2. `count` is a multiple of the grid's threads.

extern "C" __global__ void pass_after_pass(const float4* a, float* out, int count, int passes) {
  const int threads = gridDim.x * blockDim.x;
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int pass = 0; pass < passes; ++pass)
    for (int i = first; i < count; i += threads) {
      const float4 v = a[i];  // everything else has been read since the last pass
      sum += v.x + v.y + v.z + v.w;
    }
  out[first] = sum;
}

extern "C" __global__ void part_after_part(const float4* a, float* out, int count, int passes) {
  const int threads = gridDim.x * blockDim.x;
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int i = first; i < count; i += threads)
    for (int pass = 0; pass < passes; ++pass) {
      const volatile float* v = reinterpret_cast<const volatile float*>(a + i);
      sum += v[0] + v[1] + v[2] + v[3];
    }
  out[first] = sum;
}
