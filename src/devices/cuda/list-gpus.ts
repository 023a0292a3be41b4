import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Gpu {
  readonly name: string;
  readonly uuid?: string;
}

/** A GPU the driver shows. */
export interface GpuListing extends Gpu {
  readonly ordinal: number;
}

/** Where the driver's kernel module lists its GPUs, and their device files. */
export interface GpuPaths {
  readonly information: string;
  readonly devices: string;
}

const PATHS: GpuPaths = { information: '/proc/driver/nvidia/gpus', devices: '/dev' };

/**
 * The GPUs of this machine in the order of their ordinals (PCI bus order), filtered by CUDA_VISIBLE_DEVICES. Reads files of
 * the kernel module and starts nothing.
 */
export function listGpus(
  visible: string | undefined = process.env.CUDA_VISIBLE_DEVICES,
  paths: GpuPaths = PATHS,
): GpuListing[] {
  return visibleGpus(installedGpus(paths), visible).map((gpu, ordinal) => ({ ordinal, ...gpu }));
}

function installedGpus({ information, devices }: GpuPaths): Gpu[] {
  try {
    const folders = readdirSync(information).sort();
    return folders.map((folder) => describeGpu(readFileSync(join(information, folder, 'information'), 'utf8')));
  } catch {
    // Sandboxes and WSL show only the device files, without names.
    return deviceFiles(devices).map(() => ({ name: 'NVIDIA GPU' }));
  }
}

/** Lines such as `Model: 		 NVIDIA H200` and `GPU UUID: 	 GPU-….` */
function describeGpu(text: string): Gpu {
  const field = (name: string) => new RegExp(`^${name}:\\s*(.+?)\\s*$`, 'm').exec(text)?.[1];
  const uuid = field('GPU UUID');
  return { name: field('Model') ?? 'NVIDIA GPU', uuid: uuid?.includes('?') === false ? uuid : undefined };
}

function deviceFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^nvidia\d+$/.test(name));
  } catch {
    return existsSync(join(folder, 'dxg')) ? ['dxg'] : [];
  }
}

/** The first entry that names no GPU hides all that follow. Source: CUDA programming guide, CUDA_VISIBLE_DEVICES. */
function visibleGpus(gpus: readonly Gpu[], visible: string | undefined): Gpu[] {
  if (visible === undefined) return [...gpus];
  const shown: Gpu[] = [];
  for (const entry of visible.split(',').map((text) => text.trim())) {
    const gpu = /^\d+$/.test(entry)
      ? gpus[Number(entry)]
      : gpus.find(({ uuid }) => entry !== '' && uuid?.startsWith(entry));
    if (!gpu) break;
    shown.push(gpu);
  }
  return shown;
}
