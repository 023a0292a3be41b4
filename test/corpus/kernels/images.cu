// Images, stencils, convolutions.
#include <cstdio>
#include <opencv2/opencv.hpp>

#define RADIUS 3
#define FILTER 5
__constant__ float kGauss[2 * RADIUS + 1] = {0.03f, 0.11f, 0.22f, 0.28f, 0.22f, 0.11f, 0.03f};

__global__ void stencil_1d(const int* in, int* out, int n) {
  __shared__ int temp[128 + 2 * RADIUS];
  int gindex = threadIdx.x + blockIdx.x * blockDim.x, lindex = threadIdx.x + RADIUS;
  temp[lindex] = gindex < n ? in[gindex] : 0;
  if (threadIdx.x < RADIUS) {
    temp[lindex - RADIUS] = gindex >= RADIUS ? in[gindex - RADIUS] : 0;
    temp[lindex + blockDim.x] = gindex + (int)blockDim.x < n ? in[gindex + blockDim.x] : 0;
  }
  __syncthreads();
  int result = 0;
  for (int offset = -RADIUS; offset <= RADIUS; offset++) result += temp[lindex + offset];
  if (gindex < n) out[gindex] = result;
}

__global__ void blur_rows(const float* in, float* out, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  float s = 0;
  for (int k = -RADIUS; k <= RADIUS; k++) s += kGauss[k + RADIUS] * in[y * w + min(max(x + k, 0), w - 1)];
  out[y * w + x] = s;
}

__global__ void conv2d(const float* in, const float* filter, float* out, int H, int W) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  float f[FILTER * FILTER];
  for (int i = 0; i < FILTER * FILTER; i++) f[i] = filter[i];
  if (r < H && c < W) {
    float s = 0;
    for (int i = 0; i < FILTER; i++)
      for (int j = 0; j < FILTER; j++) {
        int y = r + i - FILTER / 2, x = c + j - FILTER / 2;
        if (y >= 0 && y < H && x >= 0 && x < W) s += f[i * FILTER + j] * in[y * W + x];
      }
    out[r * W + c] = s;
  }
}

__global__ void max_pool(const float* in, float* out, int H, int W) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y;
  if (ox >= W / 2 || oy >= H / 2) return;
  const float* p = in + (blockIdx.z * H + 2 * oy) * W + 2 * ox;
  out[(blockIdx.z * (H / 2) + oy) * (W / 2) + ox] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[W], p[W + 1]));
}

__global__ void rgb_to_gray(const uchar3* rgb, unsigned char* gray, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    uchar3 p = rgb[i];
    gray[i] = (unsigned char)((p.x * 77 + p.y * 151 + p.z * 28) >> 8);
  }
}

__global__ void sobel(const unsigned char* src, int* dst, int w, int h) {
  __shared__ unsigned char t[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  for (int j = threadIdx.y; j < 18; j += 16)
    for (int i = threadIdx.x; i < 18; i += 16) {
      int gx = (int)blockIdx.x * 16 + i - 1, gy = (int)blockIdx.y * 16 + j - 1;
      t[j][i] = gx >= 0 && gx < w && gy >= 0 && gy < h ? src[gy * w + gx] : 0;
    }
  __syncthreads();
  if (x >= w || y >= h) return;
  int j = threadIdx.y + 1, i = threadIdx.x + 1;
  int gx = -t[j - 1][i - 1] - 2 * t[j][i - 1] - t[j + 1][i - 1] + t[j - 1][i + 1] + 2 * t[j][i + 1] + t[j + 1][i + 1];
  int gy = -t[j - 1][i - 1] - 2 * t[j - 1][i] - t[j - 1][i + 1] + t[j + 1][i - 1] + 2 * t[j + 1][i] + t[j + 1][i + 1];
  dst[y * w + x] = abs(gx) + abs(gy);
}

__global__ void transpose(const float* in, float* out, int W, int H) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < W && y + j < H) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * W + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < H && y + j < W) out[(y + j) * H + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void histogram(const unsigned char* data, unsigned int* bins, int n) {
  __shared__ unsigned int local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&local[data[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void life(const unsigned char* now, unsigned char* next, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int alive = 0;
#pragma unroll
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy) alive += now[(y + dy + h) % h * w + (x + dx + w) % w];
  next[y * w + x] = alive == 3 || (alive == 2 && now[y * w + x]);
}

__global__ void resize_bilinear(const float* in, float* out, int iw, int ih, int ow, int oh) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= ow) return;
  float fx = fmaxf((x + 0.5f) * iw / ow - 0.5f, 0.f), fy = fmaxf((y + 0.5f) * ih / oh - 0.5f, 0.f);
  int x0 = (int)floorf(fx), y0 = (int)floorf(fy), x1 = min(x0 + 1, iw - 1), y1 = min(y0 + 1, ih - 1);
  float ax = fx - x0, ay = fy - y0;
  float top = in[y0 * iw + x0] * (1 - ax) + in[y0 * iw + x1] * ax, low = in[y1 * iw + x0] * (1 - ax) + in[y1 * iw + x1] * ax;
  out[y * ow + x] = top * (1 - ay) + low * ay;
}

__global__ void heat_3d(const float* u, float* v, int nx, int ny, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
  float below = u[j * nx + i], here = u[(ny + j) * nx + i];
  for (int k = 1; k < nz - 1; k++) {
    float above = u[((k + 1) * ny + j) * nx + i];
    int c = (k * ny + j) * nx + i;
    v[c] = here + 0.1f * (u[c - 1] + u[c + 1] + u[c - nx] + u[c + nx] + below + above - 6 * here);
    below = here;
    here = above;
  }
}

int main() {
  cv::Mat image = cv::imread("in.png");
  dim3 block(16, 16), grid((image.cols + 15) / 16, (image.rows + 15) / 16);
  sobel<<<grid, block>>>(nullptr, nullptr, image.cols, image.rows);
}
