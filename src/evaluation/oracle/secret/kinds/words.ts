import { type DType, isFloating, sizeOfDType } from '../../../../core/dtype.ts';
import type { ProblemFile } from '../../../../core/problem.ts';
import type { DisguiseRequest } from '../disguise-request.ts';
import { isArrangeable } from '../scaling.ts';
import { nameOf, type SecretSet, WORDS } from '../secret-set.ts';
import { LEAST_INTEGER } from './constants.ts';
import { MOST_NUMBERS } from './exactly.ts';

/** The same, of whole numbers, where an input has such: also of numbers that several narrow elements make up, as four bytes do. */
export function setsOfWords(problem: ProblemFile, numbers: readonly number[]): string[] {
  const some = [...new Set(numbers)].filter((number) => Math.abs(number) >= LEAST_INTEGER).slice(0, MOST_NUMBERS);
  const hasIntegers = Object.values(problem.inputs).some((input) => isArrangeable(input) && !isFloating(input.dtype));
  return some.length > 0 && hasIntegers ? [nameOf({ kind: WORDS, among: { numbers: some, turn: 0 } })] : [];
}

const WORD_BYTES = 4;

/** One in so many words becomes a number. */
const WORDS_BESIDE = 16;

/** Some words of an input of whole numbers become one of these: elements, or as many narrower neighbours as make up a word. None beyond the values drawn. */
export function plantWords(
  values: Float64Array,
  { among }: SecretSet,
  { buffer, stream }: DisguiseRequest,
): Float64Array {
  const { dtype } = buffer;
  if (!among || isFloating(dtype) || !isArrangeable(buffer)) return values;
  const bytes = sizeOfDType(dtype);
  const parts = Math.max(1, WORD_BYTES / bytes);
  const [least, most] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0]);
  const wordOf = (number: number): number[] =>
    parts === 1 ? [number] : Array.from({ length: parts }, (_, i) => partOf(number, i, bytes, dtype));
  const words = among.numbers.map(wordOf).filter((word) => word.every((part) => part >= least && part <= most));
  for (let start = 0; words.length > 0 && start + parts <= values.length; start += parts)
    if (stream.bits(start) % WORDS_BESIDE === 0) values.set(words[stream.bits(start + 1) % words.length]!, start);
  return values;
}

/** The i-th element of a word, least significant first. */
function partOf(number: number, i: number, bytes: number, dtype: DType): number {
  const [bits, span] = [Math.floor((number >>> 0) / 2 ** (8 * bytes * i)), 2 ** (8 * bytes)];
  const part = bits % span;
  return dtype.startsWith('i') && part >= span / 2 ? part - span : part;
}
