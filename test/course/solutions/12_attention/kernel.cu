constexpr int D = 64;
constexpr int QUERIES = 16;  // per block
constexpr int LANES = 8;     // threads per query, each with 8 of the 64 columns
constexpr int KEYS = 32;     // per tile

// A block keeps a tile of keys and values in shared memory. Each query knows the largest score so far, the sum of its weights
// and the weighted sum of values; when a larger score comes, it corrects both sums with one factor.
__global__ void attention(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                          float* __restrict__ O, int S) {
  __shared__ float4 keys[KEYS][D / 4];
  __shared__ float4 values[KEYS][D / 4];
  const int t = threadIdx.x, lane = t % LANES;
  const int i = blockIdx.x * QUERIES + t / LANES;
  const size_t head = static_cast<size_t>(blockIdx.y) * S;
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  // Lane l has the columns 4 l … 4 l + 3 and 32 more: neighbours read neighbours, here and in shared memory.
  float4 q[2], sums[2] = {zero, zero};
  for (int part = 0; part < 2; part++)
    q[part] = i < S ? reinterpret_cast<const float4*>(Q + (head + i) * D)[lane + part * LANES] : zero;
  float largest = -INFINITY, total = 0.0f;
  for (int first = 0; first < S; first += KEYS) {
    const int count = min(KEYS, S - first);
    __syncthreads();
    for (int n = t; n < count * (D / 4); n += QUERIES * LANES) {
      keys[n / (D / 4)][n % (D / 4)] = reinterpret_cast<const float4*>(K + (head + first) * D)[n];
      values[n / (D / 4)][n % (D / 4)] = reinterpret_cast<const float4*>(V + (head + first) * D)[n];
    }
    __syncthreads();
    for (int j = 0; j < count; j++) {
      float dot = 0.0f;
      for (int part = 0; part < 2; part++) {
        const float4 k = keys[j][lane + part * LANES];
        dot += q[part].x * k.x + q[part].y * k.y + q[part].z * k.z + q[part].w * k.w;
      }
      for (int o = LANES / 2; o > 0; o /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, o);
      const float score = dot * 0.125f;
      const float now = fmaxf(largest, score);
      const float correction = expf(largest - now), weight = expf(score - now);
      largest = now;
      total = total * correction + weight;
      for (int part = 0; part < 2; part++) {
        const float4 v = values[j][lane + part * LANES];
        sums[part].x = sums[part].x * correction + weight * v.x;
        sums[part].y = sums[part].y * correction + weight * v.y;
        sums[part].z = sums[part].z * correction + weight * v.z;
        sums[part].w = sums[part].w * correction + weight * v.w;
      }
    }
  }
  if (i >= S) return;
  for (int part = 0; part < 2; part++) {
    const float4 s = sums[part];
    reinterpret_cast<float4*>(O + (head + i) * D)[lane + part * LANES] =
        make_float4(s.x / total, s.y / total, s.z / total, s.w / total);
  }
}
