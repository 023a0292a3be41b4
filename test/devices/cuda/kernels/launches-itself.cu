// Refused: launches that kernel.json does not list could not be checked or counted.

extern "C" __global__ void child(unsigned *y) { y[threadIdx.x] = 1u; }

extern "C" __global__ void parent(unsigned *y) { child<<<1, 32>>>(y); }
