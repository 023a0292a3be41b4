// @provenance@
//
// @problem@
//
// Launches @kernel@: include this header anywhere, and compile @name@_launch.cu with nvcc into the program.
//   @name@::Dimensions   the sizes of one call
//   @name@::takes()      whether the kernel takes them
//   @name@::sizes()      bytes of every buffer, and of the workspace
//   @name@::prepare()    once for each workspace, before its first launch
//   @name@::launch()     puts everything on a stream
// Each returns cudaErrorInvalidValue for what the kernel does not take, and says why in the text given.
#pragma once

#include <cuda_runtime.h>
@if usesTensorMaps@
#include <cuda.h>
@end@

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace @name@ {

struct Dimensions {
@each dimensions@
  std::int64_t @field@ = @initial@;  // @comment@
@end@
};

// Device pointers.
struct Buffers {
@each buffers@
  @type@ @field@ = nullptr;  // @comment@
@end@
};

// In bytes.
struct Sizes {
@each buffers@
  std::size_t @size@ = 0;
@end@
  std::size_t workspace_bytes = 0;  // device memory for launch(), aligned as cudaMalloc aligns it
};

const int kMaximumArguments = @maximumArguments@;
const int kMaximumArgumentBytes = @maximumArgumentBytes@;

// One launch with everything evaluated.
struct Launch {
  int function;  // index for function()
  const char* name;
  dim3 grid;
  dim3 block;
  dim3 cluster;
  bool has_cluster;
  bool cooperative;
  bool programmatic_dependent;
  int carve_out_percent;  // -1: the driver decides
  std::size_t shared_bytes;  // dynamic
  int argument_count;
  std::size_t argument_offset[kMaximumArguments];
  std::size_t argument_bytes[kMaximumArguments];
  alignas(64) unsigned char arguments[kMaximumArgumentBytes];
};

// What a plan depends on beside the dimensions.
struct Device {
  int sm_count = 1;
  int ctas_per_sm = 1;
  std::int64_t shared_bytes_per_cta = 0;
};

// @functions@. Defined beside the kernel.
const void* function(int index);
namespace detail {
cudaError_t write_pointers(void** at, const void* const* targets, int count, cudaStream_t stream);
}

@include numbers.hpp@

@include argument-writers.hpp@

@if usesTensorMaps@
@include tensor-maps.hpp@

@end@
@include launching.hpp@

namespace detail {

// Where everything lies.
struct Layout {
  Sizes sizes;
@each workspaces@
  std::int64_t @field@_offset = 0;  // in the workspace; @init@
  std::int64_t @field@_bytes = 0;
@end@
@each pointerTables@
  std::int64_t pointers_@index@ = 0;  // @path@
@end@
  std::int64_t total = 0;
};

}  // namespace detail

namespace detail {

// The names of kernel.json's expressions.
struct Scope {
  Device device;
@each members@
  Number @member@;@comment@
@end@

  Scope(const Dimensions& given, const Device& facts)
      : device(facts)
@each members@
      , @member@(@value@)
@end@
  {
    static_cast<void>(given);
  }

  // What the kernel takes.
  void verify(Check& check, const Dimensions& dimensions) const {
    @verification@
  }

  void measure(Check& check, Layout& layout) const {
    @measuring@
  }

@if kept@
  // What the kernel keeps from launch to launch, as it is before the first.
  cudaError_t start(Check& check, const Layout& layout, void* workspace, Enqueuer& enqueuer) const {
    cudaError_t error = cudaSuccess;
    @starting@
    return check.failed() ? cudaErrorInvalidValue : error;
  }

@end@
  template <typename Visitor>
  cudaError_t steps(Check& check, const Layout& layout, const Buffers& buffers, void* workspace,
                    Visitor& visitor) const {
    cudaError_t error = cudaSuccess;
    bool after_launch = false;
    int launches = 0;
    static_cast<void>(layout);
    static_cast<void>(buffers);
    static_cast<void>(workspace);
@each zeroed@
    error = visitor.memset(@base@, 0, static_cast<std::size_t>(@bytes@));
    if (error != cudaSuccess) return error;
@end@
    @steps@
    static_cast<void>(after_launch);
    if (launches == 0) check.refuse_text("no step of kernel.json applies to these dimensions");
    return check.failed() ? cudaErrorInvalidValue : cudaSuccess;
  }
};

}  // namespace detail

// Shows every step of a call to a visitor with launch(const Launch&), memset(void*, int, std::size_t),
// copy(void*, const void*, std::size_t) and pointers(void**, const void* const*, int); nothing is launched, and pointers are not looked at.
template <typename Visitor>
inline cudaError_t plan(const Dimensions& dimensions, const Device& device, const Buffers& buffers, void* workspace,
                        Visitor& visitor, std::string* why = nullptr) {
  detail::Check check(why);
  const detail::Scope scope(dimensions, device);
  detail::Layout layout;
  scope.verify(check, dimensions);
  if (!check.failed()) scope.measure(check, layout);
  if (check.failed()) return cudaErrorInvalidValue;
  return scope.steps(check, layout, buffers, workspace, visitor);
}

// Whether the kernel takes a call of these dimensions, as far as its limits say.
inline bool takes(const Dimensions& dimensions, std::string* why = nullptr) {
  detail::Check check(why);
  detail::Scope(dimensions, Device()).verify(check, dimensions);
  return !check.failed();
}

// What the current device is to a plan.
inline cudaError_t current_device(const Dimensions& dimensions, Device* device, std::string* why = nullptr) {
  int ordinal = 0;
  int shared_bytes = 0;
  cudaError_t error = cudaGetDevice(&ordinal);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&device->sm_count, cudaDevAttrMultiProcessorCount, ordinal);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal);
  if (error != cudaSuccess) return detail::explain(error, "device", why);
  device->shared_bytes_per_cta = shared_bytes;
  device->ctas_per_sm = 1;
@if usesResidency@
  detail::Residency residency = {0};
  error = plan(dimensions, *device, Buffers(), nullptr, residency, why);
  if (residency.ctas_per_sm > 1) device->ctas_per_sm = residency.ctas_per_sm;
  return error;
@else@
  static_cast<void>(dimensions);
  return cudaSuccess;
@end@
}

// Bytes of every buffer and of the workspace.
inline cudaError_t sizes(const Dimensions& dimensions, Sizes* sizes, std::string* why = nullptr) {
  Device device;
  const cudaError_t error = current_device(dimensions, &device, why);
  if (error != cudaSuccess) return error;
  detail::Check check(why);
  const detail::Scope scope(dimensions, device);
  detail::Layout layout;
  scope.verify(check, dimensions);
  if (!check.failed()) scope.measure(check, layout);
  if (check.failed()) return cudaErrorInvalidValue;
  *sizes = layout.sizes;
  return cudaSuccess;
}

@if kept@
// Fills what the kernel keeps from launch to launch, as it is before the first. Not while a stream is captured.
inline cudaError_t prepare(const Dimensions& dimensions, void* workspace, cudaStream_t stream,
                           std::string* why = nullptr) {
  Device device;
  const cudaError_t error = current_device(dimensions, &device, why);
  if (error != cudaSuccess) return error;
  detail::Check check(why);
  const detail::Scope scope(dimensions, device);
  detail::Layout layout;
  scope.verify(check, dimensions);
  if (!check.failed()) scope.measure(check, layout);
  if (check.failed()) return cudaErrorInvalidValue;
  detail::Enqueuer enqueuer(stream, why);
  return scope.start(check, layout, workspace, enqueuer);
}
@else@
// Nothing of this workspace needs it; it is there so that callers need not know.
inline cudaError_t prepare(const Dimensions& dimensions, void* workspace, cudaStream_t stream,
                           std::string* why = nullptr) {
  static_cast<void>(dimensions);
  static_cast<void>(workspace);
  static_cast<void>(stream);
  static_cast<void>(why);
  return cudaSuccess;
}
@end@

// Puts the whole launch sequence on a stream. The workspace has at least sizes().workspace_bytes bytes.
inline cudaError_t launch(const Dimensions& dimensions, const Buffers& buffers, void* workspace,
                          std::size_t workspace_bytes, cudaStream_t stream, std::string* why = nullptr) {
  Device device;
  cudaError_t error = current_device(dimensions, &device, why);
  if (error != cudaSuccess) return error;
  detail::Check check(why);
  const detail::Scope scope(dimensions, device);
  detail::Layout layout;
  scope.verify(check, dimensions);
  if (!check.failed()) scope.measure(check, layout);
@each buffers@
  if (layout.sizes.@size@ > 0) check.aligned(buffers.@field@, @alignment@, @literal@);
@end@
  if (layout.total > 0) check.aligned(workspace, @workspaceAlignment@, "workspace");
  if (static_cast<std::size_t>(layout.total) > workspace_bytes)
    check.refuse_text("the workspace has " + detail::Check::print(static_cast<double>(workspace_bytes)) +
                      " bytes; expected " + detail::Check::print(static_cast<double>(layout.total)));
  if (check.failed()) return cudaErrorInvalidValue;
  detail::Reader reader;
  error = scope.steps(check, layout, buffers, workspace, reader);
  if (error != cudaSuccess) return error;
  detail::Enqueuer enqueuer(stream, why);
  return scope.steps(check, layout, buffers, workspace, enqueuer);
}

}  // namespace @name@
