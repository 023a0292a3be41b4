#include <cassert>
#include <cstdio>

// Every thread prints one line; some say more.
extern "C" __global__ void lines(const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int taken = printf("i=%d x=%6.2f %s %lld%%\n", i, x[i], i % 2 ? "odd" : "even", 1ll << 40);
  if (threadIdx.x == 0) printf("took %d\n", taken);
}

// A line in pieces, and one without an end.
extern "C" __global__ void pieces(const float* x, int n) {
  for (int i = 0; i < 3; i++) printf("%g ", x[i]);
  if (threadIdx.x == 0) printf("end\nsecond \x1b[2J");
}

extern "C" __global__ void without_format(int* taken) {
  const char* volatile none = nullptr;
  *taken = printf(none);
}

extern "C" __global__ void wrong_text(const float* x, int n) { printf("%s\n", (const char*)n); }

// Texts without a NUL.
extern "C" __global__ void bounded(const char* four) { printf("%.4s|%.*s\n", four, 2, four + 2); }

extern "C" __global__ void asserts(const float* x, int n) {
  printf("before\n");
  assert(x[threadIdx.x] < 3.0f && "too large");
}

// The first block stops while the others have long printed.
extern "C" __global__ void stops_first(const float* x, int n) {
  if (blockIdx.x == 0) {
    for (int i = 0; i < 300 * n; i++) asm volatile("");
    __trap();
  }
  printf("late\n");
}
