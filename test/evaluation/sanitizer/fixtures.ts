/*
 * Format samples, not measurements: logs as compute-sanitizer writes them with `--log-file`, after its manual and the
 * output of versions 2021 to 2025.
 */

export const CLEAN = `========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
`;

export const CLEAN_RACECHECK = `========= COMPUTE-SANITIZER
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
`;

export const MEMCHECK = `========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at void attention<(int)64>(const __half *, float *)+0x70 in /work/kernels/kernel.cu:53
=========     by thread (60,0,0) in block (3,0,0)
=========     Access to 0x7c5838a000f0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7c5838a00000 of size 240 bytes
=========     Device Frame: attention<64>(const __half *, float *)+0x70 in kernel.cu:53
=========
========= Invalid __shared__ read of size 2 bytes
=========     at attention(float*)+0x120
=========     by thread (1,0,0) in block (0,0,0)
=========     Address 0x403 is misaligned
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call to cuStreamSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========
========= ERROR SUMMARY: 1,026 errors
========= ERROR SUMMARY: 1,006 errors were not printed. Use --print-limit option to adjust the number of printed errors
`;

export const OLD_MEMCHECK = `========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 2 bytes
=========     at 0xd80 in /data/src/kernel.cu:162:void add<(bool)1, __half>(T2 *, int)
=========     by thread (63,0,0) in block (506,0,0)
=========     Address 0x7fcd07a0312c is out of bounds
=========     and is 12589 bytes after the nearest allocation at 0x7fcd079ffc00 of size 1024 bytes
=========
========= ERROR SUMMARY: 1 error
`;

export const RACECHECK = `========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at race(float *, const float *)+0x130 in /work/kernels/kernel.cu:9
=========     and Read access at race(float *, const float *)+0x1e0 in /work/kernels/kernel.cu:11 [4080 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
`;

export const INITCHECK = `========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at uninitialised(float *, const float *)+0x70 in /work/kernels/kernel.cu:14
=========     by thread (31,0,0) in block (1,0,0)
=========     Access at 0x7f3c7ec000fc
=========
========= ERROR SUMMARY: 60 errors
`;

export const SYNCCHECK = `========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block.
=========     at parted_barrier(float *, const float *)+0x80 in /work/kernels/kernel.cu:19
=========     by thread (1,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 32 errors
`;

export const NOT_STARTED = `========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
========= Internal Sanitizer Error: Device not supported. Please refer to the "Supported Devices" section
`;
