// What a memset of a plan costs on a GPU, in a graph as warpsmith's own: sequences of a kernel alone, of a memset and the same kernel, and
// of a memset alone, one behind the other, for several sizes. The kernel adds to what the memset cleared, with one CTA or one for each multiprocessor.
//
// Prints one JSON object: for every size and grid the medians of nine replays of 200 sequences, in nanoseconds per sequence.
//   nvcc -std=c++17 -arch=native -O2 -o memsets memsets.cu && ./memsets > docs/results/h200-memsets.json
#include <algorithm>
#include <ctime>
#include <vector>
#include "../cuda-check.cuh"

const int SEQUENCES = 200, REPLAYS = 9;

__global__ void add(unsigned *counts, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[i], i + 1);
}

struct Kind {
  const char *name;
  bool clears, runs;
};
const Kind KINDS[] = {{"kernel", false, true}, {"memset and kernel", true, true}, {"memset", true, false}};

double medianNs(const Kind &kind, unsigned *counts, size_t bytes, int ctas) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < SEQUENCES; i++) {
    if (kind.clears) CHECK(cudaMemsetAsync(counts, 0, bytes, stream));
    if (kind.runs) add<<<ctas, 256, 0, stream>>>(counts, unsigned(bytes / 4));
  }
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t replay;
  CHECK(cudaGraphInstantiate(&replay, graph, 0));
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  std::vector<double> ns;
  for (int i = 0; i < REPLAYS + 3; i++) {
    CHECK(cudaEventRecord(from, stream));
    CHECK(cudaGraphLaunch(replay, stream));
    CHECK(cudaEventRecord(to, stream));
    CHECK(cudaStreamSynchronize(stream));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    if (i >= 3) ns.push_back(ms * 1e6 / SEQUENCES);
  }
  CHECK(cudaGraphExecDestroy(replay));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  std::sort(ns.begin(), ns.end());
  return ns[REPLAYS / 2];
}

int main() {
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  const size_t most = size_t(64) << 20;
  unsigned *counts;
  CHECK(cudaMalloc(&counts, most));
  char date[32];
  time_t now = time(nullptr);
  strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
  printf("{\n \"schemaVersion\": 1,\n \"device\": \"%s\",\n \"date\": \"%s\",\n \"sequences\": %d,\n \"rows\": [", device.name, date,
         SEQUENCES);
  const size_t sizes[] = {4, 1024, 65536, size_t(1) << 20, size_t(16) << 20, most};
  bool isFirst = true;
  for (int ctas : {1, device.multiProcessorCount})
    for (size_t bytes : sizes) {
      printf("%s\n  {\"bytes\": %zu, \"ctas\": %d", isFirst ? "" : ",", bytes, ctas);
      isFirst = false;
      for (const Kind &kind : KINDS) printf(", \"%s\": %.0f", kind.name, medianNs(kind, counts, bytes, ctas));
      printf("}");
    }
  printf("\n ]\n}\n");
  return 0;
}
