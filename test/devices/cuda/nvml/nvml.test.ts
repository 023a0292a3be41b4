import { describe, expect, it } from 'vitest';
import { THROTTLE_REASONS } from '../../../../src/core/vocabulary.ts';
import { openNvml, useNvml } from '../../../../src/devices/cuda/nvml/nvml.ts';
import type { NativeLibrary } from '../../../../src/ffi/open-library.ts';

const UUID = 'GPU-12345678-1234-1234-1234-123456789abc';
const HANDLE = 0x7f00_1234_5678n;
const NOT_SUPPORTED = 3;

type Call = (...values: never[]) => number;

const put = (out: Uint8Array, value: bigint | number): number => {
  for (let i = 0, rest = BigInt(value); i < out.length; i++, rest >>= 8n) out[i] = Number(rest & 255n);
  return 0;
};

/** NVML as a table of functions; each checks that it is asked about the GPU with the handle. */
function library(functions: Record<string, Call>): { library: NativeLibrary; calls: string[] } {
  const calls: string[] = [];
  const find = (name: string) => {
    const call = functions[name];
    if (call === undefined) return undefined;
    return (...values: unknown[]) => {
      calls.push(name);
      if (name.startsWith('nvmlDevice') && name !== 'nvmlDeviceGetHandleByUUID') expect(values[0]).toBe(HANDLE);
      return (call as (...list: unknown[]) => number)(...values);
    };
  };
  return {
    calls,
    library: {
      path: 'fake',
      function: ((name: string) => {
        const found = find(name);
        if (!found) throw new Error(`${name} is missing`);
        return found;
      }) as never,
      optionalFunction: ((name: string) => find(name)) as never,
    },
  };
}

/** `pids` are the processes with a context. */
function board(pids: number[], overrides: Record<string, Call | undefined> = {}): Record<string, Call> {
  const functions: Record<string, Call | undefined> = {
    nvmlInit_v2: () => 0,
    nvmlShutdown: () => 0,
    nvmlDeviceGetHandleByUUID: (uuid: string, out: Uint8Array) => (uuid === UUID ? put(out, HANDLE) : 6),
    nvmlDeviceGetClockInfo: (_: bigint, clock: number, out: Uint8Array) => put(out, { 1: 1980, 2: 3201 }[clock] ?? 0),
    nvmlDeviceGetMaxClockInfo: (_: bigint, clock: number, out: Uint8Array) => put(out, clock === 1 ? 1980 : 0),
    nvmlDeviceGetTemperature: (_: bigint, sensor: number, out: Uint8Array) => put(out, sensor === 0 ? 41 : 99),
    nvmlDeviceGetPowerUsage: (_: bigint, out: Uint8Array) => put(out, 123_456),
    nvmlDeviceGetTotalEnergyConsumption: (_: bigint, out: Uint8Array) => put(out, 0x12_3456_789an),
    nvmlDeviceGetEnforcedPowerLimit: (_: bigint, out: Uint8Array) => put(out, 700_000),
    nvmlDeviceGetCurrentClocksEventReasons: (_: bigint, out: Uint8Array) => put(out, 0x45n),
    nvmlDeviceGetComputeRunningProcesses_v3: (_: bigint, count: Uint8Array, infos: Uint8Array) => {
      const room = new DataView(count.buffer).getUint32(0, true);
      expect(infos.length).toBe(room * 24);
      put(count, pids.length);
      if (room < pids.length) return 7;
      for (const [i, pid] of pids.entries()) put(infos.subarray(24 * i, 24 * i + 4), pid);
      return 0;
    },
    ...overrides,
  };
  return Object.fromEntries(
    Object.entries(functions).filter((entry): entry is [string, Call] => entry[1] !== undefined),
  );
}

const stateOf = (functions: Record<string, Call>, own: number[] = []) =>
  useNvml(library(functions).library, UUID)!.state(() => new Set(own));

describe('the state of a GPU', () => {
  it('has clocks, temperature, power in watts, reasons without idle, and other processes', () => {
    expect(stateOf(board([10, 11, 12]), [11])).toEqual({
      smClockMhz: 1980,
      memoryClockMhz: 3201,
      temperatureC: 41,
      powerW: 123.456,
      powerLimitW: 700,
      throttleReasons: ['sw-power-cap', 'hw-thermal-slowdown'],
      otherProcessCount: 2,
    });
  });

  it('names every reason', () => {
    const all = board([], { nvmlDeviceGetCurrentClocksEventReasons: (_: bigint, out: Uint8Array) => put(out, 0x1ffn) });
    expect(stateOf(all).throttleReasons?.sort()).toEqual([...THROTTLE_REASONS].sort());
  });

  it('leaves out what is not supported or missing', () => {
    const state = stateOf(
      board([], {
        nvmlDeviceGetPowerUsage: () => NOT_SUPPORTED,
        nvmlDeviceGetTemperature: undefined,
        nvmlDeviceGetComputeRunningProcesses_v3: () => 4,
      }),
    );
    expect(Object.keys(state).sort()).toEqual(['memoryClockMhz', 'powerLimitW', 'smClockMhz', 'throttleReasons']);
  });

  it('takes the older names of older drivers', () => {
    const state = stateOf(
      board([], {
        nvmlDeviceGetCurrentClocksEventReasons: undefined,
        nvmlDeviceGetCurrentClocksThrottleReasons: (_: bigint, out: Uint8Array) => put(out, 8n),
        nvmlDeviceGetComputeRunningProcesses_v3: undefined,
        nvmlDeviceGetComputeRunningProcesses_v2: (_: bigint, count: Uint8Array) => put(count, 0),
      }),
    );
    expect([state.throttleReasons, state.otherProcessCount]).toEqual([['hw-slowdown'], 0]);
  });

  it('asks again with more room when there are many processes', () => {
    const pids = Array.from({ length: 100 }, (_, i) => 1000 + i);
    expect(stateOf(board(pids), [1000, 5]).otherProcessCount).toBe(99);
  });

  it('counts ours out where ids are those of another namespace', () => {
    expect(stateOf(board([70, 71, 72]), [1, 2]).otherProcessCount).toBe(1);
    expect(stateOf(board([70]), [1, 2]).otherProcessCount).toBe(0);
    expect(stateOf(board([]), [1]).otherProcessCount).toBe(0);
  });
});

describe('opening', () => {
  it('tells the highest SM clock and shuts NVML down when closed', () => {
    const { library: fake, calls } = library(board([]));
    const nvml = useNvml(fake, UUID)!;
    expect(nvml.maximumSmClockMhz()).toBe(1980);
    expect(calls).not.toContain('nvmlShutdown');
    nvml.close();
    expect(calls.at(-1)).toBe('nvmlShutdown');
  });

  it('tells the energy counter, of 64 bits, where the GPU has one', () => {
    expect(useNvml(library(board([])).library, UUID)!.energyMillijoules()).toBe(0x12_3456_789a);
    const without = board([], { nvmlDeviceGetTotalEnergyConsumption: () => NOT_SUPPORTED });
    expect(useNvml(library(without).library, UUID)!.energyMillijoules()).toBeUndefined();
  });

  it('is undefined for a GPU that NVML does not know, or when NVML does not start', () => {
    const unknown = library(board([]));
    expect(useNvml(unknown.library, 'GPU-other')).toBeUndefined();
    expect(unknown.calls.at(-1)).toBe('nvmlShutdown');
    expect(useNvml(library(board([], { nvmlInit_v2: () => 9 })).library, UUID)).toBeUndefined();
  });

  it('is undefined for a UUID of no GPU, with or without a driver', () => {
    expect(openNvml('GPU-00000000-0000-0000-0000-000000000000')).toBeUndefined();
  });

  it('never calls anything that sets', () => {
    const { library: fake, calls } = library(board([1]));
    const nvml = useNvml(fake, UUID)!;
    nvml.state(() => new Set());
    nvml.close();
    expect(calls.filter((name) => /Set|Reset|Clear/.test(name))).toEqual([]);
    expect(calls.length).toBeGreaterThan(8);
  });
});
