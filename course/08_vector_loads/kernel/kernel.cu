// One thread per point. It tries all sites; a site is four floats: x y z w.
__global__ void nearest(const float* __restrict__ p, const float* __restrict__ s, float* __restrict__ near,
                        int points, int sites) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  const float x = p[4 * i], y = p[4 * i + 1], z = p[4 * i + 2];
  float least = INFINITY;
  for (int j = 0; j < sites; j++) {
    const float dx = x - s[4 * j];
    const float dy = y - s[4 * j + 1];
    const float dz = z - s[4 * j + 2];
    least = fminf(least, dx * dx + dy * dy + dz * dz - s[4 * j + 3]);
  }
  near[i] = least;
}
