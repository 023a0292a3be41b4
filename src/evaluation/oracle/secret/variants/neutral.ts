import { isFloating } from '../../../../core/dtype.ts';
import type { PlannedBuffer } from '../../../../core/launch-plan.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import { type Freedom, hasFewerAxes } from '../freedom.ts';
import { columnsOf, inputsThat, type Treated, type Treatment } from './treatment.ts';

const NEUTRAL = [1, 0] as const;
/** Words of a power of two have so many zero bits that sums of hundreds of them wrap to 0, as a check for zeros may add them up: one of these for each input. */
const POWERS = [2, 1 / 2] as const;
const MOST_NEUTRAL = 12;

/**
 * Constants by input: all of the inputs with fewer axes than the others, in every combination of the neutral elements of products and sums;
 * then each input alone, as these and as a power of two.
 */
function neutralConstants(problem: ProblemFile, { isFree, longestRepeated }: Freedom): ReadonlyMap<string, number>[] {
  const isParameter = (name: string): boolean => hasFewerAxes(problem, name);
  const names = inputsThat(
    problem,
    (name) =>
      isFree(name) && (isParameter(name) || longestRepeated(name) > 0) && isFloating(problem.inputs[name]!.dtype),
  );
  if (Object.keys(problem.inputs).length < 2) return [];
  const together = names.filter(isParameter).slice(0, 3);
  const joint = together.reduce<Map<string, number>[]>(
    (maps, name) => maps.flatMap((map) => NEUTRAL.map((value) => new Map([...map, [name, value]]))),
    [new Map()],
  );
  const alone = names.flatMap((name, i) =>
    [...NEUTRAL, POWERS[i % POWERS.length]!].map((value) => new Map([[name, value]])),
  );
  const all = [...(together.length > 1 ? joint : []), ...alone];
  return all.slice(0, MOST_NEUTRAL);
}

/** First everywhere, then everywhere but at places that kernels pass over which take some elements for all. */
function makeNeutral(values: Float64Array, { problem, buffer, index, freedom }: Treated): Float64Array {
  const all = neutralConstants(problem, freedom);
  const constant = all[index % all.length]?.get(buffer.name);
  if (constant === undefined) return values;
  return index < all.length ? values.fill(constant) : unlessPassedOver(values, buffer, constant);
}

/** The part of a row, and the places in it, where no sample is taken: behind the first half, before the end, and in between. */
const PASSED_OVER = { from: 1 / 2, to: 7 / 8, stride: 4 } as const;

/** One value everywhere, but for such places; so samples of the beginning, of the end and at strides see nothing else. */
function unlessPassedOver(values: Float64Array, buffer: Pick<PlannedBuffer, 'shape'>, constant: number): Float64Array {
  const columns = columnsOf(buffer);
  for (let i = 0; i < values.length; i++) {
    const share = (i % columns) / columns;
    const isPassedOver =
      share >= PASSED_OVER.from && share < PASSED_OVER.to && (i % columns) % PASSED_OVER.stride !== 0;
    if (!isPassedOver) values[i] = constant;
  }
  return values;
}

/** Twice: everywhere, and everywhere but at places that kernels pass over. */
export const neutral: Treatment = {
  count: (problem, freedom) => 2 * neutralConstants(problem, freedom).length,
  treat: makeNeutral,
};
