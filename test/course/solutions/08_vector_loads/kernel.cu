// One thread per point. It tries all sites; a site is one float4: x y z w.
__global__ void nearest(const float4* __restrict__ p, const float4* __restrict__ s, float* __restrict__ near,
                        int points, int sites) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  const float4 point = p[i];
  float least = INFINITY;
  for (int j = 0; j < sites; j++) {
    const float4 site = s[j];
    const float dx = point.x - site.x;
    const float dy = point.y - site.y;
    const float dz = point.z - site.z;
    least = fminf(least, dx * dx + dy * dy + dz * dz - site.w);
  }
  near[i] = least;
}
