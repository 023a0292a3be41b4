// A reduction with a barrier of the whole grid in its middle: no CTA may add up before all have written.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void sum_all(const unsigned *x, unsigned count, unsigned *partial, unsigned *y) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned threads = gridDim.x * blockDim.x;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = 0;
  for (unsigned i = thread; i < count; i += threads) sum += x[i];
  partial[thread] = sum;
  grid.sync();
  if (thread >= count) return;
  unsigned total = 0;
  for (unsigned i = 0; i < threads; ++i) total += partial[i];
  y[thread] = total + thread;
}
