import { sizeOfDType } from '../../core/dtype.ts';
import type { Evaluation } from '../../core/evaluation.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { multiIndexOf } from '../launches/layout.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { threadsOf } from '../oracle/checks/request.ts';
import { type CheckRuns, NATURAL } from './check-runs.ts';
import { type Elements, equalAt } from './differences.ts';
import type { Verdicts } from './judged-check.ts';

/** A launch sequence of more threads runs too long on one thread of the host, where every access is watched. */
const MOST_THREADS = 1 << 18;

type Writer = NonNullable<Evaluation['writer']>;

/** Whether a run may be repeated with every access watched. */
const mayBeWatched = (runs: CheckRuns): boolean =>
  runs.choosesPrivateMemory && threadsOf(runs.plan.steps.filter((step) => step.kind === 'launch')) <= MOST_THREADS;

/**
 * A refusal, and the race that may be its cause: a run that does not look for races only shows what came of one. It looks for one only once
 * the kernel has failed.
 */
export async function namingRace(refusal: Refused, runs: CheckRuns, run: RunResult): Promise<Refused> {
  if (run.conditions.findsRaces || !mayBeWatched(runs)) return refusal;
  const watched = await runs.runAfresh({ ...NATURAL, name: 'natural order, races looked for', findsRaces: true });
  const race = watched.ok ? undefined : RACE.exec(watched.reason);
  return race ? { ...refusal, reason: `${refusal.reason}; ${race[0]}` } : refusal;
}
const RACE = /\brace: [^\n]*/;

/** A refusal, with who wrote the first element that is wrong in a run. */
export async function blaming(
  refusal: Refused,
  { runs, run, outputs, verdicts }: Blame & { readonly verdicts: Verdicts },
): Promise<Refused> {
  for (const buffer of outputs) {
    const wrong = verdicts.get(buffer.name)?.firstWrong;
    if (wrong) return withWriter(refusal, { runs, run, outputs }, buffer, wrong.index);
  }
  return refusal;
}

/** The same for the first of some elements. */
export const blamingFirstOf = (refusal: Refused, blame: Blame, { buffer, first }: Elements): Promise<Refused> =>
  withWriter(refusal, blame, buffer, multiIndexOf(buffer.shape, first));

/** What needs no run: nobody wrote the first of these. */
export const neverWritten = ({ buffer, first }: Elements): Writer => ({
  output: buffer.name,
  index: multiIndexOf(buffer.shape, first),
  count: 0,
});

interface Blame {
  readonly runs: CheckRuns;
  readonly run: RunResult;
  readonly outputs: readonly PlannedBuffer[];
}

async function withWriter(
  refusal: Refused,
  { runs, run }: Blame,
  buffer: PlannedBuffer,
  index: readonly number[],
): Promise<Refused> {
  if (!mayBeWatched(runs)) return refusal;
  const bytes = sizeOfDType(buffer.dtype);
  const offsetBytes = index.reduce((sum, at, axis) => sum + at * buffer.strides[axis]!, 0) * bytes;
  const trial = run.conditions.orderSeed === 0 ? NATURAL : runs.reordered;
  const watch = { buffer: buffer.name, offsetBytes, bytes };
  const again = await runs.runAfresh({ ...trial, name: `${trial.name}, one element watched`, watch });
  if (!again.ok || !again.writes) return refusal;
  const element = index.reduce((sum, at, axis) => sum * buffer.shape[axis]! + at, 0) * bytes;
  // What came out otherwise says nothing about the run that was wrong.
  if (!equalAt(again.outputs.get(buffer.name)!, run.outputs.get(buffer.name)!, element, bytes)) return refusal;
  return { ...refusal, writer: { output: buffer.name, index: [...index], ...again.writes } };
}
