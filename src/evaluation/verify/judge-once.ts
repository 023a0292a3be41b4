import { WarpsmithError } from '../../core/errors.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { createStream } from '../../stats/random.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { compareRows } from '../oracle/compare-rows.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import type { ExpectedRows } from '../oracle/expected-rows.ts';
import { outputsOf } from '../oracle/reference-runs.ts';
import { type CheckRuns, NATURAL, OTHER_ORDER } from './check-runs.ts';
import type { CorrectnessTally } from './correctness-tally.ts';
import { meanwhile } from './judge-check.ts';
import { describeDifference, describeWrong, mayBeChance, passes, refused, type Verdicts } from './judged-check.ts';
import { blaming } from './who-wrote.ts';

/** The whole tolerances of a check can't be had. That shows only where a kernel fails the least ones, which need fewer runs of the reference. */
export class NoTolerances extends WarpsmithError {}

/**
 * Runs one check once, in one of the two ways of other checks, and compares some rows if the whole reference takes long.
 * Those other checks cover differences between orders and poisons; but for what is added up atomically in long rows only.
 *
 * @throws NoTolerances instead of an error of the whole tolerances; as the device and the reference.
 */
export async function judgeOnce(request: {
  runs: CheckRuns;
  prepared: PreparedCheck;
  tally: CorrectnessTally;
  seed: number;
  /** Whether the device runs its counting code. */
  isCounted?: boolean;
  /** Begun while the device runs, when this check's expectations are known; not waited for. */
  beside?: (() => void) | undefined;
  /** Whether results must agree to the bit, and the code adds floating-point numbers in the order in which threads come. */
  mustAgree: boolean;
  /** What the run may be refused for although its results are right. */
  refuse?: (run: RunResult) => Refused | undefined;
}): Promise<Refused | undefined> {
  const { runs, prepared, tally, seed, isCounted = false, mustAgree, refuse, beside } = request;
  const trial = createStream(seed, runs.name, 'the one run').bits(0) % 2 === 0 ? NATURAL : runs.reordered;
  const quickest = prepared.leastSample ?? prepared.sample;
  const [run, expected] = await Promise.all([runs.run({ ...trial, count: isCounted }), meanwhile(quickest, beside)]);
  if ('error' in expected) throw expected.error;
  if (!run.ok) return run;
  const outputs = outputsOf(prepared.buffers);
  const compared = (rows: ExpectedRows): Verdicts =>
    compareRows(outputs, { ...rows, expectations: runs.allowed(rows.expectations) }, run.outputs);
  let verdicts = compared(expected.value);
  if (prepared.leastSample && !passes(verdicts)) verdicts = compared(await withTolerances(prepared.sample));
  const { surerSample } = prepared;
  if (surerSample && !passes(verdicts) && mayBeChance(verdicts)) verdicts = compared(await withTolerances(surerSample));
  tally.add(verdicts);
  if (passes(verdicts)) return refuse?.(run) ?? (mustAgree ? refuseOrder(runs, outputs) : undefined);
  const refusal = refused('wrong', describeWrong(verdicts)!, `${runs.name} · ${trial.name}`);
  return blaming(refusal, { runs, run, outputs, verdicts });
}

/** Two more runs, which differ in nothing but the order of CTAs and warps. */
async function refuseOrder(runs: CheckRuns, outputs: readonly PlannedBuffer[]): Promise<Refused | undefined> {
  const natural = await runs.runAfresh(NATURAL);
  if (!natural.ok) return natural;
  const reordered = await runs.runAfresh(OTHER_ORDER);
  if (!reordered.ok) return reordered;
  const difference = describeDifference(outputs, natural.outputs, reordered.outputs);
  if (difference === undefined) return undefined;
  return refused('wrong', `output depends on the order of CTAs or warps: ${difference}`, runs.name);
}

async function withTolerances(sample: () => Promise<ExpectedRows>): Promise<ExpectedRows> {
  try {
    return await sample();
  } catch (error) {
    throw error instanceof WarpsmithError ? new NoTolerances(error.details) : error;
  }
}
