extern "C" __global__ void doubled(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const long long elements = 1LL << 42;  // 16 TiB
    if (i < n)
        y[i + elements] = 2.0f * x[i];
}
