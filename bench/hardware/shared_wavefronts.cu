// How many shared-memory wavefronts real hardware needs for one warp-wide request of a given address pattern.
//
// Prints one JSON line per launch: {"op", "bytes", "offsets": [32 byte offsets]}. Run under Nsight Compute with the
// metrics l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum and …_op_st.sum and join by launch order:
//   nvcc -arch=sm_90 -o shared_wavefronts shared_wavefronts.cu
//   ncu --csv --page raw --metrics <both> --log-file ncu.csv ./shared_wavefronts > patterns.jsonl
// The recording in docs/results/ is what test/virtual-gpu/wavefronts compares the virtual GPU's count with.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr int kLanes = 32;
constexpr int kSharedBytes = 32768;

// One request per launch; the offsets come from memory so that the compiler cannot change the access.
template <int kBytes>
__global__ void load_once(const int* offsets, int* sink) {
  __shared__ __align__(16) unsigned char bytes[kSharedBytes];
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(bytes)) + offsets[threadIdx.x];
  uint32_t x = 0, y = 0, z = 0, w = 0;
  if constexpr (kBytes == 2) {
    uint16_t half;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(half) : "r"(address));
    x = half;
  } else if constexpr (kBytes == 4) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address));
  } else if constexpr (kBytes == 8) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(address));
  } else {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(address));
  }
  sink[threadIdx.x] = x ^ y ^ z ^ w;
}

template <int kBytes>
__global__ void store_once(const int* offsets, int* sink) {
  __shared__ __align__(16) unsigned char bytes[kSharedBytes];
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(bytes)) + offsets[threadIdx.x];
  const uint32_t value = sink[threadIdx.x];
  if constexpr (kBytes == 2)
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(static_cast<uint16_t>(value)) : "memory");
  else if constexpr (kBytes == 4)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
  else if constexpr (kBytes == 8)
    asm volatile("st.shared.v2.u32 [%0], {%1, %1};" ::"r"(address), "r"(value) : "memory");
  else
    asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(address), "r"(value) : "memory");
}

struct Pattern {
  int offsets[kLanes];
};

// Small deterministic generator, so that the patterns are the same everywhere.
uint32_t state = 12345;
uint32_t next_random() { return state = state * 1664525u + 1013904223u, state >> 8; }

std::vector<Pattern> patterns_for(int bytes) {
  std::vector<Pattern> patterns;
  auto add = [&](auto offset_of) {
    Pattern p;
    for (int lane = 0; lane < kLanes; ++lane) p.offsets[lane] = offset_of(lane) * bytes;
    patterns.push_back(p);
  };
  add([](int) { return 0; });
  add([](int lane) { return lane; });
  for (int group : {2, 4, 8, 16}) {
    add([=](int lane) { return lane % group; });
    add([=](int lane) { return lane / group; });
  }
  for (int stride : {2, 3, 4, 8, 16, 17, 32, 33}) add([=](int lane) { return lane * stride; });
  add([](int lane) { return lane ^ 1; });
  add([](int lane) { return 31 - lane; });
  add([](int lane) { return (lane % 8) * 9 + lane / 8; });
  add([](int lane) { return lane < 16 ? 0 : 8; });
  add([](int lane) { return lane < 16 ? 0 : 64; });
  add([](int lane) { return (lane & 1) * 32; });
  for (int range : {4, 8, 16, 32, 64, 256, 1024})
    for (int i = 0; i < 4; ++i) add([=](int) { return static_cast<int>(next_random() % range); });
  return patterns;
}

template <typename Kernel>
void run(const char* op, int bytes, Kernel kernel, int* offsets, int* sink) {
  for (const Pattern& pattern : patterns_for(bytes)) {
    cudaMemcpy(offsets, pattern.offsets, sizeof(pattern.offsets), cudaMemcpyHostToDevice);
    kernel<<<1, kLanes>>>(offsets, sink);
    printf("{\"op\":\"%s\",\"bytes\":%d,\"offsets\":[", op, bytes);
    for (int lane = 0; lane < kLanes; ++lane) printf("%s%d", lane ? "," : "", pattern.offsets[lane]);
    printf("]}\n");
  }
}

int main() {
  int *offsets, *sink;
  cudaMalloc(&offsets, kLanes * sizeof(int));
  cudaMalloc(&sink, kLanes * sizeof(int));
  cudaMemset(sink, 0, kLanes * sizeof(int));
  run("load", 2, load_once<2>, offsets, sink);
  run("load", 4, load_once<4>, offsets, sink);
  run("load", 8, load_once<8>, offsets, sink);
  run("load", 16, load_once<16>, offsets, sink);
  run("store", 4, store_once<4>, offsets, sink);
  run("store", 8, store_once<8>, offsets, sink);
  run("store", 16, store_once<16>, offsets, sink);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
