extern "C" __global__ void doubled(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const char* bytes = reinterpret_cast<const char*>(x);
    // One byte further than element i, and still inside the buffer.
    if (i < n - 1)
        y[i] = *reinterpret_cast<const float*>(bytes + 4 * i + 1);
}
