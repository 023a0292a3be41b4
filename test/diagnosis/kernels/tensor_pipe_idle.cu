// Products whose results are exponentiated before the next product begins, as in a softmax; and products alone.
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <bool kExponentiates>
__device__ void steps_of(const unsigned* operands, float* c, int steps) {
  const int lane = threadIdx.x % 32;
  const unsigned a[4] = {operands[lane], operands[lane + 32], operands[lane + 64], operands[lane + 96]};
  const unsigned b[2] = {operands[lane], operands[lane + 32]};
  float d[4] = {};
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) multiply(d, a, b);
    if (kExponentiates) {
#pragma unroll
      for (int i = 0; i < 4; ++i) asm volatile("ex2.approx.f32 %0, %0;" : "+f"(d[i]));
    }
  }
  c[blockIdx.x * blockDim.x + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

extern "C" __global__ void in_turns(const unsigned* operands, float* c, int steps) { steps_of<true>(operands, c, steps); }

extern "C" __global__ void products_alone(const unsigned* operands, float* c, int steps) {
  steps_of<false>(operands, c, steps);
}
