import { setImmediate } from 'node:timers/promises';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import type { Expectations } from '../oracle/expectations.ts';
import { outputsOf } from '../oracle/reference-runs.ts';
import type { CheckRuns } from './check-runs.ts';
import { NATURAL } from './check-runs.ts';
import type { CorrectnessTally } from './correctness-tally.ts';
import { countOf, differingElements, type Elements, elementsWhere, placeOf } from './differences.ts';
import { explainDifference, explainHistory, refuseUninitialised } from './explain-difference.ts';
import {
  cameOutOtherwise,
  compareOutputs,
  describeDifference,
  describeWrong,
  type JudgedCheck,
  mayBeChance,
  passes,
  refused,
  type Verdicts,
} from './judged-check.ts';
import { blaming, namingRace, neverWritten } from './who-wrote.ts';

/** A check that all runs so far have passed. */
export interface PassedCheck {
  readonly ok: true;
  readonly judged: JudgedCheck;
  readonly first: RunResult;
  readonly verdicts: Verdicts;
  /** The least tolerances were not enough for it: {@link PreparedCheck}. */
  readonly neededMore: boolean;
}

/**
 * Runs one check twice and judges the results; a third time if a workspace outlives the launch. If something is wrong,
 * further runs find the cause.
 */
export async function judgeCheck(request: {
  runs: CheckRuns;
  prepared: PreparedCheck;
  tally: CorrectnessTally;
  isBitwise: boolean;
  /** Begun while the device runs, when this check's expectations are known; not waited for. */
  beside?: (() => void) | undefined;
}): Promise<PassedCheck | Refused> {
  const { runs, prepared, tally, isBitwise, beside } = request;
  const quickest = prepared.leastExpectations ?? prepared.expectations;
  const [first, expected] = await Promise.all([runs.natural(), meanwhile(quickest, beside)]);
  if ('error' in expected) throw expected.error;
  if (!first.ok) return first;
  const second = await runs.run(runs.reordered);
  if (!second.ok) return second;

  const outputs = outputsOf(prepared.buffers);
  const isSame = differingElements(outputs, first.outputs, second.outputs) === undefined;
  const compareRuns = (expectations: Expectations): TwoRuns => {
    const verdicts = compareOutputs(outputs, expectations, first.outputs);
    return {
      ...{ first, second, verdicts },
      secondVerdicts: isSame ? verdicts : compareOutputs(outputs, expectations, second.outputs),
    };
  };
  let expectations = runs.allowed(expected.value);
  let two = compareRuns(expectations);
  const lookAgain = async (more: () => Promise<Expectations>): Promise<void> => {
    expectations = runs.allowed(await more());
    two = compareRuns(expectations);
  };
  const neededMore = prepared.leastExpectations !== undefined && !bothPass(two);
  if (neededMore) await lookAgain(prepared.expectations);
  const { surerExpectations } = prepared;
  const isUnsure = !bothPass(two) && mayBeChance(two.verdicts) && mayBeChance(two.secondVerdicts);
  if (surerExpectations && isUnsure) await lookAgain(surerExpectations);
  const judged: JudgedCheck = { runs, outputs, tally, isBitwise, expectations };
  const passed = await judgeRuns(judged, two);
  const repeated = passed.ok && runs.keepsWorkspace && (await judgeRepetition(judged, first));
  return repeated || (passed.ok ? { ...passed, neededMore } : passed);
}

/**
 * Does host work while the device runs, from the next turn of the event loop on, when the launch is in progress. Returns
 * errors, so that the caller can let the run end first.
 *
 * @param afterwards is begun when the work is done, and not waited for.
 */
export async function meanwhile<T>(
  work: () => Promise<T>,
  afterwards?: () => void,
): Promise<{ value: T } | { error: unknown }> {
  await setImmediate();
  const done = await settled(work);
  if ('value' in done) afterwards?.();
  return done;
}

async function settled<T>(work: () => Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** The runs of a check, compared with what it expects. */
interface TwoRuns {
  readonly first: RunResult;
  readonly verdicts: Verdicts;
  readonly second: RunResult;
  readonly secondVerdicts: Verdicts;
}

const bothPass = ({ verdicts, secondVerdicts }: TwoRuns): boolean => passes(verdicts) && passes(secondVerdicts);

async function judgeRuns(judged: JudgedCheck, two: TwoRuns): Promise<Omit<PassedCheck, 'neededMore'> | Refused> {
  const { runs, tally } = judged;
  const { first, second, verdicts: firstVerdicts, secondVerdicts } = two;
  const allPass = bothPass(two);
  const unwritten = allPass ? undefined : unwrittenElements(judged, first, second);
  if (unwritten) {
    const reason = `${countOf(unwritten)} never written, first ${placeOf(unwritten)}`;
    return { ...refused('wrong', reason, runs.name), writer: neverWritten(unwritten) };
  }
  const older = allPass && !cameOutOtherwise(judged, first, second) ? undefined : await refuseOlder(judged, first);
  if (older) return older;
  if (cameOutOtherwise(judged, first, second))
    return namingRace(await explainDifference(judged, first, second), runs, first);
  for (const [run, verdicts] of [
    [first, firstVerdicts],
    [second, secondVerdicts],
  ] as const) {
    tally.add(verdicts);
    if (!passes(verdicts)) return namingRace(await refuseWrong(judged, run, verdicts), runs, first);
  }
  return { ok: true, judged, first, verdicts: firstVerdicts };
}

/** The same run again in the same buffers; its workspace holds the results of the first run. */
async function judgeRepetition(judged: JudgedCheck, first: RunResult): Promise<Refused | undefined> {
  const { runs, outputs, expectations, tally } = judged;
  const again = await runs.run({ ...NATURAL, name: 'run 3 (run 1 again)' });
  if (!again.ok) return again;
  if (cameOutOtherwise(judged, first, again)) return explainHistory(judged, again, first);
  tally.add(compareOutputs(outputs, expectations, again.outputs));
  return undefined;
}

/** If the first run gave older values to volatile and atomic reads, and comes out otherwise without: that is the cause. */
async function refuseOlder(judged: JudgedCheck, first: RunResult): Promise<Refused | undefined> {
  const { runs, outputs } = judged;
  if (first.olderRead === undefined) return undefined;
  const latest = await runs.runAfresh({ ...NATURAL, name: 'run 3 (run 1 again, every read gives the latest value)' });
  if (!latest.ok) return latest;
  if (!cameOutOtherwise(judged, first, latest)) return undefined;
  const difference = describeDifference(outputs, first.outputs, latest.outputs)!;
  return refused(
    'unsafe',
    `output depends on reads that no fence and flag, and no barrier, orders: ${difference}; ${first.olderRead}`,
    runs.name,
  );
}

/** Both runs are wrong in the same way. If zeros in memory make a difference, memory contents are the cause. */
async function refuseWrong(judged: JudgedCheck, run: RunResult, verdicts: Verdicts): Promise<Refused> {
  const { runs, outputs } = judged;
  const third = await runs.zeroed();
  if (!third.ok) return third;
  const difference = describeDifference(outputs, run.outputs, third.outputs);
  if (difference && cameOutOtherwise(judged, run, third)) return refuseUninitialised(runs.name, difference);
  const refusal = refused('wrong', describeWrong(verdicts)!, `${runs.name} · ${run.conditions.name}`);
  return blaming(refusal, { runs, run, outputs, verdicts });
}

/** Elements that hold the first run's poison after the first run and the second run's poison after the second. */
function unwrittenElements({ outputs }: JudgedCheck, first: RunResult, second: RunResult): Elements | undefined {
  const [poison, otherPoison] = [first.conditions.poison.byteValue, second.conditions.poison.byteValue];
  for (const buffer of outputs) {
    if (buffer.role !== 'out') continue;
    const [before, after] = [first.outputs.get(buffer.name)!, second.outputs.get(buffer.name)!];
    const unwritten = elementsWhere(
      buffer,
      (offset, size) => isAll(before, poison, offset, size) && isAll(after, otherPoison, offset, size),
    );
    if (unwritten) return unwritten;
  }
  return undefined;
}

function isAll(bytes: Uint8Array, value: number, offset: number, size: number): boolean {
  for (let i = offset; i < offset + size; i++) if (bytes[i] !== value) return false;
  return true;
}
