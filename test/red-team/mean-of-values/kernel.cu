// Lie: Averages V and never reads Q or K: what attention tends to when all logits are small.
#include <cuda_fp16.h>

extern "C" __global__ void attention(const half* Q, const half* K, const half* V, half* O, int S, int D, int causal,
                                     float scale) {
  const int row = blockIdx.x, lane = threadIdx.x;  // one warp per query row
  const int matrix = blockIdx.y * S * D;           // of this head
  const int keys = causal ? row + 1 : S;
  for (int c = lane; c < D; c += 32) {
    float sum = 0.0f;
    for (int key = 0; key < keys; ++key) sum += __half2float(V[matrix + key * D + c]);
    O[matrix + row * D + c] = __float2half(sum / keys);
  }
}
