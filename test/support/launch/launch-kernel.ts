import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { LaunchCounters } from '../../../src/core/counters.ts';
import type { Device, RunOptions } from '../../../src/core/device.ts';
import type { DeviceBuffer, DeviceFailure, LoadedModule, PlacedWrites } from '../../../src/core/device-values.ts';
import type {
  Dim3,
  LaunchPlan,
  PlannedArgument,
  PlannedBuffer,
  PlannedLaunch,
  PlannedStep,
} from '../../../src/core/launch-plan.ts';
import type { Printed } from '../../../src/core/printed.ts';
import type { WarpTrace } from '../../../src/core/warp-trace.ts';

/** `in`: a buffer of that name; `{ u32: 3 }` and the like: scalars; anything else as the plan has it. */
export type LaunchArgument = string | { u32: number } | { i32: number } | { f32: number } | PlannedArgument;

export interface KernelLaunch {
  readonly functionName?: string;
  /** CTAs along x, or all three extents. Default 1. */
  readonly grid?: number | Dim3;
  /** CTAs of a cluster along x, or all three extents. Default none. */
  readonly cluster?: number | Dim3;
  /** Threads along x, or all three extents. Default one warp. */
  readonly block?: number | Dim3;
  readonly dynamicSharedBytes?: number;
  readonly cooperative?: boolean;
  readonly arguments?: readonly LaunchArgument[];
  /** Contents, or the size in bytes of a buffer of zeros. */
  readonly buffers?: Readonly<Record<string, ArrayBufferView | number>>;
  /** Buffers that the problem declares as inputs. */
  readonly inputs?: readonly string[];
  readonly options?: Partial<RunOptions>;
}

export interface Launched {
  readonly counters: LaunchCounters;
  /** Contents of the buffers after the launch. */
  readonly contents: Readonly<Record<string, Uint8Array<ArrayBuffer>>>;
  /** Distinct bytes that a counted launch read of each buffer. */
  readonly readBytes?: ReadonlyMap<string, number>;
  readonly printed?: Printed;
  /** Who stored to the watched place. */
  readonly writes?: PlacedWrites;
  /** What the followed warp did. */
  readonly trace?: WarpTrace;
}

export const DEFAULT_RUN_OPTIONS: RunOptions = { orderSeed: 0, count: false, timeoutMs: 20_000 };

/** Hand-written PTX as a toolchain would hand it over. */
export const ptxCode = (text: string): CompiledCode => ({
  kind: 'ptx',
  text,
  architecture: 'sm_89',
  compiler: { name: 'test', version: '0' },
  functionSymbols: {},
  key: text,
  diagnostics: [],
});

/** @throws Error when the device refuses the code. */
export async function loadCode(device: Device, code: CompiledCode | string): Promise<LoadedModule> {
  const loaded = await device.load(typeof code === 'string' ? ptxCode(code) : code);
  if (!loaded.ok) throw new Error(`load: ${loaded.status}: ${loaded.message}`);
  return loaded.module;
}

const extents = (value: number | Dim3 | undefined, otherwise: number): Dim3 =>
  typeof value === 'object' ? value : [value ?? otherwise, 1, 1];

function planArgument(argument: LaunchArgument): PlannedArgument {
  if (typeof argument === 'string') return { kind: 'buffer', buffer: argument, offsetBytes: 0 };
  if ('kind' in argument) return argument;
  const [[dtype, value]] = Object.entries(argument) as [['u32' | 'i32' | 'f32', number]];
  return { kind: 'scalar', dtype, value };
}

export function planLaunch(launch: KernelLaunch): PlannedLaunch {
  return {
    kind: 'launch',
    functionName: launch.functionName ?? 'kernel',
    grid: extents(launch.grid, 1),
    block: extents(launch.block, 32),
    dynamicSharedBytes: launch.dynamicSharedBytes ?? 0,
    ...(launch.cluster === undefined ? {} : { cluster: extents(launch.cluster, 1) }),
    cooperative: launch.cooperative ?? false,
    programmaticDependent: false,
    arguments: (launch.arguments ?? []).map(planArgument),
  };
}

const bytesOf = (contents: ArrayBufferView | number): Uint8Array =>
  typeof contents === 'number'
    ? new Uint8Array(contents)
    : new Uint8Array(contents.buffer, contents.byteOffset, contents.byteLength);

const plannedBuffer = (name: string, bytes: number): PlannedBuffer => ({
  name,
  role: 'inout',
  dtype: 'u8',
  shape: [bytes],
  strides: [1],
  bytes,
  alignmentBytes: 256,
});

/** Allocates and fills the buffers, runs the steps, reads every buffer back and frees it. */
export async function trySteps(
  device: Device,
  module: LoadedModule,
  { buffers: named = {}, inputs, options }: Pick<KernelLaunch, 'buffers' | 'inputs' | 'options'>,
  steps: readonly PlannedStep[],
): Promise<({ ok: true } & Launched) | DeviceFailure> {
  const buffers = new Map<string, DeviceBuffer>();
  const planned: PlannedBuffer[] = [];
  try {
    for (const [name, contents] of Object.entries(named)) {
      const bytes = bytesOf(contents);
      const role = inputs?.includes(name) ? 'in' : 'inout';
      planned.push({ ...plannedBuffer(name, bytes.length), role });
      buffers.set(name, await device.allocate({ name, bytes: bytes.length, alignmentBytes: 256 }));
      await device.write(buffers.get(name)!, bytes);
    }
    const plan: LaunchPlan = { buffers: planned, steps };
    const outcome = await device.run(module, plan, buffers, { ...DEFAULT_RUN_OPTIONS, ...options });
    if (!outcome.ok) return outcome;
    const contents: Record<string, Uint8Array<ArrayBuffer>> = {};
    for (const [name, buffer] of buffers) contents[name] = new Uint8Array(await device.read(buffer));
    const { counters, readBytes, printed, writes, trace } = outcome;
    return { ok: true, counters: counters[0]!, contents, readBytes, printed, writes, trace };
  } finally {
    for (const buffer of buffers.values()) await device.free(buffer);
  }
}

/** The same for one launch. */
export const tryLaunch = (
  device: Device,
  module: LoadedModule,
  launch: KernelLaunch,
): Promise<({ ok: true } & Launched) | DeviceFailure> => trySteps(device, module, launch, [planLaunch(launch)]);

/** The same for a launch that must succeed. @throws Error with the device's message when it does not. */
export async function launchKernel(device: Device, module: LoadedModule, launch: KernelLaunch): Promise<Launched> {
  const outcome = await tryLaunch(device, module, launch);
  if (!outcome.ok) throw new Error(`${outcome.status}: ${outcome.message}`);
  return outcome;
}

/** Loads `code`, launches once, unloads. */
export async function launchCode(device: Device, code: CompiledCode | string, launch: KernelLaunch): Promise<Launched> {
  const module = await loadCode(device, code);
  try {
    return await launchKernel(device, module, launch);
  } finally {
    await device.unload(module);
  }
}

/** The failure of a launch that must fail. @throws Error when it succeeds. */
export async function failureOf(
  device: Device,
  code: CompiledCode | string,
  launch: KernelLaunch,
): Promise<DeviceFailure> {
  const module = await loadCode(device, code);
  try {
    const outcome = await tryLaunch(device, module, launch);
    if (outcome.ok) throw new Error('the launch succeeded');
    return outcome;
  } finally {
    await device.unload(module);
  }
}

export const words = (bytes: Uint8Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => new Uint32Array(bytes.buffer);
export const floats = (bytes: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> => new Float32Array(bytes.buffer);
