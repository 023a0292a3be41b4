import { isFloating } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { Problem, ProblemFile, ReferenceTensors, Tolerance } from '../../core/problem.ts';
import { areSame, roundAll, roundTo } from '../../core/rounding.ts';
import { createStream } from '../../stats/random.ts';
import { type Check, describeCheck } from '../oracle/check.ts';
import { agrees, compareOutput, type OutputVerdict } from '../oracle/compare.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import { type Expectations, expectationsFrom } from '../oracle/expectations.ts';
import { outputsOf, runHostReference, runReference } from '../oracle/reference-runs.ts';
import { unitRoundoff } from '../oracle/ulp.ts';
import type { Mutant, MutantContext } from './mutants/mutant.ts';

/**
 * The result of a wrong kernel on one check. `same`: its output equals the right one here, or is as good, so no check could tell.
 * `not-applicable`: the check is too small, or of the wrong shape, for this mistake.
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

/** One check, with the data needed to judge wrong kernels on it. */
export interface PlayedCheck {
  readonly problem: Problem;
  readonly check: Pick<Check, 'dimensions' | 'generatorSet'>;
  readonly prepared: PreparedCheck;
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The data for the mutants of one check: right outputs, and right outputs for other inputs.
 *
 * @param request.right - the right outputs if they are known; otherwise the reference computes them.
 * @param request.expectations - those of the check if they are known.
 */
export async function mutantContext(
  request: PlayedCheck & { right?: ReferenceTensors; expectations?: Expectations },
): Promise<MutantContext> {
  const { problem, check, prepared, seed, signal } = request;
  const { dimensions } = check;
  const { buffers } = prepared;
  const inputs = prepared.inputs.tensors;
  const run = (tensors: ReferenceTensors): Promise<ReferenceTensors> =>
    runReference(problem, buffers, { inputs: tensors, dimensions, rounding: 'exact', signal });
  return {
    problem,
    dimensions,
    prepared,
    expectations: request.expectations ?? (await prepared.expectations()),
    outputs: outputsOf(buffers),
    inputs,
    right: request.right ?? (await run(inputs)),
    stale: async (further = 1) => run((await prepared.drawAgain(seed + further)).tensors),
    stream: createStream(seed, describeCheck(check), 'mutants'),
    async additions() {
      const summing = { ...problem, file: comparedAsSums(problem.file) };
      const runs = await runHostReference(summing, buffers, inputs, dimensions, { signal });
      return expectationsFrom(summing, buffers, dimensions, { ...runs, inputs });
    },
    compute: (change) =>
      problem.reference({
        inputs: change.inputs ?? inputs,
        dimensions: change.dimensions ?? dimensions,
        rounding: change.rounding ?? 'exact',
        mistake: change.mistake,
        signal,
      }),
  };
}

/** The problem, with the error of honest additions as its tolerance. */
function comparedAsSums(file: ProblemFile): ProblemFile {
  const { inputs, outputs, comparison } = file;
  const floating = Object.values(inputs).flatMap(({ dtype }) => (isFloating(dtype) ? [dtype] : []));
  const unit = floating.toSorted((one, other) => unitRoundoff(one) - unitRoundoff(other))[0] ?? 'f32';
  const terms = ('terms' in comparison ? comparison.terms : undefined) ?? reducedExtent(file);
  const asSums: Tolerance = { kind: 'conditioned', constant: 1, unit, terms };
  return {
    ...file,
    outputs: Object.fromEntries(
      Object.entries(outputs).map(([name, output]) => [name, { ...output, comparison: asSums }]),
    ),
    comparison: asSums,
  };
}

/** Length of the reduced axis; 1 if problem.json names none. */
export const reducedExtent = ({ reducedAxis, inputs }: ProblemFile): number | string =>
  reducedAxis ? inputs[reducedAxis.input]!.shape[reducedAxis.axis]! : 1;

/** Elements of an output that are compared first: some spread over it, and the last ones. */
const LOOKED_AT = { spread: 4096, last: 64 } as const;

/**
 * Largest error ÷ tolerance of a wrong kernel that the check accepts although it differs; `undefined` if it is caught, is
 * right, or does not apply. Fast if it is caught, because a few elements suffice.
 */
export async function acceptedErrorRatio(
  mutant: Mutant,
  context: MutantContext,
  check: string,
): Promise<number | undefined> {
  const outputs = await mutant.outputs(context);
  if (!outputs || isCaughtByFew(context, outputs)) return undefined;
  const { outcome, worstErrorRatio } = judge(context, outputs, check);
  return outcome === 'slipped' ? (worstErrorRatio ?? 0) : undefined;
}

/** Whether some of a few elements of these outputs show that they are wrong. */
export const isCaughtByFew = (context: MutantContext, outputs: ReferenceTensors): boolean =>
  context.outputs.some(({ name, dtype }) => {
    const values = outputs[name]!;
    const { want, tolerances, groupSize } = context.expectations.get(name)!;
    const round = roundTo(dtype);
    const isWrong = (i: number): boolean =>
      !agrees(round(values[i]!), want[i]!, tolerances[Math.floor(i / groupSize)]!);
    const step = Math.ceil(want.length / LOOKED_AT.spread);
    for (let i = 0; i < want.length; i += step) if (isWrong(i)) return true;
    for (let i = Math.max(0, want.length - LOOKED_AT.last); i < want.length; i++) if (isWrong(i)) return true;
    return false;
  });

export async function playMutant(mutant: Mutant, context: MutantContext, check: string): Promise<MutantResult> {
  const outputs = await mutant.outputs(context);
  if (!outputs) return { check, outcome: 'not-applicable', worstErrorRatio: null, rmsErrorRatio: null };
  const result = judge(context, outputs, check);
  const mayBeHonest = result.outcome === 'slipped' && mutant.mayErrAsAdditions === true;
  return mayBeHonest && (await errsAsAdditions(context, outputs)) ? { ...result, outcome: 'same' } : result;
}

function judge(context: MutantContext, outputs: ReferenceTensors, check: string): MutantResult {
  const verdicts = compareWithOracle(context, outputs);
  const worst = (ratio: (verdict: OutputVerdict) => number): number | null => {
    const largest = Math.max(...verdicts.map(ratio));
    return Number.isFinite(largest) ? largest : null;
  };
  return {
    check,
    outcome: outcomeOf(context, outputs, verdicts),
    worstErrorRatio: worst((verdict) => verdict.worstErrorRatio),
    rmsErrorRatio: worst((verdict) => verdict.rmsErrorRatio),
  };
}

function outcomeOf(
  context: MutantContext,
  outputs: ReferenceTensors,
  verdicts: readonly OutputVerdict[],
): MutantOutcome {
  if (verdicts.some(({ passed }) => !passed)) return 'caught';
  return isSame(context, outputs) ? 'same' : 'slipped';
}

/** What a kernel would write, with zeros where it may write anything. */
const rounded = ({ outputs, expectations }: MutantContext, values: ReferenceTensors): Float64Array[] =>
  outputs.map(({ name, dtype }) => {
    const { insignificant } = expectations.get(name)!;
    const all = roundAll(values[name]!, dtype);
    return insignificant ? all.map((value, i) => (insignificant[i] === 1 ? 0 : value)) : all;
  });

function compareWithOracle(
  context: MutantContext,
  outputs: ReferenceTensors,
  expectations: Expectations = context.expectations,
): OutputVerdict[] {
  const values = rounded(context, outputs);
  return context.outputs.map((buffer, i) => compareOutput(buffer, expectations.get(buffer.name)!, values[i]!));
}

/** Not where inputs that differ by a millionth have no finite result: nothing is known of additions there. */
async function errsAsAdditions(context: MutantContext, outputs: ReferenceTensors): Promise<boolean> {
  try {
    return compareWithOracle(context, outputs, await context.additions()).every(({ passed }) => passed);
  } catch (error) {
    if (error instanceof WarpsmithError && error.details.code === 'uncalibratable') return false;
    throw error;
  }
}

/** Whether the correctly rounded oracle itself passes. */
export const acceptsRight = (context: MutantContext): boolean =>
  compareWithOracle(context, context.right).every(({ passed }) => passed);

function isSame(context: MutantContext, outputs: ReferenceTensors): boolean {
  const right = rounded(context, context.right);
  return rounded(context, outputs).every((values, i) => areSame(values, right[i]!));
}
