// Tiles of 512 bytes per warp, multiplied with themselves: copied through registers, or by cp.async into a ring.
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

constexpr int kWarps = 4;
constexpr int kLanes = 32;

__device__ void use(float (&d)[4], const uint4 (&tile)[kWarps][kLanes]) {
  const uint4 own = tile[threadIdx.x / kLanes][threadIdx.x % kLanes];
  const uint4 other = tile[(threadIdx.x / kLanes + 1) % kWarps][threadIdx.x % kLanes];
  const unsigned a[4] = {own.x, own.y, own.z, own.w};
  const unsigned b[2] = {other.x, other.y};
#pragma unroll
  for (int i = 0; i < 4; ++i) multiply(d, a, b);
}

__device__ void store(float* c, const float (&d)[4]) {
  c[blockIdx.x * blockDim.x + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

extern "C" __global__ void through_registers(const uint4* tiles, float* c, int steps) {
  __shared__ uint4 tile[kWarps][kLanes];
  float d[4] = {};
  for (int step = 0; step < steps; ++step) {
    tile[threadIdx.x / kLanes][threadIdx.x % kLanes] = tiles[step * blockDim.x + threadIdx.x];
    __syncthreads();
    use(d, tile);
    __syncthreads();
  }
  store(c, d);
}

__device__ void copy(uint4& to, const uint4& from) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(&from) : "memory");
}

template <int kStages>
__device__ void ring(const uint4* tiles, float* c, int steps) {
  __shared__ uint4 tile[kStages][kWarps][kLanes];
  float d[4] = {};
  const auto issue = [&](int step) {
    if (step < steps)
      copy(tile[step % kStages][threadIdx.x / kLanes][threadIdx.x % kLanes], tiles[step * blockDim.x + threadIdx.x]);
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int step = 0; step < kStages - 1; ++step) issue(step);
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    issue(step + kStages - 1);
    use(d, tile[step % kStages]);
  }
  store(c, d);
}

extern "C" __global__ void two_stages(const uint4* tiles, float* c, int steps) { ring<2>(tiles, c, steps); }

extern "C" __global__ void twenty_stages(const uint4* tiles, float* c, int steps) { ring<20>(tiles, c, steps); }
