// Ends the program when a call of the CUDA runtime fails, and says which.
#pragma once
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                           \
  do {                                                                        \
    cudaError_t error = (call);                                               \
    if (error != cudaSuccess) {                                               \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));          \
      exit(1);                                                                \
    }                                                                         \
  } while (0)
