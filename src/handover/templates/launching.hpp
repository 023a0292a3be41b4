namespace detail {

inline cudaError_t explain(cudaError_t error, const char* what, std::string* why) {
  if (error != cudaSuccess && why != nullptr) *why = std::string(what) + ": " + cudaGetErrorString(error);
  return error;
}

// Most shared memory of a CTA that needs no opt-in is 48 KB; clusters of more than 8 CTAs run on some GPUs only.
inline cudaError_t configure(const Launch& step, const void* symbol) {
  if (step.shared_bytes > 0 || step.carve_out_percent >= 0) {
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, symbol);
    if (error != cudaSuccess) return error;
    if (step.shared_bytes > static_cast<std::size_t>(attributes.maxDynamicSharedSizeBytes))
      error = cudaFuncSetAttribute(symbol, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(step.shared_bytes));
    if (error != cudaSuccess) return error;
    if (step.carve_out_percent >= 0 && attributes.preferredShmemCarveout != step.carve_out_percent)
      error = cudaFuncSetAttribute(symbol, cudaFuncAttributePreferredSharedMemoryCarveout, step.carve_out_percent);
    if (error != cudaSuccess) return error;
  }
  if (step.cluster.x * step.cluster.y * step.cluster.z <= 8) return cudaSuccess;
  return cudaFuncSetAttribute(symbol, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
}

inline cudaError_t enqueue(const Launch& step, cudaStream_t stream) {
  const void* symbol = function(step.function);
  const cudaError_t error = configure(step, symbol);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute attributes[3];
  unsigned int count = 0;
  if (step.has_cluster) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = step.cluster.x;
    attributes[count].val.clusterDim.y = step.cluster.y;
    attributes[count].val.clusterDim.z = step.cluster.z;
    ++count;
  }
  if (step.cooperative) {
    attributes[count].id = cudaLaunchAttributeCooperative;
    attributes[count].val.cooperative = 1;
    ++count;
  }
  if (step.programmatic_dependent) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count].val.programmaticStreamSerializationAllowed = 1;
    ++count;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = step.grid;
  config.blockDim = step.block;
  config.dynamicSmemBytes = step.shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  void* arguments[kMaximumArguments];
  for (int i = 0; i < step.argument_count; ++i)
    arguments[i] = const_cast<unsigned char*>(step.arguments) + step.argument_offset[i];
  return cudaLaunchKernelExC(&config, symbol, arguments);
}

// Looks at nothing: what a plan refuses, it refuses before anything is launched.
struct Reader {
  bool encodes_tensor_maps() const { return false; }
  cudaError_t launch(const Launch&) { return cudaSuccess; }
  cudaError_t memset(void*, int, std::size_t) { return cudaSuccess; }
  cudaError_t copy(void*, const void*, std::size_t) { return cudaSuccess; }
  cudaError_t pointers(void**, const void* const*, int) { return cudaSuccess; }
};

// The fewest CTAs of a plan's launches that an SM holds at once.
struct Residency {
  int ctas_per_sm;
  bool encodes_tensor_maps() const { return false; }
  cudaError_t launch(const Launch& step) {
    const void* symbol = function(step.function);
    cudaError_t error = configure(step, symbol);
    if (error != cudaSuccess) return error;
    int count = 0;
    const int threads = static_cast<int>(step.block.x * step.block.y * step.block.z);
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, symbol, threads, step.shared_bytes);
    if (error == cudaSuccess && (ctas_per_sm == 0 || count < ctas_per_sm)) ctas_per_sm = count;
    return error;
  }
  cudaError_t memset(void*, int, std::size_t) { return cudaSuccess; }
  cudaError_t copy(void*, const void*, std::size_t) { return cudaSuccess; }
  cudaError_t pointers(void**, const void* const*, int) { return cudaSuccess; }
};

// Puts the steps of a plan on a stream, in order.
class Enqueuer {
 public:
  Enqueuer(cudaStream_t stream, std::string* why) : stream_(stream), why_(why) {}
  bool encodes_tensor_maps() const { return true; }
  cudaError_t launch(const Launch& step) {
    return explain(enqueue(step, stream_), step.name, why_);
  }
  cudaError_t memset(void* address, int byte_value, std::size_t bytes) {
    return explain(cudaMemsetAsync(address, byte_value, bytes, stream_), "memset", why_);
  }
  cudaError_t copy(void* to, const void* from, std::size_t bytes) {
    return explain(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copy", why_);
  }
  // From host memory that is freed at once, to which a graph would come back.
  cudaError_t write(void* to, const std::vector<unsigned char>& contents) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream_, &status);
    if (error != cudaSuccess || status != cudaStreamCaptureStatusNone)
      return explain(error != cudaSuccess ? error : cudaErrorStreamCaptureUnsupported, "starting contents", why_);
    return explain(cudaMemcpyAsync(to, contents.data(), contents.size(), cudaMemcpyHostToDevice, stream_),
                   "starting contents", why_);
  }
  cudaError_t pointers(void** at, const void* const* targets, int count) {
    return explain(write_pointers(at, targets, count, stream_), "array of pointers", why_);
  }

 private:
  cudaStream_t stream_;
  std::string* why_;
};

}  // namespace detail
