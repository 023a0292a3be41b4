import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { Device } from '../../../src/core/device.ts';
import type { DeviceBuffer, LoadedModule } from '../../../src/core/device-values.ts';
import type { DType } from '../../../src/core/dtype.ts';
import type { Dim3, LaunchPlan } from '../../../src/core/launch-plan.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import type { Toolchain } from '../../../src/toolchains/toolchain.ts';
import { candidateOf } from '../support.ts';

export const KERNEL_FOLDER = join(import.meta.dirname, 'kernels');
export const readKernel = (file: string): string => readFileSync(join(KERNEL_FOLDER, file), 'utf8');

/** Names of the extern "C" kernels of a corpus file, macros that define kernels included. */
export function kernelNames(text: string): string[] {
  const plain = [...text.matchAll(/extern "C" __global__ void (?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(/g)].map(
    (m) => m[1]!,
  );
  const byMacro = [...text.matchAll(/^KERNEL_\w*\((\w+)/gm)].map((m) => `${m[1]}_kernel`);
  return [...plain, ...byMacro].filter((name) => !name.includes('name'));
}

export type Memory =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | BigInt64Array
  | BigUint64Array
  | Float16Array
  | Float32Array
  | Float64Array;
export type Argument = Memory | { scalar: number; dtype: DType };

export interface Launch {
  file: string;
  function: string;
  grid?: Dim3;
  block?: Dim3;
  sharedBytes?: number;
  arguments: Argument[];
}

export interface KernelRunner {
  /** Runs the kernel; arrays among the arguments are read back in place. */
  run(launch: Launch): Promise<void>;
  close(): Promise<void>;
}

/** Compiles corpus kernels with the header pack and runs them on a virtual GPU. */
export async function openKernelRunner(options: { deviceId?: string; flags?: string[] } = {}): Promise<KernelRunner> {
  const toolchain = await createClangToolchain();
  const device = await openDevice(options.deviceId ?? 'virtual:l4', { threads: 1 });
  const modules = new Map<string, Promise<LoadedModule>>();
  return {
    async run(launch) {
      let module = modules.get(launch.file);
      if (module === undefined) {
        module = load(toolchain, device, launch.file, options.flags ?? []);
        modules.set(launch.file, module);
      }
      await runOn(device, await module, launch);
    },
    close: () => device.close(),
  };
}

async function load(toolchain: Toolchain, device: Device, file: string, flags: string[]): Promise<LoadedModule> {
  const code = await compileCorpusFile(toolchain, file, device.spec.architecture, flags);
  const loaded = await device.load(code);
  if (!loaded.ok) throw new Error(`${file}: ${loaded.message}`);
  return loaded.module;
}

export async function compileCorpusFile(
  toolchain: Toolchain,
  file: string,
  architecture: string,
  flags: string[] = [],
): Promise<CompiledCode> {
  const source = readKernel(file);
  const candidate = candidateOf({ source: { [file]: source }, functions: kernelNames(source), flags });
  const outcome = await toolchain.compile({ candidate, architecture });
  if (outcome.ok) return outcome.code;
  const places = outcome.diagnostics.map(({ message, location }) => `${location?.file}:${location?.line}: ${message}`);
  throw new Error(`${outcome.message}\n${places.join('\n')}`);
}

async function runOn(device: Device, module: LoadedModule, launch: Launch): Promise<void> {
  const plan = planOf(launch);
  const buffers = new Map<string, DeviceBuffer>();
  try {
    for (const { name, bytes, alignmentBytes } of plan.buffers) {
      const buffer = await device.allocate({ name, bytes, alignmentBytes });
      buffers.set(name, buffer);
      await device.write(buffer, bytesOf(launch.arguments[Number(name)] as Memory));
    }
    const outcome = await device.run(module, plan, buffers, { orderSeed: 0, count: false, timeoutMs: 20_000 });
    if (!outcome.ok) throw new Error(`${launch.function}: ${outcome.message} ${JSON.stringify(outcome.fault ?? {})}`);
    for (const [name, buffer] of buffers)
      bytesOf(launch.arguments[Number(name)] as Memory).set(await device.read(buffer));
  } finally {
    for (const buffer of buffers.values()) await device.free(buffer);
  }
}

const bytesOf = (memory: Memory) => new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength);
const isMemory = (argument: Argument): argument is Memory => ArrayBuffer.isView(argument);

/** Buffers are named by the position of their argument. */
function planOf(launch: Launch): LaunchPlan {
  const buffers = launch.arguments.flatMap((argument, index) =>
    isMemory(argument)
      ? [
          {
            name: String(index),
            role: 'inout' as const,
            dtype: 'u8' as const,
            shape: [argument.byteLength],
            strides: [1],
            bytes: argument.byteLength,
            alignmentBytes: 256,
          },
        ]
      : [],
  );
  const planned = launch.arguments.map((argument, index) =>
    isMemory(argument)
      ? { kind: 'buffer' as const, buffer: String(index), offsetBytes: 0 }
      : { kind: 'scalar' as const, dtype: argument.dtype, value: argument.scalar },
  );
  const step = {
    kind: 'launch' as const,
    functionName: launch.function,
    grid: launch.grid ?? ([1, 1, 1] as const),
    block: launch.block ?? ([32, 1, 1] as const),
    dynamicSharedBytes: launch.sharedBytes ?? 0,
    cooperative: false,
    programmaticDependent: false,
    arguments: planned,
  };
  return { buffers, steps: [step] };
}
