import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { Diagnostic } from '../../../src/core/compiled-code.ts';
import type { LaunchCounters } from '../../../src/core/counters.ts';
import type { Device } from '../../../src/core/device.ts';
import type { DeviceBuffer } from '../../../src/core/device-values.ts';
import type { Finding } from '../../../src/core/finding.ts';
import type { Kernel } from '../../../src/core/kernel.ts';
import type { Dim3, LaunchPlan, PlannedArgument, PlannedBuffer } from '../../../src/core/launch-plan.ts';
import type { Timing } from '../../../src/core/timing.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { diagnose } from '../../../src/diagnosis/diagnose.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import type { Toolchain } from '../../../src/toolchains/toolchain.ts';

/** One argument: a scalar, or a buffer of `bytes` whose 4-byte words hold `word(index)`. */
export type KernelArgument = { i32: number } | { bytes: number; word?: (index: number) => number };

export interface KernelRun {
  /** File in test/diagnosis/kernels. */
  readonly file: string;
  readonly functionName: string;
  readonly grid: number;
  readonly block: number;
  /** How often it is launched, one after the other; 1 when absent. */
  readonly launchCount?: number;
  readonly dynamicSharedBytes?: number;
  readonly arguments: readonly KernelArgument[];
  readonly halfPrecisionMatrixWork?: boolean;
  /** What a compiler said that is not at hand. */
  readonly diagnostics?: readonly Diagnostic[];
  /** What the caches hold beforehand; `cold` when absent. */
  readonly cache?: 'hot' | 'cold';
}

export interface DiagnosedKernel {
  readonly counters: LaunchCounters;
  readonly timing: Timing;
  readonly findings: readonly Finding[];
}

const KERNELS = join(import.meta.dirname, '..', 'kernels');

/** Compiles, executes, counts and diagnoses small kernels on one virtual device. */
export interface KernelBench {
  diagnose(run: KernelRun): Promise<DiagnosedKernel>;
  close(): Promise<void>;
}

export async function openKernelBench(deviceId = 'virtual:l4'): Promise<KernelBench> {
  const toolchain = await createClangToolchain();
  const device = await openDevice(deviceId, { threads: 1 });
  return { diagnose: (run) => diagnoseOn(device, toolchain, run), close: () => device.close() };
}

async function diagnoseOn(device: Device, toolchain: Toolchain, run: KernelRun): Promise<DiagnosedKernel> {
  const compiled = await toolchain.compile({
    candidate: makeCandidate(await readKernel(run), {}),
    architecture: device.spec.architecture,
  });
  if (!compiled.ok) throw new Error(`${run.file}: ${compiled.message}`);
  const loaded = await device.load(compiled.code);
  if (!loaded.ok) throw new Error(`${run.file}: ${loaded.message}`);
  const plan = planFor(run);
  const buffers = new Map<string, DeviceBuffer>();
  try {
    for (const { name, bytes, alignmentBytes } of plan.buffers) {
      buffers.set(name, await device.allocate({ name, bytes, alignmentBytes }));
      await device.write(buffers.get(name)!, contents(run.arguments[Number(name)]!));
    }
    const outcome = await device.run(loaded.module, plan, buffers, {
      orderSeed: 0,
      count: true,
      timeoutMs: 20_000,
      ...(run.cache && { cache: run.cache }),
    });
    if (!outcome.ok) throw new Error(`${run.file}: ${outcome.message}`);
    const launches = outcome.counters;
    const counters = launches[0]!;
    const timing = device.predict(launches, plan, { vetoNs: 0, attainableNs: 0 });
    const findings = diagnose({
      counters: { ...counters, totals: counters, launches },
      timing,
      spec: device.spec,
      halfPrecisionMatrixWork: run.halfPrecisionMatrixWork ?? false,
      ...(run.diagnostics && { diagnostics: run.diagnostics }),
    });
    return { counters, timing, findings };
  } finally {
    for (const buffer of buffers.values()) await device.free(buffer);
    await device.unload(loaded.module);
  }
}

async function readKernel({ file, functionName }: KernelRun): Promise<Kernel> {
  return {
    folder: KERNELS,
    file: {
      schemaVersion: 1,
      name: file,
      description: '',
      problem: '',
      source: { kind: 'cuda', files: [file] },
      steps: [{ function: functionName, grid: [1], block: [1], arguments: [] }],
    },
    sources: { [file]: await readFile(join(KERNELS, file), 'utf8') },
  };
}

/** Buffers are named by the position of their argument. */
function planFor(run: KernelRun): LaunchPlan {
  const buffers = run.arguments.flatMap((argument, index): PlannedBuffer[] =>
    'bytes' in argument
      ? [
          {
            name: String(index),
            role: 'inout',
            dtype: 'u8',
            shape: [argument.bytes],
            strides: [1],
            bytes: argument.bytes,
            alignmentBytes: 256,
          },
        ]
      : [],
  );
  const planned = run.arguments.map(
    (argument, index): PlannedArgument =>
      'bytes' in argument
        ? { kind: 'buffer', buffer: String(index), offsetBytes: 0 }
        : { kind: 'scalar', dtype: 'i32', value: argument.i32 },
  );
  const line = (extent: number): Dim3 => [extent, 1, 1];
  return {
    buffers,
    steps: Array.from({ length: run.launchCount ?? 1 }, () => ({
      kind: 'launch',
      functionName: run.functionName,
      grid: line(run.grid),
      block: line(run.block),
      dynamicSharedBytes: run.dynamicSharedBytes ?? 0,
      cooperative: false,
      programmaticDependent: false,
      arguments: planned,
    })),
  };
}

function contents(argument: KernelArgument): Uint8Array {
  if (!('bytes' in argument)) return new Uint8Array();
  const { word = () => 0 } = argument;
  const words = Uint32Array.from({ length: Math.ceil(argument.bytes / 4) }, (_, index) => word(index));
  return new Uint8Array(words.buffer, 0, argument.bytes);
}
