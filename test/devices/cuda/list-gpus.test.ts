import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listGpus } from '../../../src/devices/cuda/list-gpus.ts';
import { architectureOf, kernelModuleVersion } from '../../../src/devices/cuda/worker/device-info.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'warpsmith-gpus-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const information = () => join(folder, 'gpus');
const devices = () => join(folder, 'dev');
const list = (visible?: string) => listGpus(visible, { information: information(), devices: devices() });

function addGpu(bus: string, model: string, uuid: string): void {
  mkdirSync(join(information(), bus), { recursive: true });
  writeFileSync(
    join(information(), bus, 'information'),
    `Model: \t\t ${model}\nIRQ:   \t\t 16\nGPU UUID: \t ${uuid}\nVideo BIOS: \t 96.00\n`,
  );
}

it('none where there is no driver', () => expect(list()).toEqual([]));

it('in the order of their buses, with names and UUIDs', () => {
  addGpu('0000:3b:00.0', 'NVIDIA L4', 'GPU-bbbb');
  addGpu('0000:1a:00.0', 'NVIDIA H200', 'GPU-aaaa');
  expect(list()).toEqual([
    { ordinal: 0, name: 'NVIDIA H200', uuid: 'GPU-aaaa' },
    { ordinal: 1, name: 'NVIDIA L4', uuid: 'GPU-bbbb' },
  ]);
});

it('as CUDA_VISIBLE_DEVICES shows them', () => {
  addGpu('0000:1a:00.0', 'NVIDIA H200', 'GPU-aaaa');
  addGpu('0000:3b:00.0', 'NVIDIA L4', 'GPU-bbbb');
  const names = (visible: string) => list(visible).map(({ name }) => name);
  expect(names('1')).toEqual(['NVIDIA L4']);
  expect(names('1,0')).toEqual(['NVIDIA L4', 'NVIDIA H200']);
  expect(names('GPU-bb')).toEqual(['NVIDIA L4']);
  expect(names('')).toEqual([]);
  expect(names('0,-1,1')).toEqual(['NVIDIA H200']);
  expect(names('7,0')).toEqual([]);
});

it('by their device files where the driver does not describe them', () => {
  mkdirSync(devices());
  for (const name of ['nvidia0', 'nvidia1', 'nvidiactl', 'nvidia-uvm', 'null'])
    writeFileSync(join(devices(), name), '');
  expect(list()).toEqual([0, 1].map((ordinal) => ({ ordinal, name: 'NVIDIA GPU' })));
});

it('the driver’s version, from its kernel module', () => {
  const path = join(folder, 'version');
  const line = (module: string) =>
    `NVRM version: NVIDIA UNIX ${module}  580.159.04  Release Build  (dvs-builder)\nGCC version: 13.2.0\n`;
  for (const module of ['Open Kernel Module for x86_64', 'x86_64 Kernel Module', 'Open Kernel Module for aarch64']) {
    writeFileSync(path, line(module));
    expect(kernelModuleVersion(path)).toBe('580.159.04');
  }
  expect(kernelModuleVersion(join(folder, 'none'))).toBeUndefined();
});

it('the target that unlocks everything of an architecture', () => {
  const cases = [
    [7, 5, 'sm_75'],
    [8, 9, 'sm_89'],
    [9, 0, 'sm_90a'],
    [10, 0, 'sm_100a'],
    [12, 0, 'sm_120a'],
  ] as const;
  for (const [major, minor, target] of cases) expect(architectureOf(major, minor)).toBe(target);
});
