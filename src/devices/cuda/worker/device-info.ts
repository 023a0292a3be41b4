import { readFileSync } from 'node:fs';
import { NativeMemory } from '../../../ffi/native-memory.ts';
import { DEVICE_ATTRIBUTE, type DeviceAttribute, type DeviceAttributes } from '../driver/constants.ts';
import { type Driver, textFrom } from '../driver/driver.ts';

/** What the driver says about a GPU. Plain JSON. */
export interface CudaInfo {
  readonly ordinal: number;
  readonly name: string;
  /** `GPU-` and 32 hexadecimal digits in groups, in the format of nvidia-smi. */
  readonly uuid: string;
  /** e.g. `580.159.04`. */
  readonly driver: string;
  /** CUDA version of the driver, e.g. `13.0`. */
  readonly cudaVersion: string;
  /** Target that unlocks everything the GPU has, e.g. `sm_90a`. */
  readonly architecture: string;
  readonly totalBytes: number;
  readonly attributes: DeviceAttributes;
}

/** @throws CudaError */
export function describeDevice(driver: Driver, ordinal: number, device: number): CudaInfo {
  const entries = (Object.entries(DEVICE_ATTRIBUTE) as [DeviceAttribute, number][]).map(
    ([name, id]): [DeviceAttribute, number] => [name, attributeOf(driver, id, device)],
  );
  const attributes = Object.fromEntries(entries) as Record<DeviceAttribute, number>;
  const version = driver.integer('cuDriverGetVersion');
  const cudaVersion = `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
  return {
    ordinal,
    name: textFrom(256, (address) => driver.call('cuDeviceGetName', address, 256, device)),
    uuid: uuidOf(driver, device),
    driver: kernelModuleVersion() ?? `CUDA ${cudaVersion}`,
    cudaVersion,
    architecture: architectureOf(attributes.computeCapabilityMajor, attributes.computeCapabilityMinor),
    totalBytes: Number(driver.create('cuDeviceTotalMem_v2', device)),
    attributes,
  };
}

/** Attributes that a driver does not know are 0: the GPU lacks the feature. */
function attributeOf(driver: Driver, id: number, device: number): number {
  const out = new NativeMemory(4);
  return driver.result('cuDeviceGetAttribute', out.address, id, device) === 0 ? out.view.getInt32(0, true) : 0;
}

/** From compute capability 9.0 on, architecture-specific instructions need a target of their own. Source: nvcc manual. */
export const architectureOf = (major: number, minor: number): string => `sm_${major}${minor}${major >= 9 ? 'a' : ''}`;

/** `GPU-…`, as nvidia-smi prints it. @throws CudaError */
export function uuidOf(driver: Driver, device: number): string {
  const memory = new NativeMemory(16);
  driver.call('cuDeviceGetUuid_v2', memory.address, device);
  const hex = Buffer.from(memory.bytes).toString('hex');
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return `GPU-${groups.join('-')}`;
}

/** The first line reads `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (…)`. */
export function kernelModuleVersion(path = '/proc/driver/nvidia/version'): string | undefined {
  try {
    return /Kernel Module\D*?(?:x86_64|aarch64)?\s+(\d+\.\d+(?:\.\d+)?)/.exec(readFileSync(path, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
