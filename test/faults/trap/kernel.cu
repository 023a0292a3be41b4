extern "C" __global__ void doubled(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        __trap();
    if (i < n)
        y[i] = 2.0f * x[i];
}
