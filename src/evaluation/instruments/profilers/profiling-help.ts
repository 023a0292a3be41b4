/** Why there is no hardware profile. */
export type ProfileFailureReason = 'missing' | 'forbidden' | 'timed-out' | 'failed';

const HELP: Readonly<Record<ProfileFailureReason, string>> = {
  missing:
    'Nsight Compute (ncu) was not found. It comes with the CUDA toolkit, or alone as the package nsight-compute; put ' +
    'its folder on PATH, or install it under /usr/local/cuda or /opt/nvidia/nsight-compute.',
  forbidden:
    'The driver lets only administrators read the GPU’s performance counters (ERR_NVGPUCTRPERM). Either run as root, ' +
    'or have an administrator load the driver’s module with NVreg_RestrictProfilingToAdminUsers=0: put `options nvidia ' +
    'NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d/nvidia-profiling.conf, rebuild the initial ramdisk ' +
    'and restart. In a container, start it with `--cap-add=SYS_ADMIN` beside `--gpus`. A rented machine may not allow ' +
    'it at all.',
  'timed-out':
    'ncu ran each kernel once for every pass of its counters and did not finish in time. Profile a smaller workload, ' +
    'or use the light level.',
  failed:
    'ncu started and did not profile the kernel: see its message. Usual causes: another profiler or a GPU monitor holds ' +
    'the counters, or a virtualised GPU does not offer them.',
};

/** What a user can do about it, in one paragraph. */
export const profilingHelp = (reason: ProfileFailureReason): string => HELP[reason];
