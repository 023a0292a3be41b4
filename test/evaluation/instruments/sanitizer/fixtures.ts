/*
 * Logs as compute-sanitizer writes them with `--log-file`. MISALIGNED, RACECHECK, INITCHECK, SYNCCHECK and the write of
 * MEMCHECK say what version 2025.3.1 said of planted faults on an H200, but for offsets, folders and all complaints after
 * the first; the others follow its manual and older versions.
 */

export const CLEAN = `========= COMPUTE-SANITIZER
========= ERROR SUMMARY: 0 errors
`;

export const CLEAN_RACECHECK = `========= COMPUTE-SANITIZER
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
`;

export const MEMCHECK = `========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at out_of_bounds+0x70 in /home/user/faulty.cu:3
=========     by thread (60,0,0) in block (0,0,0)
=========     Access to 0x7f1b54a000f0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f1b54a00000 of size 240 bytes
=========     Device Frame: out_of_bounds+0x70 in faulty.cu:3
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

export const MISALIGNED = `========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at misaligned+0x50 in /home/user/faulty.cu:20
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x7fb0c0a00204 is misaligned
=========     and is inside the nearest allocation at 0x7fb0c0a00200 of size 264 bytes
=========
========= ERROR SUMMARY: 12 errors
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
========= Error: Race reported between Write access at race+0x130 in /home/user/faulty.cu:7
=========     and Read access at race+0x1e0 in /home/user/faulty.cu:8 [240 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
`;

/** A hazard that may be meant, as between the lanes of a warp that nothing synchronises. */
export const RACECHECK_WARNING = `========= COMPUTE-SANITIZER
========= Warning: Race reported between Read access at race+0x130 in /home/user/faulty.cu:7
=========     and Write access at race+0x1e0 in /home/user/faulty.cu:8 [32 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
`;

export const INITCHECK = `========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at uninitialised+0x70 in /home/user/faulty.cu:11
=========     by thread (0,0,0) in block (0,0,0)
=========     Access at 0x7f329aa00000
=========
========= ERROR SUMMARY: 60 errors
`;

export const SYNCCHECK = `========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp.
=========     at parted_barrier+0x80 in /home/user/faulty.cu:16
=========     by thread (0,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 32 errors
`;

export const NOT_STARTED = `========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
========= Internal Sanitizer Error: Device not supported. Please refer to the "Supported Devices" section
`;
