// Cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

template <unsigned int width>
__device__ float tile_sum(cg::thread_block_tile<width> tile, float value) {
  for (unsigned int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
  return tile.shfl(value, 0);
}

extern "C" __global__ void groups(const float* in, float* out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto tile = cg::tiled_partition<8>(block);
  const unsigned int rank = block.thread_rank();
  float* const row = out + 8 * rank;
  row[0] = tile_sum<32>(warp, in[rank]);
  row[1] = tile_sum<8>(tile, in[rank]);
  row[2] = cg::reduce(tile, in[rank], cg::greater<float>());
  row[3] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * block.size();
  row[4] = tile.ballot(in[rank] > 10.0f) + (tile.any(in[rank] > 40.0f) ? 1000 : 0);
  block.sync();
  row[5] = row[6] = 0;
  if (rank % 3 == 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    row[5] = active.thread_rank() + 100 * active.size();
    row[6] = active.shfl(in[rank], 1);
  }
  const double2 pair = warp.shfl_xor(make_double2(in[rank], rank), 1);
  row[7] = (float)(pair.x + 1000 * pair.y);
  cg::sync(block);
}
