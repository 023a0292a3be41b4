import { readFileSync } from 'node:fs';
import type { Device } from '../../core/device.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { CudaTool } from '../../toolchains/cuda-toolkit.ts';
import type { Check, Diagnosis, Machine } from './check.ts';

const NO_GPU = 'no NVIDIA GPU found; not needed: kernels run on virtual devices';
const GIBIBYTE = 2 ** 30;

/** Opens every GPU for a moment. Only this shows that the driver works and that no other process measures. */
async function checkGpus({ gpus }: Machine): Promise<Diagnosis> {
  if (gpus.length === 0) {
    return { verdict: 'absent', detail: NO_GPU, hint: 'For real GPUs install the NVIDIA driver.' };
  }
  const { openDevice } = await import('../../devices/open-device.ts');
  const lines: string[] = [];
  for (const { id } of gpus) {
    const device = await openDevice(id);
    try {
      lines.push(await describeGpu(device));
    } finally {
      await device.close();
    }
  }
  return { verdict: 'ok', detail: lines.join('; ') };
}

async function describeGpu({ identity, spec, measuring }: Device): Promise<string> {
  const state = await measuring?.state();
  const others = state?.otherProcessCount ?? 0;
  const facts = [
    `${identity.id}: ${identity.name}`,
    ...(identity.uuid === undefined ? [] : [identity.uuid]),
    spec.architecture,
    `${(spec.dramBytes.value / GIBIBYTE).toFixed(0)} GiB`,
    ...(identity.driver === undefined ? [] : [`driver ${identity.driver}`]),
    others === 0 ? 'no other process on it' : `${others} other processes on it: times will be disturbed`,
  ];
  return facts.join(', ');
}

async function checkNvrtc(machine: Machine): Promise<Diagnosis> {
  const { locateNvrtc } = await import('../../toolchains/nvrtc/locate-nvrtc.ts');
  try {
    const { path, headerVersion } = await locateNvrtc();
    return { verdict: 'ok', detail: `headers ${headerVersion}, ${path}` };
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return absent('NVRTC', 'compiles for real GPUs, quickly', machine, error.details.hint);
  }
}

const TOOLKIT_HINT = 'It comes with the CUDA toolkit; put its folder on PATH, or set CUDA_HOME.';

/** The purpose of each program of the CUDA toolkit. */
const TOOLS: readonly { tool: CudaTool; use: string; hint: string }[] = [
  { tool: 'nvcc', use: 'compiles for real GPUs, with --toolchain nvcc', hint: TOOLKIT_HINT },
  { tool: 'cuobjdump', use: 'shows machine code', hint: TOOLKIT_HINT },
  {
    tool: 'ncu',
    use: 'profiles on real GPUs',
    hint: 'Nsight Compute comes with the CUDA toolkit, or alone as the package nsight-compute.',
  },
  {
    tool: 'compute-sanitizer',
    use: 'clears winners on real GPUs; without it they are unsanitized',
    hint: TOOLKIT_HINT,
  },
];

const checkTool =
  ({ tool, use, hint }: (typeof TOOLS)[number]) =>
  (machine: Machine): Diagnosis => {
    const found = machine.toolkit.tools.find((candidate) => candidate.tool === tool);
    return found ? { verdict: 'ok', detail: `${found.version}, ${found.path}` } : absent(tool, use, machine, hint);
  };

/** A missing tool is never a failure, because each serves a single purpose. */
const absent = (what: string, use: string, { gpus }: Machine, hint: string | undefined): Diagnosis =>
  gpus.length === 0
    ? { verdict: 'absent', detail: `no ${what}; not needed without a GPU` }
    : { verdict: 'absent', detail: `no ${what}, which ${use}`, hint };

/** The file in which the kernel module says whether only administrators may read counters. */
const DRIVER_PARAMETERS = '/proc/driver/nvidia/params';

async function checkCounters({ gpus }: Machine): Promise<Diagnosis> {
  if (gpus.length === 0) return { verdict: 'absent', detail: 'not needed without a GPU' };
  if (!onlyAdministrators()) return { verdict: 'ok', detail: 'the driver lets every user read them' };
  if (process.geteuid?.() === 0) {
    return {
      verdict: 'ok',
      detail: 'the driver lets administrators read them, as this process is; a container may not',
    };
  }
  const { profilingHelp } = await import('../../evaluation/instruments/profilers/profiling-help.ts');
  return {
    verdict: 'absent',
    detail: 'for administrators only; diagnosis uses resources, occupancy and virtual counters instead',
    hint: profilingHelp('forbidden'),
  };
}

function onlyAdministrators(): boolean {
  try {
    return /^RmProfilingAdminOnly:\s*1/m.test(readFileSync(DRIVER_PARAMETERS, 'utf8'));
  } catch {
    return false;
  }
}

const PYTHON_PROBE = `
import json, sys
found = {"python": sys.version.split()[0]}
try:
    import torch
    found["torch"] = torch.__version__
    found["cuda"] = torch.version.cuda
    found["gpu"] = torch.cuda.is_available()
    found["cudnn"] = torch.backends.cudnn.version()
except Exception as error:
    found["error"] = str(error)
print(json.dumps(found))
`;
/** Limit for importing PyTorch, which takes long from a slow disk. */
const PYTHON_TIMEOUT_MS = 120_000;
const MAXIMUM_OUTPUT_BYTES = 1 << 20;

interface PythonFound {
  python: string;
  torch?: string;
  cuda?: string | null;
  gpu?: boolean;
  cudnn?: number | null;
  error?: string;
}

const PYTHON_HINT = 'Install PyTorch for CUDA into this Python, or name another with WARPSMITH_PYTHON.';

async function checkPython({ gpus }: Machine): Promise<Diagnosis> {
  if (gpus.length === 0) return { verdict: 'absent', detail: 'not needed without a GPU: library baselines run on one' };
  const [{ findPython }, { PYTHON_FOR_BASELINES, pythonEnvironment }, { runProcess }] = await Promise.all([
    import('../../process/find-python.ts'),
    import('../../evaluation/instruments/baselines/python-environment.ts'),
    import('../../process/run-process.ts'),
  ]);
  let command: string;
  try {
    command = findPython(PYTHON_FOR_BASELINES);
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return {
      verdict: 'absent',
      detail: 'no Python, which library baselines need',
      hint: error.details.hint ?? PYTHON_HINT,
    };
  }
  const { stdout, stderr, exitCode } = await runProcess({
    command,
    args: ['-c', PYTHON_PROBE],
    cwd: '/',
    env: pythonEnvironment(undefined),
    timeoutMs: PYTHON_TIMEOUT_MS,
    maximumOutputBytes: MAXIMUM_OUTPUT_BYTES,
  });
  if (exitCode !== 0)
    return { verdict: 'absent', detail: `${command} does not run: ${stderr.trim()}`, hint: PYTHON_HINT };
  return describePython(command, JSON.parse(stdout) as PythonFound);
}

function describePython(command: string, { python, torch, cuda, gpu, cudnn, error }: PythonFound): Diagnosis {
  const where = `Python ${python} at ${command}`;
  if (torch === undefined) {
    return {
      verdict: 'absent',
      detail: `${where} has no PyTorch, which library baselines need: ${error}`,
      hint: PYTHON_HINT,
    };
  }
  const versions = `${where}, PyTorch ${torch}, CUDA ${cuda ?? 'none'}, cuDNN ${cudnn ?? 'none'}`;
  return gpu
    ? { verdict: 'ok', detail: versions }
    : { verdict: 'absent', detail: `${versions}: it sees no GPU, which library baselines need`, hint: PYTHON_HINT };
}

/** The parts that real GPUs need, with the purpose of each. */
export const GPU_CHECKS: readonly Check[] = [
  { id: 'cuda', title: 'GPUs', run: checkGpus },
  { id: 'nvrtc', title: 'NVRTC', run: checkNvrtc },
  ...TOOLS.map((tool) => ({ id: tool.tool, title: tool.tool, run: checkTool(tool) })),
  { id: 'counters', title: 'Hardware counters', run: checkCounters },
  { id: 'python', title: 'Python for library baselines', run: checkPython },
];
