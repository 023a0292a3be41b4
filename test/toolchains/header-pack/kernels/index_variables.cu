// threadIdx, blockIdx, blockDim, gridDim: components, copies, conversions, references.
struct Place {
  dim3 block;
  uint3 thread;
};

__device__ unsigned int linear(const uint3& thread, dim3 extent) {
  return (thread.z * extent.y + thread.y) * extent.x + thread.x;
}

extern "C" __global__ void index_variables(unsigned int* out) {
  const dim3 extent = blockDim;
  const uint3 thread = threadIdx;
  const dim3 block = blockIdx;
  auto grid = gridDim;
  const Place place = {blockIdx, threadIdx};
  const unsigned int cta = (block.z * grid.y + place.block.y) * grid.x + place.block.x;
  const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned int at = cta * threads + linear(thread, extent);
  out[4 * at + 0] = linear(threadIdx, blockDim) + linear(place.thread, extent) * 1000;
  out[4 * at + 1] = blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z;
  out[4 * at + 2] = gridDim.x * gridDim.y * gridDim.z;
  out[4 * at + 3] = warpSize + threadIdx.x / warpSize;
}
