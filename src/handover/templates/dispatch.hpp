// Dispatch table for @problem@, from @device@ (@deviceId@):
//   @rows@
//
// A call goes to the entry with the same values of the dimensions that have but a few, nearest in the logarithms of the
// others, among those whose kernel takes the call; of equally near ones to the first. Compile every *_launch.cu once.
#pragma once

@each kernels@
#include "@folder@/@folder@_launch.hpp"
@end@

namespace @name@ {

typedef @fallback@::Dimensions Dimensions;
typedef @fallback@::Buffers Buffers;
typedef @fallback@::Sizes Sizes;

namespace detail {

@each kernels@
inline @folder@::Dimensions dimensions_@index@(const Dimensions& from) {
  @folder@::Dimensions to;
  to.@dimensionFields@ = from.@dimensionFields@;
  return to;
}
inline @folder@::Buffers buffers_@index@(const Buffers& from) {
  @folder@::Buffers to;
  to.@bufferFields@ = from.@bufferFields@;
  return to;
}
inline Sizes sizes_@index@(const @folder@::Sizes& from) {
  Sizes to;
  to.@sizeFields@ = from.@sizeFields@;
  return to;
}

@end@
inline double distance(double value, double other);

// Whether an entry can have the call, and how far from it the entry is.
inline bool measure(int entry, const Dimensions& dimensions, double* away) {
  switch (entry) {
@each entries@
    case @entry@:  // @workload@
@if isCategorical@
      if (!(@same@)) return false;
@end@
      *away = @distance@;
      return @folder@::takes(dimensions_@index@(dimensions));
@end@
  }
  return false;
}

inline double distance(double value, double other) {
  const double difference = std::log(value < 1 ? 1 : value) - std::log(other < 1 ? 1 : other);
  return difference * difference;
}

}  // namespace detail

// The entry of the table a call goes to; -1 for the fallback.
inline int choose(const Dimensions& dimensions) {
  int chosen = -1;
  double nearest = 0;
  for (int entry = 0; entry < @entryCount@; ++entry) {
    double away = 0;
    if (!detail::measure(entry, dimensions, &away)) continue;
    if (chosen >= 0 && !(away < nearest - @tie@)) continue;
    chosen = entry;
    nearest = away;
  }
  return chosen;
}

// Name of the workload whose winner a call gets, for logs.
inline const char* chosen_workload(const Dimensions& dimensions) {
  static const char* const names[] = {@workloads@};
  return names[choose(dimensions) + 1];
}

// Bytes of every buffer and of the workspace, for the kernel that the call goes to.
inline cudaError_t sizes(const Dimensions& dimensions, Sizes* sizes, std::string* why = nullptr) {
  switch (choose(dimensions)) {
@each targets@
    @label@: {
      @folder@::Sizes chosen;
      const cudaError_t error = @folder@::sizes(detail::dimensions_@index@(dimensions), &chosen, why);
      if (error == cudaSuccess) *sizes = detail::sizes_@index@(chosen);
      return error;
    }
@end@
  }
}

// Once for each workspace and each set of dimensions, before the first launch.
inline cudaError_t prepare(const Dimensions& dimensions, void* workspace, cudaStream_t stream, std::string* why = nullptr) {
  switch (choose(dimensions)) {
@each targets@
    @label@: {
      return @folder@::prepare(detail::dimensions_@index@(dimensions), workspace, stream, why);
    }
@end@
  }
}

// Puts the chosen kernel on a stream. The workspace has at least sizes().workspace_bytes bytes.
inline cudaError_t launch(const Dimensions& dimensions, const Buffers& buffers, void* workspace, std::size_t workspace_bytes,
                          cudaStream_t stream, std::string* why = nullptr) {
  switch (choose(dimensions)) {
@each targets@
    @label@: {
      return @folder@::launch(detail::dimensions_@index@(dimensions), detail::buffers_@index@(buffers), workspace,
                      workspace_bytes, stream, why);
    }
@end@
  }
}

}  // namespace @name@
