// Compile with nvcc: binds @name@_launch.hpp to the kernel, whose names are all its own.
#include "@name@_launch.hpp"

@if includes@
// What the kernel includes, outside its namespace.
@end@
@each includes@
#if __has_include(<@header@>)
#include <@header@>
#endif
@end@

@each plainNames@
#define @plain@ @name@_@plain@
@end@

namespace @name@ {
namespace device_code {
#include "@sources@"

const void* const functions[] = {
    reinterpret_cast<const void*>(&@functions@),
};
}  // namespace device_code

const void* function(int index) { return device_code::functions[index]; }

namespace detail {
@if usesPointers@
const int kPointersPerLaunch = 64;
struct Pointers {
  const void* targets[kPointersPerLaunch];
};
__global__ void store_pointers(void** at, Pointers pointers, int count) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < count) at[i] = const_cast<void*>(pointers.targets[i]);
}
cudaError_t write_pointers(void** at, const void* const* targets, int count, cudaStream_t stream) {
  for (int first = 0; first < count; first += kPointersPerLaunch) {
    const int part = count - first < kPointersPerLaunch ? count - first : kPointersPerLaunch;
    Pointers pointers = {};
    for (int i = 0; i < part; ++i) pointers.targets[i] = targets[first + i];
    store_pointers<<<1, kPointersPerLaunch, 0, stream>>>(at + first, pointers, part);
  }
  return cudaGetLastError();
}
@else@
cudaError_t write_pointers(void**, const void* const*, int, cudaStream_t) { return cudaErrorInvalidValue; }
@end@
}  // namespace detail
}  // namespace @name@
