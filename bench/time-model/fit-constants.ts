import { errorFactor, geometricMean } from '../../scripts/results/model-accuracy.ts';
import type { DeviceSpec } from '../../src/core/device-spec.ts';
import type { MachineCode } from '../../src/hardware/launch-model/constants.ts';
import { predictAll } from './accuracy.ts';
import type { TimedKernel } from './recorded-times.ts';

type NumberName = Exclude<keyof MachineCode, 'overlap' | 'overlapUnscheduled'>;

/** What is physically possible: beyond these a better fit would explain nothing. */
const RANGES: Readonly<Record<NumberName, readonly [number, number]>> = {
  independentArithmetic: [1, 4],
  independentSharedLoads: [1, 16],
  independentExchanges: [1, 4],
  globalBytesInFlight: [4, 64],
  mostGlobalLoadsInFlight: [1, 16],
  clocksPerLineOfOneWarp: [1, 8],
};

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
  (Object.keys(RANGES) as NumberName[]).flatMap((name) => {
    const [low, high] = RANGES[name];
    return [code[name] * stride, code[name] / stride].map((value) => ({
      ...code,
      [name]: Math.min(high, Math.max(low, value)),
    }));
  });
