extern "C" __global__ void doubled(const float* x, float* y, int n, const volatile int* flag)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (*flag == 0) {
    }
    if (i < n)
        y[i] = 2.0f * x[i];
}
