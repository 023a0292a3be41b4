import type { ProblemFile } from '../../../../core/problem.ts';
import { below, inOrder } from '../../../../stats/random.ts';
import type { DisguiseRequest } from '../disguise-request.ts';
import { scalingOf } from '../scaling.ts';
import { EXACT, nameOf, type SecretSet } from '../secret-set.ts';

/** Most numbers, and most ways to give them to the inputs. */
export const MOST_NUMBERS = 4;
const MOST_TURNS = 6;

/** Generator sets in which values are exactly one of these, with which a kernel asks whether values are the same. None if no input takes them. */
export function setsOfExactly(problem: ProblemFile, numbers: readonly number[]): string[] {
  const inputs = Object.keys(problem.inputs).filter((name) => scalingOf(problem, name)).length;
  const some = [...new Set(numbers)].slice(0, MOST_NUMBERS);
  if (some.length === 0 || inputs === 0) return [];
  const turns = Math.min(MOST_TURNS, Math.max(2, some.length ** inputs));
  return Array.from({ length: turns }, (_, turn) => nameOf({ kind: EXACT, among: { numbers: some, turn } }));
}

/** How many values at the beginning, where kernels look, become one of the numbers, and what share of the others. */
const PLANTED = { first: 8, share: 1 / 16, otherRatio: 1 / 4, loneRatio: 1 / 2 } as const;

/**
 * Values at the beginning and at a few other places become one number each; inputs get theirs in turns, so that every combination comes. In half
 * of the draws the first ones are all the same but one.
 */
export function plantNumbers(
  values: Float64Array,
  { among }: SecretSet,
  { problem, buffer, stream, shared }: DisguiseRequest,
): Float64Array {
  if (!among || !scalingOf(problem, buffer.name)) return values;
  const { numbers, turn } = among;
  const place = Object.keys(problem.inputs).indexOf(buffer.name);
  const hasSign = values.some((value) => value < 0);
  const fitting = numbers.filter((number) => hasSign || number > 0);
  if (fitting.length === 0) return values;
  const draw = inOrder(stream);
  const any = (): number => fitting[below(draw, fitting.length)]!;
  const own = fitting[Math.floor((turn + (shared.bits(0) % 64)) / fitting.length ** place) % fitting.length]!;
  const isLone = draw() < PLANTED.loneRatio;
  const lone = below(draw, PLANTED.first);
  const mixed = (): number => (draw() < PLANTED.otherRatio ? any() : own);
  for (let i = 0; i < values.length; i++) {
    if (i < PLANTED.first) values[i] = isLone ? (i === lone ? any() : own) : mixed();
    else if (draw() < PLANTED.share) values[i] = mixed();
  }
  return values;
}
