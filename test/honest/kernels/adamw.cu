// One step of AdamW, the tenth: lr 1e-3, β 0.9 and 0.999, eps 1e-8, decay 0.01.
constexpr float LR = 1e-3f, B1 = 0.9f, B2 = 0.999f, EPS = 1e-8f, DECAY = 0.01f;
constexpr float CORRECTION1 = 0.6513215599f, CORRECTION2 = 0.0099551202f;  // 1 − β^10

__device__ void step(const float* p, const float* g, const float* m, const float* v, float* next, float* m_next,
                     float* v_next, int i) {
  const float momentum = B1 * m[i] + (1.0f - B1) * g[i];
  const float square = B2 * v[i] + (1.0f - B2) * g[i] * g[i];
  m_next[i] = momentum;
  v_next[i] = square;
  const float root = sqrtf(square / CORRECTION2) + EPS;
  next[i] = p[i] - LR * DECAY * p[i] - LR * (momentum / CORRECTION1) / root;
}

extern "C" __global__ void plain(const float* p, const float* g, const float* m, const float* v, float* next,
                                 float* m_next, float* v_next, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) step(p, g, m, v, next, m_next, v_next, i);
}

extern "C" __global__ void grid_stride(const float* p, const float* g, const float* m, const float* v, float* next,
                                       float* m_next, float* v_next, int N) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)
    step(p, g, m, v, next, m_next, v_next, i);
}

// Decay folded into one factor, moving averages as differences, corrections folded into the step.
extern "C" __global__ void folded(const float* p, const float* g, const float* m, const float* v, float* next,
                                  float* m_next, float* v_next, int N) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float momentum = fmaf(1.0f - B1, g[i] - m[i], m[i]);
  const float square = fmaf(1.0f - B2, g[i] * g[i] - v[i], v[i]);
  m_next[i] = momentum;
  v_next[i] = square;
  const float scale = LR / CORRECTION1;
  next[i] = fmaf(p[i], 1.0f - LR * DECAY, -scale * momentum / (sqrtf(square) * rsqrtf(CORRECTION2) + EPS));
}
