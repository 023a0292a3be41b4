// Host-side names that may stand in a kernel file beside device code. Declared, so that the file compiles; none of them is
// ever called, because only device code is taken from a kernel.
#pragma once

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 };
typedef cudaError cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

// What clang looks for when it sees f<<<grid, block, sharedBytes, stream>>>(...).
extern "C" int cudaConfigureCall(dim3 grid, dim3 block, size_t shared_bytes = 0, void* stream = nullptr);

cudaError_t cudaGetLastError();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaMalloc(void** pointer, size_t bytes);
template <typename __ws_type>
cudaError_t cudaMalloc(__ws_type** pointer, size_t bytes) { return cudaMalloc((void**)pointer, bytes); }
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* pointer, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream = nullptr);
template <typename __ws_function>
cudaError_t cudaFuncSetAttribute(__ws_function* function, cudaFuncAttribute attribute, int value);
