// A chain of dependent integer multiply-adds: every step waits for the one before it, so that time is proportional to
// steps. The factors are arguments: no compiler can fold steps together.

__device__ unsigned iterate(unsigned x, unsigned factor, unsigned summand, int steps)
{
    for (int step = 0; step < steps; step += 16) {
#pragma unroll
        for (int i = 0; i < 16; i++)
            x = x * factor + summand;
    }
    return x;
}

// The way back undoes one step with each: back = 1 / factor and backSummand = -summand / factor, mod 2^32.
extern "C" __global__ void loop(const unsigned* x, unsigned* y, int n, int forwardSteps, int backSteps,
                                unsigned factor, unsigned summand, unsigned back, unsigned backSummand)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    y[i] = iterate(iterate(x[i], factor, summand, forwardSteps), back, backSummand, backSteps);
}
