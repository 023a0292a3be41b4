// How much of the host's time a replay of short launches contains when the GPU has nothing to do while the graph is submitted: replays of 108 launches of
// a kernel of 16 CTAs, behind a pause, and behind a pause and something that keeps the GPU busy meanwhile. Inputs are drawn and shared memory is
// overwritten before each, as warpsmith does.
//
// Prints a JSON line per case, in nanoseconds per launch: the first replay, and least, median and most of all.
//   nvcc -std=c++17 -arch=sm_90a -O2 -o submitted-late submitted-late.cu && ./submitted-late
// `graphsAgain` of docs/results/h200-short-rows.json has the rows of a run, made before what two programs share moved to short-launches.cuh.
#include "short-launches.cuh"

const long long kClocksPerUs = 1900;

__global__ void sum(const float *in, float *out) { sum_of_cta(in, out); }

__global__ void stream_through(float4 *values, size_t n, int rounds) {
  for (int r = 0; r < rounds; r++)
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) values[i].x += 1;
}

int main() {
  const size_t n = size_t(16) << 20;
  float *slots;
  float4 *memory;
  cudaStream_t stream;
  cudaEvent_t from, to;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  CHECK(cudaFuncSetAttribute(scrub, cudaFuncAttributeMaxDynamicSharedMemorySize, kScrubbed));
  CHECK(cudaMalloc(&slots, kLaunches * kSlot * sizeof(float)));
  CHECK(cudaMalloc(&memory, n * sizeof(float4)));
  CHECK(cudaMemset(memory, 0, n * sizeof(float4)));

  cudaGraph_t graph;
  cudaGraphExec_t replay;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kLaunches; i++) sum<<<kCtas, kThreads, 0, stream>>>(slots + i * kSlot, slots + i * kSlot + kIn);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&replay, graph, 0));
  CHECK(cudaGraphUpload(replay, stream));

  auto timed = [&] {
    CHECK(cudaEventRecord(from, stream));
    CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(to, stream));
    CHECK(cudaStreamSynchronize(stream));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    return ms * 1e6 / kLaunches;
  };
  for (int i = 0; i < 500; i++) timed();
  const char *names[] = {"nothing", "spin on all SMs", "spin on one SM", "stream through memory"};
  for (int pause : {2000, 10000, 30000})
    for (int kind = 0; kind < 4; kind++)
      for (int us : {100, 500, 1000, 2000, 5000, 10000, 20000}) {
        if (kind == 0 && us > 100) continue;
        std::vector<double> ns;
        for (int i = 0; i < (us + pause > 20000 ? 12 : 20); i++) {
          usleep(pause);
          if (kind == 1) spin<<<132, 1024, 0, stream>>>(us * kClocksPerUs);
          if (kind == 2) spin<<<1, 32, 0, stream>>>(us * kClocksPerUs);
          if (kind == 3) stream_through<<<528, 512, 0, stream>>>(memory, n, us / 140 + 1);
          draw<<<264, 256, 0, stream>>>(slots, kLaunches * kSlot, rand());
          scrub<<<132, 1024, kScrubbed, stream>>>(rand());
          ns.push_back(timed());
        }
        double first = ns[0];
        std::sort(ns.begin(), ns.end());
        printf("{\"pauseUs\": %d, \"before\": \"%s\", \"us\": %d, \"first\": %.0f, \"least\": %.0f, \"median\": %.0f, \"most\": %.0f}\n", pause, names[kind],
               kind ? us : 0, first, ns.front(), ns[ns.size() / 2], ns.back());
        fflush(stdout);
      }
}
