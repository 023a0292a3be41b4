import { WarpsmithError } from '../../../core/errors.ts';
import type { GpuState } from '../../../core/measurement.ts';
import type { ThrottleReason } from '../../../core/vocabulary.ts';
import { type ArgumentType, type NativeFunction, type NativeLibrary, openLibrary } from '../../../ffi/open-library.ts';

/** NVML's view of one GPU. Only reads; it never changes a setting. */
export interface Nvml {
  /**
   * The GPU's current state. Values that board, driver or permissions do not reveal are absent.
   * @param ownPids gives our processes that may have a context on the GPU, by the ids that this process sees. It is told which have one.
   */
  state(ownPids: (listed: readonly number[]) => ReadonlySet<number>): GpuState;
  /** Highest SM clock that the board can be set to, in MHz. No kernel runs faster. */
  maximumSmClockMhz(): number | undefined;
  /** Energy of the whole board since the driver was loaded. Ticks every 20 to 100 ms; absent before Volta. */
  energyMillijoules(): number | undefined;
  close(): void;
}

/**
 * NVML's view of the GPU with this UUID (`GPU-…`); undefined if there is no NVML or it does not know the GPU. Measurements
 * then continue without states.
 */
export function openNvml(uuid: string): Nvml | undefined {
  try {
    const library = openLibrary({
      what: 'NVML',
      names: ['libnvidia-ml.so.1', 'libnvidia-ml.so'],
      hint: 'It comes with the NVIDIA driver.',
    });
    return useNvml(library, uuid);
  } catch (error) {
    if (error instanceof WarpsmithError) return undefined;
    throw error;
  }
}

// Source of all numbers and layouts: nvml.h, NVML API reference.
const SUCCESS = 0;
const INSUFFICIENT_SIZE = 7;
const CLOCK = { sm: 1, memory: 2 } as const;
const TEMPERATURE_GPU = 0;

/** Bits of nvmlClocksEventReasons. GpuIdle (1) gives no reason to doubt a measurement. */
const REASON_BITS: readonly (readonly [bit: bigint, reason: ThrottleReason])[] = [
  [0x02n, 'applications-clocks'],
  [0x04n, 'sw-power-cap'],
  [0x08n, 'hw-slowdown'],
  [0x10n, 'sync-boost'],
  [0x20n, 'sw-thermal-slowdown'],
  [0x40n, 'hw-thermal-slowdown'],
  [0x80n, 'hw-power-brake'],
  [0x100n, 'display-clocks'],
];

/** nvmlProcessInfo_t in the layout of the _v2 and _v3 functions: pid, memory used, GPU instance, compute instance. */
const PROCESS_INFO_BYTES = 24;
/** Room for this many processes at first. */
const PROCESS_COUNT = 32;

/** The same for a library that is already open. @throws WarpsmithError if it lacks even the basic functions. */
export function useNvml(library: NativeLibrary, uuid: string): Nvml | undefined {
  const initialise = library.function('nvmlInit_v2', 'i32', []);
  const shutdown = library.function('nvmlShutdown', 'i32', []);
  const handleOf = library.function('nvmlDeviceGetHandleByUUID', 'i32', ['text', 'bytes']);
  if (initialise() !== SUCCESS) return undefined;
  const handle = new Uint8Array(8);
  if (handleOf(uuid, handle) !== SUCCESS) {
    shutdown();
    return undefined;
  }
  const queries = bindQueries(library, unsigned(handle));
  return {
    state: (ownPids) => stateOf(queries, ownPids),
    maximumSmClockMhz: () => queries.maximumClockMhz(CLOCK.sm),
    energyMillijoules: () => queries.energyMillijoules(),
    close: () => void shutdown(),
  };
}

/** Little-endian integer of up to 8 bytes. */
const unsigned = (bytes: Uint8Array): bigint => bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);

type Queries = ReturnType<typeof bindQueries>;

/** Each returns a value, or undefined if it is not supported. */
function bindQueries(library: NativeLibrary, device: bigint) {
  /** A function (device, ...inputs, out): its result as a number. */
  const query = <const A extends readonly 'u32'[]>(names: readonly string[], inputs: A, outBytes = 4) => {
    const call = firstOf(library, names, ['address', ...inputs, 'bytes']) as
      | ((device: bigint, ...values: readonly unknown[]) => number)
      | undefined;
    return (...values: { -readonly [I in keyof A]: number }): number | undefined => {
      const out = new Uint8Array(outBytes);
      return call?.(device, ...values, out) === SUCCESS ? Number(unsigned(out)) : undefined;
    };
  };
  const processes = firstOf(
    library,
    ['nvmlDeviceGetComputeRunningProcesses_v3', 'nvmlDeviceGetComputeRunningProcesses_v2'],
    ['address', 'bytes', 'bytes'],
  );
  return {
    clockMhz: query(['nvmlDeviceGetClockInfo'], ['u32']),
    maximumClockMhz: query(['nvmlDeviceGetMaxClockInfo'], ['u32']),
    temperatureC: query(['nvmlDeviceGetTemperature'], ['u32']),
    powerMilliwatt: query(['nvmlDeviceGetPowerUsage'], []),
    powerLimitMilliwatt: query(['nvmlDeviceGetEnforcedPowerLimit'], []),
    energyMillijoules: query(['nvmlDeviceGetTotalEnergyConsumption'], [], 8),
    reasons: query(['nvmlDeviceGetCurrentClocksEventReasons', 'nvmlDeviceGetCurrentClocksThrottleReasons'], [], 8),
    processIds: () => (processes === undefined ? undefined : listProcesses(processes, device)),
  };
}

/** The newest function the library has. */
function firstOf<const A extends readonly ArgumentType[]>(
  library: NativeLibrary,
  names: readonly string[],
  parameters: A,
): NativeFunction<'i32', A> | undefined {
  for (const name of names) {
    const found = library.optionalFunction(name, 'i32', parameters);
    if (found !== undefined) return found;
  }
  return undefined;
}

type ProcessList = NativeFunction<'i32', readonly ['address', 'bytes', 'bytes']>;

function listProcesses(list: ProcessList, device: bigint): number[] | undefined {
  // Tries again with room for twice as many, because processes may have started meanwhile.
  for (let room = PROCESS_COUNT, tries = 0; tries < 2; tries++) {
    const count = new Uint8Array(4);
    const infos = new Uint8Array(room * PROCESS_INFO_BYTES);
    const counted = new DataView(count.buffer);
    counted.setUint32(0, room, true);
    const result = list(device, count, infos);
    if (result === SUCCESS) return processIdsIn(infos, counted.getUint32(0, true));
    if (result !== INSUFFICIENT_SIZE) return undefined;
    room = 2 * counted.getUint32(0, true);
  }
  return undefined;
}

const processIdsIn = (infos: Uint8Array<ArrayBuffer>, count: number): number[] =>
  Array.from({ length: count }, (_, i) => new DataView(infos.buffer).getUint32(i * PROCESS_INFO_BYTES, true));

function stateOf(queries: Queries, ownPids: Parameters<Nvml['state']>[0]): GpuState {
  const reasons = queries.reasons();
  const processIds = queries.processIds();
  const told: { [F in keyof GpuState]: GpuState[F] | undefined } = {
    smClockMhz: queries.clockMhz(CLOCK.sm),
    memoryClockMhz: queries.clockMhz(CLOCK.memory),
    temperatureC: queries.temperatureC(TEMPERATURE_GPU),
    powerW: watts(queries.powerMilliwatt()),
    powerLimitW: watts(queries.powerLimitMilliwatt()),
    throttleReasons: reasons === undefined ? undefined : reasonsIn(BigInt(reasons)),
    otherProcessCount: processIds === undefined ? undefined : countOthers(processIds, ownPids(processIds)),
  };
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined)) as GpuState;
}

const watts = (milliwatt: number | undefined): number | undefined =>
  milliwatt === undefined ? undefined : milliwatt / 1000;

const reasonsIn = (bits: bigint): ThrottleReason[] =>
  REASON_BITS.filter(([bit]) => (bits & bit) !== 0n).map(([, reason]) => reason);

/**
 * Counts processes that are not ours. NVML lists the host's process ids; in a container, ours differ from them. If no
 * listed id is known, as many of them count as ours as we have processes.
 */
function countOthers(listed: readonly number[], ownPids: ReadonlySet<number>): number {
  const unknown = new Set(listed.filter((pid) => !ownPids.has(pid)));
  const knowsOurs = listed.some((pid) => ownPids.has(pid));
  return knowsOurs ? unknown.size : Math.max(0, unknown.size - ownPids.size);
}
