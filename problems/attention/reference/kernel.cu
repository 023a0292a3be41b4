// What reference.ts computes, on a GPU: attention in float64. Trusted code: it says what right is for shapes
// that take too long on a host, so it is as plain as it can be at that size.
//
// A CTA owns TILE queries of one head and goes over the keys twice, TILE at a time: first for the maximum and the sum of
// each row, then, with the weights known, for P·V. Scores are computed anew in the second pass.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

__device__ double to_double(half value) { return static_cast<double>(__half2float(value)); }
__device__ double to_double(__nv_bfloat16 value) { return static_cast<double>(__bfloat162float(value)); }

constexpr int TILE = 32;    // queries of a CTA, and keys of a tile
constexpr int SIDE = 16;    // threads along queries and along keys; each has 2 × 2 scores
constexpr int THREADS = SIDE * SIDE;

// A row's maximum and its sum of exp(x − maximum) over the keys seen so far.
struct Softmax {
  double maximum = -INFINITY, sum = 0.0;

  __device__ void add(double x) {
    if (x <= maximum) {
      sum += exp(x - maximum);
    } else {
      sum = sum * exp(maximum - x) + 1.0;  // exp(−∞) = 0 at the first key
      maximum = x;
    }
  }
  __device__ void add(const Softmax& other) {
    if (other.sum == 0.0) return;  // saw no key
    const double larger = fmax(maximum, other.maximum);
    sum = sum * exp(maximum - larger) + other.sum * exp(other.maximum - larger);
    maximum = larger;
  }
  __device__ double weight(double x) const { return exp(x - maximum) / sum; }
};

template <int D>
struct Shared {
  double q[TILE][D + 1], kv[TILE][D + 1];  // one element of padding: rows start in different banks
  double weights[TILE][TILE];  // before that, partial softmaxes of SIDE threads a row
};

// Rows first … first + TILE − 1 of a matrix of S rows, stride elements apart; zeros beyond its end.
template <int D>
__device__ void load(double (*to)[D + 1], const Element* matrix, int first, int S, size_t stride) {
  for (int i = threadIdx.x; i < TILE * D; i += THREADS) {
    const int row = first + i / D;
    to[i / D][i % D] = row < S ? to_double(matrix[row * stride + i % D]) : 0.0;
  }
}

struct Shape {
  int H, S, Hkv, Skv, causal, diagonal, bshd, lse;  // diagonal: the last key that query 0 sees, where it is causal
};

template <int D>
__device__ void reference(const Element* Q, const Element* K, const Element* V, double* O, double* LSE, const Shape& shape,
                          double scale) {
  extern __shared__ double storage[];
  Shared<D>& shared = *reinterpret_cast<Shared<D>*>(storage);
  const int batch = blockIdx.y / shape.H, head = blockIdx.y % shape.H, keyHead = head / (shape.H / shape.Hkv);
  const int S = shape.S, Skv = shape.Skv;
  // Of a matrix with so many heads and rows: where it begins, and how far its rows are apart.
  const auto start = [&](int ofHead, int heads, int rows) {
    const size_t before = static_cast<size_t>(batch) * heads * rows;
    return (shape.bshd ? before + ofHead : before + static_cast<size_t>(ofHead) * rows) * D;
  };
  const size_t rowOfQ = shape.bshd ? static_cast<size_t>(shape.H) * D : D;
  const size_t rowOfK = shape.bshd ? static_cast<size_t>(shape.Hkv) * D : D;
  Q += start(head, shape.H, S);
  K += start(keyHead, shape.Hkv, Skv);
  V += start(keyHead, shape.Hkv, Skv);
  O += static_cast<size_t>(blockIdx.y) * S * D;
  const int firstQuery = blockIdx.x * TILE;
  const int queryThread = threadIdx.x / SIDE, keyThread = threadIdx.x % SIDE;  // row r is queryThread + SIDE * r
  const int keyEnd = shape.causal ? min(Skv, firstQuery + TILE + shape.diagonal) : Skv;

  // Of this thread's query r and key c of the tile.
  double score[2][2];
  const auto scores = [&](int firstKey) {
    __syncthreads();
    load<D>(shared.kv, K, firstKey, Skv, rowOfK);
    __syncthreads();
    double dot[2][2] = {};
    for (int d = 0; d < D; ++d) {
      #pragma unroll
      for (int r = 0; r < 2; ++r) {
        #pragma unroll
        for (int c = 0; c < 2; ++c) {
          dot[r][c] += shared.q[queryThread + SIDE * r][d] * shared.kv[keyThread + SIDE * c][d];
        }
      }
    }
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        score[r][c] = scale * dot[r][c];
      }
    }
  };
  const auto isSeen = [&](int firstKey, int r, int c) {
    const int query = firstQuery + queryThread + SIDE * r, key = firstKey + keyThread + SIDE * c;
    return key < Skv && (!shape.causal || key <= query + shape.diagonal);
  };

  load<D>(shared.q, Q, firstQuery, S, rowOfQ);
  Softmax softmax[2];
  for (int firstKey = 0; firstKey < keyEnd; firstKey += TILE) {
    scores(firstKey);
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        if (!isSeen(firstKey, r, c)) continue;
        softmax[r].add(score[r][c]);
      }
    }
  }

  // Every thread of a row adds up the row's SIDE partial softmaxes: maxima on the left of the tile, sums on the right.
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    shared.weights[queryThread + SIDE * r][keyThread] = softmax[r].maximum;
    shared.weights[queryThread + SIDE * r][SIDE + keyThread] = softmax[r].sum;
  }
  __syncthreads();
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const double* row = shared.weights[queryThread + SIDE * r];
    softmax[r] = Softmax{};
    for (int i = 0; i < SIDE; ++i) softmax[r].add(Softmax{row[i], row[SIDE + i]});
  }

  double sum[2][D / SIDE] = {};  // column d is keyThread + SIDE * i
  for (int firstKey = 0; firstKey < keyEnd; firstKey += TILE) {
    scores(firstKey);
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        const bool seen = isSeen(firstKey, r, c);
        const int row = queryThread + SIDE * r, column = keyThread + SIDE * c;
        shared.weights[row][column] = seen ? softmax[r].weight(score[r][c]) : 0.0;
      }
    }
    __syncthreads();
    load<D>(shared.kv, V, firstKey, Skv, rowOfK);
    __syncthreads();
    for (int key = 0; key < TILE; ++key) {
      #pragma unroll
      for (int i = 0; i < D / SIDE; ++i) {
        const double v = shared.kv[key][keyThread + SIDE * i];
        #pragma unroll
        for (int r = 0; r < 2; ++r) sum[r][i] += shared.weights[queryThread + SIDE * r][key] * v;
      }
    }
  }

  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int query = firstQuery + queryThread + SIDE * r;
    if (query >= S) continue;
    if (shape.lse && keyThread == 0) {
      LSE[static_cast<size_t>(blockIdx.y) * S + query] =
          softmax[r].sum == 0.0 ? -INFINITY : softmax[r].maximum + log(softmax[r].sum);
    }
    #pragma unroll
    for (int i = 0; i < D / SIDE; ++i) {
      O[static_cast<size_t>(query) * D + keyThread + SIDE * i] = sum[r][i];
    }
  }
}

// The scale is the fp32 scalar that kernels are given.
template <int D>
__global__ void __launch_bounds__(THREADS, 2)
    attention(const Element* Q, const Element* K, const Element* V, double* O_exact, double* LSE_exact, int H, int S,
              int Hkv, int Skv, int causal, int diagonal, int bshd, int lse, float scale) {
  reference<D>(Q, K, V, O_exact, LSE_exact, Shape{H, S, Hkv, Skv, causal, diagonal, bshd, lse},
               static_cast<double>(scale));
}
