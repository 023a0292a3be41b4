constexpr int LIVE = 160;

extern "C" __global__ void doubled(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float values[LIVE];
#pragma unroll
    for (int k = 0; k < LIVE; k++)
        values[k] = x[(i + k) % n];
    // Every value takes part in every round, so that none can be given up before the last.
    for (int round = 0; round < n; round++) {
#pragma unroll
        for (int k = 0; k < LIVE; k++)
            values[k] = values[k] * values[(k + 1) % LIVE] + values[(k + LIVE / 2) % LIVE];
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < LIVE; k++)
        sum += values[k];
    if (i < n)
        y[i] = sum;
}
