// Why do launches of a few microseconds take some 155 ns longer once a GPU has worked for 30 to 80 ms? Replays of 108 short launches, each replay
// behind a kernel that draws inputs and one that spins until the graph is submitted, as warpsmith does. Of every replay: nanoseconds per launch, and of
// its CTA 0 the clocks from its first instruction to its last, and the nanoseconds from there to the first of the next launch. Behind every replay one
// warp measures latencies: dependent loads from L2, from DRAM and from shared memory, in SM clocks; and the SM's clock.
//
// Prints a JSON line per replay. Each mode is a list of what is done besides, and runs in a process of its own after 4 s in which the GPU is idle:
//   pause   1 ms between replays           heavy   each replay behind 2 ms on all SMs
//   two     another process does the same  warm    another stream of this process keeps one SM busy
//   hold    what comes before a replay is a kernel that polls a word of the host's memory until all is submitted, not one that spins
//   value   before a replay the stream waits for that word (cuStreamWaitValue32)
//   alone   108 launches one by one behind each replay, each behind a kernel that overwrites all shared memory
//   counts  behind each replay a kernel writes to the host's memory
//   persist cudaCtxResetPersistingL2Cache before each replay; "once": before the first
//   copy    before each replay 4 bytes go to the GPU by cudaMemcpy, on the default stream, "long": 256 KiB; "set": cudaMemset; "async": on the
//           replays' own stream
//   device  what waits for the GPU before a replay is cudaDeviceSynchronize
//   free    before each replay 1 MiB is allocated and freed
//   nvcc -std=c++17 -arch=sm_90a -O2 -o two-levels two-levels.cu -ldl && ./two-levels SECONDS
// docs/results/h200-two-levels.json has rows of four runs, made before what two programs share moved to short-launches.cuh.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <chrono>
#include <cstring>
#include "short-launches.cuh"

const size_t kLong = 256 << 10;                                      // bytes
const int kChain = 256;                                              // dependent loads of a latency
const size_t kNear = size_t(1) << 18, kFar = size_t(1) << 27;        // words that stay in L2; that do not

struct Stamp {
  long long clocks;             // from the first instruction of CTA 0 to its last
  unsigned long long from, to;  // ns
};

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void sum(const float *in, float *out, Stamp *stamp) {
  const unsigned long long from = nanoseconds();
  const long long first = clock64();
  sum_of_cta(in, out);
  if (blockIdx.x == 0 && threadIdx.x == 0) *stamp = {clock64() - first, from, nanoseconds()};
}

// Waits for the host's word, or 20 ms.
__global__ void hold(const volatile unsigned *word) {
  const unsigned long long end = nanoseconds() + 20000000;
  while (*word == 0 && nanoseconds() < end) {
  }
}

__global__ void count(const float *values, size_t n, unsigned *counts) {
  unsigned same = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) same += values[i] != 0;
  atomicAdd(counts, same);
}

// A ring of words, each of which is the place of the next, `stride` on.
__global__ void link(unsigned *words, size_t count, size_t stride) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) words[i] = (i + stride) % count;
}

struct Latencies {
  long long l2, dram, shared, clocks;
  unsigned long long ns;
};

__global__ void probe(const unsigned *near, const unsigned *far, unsigned start, Latencies *result, unsigned *sink) {
  __shared__ volatile unsigned ring[64];
  for (int i = 0; i < 64; i++) ring[i] = (i + 7) % 64;
  unsigned at = start % kNear, total = 0;
  for (int i = 0; i < 16; i++) at = __ldcg(near + at);  // the page's translation
  const unsigned long long ns = nanoseconds();
  const long long t0 = clock64();
  for (int i = 0; i < kChain; i++) at = __ldcg(near + at);
  total += at;
  const long long t1 = clock64() + (total == ~0u);
  at = start % kFar;
  for (int i = 0; i < kChain / 4; i++) at = __ldcg(far + at);
  total += at;
  const long long t2 = clock64() + (total == ~0u);
  at = 0;
  for (int i = 0; i < kChain; i++) at = ring[at];
  total += at;
  const long long t3 = clock64() + (total == ~0u);
  *result = {t1 - t0, t2 - t1, t3 - t2, t3 - t0, nanoseconds() - ns};
  *sink = total;
}

// NVML's clocks, if the library is there: graphics, SM, memory, video in MHz, and mW.
struct Board {
  void *device = nullptr;
  int (*clock)(void *, int, unsigned *) = nullptr;
  int (*power)(void *, unsigned *) = nullptr;
  Board() {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) return;
    auto init = (int (*)())dlsym(library, "nvmlInit_v2");
    auto handle = (int (*)(unsigned, void **))dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    if (init() || handle(0, &device)) return;
    clock = (int (*)(void *, int, unsigned *))dlsym(library, "nvmlDeviceGetClockInfo");
    power = (int (*)(void *, unsigned *))dlsym(library, "nvmlDeviceGetPowerUsage");
  }
  void print(const char *mode, double seconds) {
    if (!clock) return;
    unsigned mhz[4] = {}, mw = 0;
    for (int i = 0; i < 4; i++) clock(device, i, &mhz[i]);
    power(device, &mw);
    printf("{\"mode\": \"%s\", \"s\": %.4f, \"graphicsMhz\": %u, \"smMhz\": %u, \"memoryMhz\": %u, \"videoMhz\": %u, \"mw\": %u}\n", mode, seconds, mhz[0],
           mhz[1], mhz[2], mhz[3], mw);
  }
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Replays for so many seconds, and prints a line for each if it is the one that is watched.
void run(const char *mode, double seconds, bool prints) {
  float *slots;
  unsigned *near, *far, *sink;
  Stamp *stamps;
  Latencies *latencies;
  cudaStream_t stream, other;
  cudaEvent_t from, to;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  CHECK(cudaMalloc(&slots, kLaunches * kSlot * sizeof(float)));
  CHECK(cudaMalloc(&near, kNear * 4));
  CHECK(cudaMalloc(&far, kFar * 4));
  CHECK(cudaMalloc(&sink, 4));
  CHECK(cudaMallocHost(&stamps, kLaunches * sizeof(Stamp)));
  CHECK(cudaMallocHost(&latencies, sizeof(Latencies)));
  link<<<264, 256, 0, stream>>>(near, kNear, 1031 * 32);
  link<<<264, 256, 0, stream>>>(far, kFar, 1048583 * 32);
  Stamp *device_stamps;
  Latencies *device_latencies;
  CHECK(cudaMalloc(&device_stamps, (kLaunches + 1) * sizeof(Stamp)));
  CHECK(cudaMalloc(&device_latencies, sizeof(Latencies)));
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kLaunches; i++) sum<<<kCtas, kThreads, 0, stream>>>(slots + i * kSlot, slots + i * kSlot + kIn, device_stamps + i);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&replay, graph, 0));
  CHECK(cudaGraphUpload(replay, stream));
  CHECK(cudaDeviceSynchronize());
  Board board;
  usleep(4000000);
  const auto has = [&](const char *what) { return strstr(mode, what) != nullptr; };
  unsigned *word, *device_word, *counts, *device_counts;
  CHECK(cudaHostAlloc(&word, 64, cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&device_word, word, 0));
  CHECK(cudaHostAlloc(&counts, kLong, cudaHostAllocMapped));
  CHECK(cudaHostGetDevicePointer(&device_counts, counts, 0));
  CHECK(cudaFuncSetAttribute(scrub, cudaFuncAttributeMaxDynamicSharedMemorySize, kScrubbed));
  void *wait_value = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &wait_value, 12000, cudaEnableDefault, &found));
  const double began = now();
  int replays = 0;
  for (double at = 0; at < seconds; replays++) {
    if (has("copy")) CHECK(cudaMemcpy(slots, counts, has("long") ? kLong : 4, cudaMemcpyHostToDevice));
    if (has("set")) CHECK(cudaMemset(slots, 0, has("long") ? kLong : 4));
    if (has("async")) CHECK(cudaMemcpyAsync(sink, counts, 4, cudaMemcpyHostToDevice, stream));
    if (has("free")) {
      void *memory;
      CHECK(cudaMalloc(&memory, 1 << 20));
      CHECK(cudaFree(memory));
    }
    if (has("persist") && !(has("once") && replays > 0)) CHECK(cudaCtxResetPersistingL2Cache());
    if (has("warm") && replays % 8 == 0) spin<<<1, 32, 0, other>>>(1980 * 6000ll);
    if (has("heavy")) spin<<<132, 1024, 0, stream>>>(1980 * 2000ll);
    draw<<<264, 256, 0, stream>>>(slots, kLaunches * kSlot, rand());
    if (has("alone")) scrub<<<132, 1024, kScrubbed, stream>>>(rand());
    *(volatile unsigned *)word = 0;
    if (has("device")) CHECK(cudaDeviceSynchronize());
    if (has("hold") || has("value")) CHECK(cudaStreamSynchronize(stream));
    if (has("hold")) {
      hold<<<1, 1, 0, stream>>>(device_word);
    } else if (has("value")) {
      if (((CUresult(*)(CUstream, CUdeviceptr, cuuint32_t, unsigned))wait_value)(stream, (CUdeviceptr)device_word, 1, CU_STREAM_WAIT_VALUE_EQ)) exit(1);
    } else {
      spin<<<1, 32, 0, stream>>>(1980 * 200ll);
    }
    CHECK(cudaEventRecord(from, stream));
    CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(to, stream));
    *(volatile unsigned *)word = 1;
    if (has("hold") || has("value")) CHECK(cudaStreamSynchronize(stream));
    if (has("alone")) {
      for (int i = 0; i < kLaunches; i++) {
        scrub<<<132, 1024, kScrubbed, stream>>>(rand());
        sum<<<kCtas, kThreads, 0, stream>>>(slots + i * kSlot, slots + i * kSlot + kIn, device_stamps + kLaunches);
      }
    }
    if (has("counts")) count<<<264, 256, 0, stream>>>(slots, kLaunches * kSlot, device_counts);
    probe<<<1, 1, 0, stream>>>(near, far, rand(), device_latencies, sink);
    CHECK(cudaMemcpyAsync(stamps, device_stamps, kLaunches * sizeof(Stamp), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(latencies, device_latencies, sizeof(Latencies), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    at = now() - began;
    float ms;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    double inside = 0, between = 0;
    for (int i = 0; i + 1 < kLaunches; i++) {
      inside += double(stamps[i].clocks) / (kLaunches - 1);
      between += (double(stamps[i + 1].from) - double(stamps[i].to)) / (kLaunches - 1);
    }
    // Of the first 300 ms each replay, then every tenth.
    if (prints && (at < 0.3 || replays % 10 == 0)) {
      printf("{\"mode\": \"%s\", \"s\": %.4f, \"nsPerLaunch\": %.1f, \"inside\": %.0f, \"betweenNs\": %.0f, \"l2\": %.1f, \"dram\": %.1f, \"shared\": %.1f, \"mhz\": %.0f}\n",
             mode, at, ms * 1e6 / kLaunches, inside, between, double(latencies->l2) / kChain,
             double(latencies->dram) / (kChain / 4), double(latencies->shared) / kChain, latencies->clocks * 1e3 / latencies->ns);
      if (replays % 100 == 0) board.print(mode, at);
    }
    if (has("pause")) usleep(1000);
  }
  fflush(stdout);
}

int main(int count, char **values) {
  const double seconds = count > 1 ? atof(values[1]) : 2;
  for (const char *mode : {"spin", "hold", "async", "free", "copy", "set", "copy long", "set long", "persist", "persist device", "persist once", "persist two", "warm"}) {
    // Each mode in processes of its own, so that none finds another's context.
    const int processes = strstr(mode, "two") ? 2 : 1;
    for (int i = 0; i < processes; i++) {
      if (fork()) continue;
      run(mode, seconds, i == 0);
      _exit(0);
    }
    int status;
    while (wait(&status) > 0)
      if (status) return 1;
  }
}
