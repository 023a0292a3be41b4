import { setImmediate } from 'node:timers/promises';
import type { Problem, ReferenceTensors } from '../core/problem.ts';
import { roundTo } from '../core/rounding.ts';
import { type Check, describeCheck, shapeChecks } from './checks.ts';
import { compareOutput, type OutputVerdict } from './compare.ts';
import { drawInputs } from './draw-inputs.ts';
import { mutantsOf } from './mutants/index.ts';
import type { Mutant, MutantContext } from './mutants/mutant.ts';
import { prepareCheck } from './oracle.ts';
import { createStream } from './random.ts';
import { outputsOf, runReference } from './reference-runs.ts';

/**
 * How a wrong kernel fared on one check. `same`: its output equals the right one here, so that nothing could tell;
 * `not-applicable`: the check is too small, or of the wrong shape, for this kind of mistake.
 */
export type MutantOutcome = 'caught' | 'slipped' | 'same' | 'not-applicable';

export interface MutantResult {
  check: string;
  outcome: MutantOutcome;
  /** Largest |error| ÷ tolerance; `null` when not finite. */
  worstErrorRatio: number | null;
  /** RMS error ÷ its limit; `null` when not finite. */
  rmsErrorRatio: number | null;
}

export interface MutantReport {
  id: string;
  title: string;
  /** `caught`: by at least one check. `slipped`: it would pass as right. */
  verdict: 'caught' | 'slipped' | 'not-applicable';
  results: MutantResult[];
}

/** What the problem's checks would catch. Plain JSON. */
export interface AuditReport {
  schemaVersion: 1;
  problem: string;
  seed: number;
  checks: string[];
  mutants: MutantReport[];
  /** Ids of the wrong kernels that every check lets through. */
  letThrough: string[];
  /** Checks on which even the correctly rounded oracle is called wrong. */
  falseAlarms: string[];
  /** Nothing let through, no false alarm. */
  ok: boolean;
}

/**
 * Plays generic wrong kernels on the host against the problem's own check shapes, generators and comparison, and says
 * which would slip through. Needs no device.
 *
 * @throws the signal's reason when aborted; WarpsmithError when the problem itself is at fault.
 */
export const auditProblem = async (options: {
  problem: Problem;
  seed: number;
  signal?: AbortSignal;
  /** Called before each check. */
  onCheck?: (check: string, index: number, count: number) => void;
}): Promise<AuditReport> => {
  const { problem, seed, signal, onCheck } = options;
  const checks = shapeChecks(problem.file);
  const reports: MutantReport[] = mutantsOf(problem.file).map(({ id, title }) => ({
    id,
    title,
    verdict: 'not-applicable',
    results: [],
  }));
  const falseAlarms: string[] = [];
  for (const [index, check] of checks.entries()) {
    // Lets Ctrl-C and progress lines through between checks.
    await setImmediate();
    signal?.throwIfAborted();
    onCheck?.(describeCheck(check), index, checks.length);
    const context = await contextOf(problem, check, seed, signal);
    if (!isRight(context, context.right)) falseAlarms.push(describeCheck(check));
    for (const [i, mutant] of mutantsOf(problem.file).entries()) {
      reports[i]!.results.push(await playMutant(mutant, context, check));
    }
  }
  for (const report of reports) report.verdict = verdictOf(report.results);
  const letThrough = reports.filter(({ verdict }) => verdict === 'slipped').map(({ id }) => id);
  return {
    schemaVersion: 1,
    problem: problem.file.name,
    seed,
    checks: checks.map(describeCheck),
    mutants: reports,
    letThrough,
    falseAlarms,
    ok: letThrough.length === 0 && falseAlarms.length === 0,
  };
};

/** A mutant that no check can tell from the right kernel slips through, even if its outputs are the same. */
const verdictOf = (results: readonly MutantResult[]): MutantReport['verdict'] => {
  if (results.some(({ outcome }) => outcome === 'caught')) return 'caught';
  return results.every(({ outcome }) => outcome === 'not-applicable') ? 'not-applicable' : 'slipped';
};

const contextOf = async (
  problem: Problem,
  check: Check,
  seed: number,
  signal: AbortSignal | undefined,
): Promise<MutantContext> => {
  const { dimensions, generatorSet } = check;
  const prepared = prepareCheck({ problem, dimensions, generatorSet, seed }, { signal });
  const { buffers } = prepared;
  const inputs = prepared.inputs.tensors;
  const other = drawInputs({ problem, buffers, dimensions, generatorSet, seed: seed + 1 }).tensors;
  const compute: MutantContext['compute'] = (change) =>
    problem.reference({
      inputs: change.inputs ?? inputs,
      dimensions: change.dimensions ?? dimensions,
      rounding: change.rounding ?? 'exact',
      signal,
    });
  return {
    problem,
    dimensions,
    prepared,
    expectations: await prepared.expectations(),
    outputs: outputsOf(buffers),
    inputs,
    right: await runReference(problem, buffers, { inputs, dimensions, rounding: 'exact', signal }),
    stale: await runReference(problem, buffers, { inputs: other, dimensions, rounding: 'exact', signal }),
    stream: createStream(seed, describeCheck(check), 'mutants'),
    compute,
  };
};

const playMutant = async (mutant: Mutant, context: MutantContext, check: Check): Promise<MutantResult> => {
  const name = describeCheck(check);
  const outputs = await mutant.outputs(context);
  if (!outputs) return { check: name, outcome: 'not-applicable', worstErrorRatio: null, rmsErrorRatio: null };
  const verdicts = compareOutputs(context, outputs);
  const worst = (ratio: (verdict: OutputVerdict) => number): number | null => {
    const largest = Math.max(...verdicts.map(ratio));
    return Number.isFinite(largest) ? largest : null;
  };
  return {
    check: name,
    outcome: outcomeOf(context, outputs, verdicts),
    worstErrorRatio: worst((verdict) => verdict.worstErrorRatio),
    rmsErrorRatio: worst((verdict) => verdict.rmsErrorRatio),
  };
};

const outcomeOf = (
  context: MutantContext,
  outputs: ReferenceTensors,
  verdicts: readonly OutputVerdict[],
): MutantOutcome => {
  if (verdicts.some(({ passed }) => !passed)) return 'caught';
  return isSame(context, outputs) ? 'same' : 'slipped';
};

const rounded = (context: MutantContext, outputs: ReferenceTensors): Float64Array[] =>
  context.outputs.map(({ name, dtype }) => outputs[name]!.map(roundTo(dtype)));

const compareOutputs = (context: MutantContext, outputs: ReferenceTensors): OutputVerdict[] => {
  const values = rounded(context, outputs);
  return context.outputs.map((buffer, i) => compareOutput(buffer, context.expectations.get(buffer.name)!, values[i]!));
};

const isRight = (context: MutantContext, outputs: ReferenceTensors): boolean =>
  compareOutputs(context, outputs).every(({ passed }) => passed);

const isSame = (context: MutantContext, outputs: ReferenceTensors): boolean => {
  const right = rounded(context, context.right);
  return rounded(context, outputs).every((values, i) => values.every((value, j) => value === right[i]![j]));
};
