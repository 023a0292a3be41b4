// Accumulators of a wgmma that is on its way are read: the assembler waits for every product. And one that waits first.
__device__ void product(float (&d)[4], unsigned long long a, unsigned long long b) {
  asm volatile("wgmma.fence.sync.aligned;");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;");
}

extern "C" __global__ void reads_too_early(float* out, unsigned long long a, unsigned long long b, int steps) {
  float d[4] = {};
  for (int step = 0; step < steps; ++step) {
    product(d, a + step, b);
    if (step % 2) d[0] += 1.0f;
    asm volatile("wgmma.wait_group.sync.aligned 1;");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;");
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

extern "C" __global__ void waits_first(float* out, unsigned long long a, unsigned long long b, int steps) {
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;");
  for (int step = 0; step < steps; ++step) {
    product(d, a + step, b);
    asm volatile("wgmma.wait_group.sync.aligned 0;");
  }
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
