// 04_look_back: one launch, one pass: each tile looks back at what the tiles before it have published.
//
// Idea      A CTA reads its tile once, publishes the tile's sum, and finds out what all tiles before add up to by looking
//           back: a warp reads the words of the 32 tiles before, adds their sums up to the nearest tile that has published
//           its inclusive prefix, and goes on backwards while there is none. Then it publishes its own prefix, so later
//           tiles need not look further. (Merrill and Garland, "Single-pass parallel prefix scan with decoupled
//           look-back", 2016.)
// Change    From 03_shuffles: x is read once, so two passes over memory instead of three, and one launch instead of three.
//           Loads and stores of VECTOR_WIDTH elements, which also save shuffles: a lane adds its own elements first.
// Layouts   x, y: i32 [N]; published: u64 [tiles], state in the upper half, sum in the lower: both are written by one
//           store, so no fence is needed between them. grid = tiles, block = 32 * WARPS. Tiles are handed out by a
//           counter, not by blockIdx: a CTA waits only for tiles whose CTAs have started before, so it waits in vain in no
//           order of CTAs. A warp owns 32 * ITEMS neighbouring elements; round r of a lane is vector 32 * r + lane.
// Tile      32 * WARPS * ITEMS elements per CTA; zeros beyond the end.
// Resources 4 * (WARPS + 2) bytes of shared memory; ITEMS registers of elements per thread; 8 bytes of workspace per tile,
//           and 4, zeroed before every sequence.
// Bound     Two passes: N = 2^20 is 8.4 MB / 276 GB/s = 30 us on an L4 and 2 us on an H200, plus one launch. The look-back
//           is a chain over the tiles of a round trip to L2 for each step that finds no prefix: with 32 tiles a step,
//           some 300 tiles in flight are 10 steps.
// Limits    N <= 2^30 (indices are 32-bit); x and y aligned to 16 bytes. Sums are of unsigned words, which wrap as i32
//           must.
constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kItems = ITEMS;               // elements per thread
constexpr int kVectorWidth = VECTOR_WIDTH;  // elements per load and store
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kTile = kThreads * kItems;  // elements per CTA
constexpr int kRounds = kItems / kVectorWidth;
static_assert(kItems % kVectorWidth == 0, "a thread's elements must fill whole vectors");
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kLastLane = kWarpSize - 1;

// What a tile has published so far.
constexpr unsigned kNothing = 0;  // as zeroed
constexpr unsigned kSum = 1;      // of the tile alone
constexpr unsigned kPrefix = 2;   // of the tile and all before it
using Word = unsigned long long;  // state, sum

__device__ Word word_of(unsigned state, unsigned sum) { return static_cast<Word>(state) << 32 | sum; }
__device__ unsigned state_of(Word word) { return static_cast<unsigned>(word >> 32); }
__device__ unsigned sum_of(Word word) { return static_cast<unsigned>(word); }

// kCount neighbouring elements as one load or store; the address must be aligned to the whole.
template <int kCount>
struct alignas(sizeof(unsigned) * kCount) Vector {
  unsigned element[kCount];
};
using Items = Vector<kVectorWidth>;

__device__ unsigned scan_warp(unsigned value) {  // inclusive
  const int lane = threadIdx.x % kWarpSize;
#pragma unroll
  for (int offset = 1; offset < kWarpSize; offset *= 2) {
    const unsigned before = __shfl_up_sync(kAllLanes, value, offset);
    if (lane >= offset) value += before;
  }
  return value;
}

__device__ unsigned sum_warp(unsigned value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// The sum of all tiles before this one. All lanes of one warp call it, and have it.
__device__ unsigned look_back(const volatile Word* published, int tile) {
  const int lane = threadIdx.x % kWarpSize;
  unsigned prefix = 0;
  for (int nearest = tile - 1;; nearest -= kWarpSize) {
    const int mine = nearest - lane;  // lane 0 has the nearest tile
    Word word;
    unsigned with_prefix, missing;
    do {
      // Before the first tile all is known: nothing.
      word = mine >= 0 ? published[mine] : word_of(kPrefix, 0);
      with_prefix = __ballot_sync(kAllLanes, state_of(word) == kPrefix);
      missing = __ballot_sync(kAllLanes, state_of(word) == kNothing);
      // Tiles beyond the nearest prefix don't matter: the bits up to and including the lowest one set.
      if (with_prefix != 0) missing &= with_prefix ^ (with_prefix - 1);
    } while (missing != 0);
    const unsigned needed = with_prefix != 0 ? with_prefix ^ (with_prefix - 1) : kAllLanes;
    prefix += sum_warp((needed >> lane & 1) != 0 ? sum_of(word) : 0);
    if (with_prefix != 0) return prefix;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan(const unsigned* __restrict__ x,  // [N]
         unsigned* __restrict__ y,        // [N]
         volatile Word* published,        // [tiles], zero
         unsigned* next_tile,             // [1], zero
         int N) {
  __shared__ unsigned warp_sums[kWarps];
  __shared__ unsigned tiles_before;  // their sum
  __shared__ int shared_tile;
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  if (threadIdx.x == 0) shared_tile = static_cast<int>(atomicAdd(next_tile, 1u));
  __syncthreads();
  const int tile = shared_tile;

  const int first = tile * kTile + warp * kWarpSize * kItems + lane * kVectorWidth;
  const bool whole = (tile + 1) * kTile <= N;
  Items items[kRounds];  // elements, then prefix sums inside the warp
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int i = first + r * kWarpSize * kVectorWidth;
    if (whole) {
      items[r] = *reinterpret_cast<const Items*>(x + i);
    } else {
#pragma unroll
      for (int k = 0; k < kVectorWidth; ++k) items[r].element[k] = i + k < N ? x[i + k] : 0;
    }
  }

  unsigned warp_sum = 0;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
#pragma unroll
    for (int k = 1; k < kVectorWidth; ++k) items[r].element[k] += items[r].element[k - 1];
    const unsigned own = items[r].element[kVectorWidth - 1];
    const unsigned inclusive = scan_warp(own);
    const unsigned before = warp_sum + inclusive - own;
#pragma unroll
    for (int k = 0; k < kVectorWidth; ++k) items[r].element[k] += before;
    warp_sum += __shfl_sync(kAllLanes, inclusive, kLastLane);
  }

  if (lane == 0) warp_sums[warp] = warp_sum;
  __syncthreads();
  // Every warp scans the sums for itself, which is quicker than to wait for one that does.
  const unsigned inclusive = scan_warp(lane < kWarps ? warp_sums[lane] : 0);
  const unsigned warps_before = __shfl_sync(kAllLanes, inclusive, warp) - warp_sum;
  if (warp == 0) {
    const unsigned total = __shfl_sync(kAllLanes, inclusive, kLastLane);
    if (lane == 0) published[tile] = word_of(tile == 0 ? kPrefix : kSum, total);
    const unsigned prefix = tile == 0 ? 0 : look_back(published, tile);
    if (lane == 0) {
      if (tile > 0) published[tile] = word_of(kPrefix, prefix + total);
      tiles_before = prefix;
    }
  }
  __syncthreads();

  const unsigned before = tiles_before + warps_before;
#pragma unroll
  for (int r = 0; r < kRounds; ++r) {
    const int i = first + r * kWarpSize * kVectorWidth;
#pragma unroll
    for (int k = 0; k < kVectorWidth; ++k) items[r].element[k] += before;
    if (whole) {
      *reinterpret_cast<Items*>(y + i) = items[r];
    } else {
#pragma unroll
      for (int k = 0; k < kVectorWidth; ++k) {
        if (i + k < N) y[i + k] = items[r].element[k];
      }
    }
  }
}
