import type { Kernel, ParameterValues } from '../../core/kernel.ts';
import { type EvaluationStatus, isDevicesFault } from '../../core/status.ts';
import type { KnownTimes } from '../../store/events.ts';

/** One setting of a kernel and its time in any unit; `null` if it failed. */
export interface KnownSetting {
  readonly kernel: string;
  readonly parameters: ParameterValues;
  readonly time: number | null;
}

/** Digits of a time that are kept: no device repeats itself more closely. */
const DIGITS = 5;

/** By kernel, in the order of the settings; of a setting that is listed twice, the last. Undefined without any time. */
export function knownTimes(
  about: Omit<KnownTimes, 'kernels'>,
  settings: readonly KnownSetting[],
): KnownTimes | undefined {
  const times = settings.flatMap(({ time }) => (time === null ? [] : [time]));
  const shortest = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
  if (times.length === 0) return undefined;
  const kernels = [...Map.groupBy(settings, ({ kernel }) => kernel)].map(([kernel, of]) => {
    const names = Object.keys(of[0]!.parameters).sort();
    const rows = new Map(
      of.map(({ parameters, time }) => {
        const values = names.map((name) => parameters[name] ?? null);
        return [values.join(), [...values, time === null ? null : Number((time / shortest).toPrecision(DIGITS))]];
      }),
    );
    return { kernel, parameters: names, rows: [...rows.values()] };
  });
  return { ...about, kernels };
}

/** The time that an evaluation tells of its candidate; undefined if it tells of its device alone. */
export function timeOf(status: EvaluationStatus, medianNs: number | null | undefined): number | null | undefined {
  if (isDevicesFault(status)) return undefined;
  return status === 'passed' || status === 'unverified' ? (medianNs ?? undefined) : null;
}

/** The kernels that a run searches: its ladder, and its start where that is no rung. */
export const searchedKernels = ({
  start,
  rungs,
}: {
  readonly start: { readonly kernel: Kernel };
  readonly rungs: readonly Kernel[];
}): readonly Kernel[] =>
  rungs.some(({ file }) => file.name === start.kernel.file.name) ? rungs : [start.kernel, ...rungs];
