// Masks of .sync instructions. Those named bad_* name lanes that do not come, or not those that do; all others are right.
// All are launched with one CTA of 64 threads, and write 64 words.

extern "C" __global__ void by_branch(int* y) {
  const int lane = threadIdx.x % 32;
  int value = lane;
  if (lane < 12) value = __shfl_xor_sync(0x00000fffu, value, 1);
  else value = __shfl_xor_sync(0xfffff000u, value, 1);
  y[threadIdx.x] = value;
}

extern "C" __global__ void by_ballot(int* y) {
  const int lane = threadIdx.x % 32;
  const unsigned mask = __ballot_sync(~0u, lane % 3 == 0);
  y[threadIdx.x] = 0;
  if (lane % 3 == 0) y[threadIdx.x] = __shfl_sync(mask, lane, 3) + __popc(__activemask());
}

// Lanes of several masks meet at one instruction, each among those of its own.
extern "C" __global__ void by_match(int* y) {
  const int lane = threadIdx.x % 32;
  const unsigned peers = __match_any_sync(~0u, lane / 5);
  const unsigned odd = __ballot_sync(peers, lane & 1);
  const unsigned sum = __reduce_add_sync(peers, lane);
  const int all = __all_sync(peers, lane < 30), any = __any_sync(peers, lane > 26);
  y[threadIdx.x] = __popc(odd) + 10 * all + 100 * any + 1000 * sum;
}

extern "C" __global__ void after_an_exit(int* y) {
  y[threadIdx.x] = 0;
  if (threadIdx.x % 32 >= 20) return;
  const int next = __shfl_down_sync(~0u, threadIdx.x % 32, 1);
  if (threadIdx.x % 32 < 19) y[threadIdx.x] = next;
}

// Both halves of a warp meet, at two places of the code.
extern "C" __global__ void two_places(int* y) {
  __shared__ volatile int half[64];
  if (threadIdx.x % 32 < 16) {
    half[threadIdx.x] = threadIdx.x;
    __syncwarp();
    y[threadIdx.x] = 1;
  } else {
    __syncwarp();
    y[threadIdx.x] = half[threadIdx.x - 16];
  }
}

extern "C" __global__ void bad_own_lane(int* y) {
  y[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, threadIdx.x, 1);  // line: own lane
}

extern "C" __global__ void bad_own_lane_of_many(int* y) {
  const unsigned mask = __match_any_sync(~0u, threadIdx.x / 8) & ~(threadIdx.x == 37 ? 1u << 5 : 0u);
  y[threadIdx.x] = __shfl_sync(mask, threadIdx.x, threadIdx.x & 24);  // line: own lane of many
}

extern "C" __global__ void bad_branch(int* y) {
  y[threadIdx.x] = 0;
  if (threadIdx.x % 32 < 10) y[threadIdx.x] = __shfl_down_sync(~0u, threadIdx.x, 1);  // line: branch
  y[threadIdx.x] += 1;
}

// Lanes leave the loop after different numbers of rounds.
extern "C" __global__ void bad_loop(int* y) {
  int sum = 0;
  for (int i = threadIdx.x % 32; i < 40; i += 32) sum += __shfl_xor_sync(~0u, i, 1);  // line: loop
  y[threadIdx.x] = sum;
  __syncwarp();
  y[threadIdx.x] += 1;
}

extern "C" __global__ void bad_two_shuffles(int* y) {
  int value;
  if (threadIdx.x % 32 < 16) value = __shfl_xor_sync(~0u, threadIdx.x, 16);  // line: two shuffles
  else value = __shfl_down_sync(~0u, threadIdx.x * 3, 1);
  y[threadIdx.x] = value;
}
