// Replays of short launches, for programs that look at what else a replay contains: 108 launches of a kernel of 16 CTAs, whose inputs are drawn and
// shared memory is overwritten before, as warpsmith does.
#pragma once
#include <unistd.h>
#include <algorithm>
#include <vector>
#include "../cuda-check.cuh"

const int kLaunches = 108, kCtas = 16, kThreads = 128, kPerCta = 768;
const size_t kIn = kCtas * kPerCta, kSlot = kIn + kCtas * kThreads;  // floats
const int kScrubbed = 200 * 1024;                                    // bytes of shared memory

// What a launch does: sums of 768 inputs for each CTA.
__device__ void sum_of_cta(const float *in, float *out) {
  __shared__ float sums[kThreads];
  float v = 0;
  for (int i = threadIdx.x; i < kPerCta; i += kThreads) v += in[blockIdx.x * kPerCta + i];
  sums[threadIdx.x] = v;
  __syncthreads();
  for (int d = kThreads / 2; d; d >>= 1) {
    if (threadIdx.x < d) sums[threadIdx.x] += sums[threadIdx.x + d];
    __syncthreads();
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sums[0];
}

__global__ void draw(float *values, size_t n, unsigned key) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    values[i] = float((i * 2654435761u ^ key) & 1023) / 1024;
}

__global__ void scrub(unsigned key) {
  extern __shared__ unsigned words[];
  for (int i = threadIdx.x; i < kScrubbed / 4; i += blockDim.x) words[i] = key * i;
}

__global__ void spin(long long clocks) {
  long long from = clock64();
  while (clock64() - from < clocks) {
  }
}
