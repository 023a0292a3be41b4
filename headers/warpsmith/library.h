// What C's headers give a kernel: memory functions, printf, assert.
#pragma once

// Known to clang by name, hence C linkage. printf becomes a call of vprintf, which needs a device that prints.
extern "C" __device__ int printf(const char* format, ...);
extern "C" __device__ int vprintf(const char* format, void* arguments);
// What they give outlives the launch, and with it the check of one launch.
#define __WS_NO_HEAP __attribute__((unavailable("the device heap outlives a launch; declare a workspace in kernel.json instead")))
extern "C" __device__ void* malloc(size_t bytes) __WS_NO_HEAP;
extern "C" __device__ void free(void* pointer) __WS_NO_HEAP;

__WS_BOTH void* memcpy(void* to, const void* from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
__WS_BOTH void* memset(void* to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }

__WS_DEVICE void __ws_assertion_failed() { __builtin_trap(); }
