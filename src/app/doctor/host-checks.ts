import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { WarpsmithError } from '../../core/errors.ts';
import { DEFAULT_DEVICE } from '../session.ts';
import type { Check, Diagnosis, Machine } from './check.ts';
import { platformSupport } from './platform.ts';

const MINIMUM_NODE_MAJOR = 24;

function checkNode(): Diagnosis {
  const { node, v8 } = process.versions;
  const ok = Number(node.split('.')[0]) >= MINIMUM_NODE_MAJOR;
  const detail = `Node ${node} (V8 ${v8}), ${process.platform} ${process.arch}`;
  return ok
    ? { verdict: 'ok', detail }
    : { verdict: 'failed', detail, hint: `Install Node ${MINIMUM_NODE_MAJOR} or newer.` };
}

function checkPlatform(): Diagnosis {
  const { name, limits } = platformSupport(process);
  if (limits === undefined) return { verdict: 'ok', detail: `${name}, where warpsmith is tried` };
  return { verdict: 'absent', detail: `${name}: not tried. ${limits.works}`, hint: limits.needs };
}

/** Virtual GPUs run clang's PTX; a real GPU can also use other compilers. */
async function checkClang({ gpus }: Machine): Promise<Diagnosis> {
  const { locateClang } = await import('../../toolchains/locate-clang.ts');
  try {
    const { path, version } = await locateClang();
    return { verdict: 'ok', detail: `clang ${version} at ${path}` };
  } catch (error) {
    if (gpus.length === 0 || !(error instanceof WarpsmithError)) throw error;
    const { hint } = error.details;
    return {
      verdict: 'absent',
      detail: 'no clang: needed for virtual devices only',
      hint,
    };
  }
}

async function checkHeaders(): Promise<Diagnosis> {
  const { findHeaderFolder, openHeaderPack } = await import('../../toolchains/header-pack.ts');
  const folder = findHeaderFolder();
  const fileCount = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length;
  const digest = openHeaderPack(folder).digest().slice(0, 12);
  return { verdict: 'ok', detail: `${fileCount} device headers, digest ${digest}, at ${folder}` };
}

async function checkFusedMultiplyAdd(): Promise<Diagnosis> {
  const { relaxedMaddIsFused } = await import('../../virtual-gpu/fma-probe.ts');
  const detail = relaxedMaddIsFused()
    ? 'WebAssembly SIMD multiply-adds round once here, as on a GPU'
    : 'WebAssembly SIMD multiply-adds round twice here; an exact, slower substitute is used';
  return { verdict: 'ok', detail };
}

async function checkVirtualDevice(): Promise<Diagnosis> {
  const { openDevice } = await import('../../devices/open-device.ts');
  const device = await openDevice(DEFAULT_DEVICE);
  const { name } = device.identity;
  await device.close();
  return { verdict: 'ok', detail: `${name} opened; this machine runs ${availableParallelism()} threads at once` };
}

/** Compilers and profilers leave their files there. */
async function checkTemporaryFolder(): Promise<Diagnosis> {
  const { withTemporaryFolder } = await import('../../process/temporary-folder.ts');
  return { verdict: 'ok', detail: await withTemporaryFolder(async (folder) => `${dirname(folder)} can be written`) };
}

/** Without a wall, a reference that escapes its JavaScript engine could use the network. */
async function checkWall(): Promise<Diagnosis> {
  const { networkWall } = await import('../../process/network-wall.ts');
  const { name, keepsOut } = await networkWall();
  if (keepsOut.length > 0) return { verdict: 'ok', detail: `${name} keeps out ${keepsOut.join(', ')}` };
  return {
    verdict: 'absent',
    detail:
      'no wall works here: Node’s permissions and a fence confine references, but no wall keeps them from the network',
    hint: 'Install bubblewrap, or let users make user namespaces (unshare --user --net).',
  };
}

/** When a command releases this machine's rented GPUs, or why one could not. */
async function checkRelease(): Promise<Diagnosis> {
  const { describeLease } = await import('../../process/lease-file.ts');
  const { failed, said, hint } = describeLease();
  return { verdict: failed ? 'failed' : 'ok', detail: said, hint };
}

/** What runs without a GPU. */
export const HOST_CHECKS: readonly Check[] = [
  { id: 'platform', title: 'Platform', run: checkPlatform },
  { id: 'node', title: 'Node', run: checkNode },
  { id: 'compiler', title: 'CUDA C++ compiler', run: checkClang },
  { id: 'headers', title: 'Device headers', run: checkHeaders },
  { id: 'fused-multiply-add', title: 'Fused multiply-add', run: checkFusedMultiplyAdd },
  { id: 'temporary-folder', title: 'Temporary folder', run: checkTemporaryFolder },
  { id: 'reference-wall', title: 'Wall around references', run: checkWall },
  { id: 'release', title: 'Release of rented GPUs', run: checkRelease },
  { id: 'virtual-device', title: 'Virtual GPU and worker threads', run: checkVirtualDevice },
];
