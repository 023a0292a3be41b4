import { setImmediate } from 'node:timers/promises';
import { sizeOfDType } from '../core/dtype.ts';
import type { PlannedBuffer } from '../core/launch-plan.ts';
import { decode } from '../core/rounding.ts';
import type { FailureStatus } from '../core/status.ts';
import type { CheckRuns } from './check-runs.ts';
import { compareOutput, type OutputVerdict } from './compare.ts';
import type { CorrectnessTally } from './correctness-tally.ts';
import type { Expectations } from './expectations.ts';
import { elementCountOf, multiIndexOf } from './layout.ts';
import type { PreparedCheck } from './oracle.ts';
import { outputsOf } from './reference-runs.ts';
import type { Refused } from './refusal.ts';
import type { RunResult } from './run-once.ts';

/** Output name → how it compared. */
type Verdicts = ReadonlyMap<string, OutputVerdict>;

interface Judged {
  readonly runs: CheckRuns;
  readonly prepared: PreparedCheck;
  readonly expectations: Expectations;
  readonly tally: CorrectnessTally;
  /** Whether runs must agree bit for bit, not only each with the oracle. */
  readonly isBitwise: boolean;
}

/**
 * Runs one check twice and judges what came out; returns the first run when all is well. Where something is wrong, a
 * third run tells a dependence on uninitialised memory (`unsafe`) from other causes (`wrong`).
 */
export const judgeCheck = async (request: Omit<Judged, 'expectations'>): Promise<RunResult | Refused> => {
  const { runs, prepared, tally, isBitwise } = request;
  const [first, expected] = await Promise.all([runs.natural(), expectMeanwhile(prepared)]);
  if ('error' in expected) throw expected.error;
  const judged: Judged = { ...request, ...expected };
  if (!first.ok) return first;
  const second = await runs.reordered();
  if (!second.ok) return second;
  const unwritten = describeUnwritten(prepared, first, second);
  if (unwritten) return refused('wrong', unwritten, runs.name);

  const verdicts = [compareRun(judged, first), compareRun(judged, second)] as const;
  const difference = describeDifference(prepared, first, second);
  if (difference && (isBitwise || passes(verdicts[0]) !== passes(verdicts[1]))) {
    return refuseUnstable(judged, first, difference);
  }
  for (const [i, run] of [first, second].entries()) {
    tally.add(verdicts[i]!);
    if (!passes(verdicts[i]!)) return refuseWrong(judged, run, verdicts[i]!);
  }
  return first;
};

/**
 * Works out what is expected while the device runs: by the next turn of the event loop the launch is under way. An
 * error is returned, so that the caller can let the run end first.
 */
const expectMeanwhile = async (
  prepared: PreparedCheck,
): Promise<{ expectations: Expectations } | { error: unknown }> => {
  await setImmediate();
  try {
    return { expectations: await prepared.expectations() };
  } catch (error) {
    return { error };
  }
};

/** Whether another run came out otherwise: to the bit, or in its verdict where bits may differ. */
const cameOutOtherwise = (judged: Judged, first: RunResult, other: RunResult): boolean =>
  judged.isBitwise
    ? describeDifference(judged.prepared, first, other) !== undefined
    : passes(compareRun(judged, first)) !== passes(compareRun(judged, other));

/** The runs differ: because of what lay in memory, or because of the order. */
const refuseUnstable = async (judged: Judged, first: RunResult, difference: string): Promise<Refused> => {
  const { runs } = judged;
  const third = await runs.repoisoned();
  if (!third.ok) return third;
  if (cameOutOtherwise(judged, first, third)) return refuseUninitialised(runs, difference);
  const memory = runs.remembers ? ', or on what the run before left in a workspace that is zeroed once' : '';
  return refused('wrong', `output depends on the order of CTAs or warps${memory}: ${difference}`, runs.name);
};

/** Both runs are wrong alike: because of what lay in memory, if zeros there make a difference. */
const refuseWrong = async (judged: Judged, run: RunResult, verdicts: Verdicts): Promise<Refused> => {
  const { runs, prepared } = judged;
  const third = await runs.zeroed();
  if (!third.ok) return third;
  const difference = describeDifference(prepared, run, third);
  if (difference && cameOutOtherwise(judged, run, third)) return refuseUninitialised(runs, difference);
  return refused('wrong', describeWrong(verdicts)!, `${runs.name} · ${run.conditions.name}`);
};

const refuseUninitialised = (runs: CheckRuns, difference: string): Refused =>
  refused('unsafe', `output depends on uninitialised memory: ${difference}`, runs.name);

const refused = (status: FailureStatus, reason: string, failedCheck: string): Refused => ({
  ok: false,
  status,
  reason,
  failedCheck,
});

const passes = (verdicts: Verdicts): boolean => [...verdicts.values()].every(({ passed }) => passed);

const compareRun = ({ prepared, expectations }: Judged, run: RunResult): Verdicts =>
  new Map(
    outputsOf(prepared.buffers).map((buffer) => {
      const got = decode(run.outputs.get(buffer.name)!, buffer.dtype);
      return [buffer.name, compareOutput(buffer, expectations.get(buffer.name)!, got)];
    }),
  );

/** e.g. `O[0, 3, 17, 5] = 0.25, wanted 0.1251 ± 0.0004; 4096 of 262144 elements wrong`. */
const describeWrong = (verdicts: Verdicts): string | undefined => {
  for (const [output, { passed, firstWrong: wrong, rmsError, rmsErrorRatio }] of verdicts) {
    if (passed) continue;
    if (!wrong) {
      return (
        `RMS error of ${output} is ${digits(rmsError)}, ${digits(rmsErrorRatio)} times its limit, though no single ` +
        'element is beyond its tolerance: something accumulates in too low a precision'
      );
    }
    return (
      `${output}[${wrong.index.join(', ')}] = ${digits(wrong.got)}, wanted ${digits(wrong.want)} ± ` +
      `${digits(wrong.tolerance)}; ${wrong.wrongCount} of ${wrong.elementCount} elements wrong`
    );
  }
  return undefined;
};

const digits = (value: number): string => String(Number(value.toPrecision(5)));

/** Numbers of the elements for which the predicate holds; elements are `size` bytes from `offset`. */
const elementsWhere = (buffer: PlannedBuffer, predicate: (offset: number, size: number) => boolean): number[] => {
  const size = sizeOfDType(buffer.dtype);
  const found: number[] = [];
  for (let element = 0; element < elementCountOf(buffer); element++) {
    if (predicate(element * size, size)) found.push(element);
  }
  return found;
};

const isAll = (bytes: Uint8Array, value: number, offset: number, size: number): boolean => {
  for (let i = offset; i < offset + size; i++) if (bytes[i] !== value) return false;
  return true;
};

/** Elements that hold the first run's poison after the first run and the second run's after the second. */
const describeUnwritten = (prepared: PreparedCheck, first: RunResult, second: RunResult): string | undefined => {
  for (const buffer of outputsOf(prepared.buffers)) {
    if (buffer.role !== 'out') continue;
    const [before, after] = [first.outputs.get(buffer.name)!, second.outputs.get(buffer.name)!];
    const [poison, otherPoison] = [first.conditions.poison.byteValue, second.conditions.poison.byteValue];
    const unwritten = elementsWhere(
      buffer,
      (offset, size) => isAll(before, poison, offset, size) && isAll(after, otherPoison, offset, size),
    );
    if (unwritten.length > 0) {
      return `${countOf(unwritten, buffer)} elements of ${buffer.name} never written, first ${place(unwritten, buffer)}`;
    }
  }
  return undefined;
};

/** The first output whose bits differ between two runs, and where. */
const describeDifference = (prepared: PreparedCheck, left: RunResult, right: RunResult): string | undefined => {
  for (const buffer of outputsOf(prepared.buffers)) {
    const [a, b] = [left.outputs.get(buffer.name)!, right.outputs.get(buffer.name)!];
    if (Buffer.compare(a, b) === 0) continue;
    const differing = elementsWhere(buffer, (offset, size) => {
      for (let i = offset; i < offset + size; i++) if (a[i] !== b[i]) return true;
      return false;
    });
    return `${countOf(differing, buffer)} elements of ${buffer.name} differ between runs, first ${place(differing, buffer)}`;
  }
  return undefined;
};

const countOf = (elements: readonly number[], buffer: PlannedBuffer): string =>
  `${elements.length} of ${elementCountOf(buffer)}`;

const place = (elements: readonly number[], buffer: PlannedBuffer): string =>
  `[${multiIndexOf(buffer.shape, elements[0]!).join(', ')}]`;
