import { WarpsmithError } from '../core/errors.ts';
import type { Problem } from '../core/problem.ts';
import { type Check, describeCheck } from './checks.ts';
import type { Expectation } from './comparisons/comparison.ts';
import { mutantsOfAnyProblem } from './mutants/index.ts';
import type { PreparedCheck } from './oracle.ts';
import { mutantContext, playMutant } from './play-mutant.ts';

/**
 * Largest tolerance ÷ spread that a check may have unless problem.json says another. At ¼, a kernel that writes the mean
 * passes at 20 % of normally distributed elements, and an error of one standard deviation is four tolerances.
 */
export const MOST_TOLERANCE_SHARE = 1 / 4;

/** How much of one output's signal the tolerance of a check hides. */
export interface Sight {
  output: string;
  /** Median over the elements. */
  tolerance: number;
  /** Standard deviation of the right values; the root of their mean square where all are equal, or fewer than 16. */
  spread: number;
  /** Tolerance ÷ spread; 0 where no error is allowed, `null` where all values are 0 and some error is allowed. */
  share: number | null;
}

/** What the tolerance of an output hides. */
export const sightOf = (output: string, expectation: Expectation): Sight => {
  const { want, tolerances, groupSize } = expectation;
  const values = want.filter(Number.isFinite);
  const spread = spreadOf(values);
  const allowed = want
    .map((value, i) => (Number.isFinite(value) ? tolerances[Math.floor(i / groupSize)]! : Number.NaN))
    .filter((tolerance) => !Number.isNaN(tolerance))
    .sort();
  const tolerance = allowed[Math.floor(allowed.length / 2)] ?? 0;
  const share = tolerance === 0 ? 0 : spread === 0 ? null : tolerance / spread;
  return { output, tolerance, spread, share };
};

/** Fewer values than this have no deviation worth the name: two may be alike by chance. */
const FEW_VALUES = 16;

const spreadOf = (values: Float64Array): number => {
  const meanOf = (of: (value: number) => number): number =>
    values.reduce((sum, value) => sum + of(value), 0) / Math.max(1, values.length);
  const mean = meanOf((value) => value);
  const deviation = Math.sqrt(meanOf((value) => (value - mean) ** 2));
  const size = Math.sqrt(meanOf((value) => value * value));
  // Values that are all equal deviate by the rounding of their mean.
  return values.length < FEW_VALUES || deviation <= size * 2 ** -45 ? size : deviation;
};

/** The outputs of a check of which the tolerance hides too much, in words with the arithmetic. */
export const hiddenSignals = (problem: Problem, sights: readonly Sight[]): string[] => {
  const most = problem.file.toleranceShare ?? MOST_TOLERANCE_SHARE;
  return sights
    .filter(({ share }) => share !== null && !(share < most))
    .map(
      ({ output, tolerance, spread, share }) =>
        `${output}: tolerance ${digits(tolerance)} ÷ spread ${digits(spread)} = ${digits(share!)}, less than ${digits(most)} wanted`,
    );
};

const digits = (value: number): string => String(Number(value.toPrecision(3)));

/**
 * Refuses a check that would pass kernels which compute nothing right: its tolerance hides the signal, or it accepts a
 * generic wrong kernel whose outputs differ from the right ones.
 *
 * @throws WarpsmithError `blind-check` with the arithmetic; as `prepared.expectations()`.
 */
export const refuseBlindCheck = async (request: {
  problem: Problem;
  check: Pick<Check, 'dimensions' | 'generatorSet'>;
  prepared: PreparedCheck;
  seed: number;
  signal?: AbortSignal | undefined;
}): Promise<void> => {
  const { problem, check, prepared } = request;
  const name = describeCheck(check);
  const sights = [...(await prepared.expectations())].map(([output, expectation]) => sightOf(output, expectation));
  const hidden = hiddenSignals(problem, sights);
  if (hidden.length > 0) throw blind(problem, name, `its tolerance hides the signal: ${hidden.join('; ')}`);
  const context = await mutantContext(request);
  for (const mutant of mutantsOfAnyProblem) {
    const { outcome, worstErrorRatio } = await playMutant(mutant, context, name);
    if (outcome !== 'slipped') continue;
    throw blind(
      problem,
      name,
      `it accepts a kernel that ${mutant.title} (${mutant.id}): its largest error is ${digits(worstErrorRatio ?? 0)} of the tolerance`,
    );
  }
};

const blind = ({ folder, file }: Problem, check: string, why: string): WarpsmithError =>
  new WarpsmithError({
    code: 'blind-check',
    message: `a check of ${file.name} is blind, ${check}: ${why}`,
    file: `${folder}/problem.json`,
    path: 'checkShapes',
    received: check,
    expected: 'a check that tells wrong kernels from right ones',
    hint: `Tighten the comparison, or give this shape inputs whose results differ more. \`warpsmith audit ${folder}\` shows every check.`,
  });
