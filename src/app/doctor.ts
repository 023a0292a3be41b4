import { existsSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { WarpsmithError } from '../core/errors.ts';
import { DEFAULT_DEVICE } from './session.ts';

/** One thing that kernels need on this machine. */
export interface DoctorCheck {
  id: 'node' | 'compiler' | 'headers' | 'fused-multiply-add' | 'virtual-device' | 'cuda';
  title: string;
  /** `absent` is fine: it is not needed. */
  verdict: 'ok' | 'failed' | 'absent';
  detail: string;
  hint: string | null;
}

export interface DoctorReport {
  schemaVersion: 1;
  kind: 'doctor';
  /** Everything that is needed works. */
  ok: boolean;
  checks: DoctorCheck[];
}

type Finding = Pick<DoctorCheck, 'verdict' | 'detail'> & { hint?: string };

const MINIMUM_NODE_MAJOR = 24;

function checkNode(): Finding {
  const { node, v8 } = process.versions;
  const ok = Number(node.split('.')[0]) >= MINIMUM_NODE_MAJOR;
  const detail = `Node ${node} (V8 ${v8}), ${process.platform} ${process.arch}`;
  return ok
    ? { verdict: 'ok', detail }
    : { verdict: 'failed', detail, hint: `Install Node ${MINIMUM_NODE_MAJOR} or newer.` };
}

async function checkCompiler(): Promise<Finding> {
  const { locateClang } = await import('../toolchains/locate-clang.ts');
  const { path, version } = await locateClang();
  return { verdict: 'ok', detail: `clang ${version} at ${path}` };
}

async function checkHeaders(): Promise<Finding> {
  const { findHeaderFolder, openHeaderPack } = await import('../toolchains/header-pack.ts');
  const folder = findHeaderFolder();
  const fileCount = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length;
  const digest = openHeaderPack(folder).digest().slice(0, 12);
  return { verdict: 'ok', detail: `${fileCount} device headers, digest ${digest}, at ${folder}` };
}

async function checkFusedMultiplyAdd(): Promise<Finding> {
  const { relaxedMaddIsFused } = await import('../virtual-gpu/fma-probe.ts');
  const detail = relaxedMaddIsFused()
    ? 'WebAssembly SIMD multiply-adds round once here, as on a GPU'
    : 'WebAssembly SIMD multiply-adds round twice here; an exact, slower substitute is used';
  return { verdict: 'ok', detail };
}

async function checkVirtualDevice(): Promise<Finding> {
  const { openDevice } = await import('../devices/open-device.ts');
  const device = await openDevice(DEFAULT_DEVICE);
  const { name } = device.identity;
  await device.close();
  return { verdict: 'ok', detail: `${name} opened; this machine runs ${availableParallelism()} threads at once` };
}

/** What a Linux driver leaves in the file system; nothing is loaded or run. */
const DRIVER_FOLDER = '/proc/driver/nvidia/gpus';

function checkCuda(): Finding {
  const gpuCount =
    existsSync(DRIVER_FOLDER) && statSync(DRIVER_FOLDER).isDirectory() ? readdirSync(DRIVER_FOLDER).length : 0;
  if (gpuCount === 0)
    return { verdict: 'absent', detail: 'no NVIDIA driver found; not needed: kernels run on virtual devices' };
  return { verdict: 'absent', detail: `${gpuCount} NVIDIA GPUs found; this version does not use them` };
}

const CHECKS: readonly { id: DoctorCheck['id']; title: string; run: () => Finding | Promise<Finding> }[] = [
  { id: 'node', title: 'Node', run: checkNode },
  { id: 'compiler', title: 'CUDA C++ compiler', run: checkCompiler },
  { id: 'headers', title: 'Device headers', run: checkHeaders },
  { id: 'fused-multiply-add', title: 'Fused multiply-add', run: checkFusedMultiplyAdd },
  { id: 'virtual-device', title: 'Virtual GPU and worker threads', run: checkVirtualDevice },
  { id: 'cuda', title: 'CUDA', run: checkCuda },
];

/** A check that could not be made has failed: the doctor never stops at the first one. */
async function diagnoseOne({ id, title, run }: (typeof CHECKS)[number]): Promise<DoctorCheck> {
  try {
    const { verdict, detail, hint } = await run();
    return { id, title, verdict, detail, hint: hint ?? null };
  } catch (error) {
    const details = error instanceof WarpsmithError ? error.details : undefined;
    const detail = error instanceof Error ? error.message : String(error);
    return { id, title, verdict: 'failed', detail, hint: details?.hint ?? null };
  }
}

/** Says what works on this machine and what is missing. Never throws for what it finds. */
export async function doctor(): Promise<DoctorReport> {
  const checks: DoctorCheck[] = [];
  for (const check of CHECKS) checks.push(await diagnoseOne(check));
  return { schemaVersion: 1, kind: 'doctor', ok: checks.every(({ verdict }) => verdict !== 'failed'), checks };
}
