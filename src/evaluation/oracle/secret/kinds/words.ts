import { type DType, isFloating, sizeOfDType } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import type { RandomStream } from '../../../../stats/random.ts';
import type { DisguiseRequest } from '../disguise-request.ts';
import { isArrangeable, largestInteger } from '../scaling.ts';
import { nameOf, type SecretSet, WORDS } from '../secret-set.ts';
import { LEAST_INTEGER } from './constants.ts';
import { MOST_NUMBERS } from './exactly.ts';

/** Numbers stand among other values; or sums of the values so far are a number, over long stretches. */
const TURNS = ['planted', 'standing'] as const;

/**
 * Generator sets in which whole numbers, or the sums of those before them, are exactly one that a kernel's code asks for: also such as several narrow
 * elements make up, as four bytes do.
 */
export function setsOfWords(problem: ProblemFile, numbers: readonly number[]): string[] {
  const some = [...new Set(numbers)].filter((number) => Math.abs(number) >= LEAST_INTEGER).slice(0, MOST_NUMBERS);
  const integers = Object.values(problem.inputs).filter((input) => isArrangeable(input) && !isFloating(input.dtype));
  const hasWords = integers.some(({ dtype }) => sizeOfDType(dtype) === WORD_BYTES);
  const turns = integers.length === 0 ? [] : TURNS.filter((turn) => turn === 'planted' || hasWords);
  return some.length === 0 ? [] : turns.map((_, turn) => nameOf({ kind: WORDS, among: { numbers: some, turn } }));
}

const WORD_BYTES = 4;

/** One in so many words becomes a number. */
const WORDS_BESIDE = 16;

/** How many stretches there are in each of which sums stand at one number. */
const STRETCHES = 8;

/**
 * Some words of an input of whole numbers become one of these: elements, or as many narrower neighbours as make up a word. Or, in the other turn, all become zeros but a few,
 * which lead sums from one of the numbers to the next. None beyond the values that the input has in some generator set.
 */
export function plantWords(
  values: Float64Array,
  { among }: SecretSet,
  { problem, buffer, stream }: DisguiseRequest,
): Float64Array {
  const { name, dtype } = buffer;
  if (!among || isFloating(dtype) || !isArrangeable(buffer)) return values;
  const bytes = sizeOfDType(dtype);
  const most = (largestInteger(problem, name) ?? 1) - 1;
  const [least, largest] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [dtype.startsWith('i') ? -most - 1 : 0, most],
  );
  const fits = (part: number): boolean => part >= least && part <= largest;
  if (TURNS[among.turn] === 'standing')
    return bytes === WORD_BYTES ? letSumsStand(values, among.numbers, { fits, stream }) : values;
  const parts = Math.max(1, WORD_BYTES / bytes);
  const wordOf = (number: number): number[] =>
    parts === 1 ? [number] : Array.from({ length: parts }, (_, i) => partOf(number, i, bytes, dtype));
  const words = among.numbers.map(wordOf).filter((word) => word.every(fits));
  for (let start = 0; words.length > 0 && start + parts <= values.length; start += parts)
    if (stream.bits(start) % WORDS_BESIDE === 0) values.set(words[stream.bits(start + 1) % words.length]!, start);
  return values;
}

/** Sums modulo 2^32 are one of the numbers from the first value on, and another, or the same, in each further stretch. */
function letSumsStand(
  values: Float64Array,
  numbers: readonly number[],
  { fits, stream }: { fits: (value: number) => boolean; stream: RandomStream },
): Float64Array {
  const length = Math.max(1, Math.ceil(values.length / STRETCHES));
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    const next = numbers[stream.bits(Math.floor(i / length)) % numbers.length]!;
    const step = (next - sum) | 0;
    const isTaken = i % length === 0 && fits(step);
    values[i] = isTaken ? step : 0;
    if (isTaken) sum = next;
  }
  return values;
}

/** The i-th element of a word, least significant first. */
function partOf(number: number, i: number, bytes: number, dtype: DType): number {
  const [bits, span] = [Math.floor((number >>> 0) / 2 ** (8 * bytes * i)), 2 ** (8 * bytes)];
  const part = bits % span;
  return dtype.startsWith('i') && part >= span / 2 ? part - span : part;
}
