// Runs @name@ once on @workload@ with made-up inputs. See README.md for how to compile it.
#include "@name@_launch.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

std::string why;

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s %s\n", what, cudaGetErrorString(error), why.c_str());
  std::exit(1);
}

// Uniform in [0, 1): the same numbers in every run.
double draw() {
  static std::uint64_t state = 1;
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<double>(state >> 11) / 9007199254740992.0;
}

template <typename T>
double as_double(T value) { return static_cast<double>(value); }
template <typename T>
T from_double(double value) { return static_cast<T>(value); }
@each conversions@
inline double as_double(@type@ value) { return @toFloat@(value); }
template <>
inline @type@ from_double<@type@>(double value) { return @fromFloat@(static_cast<float>(value)); }
@end@

// Device memory of elements made by `element`.
template <typename T, typename Element>
void* filled(std::size_t bytes, Element element) {
  std::vector<T> host(bytes / sizeof(T));
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = from_double<T>(element(i));
  void* device = nullptr;
  require(cudaMalloc(&device, bytes), "cudaMalloc");
  require(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  return device;
}

// How many elements are NaN or infinite.
template <typename T>
std::size_t count_not_finite(const void* device, std::size_t bytes) {
  std::vector<T> host(bytes / sizeof(T));
  require(cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  std::size_t count = 0;
  for (const T& value : host) count += std::isfinite(as_double(value)) ? 0 : 1;
  if (!host.empty()) std::printf("first element %g\n", as_double(host[0]));
  return count;
}

}  // namespace

int main() {
  @name@::Dimensions dimensions;
@each dimensions@
  dimensions.@field@ = @value@;
@end@
  @name@::Sizes sizes;
  require(@name@::sizes(dimensions, &sizes, &why), "sizes");

  @name@::Buffers buffers;
@each buffers@
@if isInput@
  buffers.@field@ = filled<@type@>(sizes.@size@, [](@parameter@) { return @element@; });
@else@
  require(cudaMalloc(&buffers.@field@, sizes.@size@), "cudaMalloc");
  // All bits set are NaN in every floating type: what the kernel leaves out is found.
  require(cudaMemset(buffers.@field@, 0xff, sizes.@size@), "cudaMemset");
@end@
@end@
  void* workspace = nullptr;
  if (sizes.workspace_bytes > 0) require(cudaMalloc(&workspace, sizes.workspace_bytes), "cudaMalloc");

  cudaStream_t stream;
  require(cudaStreamCreate(&stream), "cudaStreamCreate");
  require(@name@::prepare(dimensions, workspace, stream, &why), "prepare");
  require(@name@::launch(dimensions, buffers, workspace, sizes.workspace_bytes, stream, &why), "launch");
  require(cudaStreamSynchronize(stream), "the kernel");

  std::size_t not_finite = 0;
@each buffers@
@if isOutput@
  std::printf("@output@: ");
  not_finite += count_not_finite<@type@>(buffers.@field@, sizes.@size@);
@end@
@end@
  std::printf("%zu elements are not finite\n", not_finite);
  return not_finite == 0 ? 0 : 1;
}
