// What the launch header needs of the CUDA runtime, for a host compiler without it. Nothing runs.
#pragma once
#include <cstddef>

#define CUDART_VERSION 13000

typedef enum { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorStreamCaptureUnsupported = 900 } cudaError_t;
typedef enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToDevice = 3 } cudaMemcpyKind;
typedef enum { cudaStreamCaptureStatusNone = 0, cudaStreamCaptureStatusActive = 1 } cudaStreamCaptureStatus;
typedef struct CUstream_st* cudaStream_t;

struct dim3 {
  unsigned int x, y, z;
  dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
};

struct cudaFuncAttributes {
  int maxDynamicSharedSizeBytes;
  int preferredShmemCarveout;
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize,
  cudaFuncAttributePreferredSharedMemoryCarveout,
  cudaFuncAttributeNonPortableClusterSizeAllowed
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin };
enum cudaLaunchAttributeID {
  cudaLaunchAttributeClusterDimension,
  cudaLaunchAttributeCooperative,
  cudaLaunchAttributeProgrammaticStreamSerialization
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    struct { unsigned int x, y, z; } clusterDim;
    int cooperative;
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
};

// Each program says what these do.
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaDeviceGetAttribute(int*, cudaDeviceAttr, int);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*);
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t cudaMemsetAsync(void*, int, std::size_t, cudaStream_t);
cudaError_t cudaMemcpyAsync(void*, const void*, std::size_t, cudaMemcpyKind, cudaStream_t);
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus*);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int*, const void*, int, std::size_t);

// Tensor maps, asked of the driver at run time.
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess = 0, cudaDriverEntryPointSymbolNotFound = 1 };
enum { cudaEnableDefault = 0 };
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void**, unsigned int, unsigned long long,
                                             cudaDriverEntryPointQueryResult*);
