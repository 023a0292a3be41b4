import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { DeviceSpec } from '../../../core/device-spec.ts';
import type { MeasuredPeaks } from '../../../core/measured-peaks.ts';
import { readCacheFile, userCacheFolder, writeCacheFile } from '../../../process/cache-file.ts';
import { cudaRoots } from '../../../toolchains/cuda-toolkit.ts';
import { HARNESS_PTX } from '../harness/harness-ptx.ts';
import type { PeakFigures } from './measure-peaks.ts';

/** Raised when peaks are measured another way than before. */
const METHOD_VERSION = 1;

/** The board whose peaks are wanted. */
export interface PeakSubject {
  readonly uuid: string;
  readonly driver: string;
  readonly spec: DeviceSpec;
}

/** Folders of the machine's CUDA toolkits that hold libraries such as cuBLAS. */
export const cudaLibraryFolders = (): string[] =>
  cudaRoots().flatMap((root) => [join(root, 'lib64'), join(root, 'targets', 'x86_64-linux', 'lib')]);

/**
 * The board's peaks, measured once per board, driver and method, and then read from a cache file of the user. If the file
 * can't be read or lacks them, they are measured again; if it can't be written, they are not kept.
 */
export async function knownPeaks(
  subject: PeakSubject,
  measure: () => Promise<PeakFigures>,
  folder = userCacheFolder('peaks'),
): Promise<MeasuredPeaks> {
  if (folder === undefined) return describe(subject, await measure());
  const path = join(folder, `${keyOf(subject)}.json`);
  const known = await readPeaks(path, subject);
  if (known !== undefined) return known;
  const peaks = describe(subject, await measure());
  await writeCacheFile(path, `${JSON.stringify(peaks, undefined, 2)}\n`);
  return peaks;
}

function keyOf({ uuid, driver }: PeakSubject): string {
  const digest = createHash('sha256').update(JSON.stringify([METHOD_VERSION, uuid, driver, HARNESS_PTX]));
  return `${uuid.replace(/[^\w-]/g, '')}-${digest.digest('hex').slice(0, 16)}`;
}

function describe({ uuid, driver, spec }: PeakSubject, figures: PeakFigures): MeasuredPeaks {
  return { ...figures, datasheet: datasheetOf(spec), measuredAt: new Date().toISOString(), uuid, driver };
}

/** Dense figures at the maximum clock. */
const datasheetOf = (spec: DeviceSpec): MeasuredPeaks['datasheet'] => ({
  dramBytesPerSecond: spec.dramBytesPerSecond.value,
  matrixFlopPerSecond: spec.tensorFp16FlopPerClock.value * spec.smCount.value * spec.boostClockHz.value,
});

async function readPeaks(path: string, subject: PeakSubject): Promise<MeasuredPeaks | undefined> {
  const text = await readCacheFile(path);
  if (text === undefined) return undefined;
  try {
    const read = JSON.parse(text) as MeasuredPeaks;
    // The datasheet's side is what this version believes.
    return holdsPeaks(read, subject) ? { ...read, datasheet: datasheetOf(subject.spec) } : undefined;
  } catch {
    return undefined;
  }
}

const isRate = (value: unknown): boolean => typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY;

const holdsPeaks = (read: MeasuredPeaks, { uuid, driver }: PeakSubject): boolean =>
  read.uuid === uuid &&
  read.driver === driver &&
  isRate(read.copyBytesPerSecond) &&
  (read.matrixFlopPerSecond === undefined || isRate(read.matrixFlopPerSecond)) &&
  [read.copyMethod, read.matrixMethod, read.measuredAt].every((text) => typeof text === 'string');
