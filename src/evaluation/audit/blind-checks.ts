import { isFloating } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { generatorSetsOf } from '../../core/plan/generator-sets.ts';
import type { Generator, Problem } from '../../core/problem.ts';
import { figure } from '../../core/values.ts';
import { nthSmallest } from '../../stats/quantile.ts';
import { describeCheck } from '../oracle/check.ts';
import type { PreparedCheck } from '../oracle/expectation-cache.ts';
import type { Expectations } from '../oracle/expectations.ts';
import { NORMAL } from '../oracle/generators/generator.ts';
import { isLarge } from '../oracle/reference-runs.ts';
import { secretSetOf } from '../oracle/secret/secret-set.ts';
import type { Expectation } from '../oracle/tolerances/tolerance.ts';
import { mutantsOfAnyProblem } from './mutants/index.ts';
import { type Mutant, type MutantContext, rotated } from './mutants/mutant.ts';
import { acceptedErrorRatio, isCaughtByFew, mutantContext, type PlayedCheck } from './play-mutant.ts';

/**
 * Default of problem.json's `toleranceShare`: largest tolerance ÷ spread of a check. At ¼, a kernel that writes the mean
 * passes at 20 % of normally distributed elements, and an error of one standard deviation is four tolerances.
 */
const MOST_TOLERANCE_SHARE = 1 / 4;

/** The part of one output's signal that a check's tolerance hides. */
export interface Sight {
  output: string;
  /** Median over the elements. */
  tolerance: number;
  /** Standard deviation of the right values; their root mean square if all are equal or there are fewer than 16. */
  spread: number;
  /** Tolerance ÷ spread; 0 if no error is allowed, `null` if all values are 0 and some error is allowed. */
  share: number | null;
}

/** Most elements of an output from which its median and its spread are computed. */
const MOST_ELEMENTS = 2 ** 16;

/** The part of an output that its tolerance hides; of a large output, estimated from some of its elements. */
export function sightOf(output: string, expectation: Expectation): Sight {
  const { want, tolerances, groupSize } = expectation;
  const step = Math.ceil(want.length / MOST_ELEMENTS);
  // Loops: every check of every candidate comes here.
  const values = new Float64Array(Math.ceil(want.length / step));
  const allowed = new Float64Array(values.length);
  let finite = 0;
  for (let i = 0; i < want.length; i += step) {
    if (!Number.isFinite(want[i])) continue;
    values[finite] = want[i]!;
    const tolerance = tolerances[Math.floor(i / groupSize)]!;
    // A tolerance that is NaN shows no error.
    allowed[finite++] = Number.isNaN(tolerance) ? Number.POSITIVE_INFINITY : tolerance;
  }
  const spread = spreadOf(values.subarray(0, finite));
  const tolerance = medianOf(allowed.subarray(0, finite));
  const share = tolerance === 0 ? 0 : spread === 0 ? null : tolerance / spread;
  return { output, tolerance, spread, share };
}

/** With fewer values the standard deviation is meaningless: two may be equal by chance. */
const FEW_VALUES = 16;

function spreadOf(values: Float64Array): number {
  const count = Math.max(1, values.length);
  let [sum, squares, deviations] = [0, 0, 0];
  for (let i = 0; i < values.length; i++) {
    sum += values[i]!;
    squares += values[i]! * values[i]!;
  }
  const mean = sum / count;
  for (let i = 0; i < values.length; i++) deviations += (values[i]! - mean) ** 2;
  const deviation = Math.sqrt(deviations / count);
  const size = Math.sqrt(squares / count);
  // Values that are all equal deviate only by the rounding of their mean.
  return values.length < FEW_VALUES || deviation <= size * 2 ** -45 ? size : deviation;
}

/** The upper median; 0 of nothing. Changes the order. */
function medianOf(values: Float64Array): number {
  return nthSmallest(values, Math.floor(values.length / 2)) ?? 0;
}

/** Describes the outputs whose tolerance hides too much, with the arithmetic. */
export function hiddenSignals(problem: Problem, sights: readonly Sight[]): string[] {
  const most = problem.file.toleranceShare ?? MOST_TOLERANCE_SHARE;
  return sights
    .filter(({ share }) => share !== null && !(share < most))
    .map(
      ({ output, tolerance, spread, share }) =>
        `${output}: tolerance ${digits(tolerance)} ÷ spread ${digits(spread)} = ${digits(share!)}, less than ${digits(most)} wanted`,
    );
}

const digits = (value: number): string => figure(value, 3);

export interface BlindCheckRequest extends PlayedCheck {
  /** By the check's least tolerances, if it has such: with the others it sees no more. */
  readonly withLeast?: boolean;
}

/**
 * Why a check would pass kernels that compute nothing right: its tolerance hides the signal, or it accepts a generic wrong
 * kernel whose outputs differ from the right ones. `undefined` if it is not blind. Needs the expected outputs and one more
 * run of the reference, on other inputs, unless that takes long.
 *
 * @throws as the reference.
 */
async function blindnessOf(request: BlindCheckRequest, expectations: Expectations): Promise<string | undefined> {
  const { problem, check } = request;
  // Where no error is allowed, whatever differs is caught.
  if ([...expectations.values()].every(({ tolerances }) => tolerances.every((tolerance) => tolerance === 0)))
    return undefined;
  const sights = [...expectations].map(([output, expectation]) => sightOf(output, expectation));
  const hidden = hiddenSignals(problem, sights);
  if (hidden.length > 0) return `its tolerance hides the signal: ${hidden.join('; ')}`;
  const right = Object.fromEntries([...expectations].map(([output, { want }]) => [output, want]));
  const context = await mutantContext({ ...request, right, expectations });
  const runsLong = isLarge(problem, check.dimensions);
  for (const mutant of mutantsOfAnyProblem) {
    if (runsLong && mutant.runsReference) continue;
    if (mutant.runsReference && (await rejectsMoved(request, context))) continue;
    const ratio = await acceptedErrorRatio(mutant, context, describeCheck(check));
    if (ratio === undefined) continue;
    if (mutant.runsReference && !(await isAcceptedAgain(mutant, context, describeCheck(check)))) continue;
    return `it accepts a kernel that ${mutant.title} (${mutant.id}): its largest error is ${digits(ratio)} of the tolerance`;
  }
  return undefined;
}

/** How far elements of an input are moved: neither a whole tile nor half of a row. */
const MOVED = 1 / 3;

/** Draw each element by itself: moved by some places, an input is as good as one of another seed. */
const EACH_BY_ITSELF: ReadonlySet<Generator['kind']> = new Set(['normal', 'uniform', 'positive', 'large', 'off-grid']);

/**
 * Whether the check rejects the right answers for its own inputs with the elements of each drawn floating-point one moved. They take a copy where those of another seed
 * would be drawn. `false` says nothing: sums do not depend on order, and secret sets place values where another seed might, too.
 */
async function rejectsMoved({ check: { generatorSet } }: PlayedCheck, context: MutantContext): Promise<boolean> {
  const { inputs, problem, prepared } = context;
  if (secretSetOf(generatorSet) !== undefined) return false;
  const overrides = generatorSetsOf(problem.file)[generatorSet] ?? {};
  const isDrawn = ({ name, dtype, generator = NORMAL }: PlannedBuffer): boolean =>
    inputs[name] !== undefined && isFloating(dtype) && EACH_BY_ITSELF.has((overrides[name] ?? generator).kind);
  const moved = prepared.buffers
    .filter(isDrawn)
    .map(({ name }) => [name, rotated(inputs[name]!, Math.ceil(inputs[name]!.length * MOVED))] as const);
  if (moved.length === 0) return false;
  try {
    return isCaughtByFew(context, await context.compute({ inputs: { ...inputs, ...Object.fromEntries(moved) } }));
  } catch (error) {
    if (error instanceof WarpsmithError) return false;
    throw error;
  }
}

/**
 * Whether one of two further seeds' answers is accepted, too: now and then the sum of some values of one sign comes as near to that of others as the tolerance allows,
 * and the check tells all others.
 */
async function isAcceptedAgain(mutant: Mutant, context: MutantContext, check: string): Promise<boolean> {
  for (const further of [2, 3]) {
    const ratio = await acceptedErrorRatio(mutant, { ...context, stale: () => context.stale(further) }, check);
    if (ratio !== undefined) return true;
  }
  return false;
}

/** Computes once whether a check is blind, because the candidates of a run share their checks. */
const known = new WeakMap<Expectations, string | null>();

/** As {@link blindnessOf}, remembered. */
export async function knownBlindnessOf(request: BlindCheckRequest): Promise<string | undefined> {
  const { prepared, withLeast = false } = request;
  const least = withLeast ? prepared.leastExpectations : undefined;
  const expectations = await (least ?? prepared.expectations)();
  if (!known.has(expectations)) known.set(expectations, (await blindnessOf(request, expectations)) ?? null);
  return known.get(expectations) ?? undefined;
}

/** @throws WarpsmithError `blind-check` with the arithmetic if a check is blind; as {@link blindnessOf}. */
export async function refuseBlindCheck(request: BlindCheckRequest): Promise<void> {
  const why = await knownBlindnessOf(request);
  if (why !== undefined) throw blindCheck(request.problem, describeCheck(request.check), why);
}

/** With the inputs of so many further seeds a check must be blind before its problem is said to be at fault. */
const FURTHER_SEEDS = 2;

/**
 * Of a check that the problem names. One seed's values may hide a row by chance, as two that are rounded to one did under layernorm once in 130 seeds.
 *
 * @param again the check's data with another seed.
 * @throws WarpsmithError `blind-check` if the check is blind with other seeds, too; as {@link blindnessOf}.
 */
export async function refuseBlindNamedCheck(
  request: BlindCheckRequest,
  again: (seed: number) => PreparedCheck,
): Promise<void> {
  const why = await knownBlindnessOf(request);
  if (why === undefined) return;
  for (let seed = request.seed + 1; seed <= request.seed + FURTHER_SEEDS; seed++)
    if ((await knownBlindnessOf({ ...request, seed, prepared: again(seed) })) === undefined) return;
  throw blindCheck(request.problem, describeCheck(request.check), why);
}

const blindCheck = ({ folder, file }: Problem, check: string, why: string): WarpsmithError =>
  new WarpsmithError({
    code: 'blind-check',
    message: `a check of ${file.name} is blind, ${check}: ${why}`,
    file: `${folder}/problem.json`,
    path: 'checkShapes',
    received: check,
    expected: 'a check that tells wrong kernels from right ones',
    hint: `Tighten the comparison, or give this shape inputs whose results differ more. \`warpsmith audit ${folder}\` shows every check.`,
  });

/** @throws WarpsmithError `blind-check`: at the timed shape, every kind of input is blind. */
export function refuseBlindWorkload({ folder, file }: Problem, check: string, why: string): never {
  throw new WarpsmithError({
    code: 'blind-check',
    message: `the timed shape of ${file.name} is blind with all its inputs, ${check}: ${why}`,
    file: `${folder}/problem.json`,
    path: 'generatorSets',
    received: check,
    expected: 'one generator set at least that tells wrong kernels from right ones there',
    hint: `Tighten the comparison, or add a generator set whose results differ more. \`warpsmith audit ${folder}\` shows every check.`,
  });
}
