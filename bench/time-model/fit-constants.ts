import { errorFactor, geometricMean } from '../../scripts/results/model-accuracy.ts';
import type { DeviceSpec } from '../../src/core/device-spec.ts';
import type { MachineCode, Overlap } from '../../src/hardware/launch-model/constants.ts';
import { predictAll } from './accuracy.ts';
import type { TimedKernel } from './recorded-times.ts';

type Name = Exclude<keyof MachineCode, 'overlap' | 'overlapUnscheduled'>;

/** A constant that is set. */
interface Constant {
  readonly name: string;
  /** What is physically possible: beyond it a better fit would explain nothing. */
  readonly range: readonly [number, number];
  read(code: MachineCode): number;
  write(code: MachineCode, value: number): MachineCode;
}

const constant = (name: Name, low: number, high: number): Constant => ({
  name,
  range: [low, high],
  read: (code) => code[name],
  write: (code, value) => ({ ...code, [name]: value }),
});

const exponent = (name: keyof Overlap): Constant => ({
  name: `overlap.${name}`,
  range: [1, 16],
  read: ({ overlap }) => overlap[name],
  write: (code, value) => ({ ...code, overlap: { ...code.overlap, [name]: value } }),
});

export const CONSTANTS: readonly Constant[] = [
  constant('independentArithmetic', 1, 4),
  constant('independentSharedLoads', 1, 16),
  constant('independentExchanges', 1, 4),
  constant('globalBytesInFlight', 4, 64),
  constant('mostGlobalLoadsInFlight', 1, 16),
  constant('clocksPerLineOfOneWarp', 1, 8),
  exponent('oneCta'),
  exponent('manyCtas'),
  exponent('oneRound'),
  exponent('manyRounds'),
  exponent('atomics'),
];

/** Factors by which a constant moves; the next is tried when no constant improves with the one before. */
const STRIDES = [1.5, 1.15, 1.04];
/** Less improvement of the geometric mean is none. */
const LEAST_GAIN = 1e-4;

/**
 * Constants with the least error, by moving one at a time. The same result on every machine. Each kernel counts the same,
 * however many of its settings were recorded.
 */
export function fitConstants(times: readonly TimedKernel[], spec: DeviceSpec, start: MachineCode): MachineCode {
  const kernels = [...Map.groupBy(times, ({ kernel }) => kernel).values()];
  const errorWith = (code: MachineCode): number =>
    geometricMean(kernels.map((settings) => geometricMean(predictAll(settings, spec, code).map(errorFactor))));
  let best = { code: start, error: errorWith(start) };
  for (const stride of STRIDES) {
    for (let found = true; found; ) {
      const moved = neighbours(best.code, stride).map((code) => ({ code, error: errorWith(code) }));
      const next = moved.reduce((least, one) => (one.error < least.error ? one : least), best);
      found = next.error < best.error - LEAST_GAIN;
      if (found) best = next;
    }
  }
  return best.code;
}

const neighbours = (code: MachineCode, stride: number): MachineCode[] =>
  CONSTANTS.flatMap(({ range: [low, high], read, write }) =>
    [read(code) * stride, read(code) / stride].map((value) => write(code, Math.min(high, Math.max(low, value)))),
  );
