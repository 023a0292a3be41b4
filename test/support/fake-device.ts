import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { LaunchCounters } from '../../src/core/counters.ts';
import type { Device, RunOptions } from '../../src/core/device.ts';
import type { AllocationRequest, DeviceBuffer, DeviceFailure } from '../../src/core/device-values.ts';
import type { DType } from '../../src/core/dtype.ts';
import { emptyTotals } from '../../src/core/empty-totals.ts';
import type { LaunchPlan, PlannedLaunch, PlannedPlace } from '../../src/core/launch-plan.ts';
import { decode, encode } from '../../src/core/rounding.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { predictTime } from '../../src/hardware/launch-model/predict-time.ts';

const GUARD_BYTES = 64;
const GUARD_BYTE = 0xa7;

interface Memory extends DeviceBuffer {
  /** Guard zone, contents, guard zone. */
  readonly all: Uint8Array;
}

/** What a fake kernel sees of one launch. */
export interface FakeLaunch {
  readonly launch: PlannedLaunch;
  readonly options: RunOptions;
  /** The buffer's elements, decoded; change them with `store`. */
  load(buffer: string, dtype: DType): Float64Array;
  /** Encodes the elements into the buffer from `firstElement`; may run into the guard zones. */
  store(buffer: string, dtype: DType, values: ArrayLike<number>, firstElement?: number): void;
}

/** Stands in for device code: changes buffers. A returned `DeviceFailure` is how the launch failed. */
export type FakeKernel = (launch: FakeLaunch) => unknown;

/** A device whose kernels are JavaScript functions by name. It remembers what is still allocated and loaded. */
export interface FakeDevice extends Device {
  readonly liveBuffers: ReadonlySet<DeviceBuffer>;
  readonly liveModules: ReadonlySet<unknown>;
  /** Options of every run so far. */
  readonly runs: readonly RunOptions[];
  /** Requests of every allocation so far. */
  readonly allocations: readonly AllocationRequest[];
}

export const createFakeDevice = (
  kernels: Readonly<Record<string, FakeKernel>>,
  overrides: Partial<Pick<Device, 'load' | 'unload' | 'predict'>> = {},
): FakeDevice => {
  const spec = DEVICE_SPECS.get('l4')!;
  const liveBuffers = new Set<DeviceBuffer>();
  const liveModules = new Set<unknown>();
  const runs: RunOptions[] = [];
  const allocations: AllocationRequest[] = [];
  const memoryOf = (buffer: DeviceBuffer): Memory => {
    if (!liveBuffers.has(buffer)) throw new Error(`buffer ${buffer.name} is not allocated`);
    return buffer as Memory;
  };
  const contents = ({ all }: Memory): Uint8Array => all.subarray(GUARD_BYTES, all.length - GUARD_BYTES);

  return {
    identity: { id: 'virtual:fake', kind: 'virtual', name: 'Fake' },
    spec,
    liveBuffers,
    liveModules,
    runs,
    allocations,
    load: async (code: CompiledCode) => {
      const module = { code, resources: { kernel: RESOURCES } };
      liveModules.add(module);
      return { ok: true, module };
    },
    unload: async (module) => {
      if (!liveModules.delete(module)) throw new Error('unloaded twice');
    },
    allocate: async (request) => {
      allocations.push(request);
      const { name, bytes } = request;
      const all = new Uint8Array(bytes + 2 * GUARD_BYTES).fill(GUARD_BYTE);
      const memory: Memory = { name, bytes, all };
      contents(memory).fill(0xcd);
      liveBuffers.add(memory);
      return memory;
    },
    free: async (buffer) => {
      if (!liveBuffers.delete(buffer)) throw new Error(`freed twice: ${buffer.name}`);
    },
    write: async (buffer, bytes, offsetBytes = 0) => contents(memoryOf(buffer)).set(bytes, offsetBytes),
    fill: async (buffer, pattern) => {
      const target = contents(memoryOf(buffer));
      target.set(pattern.slice(0, target.length));
      // What is filled so far, again and again.
      for (let done = pattern.length; done < target.length; done *= 2) target.copyWithin(done, 0, done);
    },
    read: async (buffer) => contents(memoryOf(buffer)).slice(),
    damagedGuardBytes: async (buffer) => {
      const { all } = memoryOf(buffer);
      const guards = [...all.subarray(0, GUARD_BYTES), ...all.subarray(all.length - GUARD_BYTES)];
      return guards.filter((byte) => byte !== GUARD_BYTE).length;
    },
    run: async (_module, plan: LaunchPlan, buffers, options) => {
      runs.push(options);
      const counters: LaunchCounters[] = [];
      for (const step of plan.steps) {
        if (step.kind === 'memset') {
          contents(memoryOf(buffers.get(step.buffer)!)).fill(step.byteValue);
          continue;
        }
        if (step.kind === 'copy') {
          const bytesOf = ({ buffer, offsetBytes }: PlannedPlace): Uint8Array =>
            contents(memoryOf(buffers.get(buffer)!)).subarray(offsetBytes, offsetBytes + step.bytes);
          bytesOf(step.to).set(bytesOf(step.from));
          continue;
        }
        const memory = (name: string): Memory => memoryOf(buffers.get(`${name}${slotSuffix(step)}`)!);
        const failure = kernels[step.functionName]!({
          launch: step,
          options,
          load: (name, dtype) => decode(contents(memory(name)).slice(), dtype),
          store: (name, dtype, values, firstElement = 0) => {
            const bytes = encode(values, dtype);
            memory(name).all.set(bytes, GUARD_BYTES + (firstElement * bytes.length) / values.length);
          },
        });
        if (isFailure(failure)) return failure;
        if (options.count) counters.push(fakeCounters(step, options.sampleCtas));
      }
      return { ok: true, counters, elapsedMs: 0 };
    },
    predict: (counters, _plan, bounds) => predictTime(counters, spec, bounds),
    close: async () => {},
    ...overrides,
  };
};

/** Kernels name buffers as kernel.json does; a plan of several launch sequences adds its slot, e.g. `#2`. */
const slotSuffix = (step: PlannedLaunch): string => {
  const buffer = step.arguments.find((argument) => argument.kind === 'buffer');
  return buffer?.buffer.match(/#\d+$/)?.[0] ?? '';
};

/** 64 registers of 32 threads: 2048 of an SM's 65,536 registers for each CTA. */
const RESOURCES = {
  registersPerThread: 64,
  registersSource: 'estimated',
  staticSharedBytes: 0,
  dynamicSharedBytes: 0,
  localBytesPerThread: 0,
} as const;

const isFailure = (value: unknown): value is DeviceFailure =>
  typeof value === 'object' && value !== null && 'ok' in value && value.ok === false;

/** One warp instruction per warp, nothing else. */
const fakeCounters = (
  { functionName, grid, block, dynamicSharedBytes }: PlannedLaunch,
  sampleCtas = Number.POSITIVE_INFINITY,
): LaunchCounters => {
  const ctaCount = grid[0] * grid[1] * grid[2];
  const threads = block[0] * block[1] * block[2];
  const instructions = ctaCount * Math.ceil(threads / 32);
  return {
    functionName,
    grid,
    block,
    ctaCount,
    countedCtas: Math.min(ctaCount, sampleCtas),
    resources: { ...RESOURCES, dynamicSharedBytes },
    ...emptyTotals(),
    instructions,
    threadInstructions: ctaCount * threads,
    instructionsByClass: { ...emptyTotals().instructionsByClass, fp32: instructions },
    flop: { fp16: 0, fp32: ctaCount * threads, fp64: 0, tensor: 0 },
    globalLoadRequests: 2,
    globalLoadSectors: 8,
    globalLoadBytes: 256,
    globalStoreRequests: 1,
    globalStoreSectors: 4,
    globalStoreBytes: 128,
    activeLaneHistogram: Array.from({ length: 33 }, (_, lanes) => (lanes === 32 ? instructions : 0)),
    criticalPathInstructions: 1,
    longestCtaInstructions: 1,
    distinctSectorsRead: 8,
    distinctSectorsWritten: 4,
    lines: [],
  };
};
