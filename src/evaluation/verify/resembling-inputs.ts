import { type DType, isFloating, sizeOfDType } from '../../core/dtype.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { ProblemFile } from '../../core/problem.ts';
import { decode, encode } from '../../core/rounding.ts';
import { below, type Draw, inOrder, type RandomStream, shuffle } from '../../stats/random.ts';
import { packElements, spreadElements } from '../launches/layout.ts';
import { NAN_POISON } from '../launches/poison.ts';
import { scalingOf } from '../oracle/secret/scaling.ts';

/** Buffer name → its bytes, laid out with its strides. */
export type Contents = ReadonlyMap<string, Uint8Array>;

/** Every so many elements one other: a key made of a few of them, or of a hash of a sample, stays the same. */
const ALMOST_SAME = 64;

/** The elements, about one in 64 replaced by that of `others` at the same place, at least one. */
function almostSame(elements: Uint8Array, others: Uint8Array, size: number, stream: RandomStream): Uint8Array {
  const count = elements.length / size;
  const result = elements.slice();
  const always = stream.bits(0) % Math.max(1, count);
  for (let i = 0; i < count; i++) {
    if (i !== always && stream.bits(1 + i) % ALMOST_SAME !== 0) continue;
    result.set(others.subarray(i * size, (i + 1) * size), i * size);
  }
  return result;
}

/** How the one element is other. */
export const OTHERS = ['as large', 'far larger'] as const;

/**
 * One element of one input, at a secret place, is another of its values, or far larger: who knows inputs by samples, however many, hardly sees it. `undefined` where values
 * may not grow, or all are the same.
 */
export function withOneOther(
  contents: Contents,
  input: PlannedBuffer,
  {
    problem,
    how,
    streamOf,
  }: { problem: ProblemFile; how: (typeof OTHERS)[number]; streamOf: (input: string) => RandomStream },
): Contents | undefined {
  const values = decode(packElements(input, contents.get(input.name)!), input.dtype);
  const stream = streamOf(input.name);
  const place = stream.bits(0) % values.length;
  const old = values[place]!;
  const sampled = SAMPLED.map((i) => values[stream.bits(1 + i) % values.length]!);
  const other = how === 'as large' ? sampled.find((value) => value !== old) : largerThan(sampled, problem, input.name);
  if (other === undefined) return undefined;
  values[place] = other;
  const bytes = spreadElements(input, encode(values, input.dtype), NAN_POISON.byteValue);
  return new Map(contents).set(input.name, bytes);
}

function largerThan(values: readonly number[], problem: ProblemFile, input: string): number | undefined {
  const most = scalingOf(problem, input)?.most ?? 1;
  const some = values.find((value) => value !== 0 && Number.isFinite(value));
  return most > 1 && some !== undefined ? most * some : undefined;
}

/** Inputs whose elements do not depend on one another, so that any of them may change. */
export const mayChange = ({ dtype, generator }: PlannedBuffer): boolean =>
  isFloating(dtype) || generator?.kind === 'index-range';

/** What an input's values become, in place. */
type Change = (values: Float64Array, input: Changing, draw: Draw) => void;

interface Changing {
  readonly rowLength: number;
  /** By how much values may grow; 1: not at all. */
  readonly most: number;
  readonly dtype: DType;
}

function largestOf(values: Float64Array): number {
  let largest = 0;
  for (let i = 1; i < values.length; i++) if (!(values[i]! <= values[largest]!)) largest = i;
  return largest;
}

/**
 * The greatest value of every row, or one at a secret place, far above the others; or, where values may not grow, the greatest
 * one replaced by another of its row: the greatest value of the last call is not that of this one.
 */
function otherMaxima(values: Float64Array, { rowLength, most }: Changing, draw: Draw): void {
  for (let start = 0; start < values.length; start += rowLength) {
    const row = values.subarray(start, start + rowLength);
    const [largest, place] = [largestOf(row), below(draw, row.length)];
    if (most === 1) row[largest] = row[place]!;
    else
      row[draw() < 0.5 ? largest : place] =
        most * Math.max(...SAMPLED.map(() => Math.abs(row[below(draw, row.length)]!)));
  }
}

/** By so many values of a row, its size is judged. */
const SAMPLED = [0, 1, 2];

/** Sums, products and checksums that know no order stay the same. */
const otherOrder: Change = (values, _, draw) => void shuffle(values, (bound) => below(draw, bound));

/** Whole rows and columns of zeros, neighbouring columns among them, so that results are 0 where they were not, and sums of whole tiles. */
function zeroRows(values: Float64Array, { rowLength }: Changing, draw: Draw): void {
  if (!values.some((value) => value <= 0) || !values.some((value) => value >= 0)) return;
  const isZeroColumn = Uint8Array.from({ length: rowLength }, () => Number(draw() < ZERO_SHARE));
  const first = below(draw, rowLength);
  isZeroColumn.fill(1, first, first + Math.floor(rowLength / 2));
  for (let start = 0; start < values.length; start += rowLength) {
    const isZeroRow = draw() < ZERO_SHARE;
    for (let i = 0; i < rowLength; i++) if (isZeroRow || isZeroColumn[i]) values[start + i] = 0;
  }
}

/** Of the rows, and of the columns. */
const ZERO_SHARE = 1 / 4;

/** Pairs of values move towards each other by as much: their sum stays, what else is known of them does not. */
function sameSums(values: Float64Array, { dtype }: Changing, draw: Draw): void {
  for (let pairs = Math.ceil(values.length / PAIRED); pairs > 0; pairs--) {
    const [a, b] = [below(draw, values.length), below(draw, values.length)];
    const half = (values[b]! - values[a]!) / 2;
    const step = isFloating(dtype) ? half / 2 : Math.sign(half) * Math.min(1, Math.floor(Math.abs(half)));
    values[a]! += step;
    values[b]! -= step;
  }
}

/** One such pair for so many values. */
const PAIRED = 8;

/**
 * The same bit of both values of some pairs is set, so that all words together have the same exclusive or. Both lie at the same place of their vectors, so that the words of each place have
 * it, too. Values only become larger by it, or else sums would stay within their tolerance.
 */
function sameParity(values: Float64Array, { dtype }: Changing, draw: Draw): void {
  const most = isFloating(dtype) ? Number.POSITIVE_INFINITY : greatestOf(values);
  const turned = turnedOf(values, dtype);
  const grows = (place: number): boolean =>
    Math.abs(turned[place]!) > Math.abs(values[place]!) && turned[place]! <= most;
  const inVector = VECTOR_BYTES / sizeOfDType(dtype);
  for (let pairs = values.length; pairs > 0; pairs--) {
    const a = below(draw, values.length);
    const b = (a % inVector) + inVector * below(draw, Math.ceil(values.length / inVector));
    if (a === b || !(b < values.length) || !grows(a) || !grows(b)) continue;
    for (const place of [a, b]) [values[place], turned[place]] = [turned[place]!, values[place]!];
  }
}

/** A loop, because there are too many values for arguments. */
function greatestOf(values: Float64Array): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** The numbers with another second bit after the leading one, or, if they are whole, another last bit. */
function turnedOf(values: Float64Array, dtype: DType): Float64Array {
  const bytes = encode(values, dtype);
  const bit = isFloating(dtype) ? MANTISSA_BITS[dtype]! - TURNED : 0;
  for (let at = bit >> 3; at < bytes.length; at += sizeOfDType(dtype)) bytes[at]! ^= 1 << (bit & 7);
  return decode(bytes, dtype);
}

const MANTISSA_BITS: { readonly [D in DType]?: number } = { f16: 10, bf16: 7, f32: 23, f64: 52 };
const TURNED = 2;
/** The longest vectors that one instruction loads. */
const VECTOR_BYTES = 16;

/** The ways in which inputs may resemble those of the last launch, and how a refusal names them. */
const CHANGES = {
  'differ in the greatest values only': otherMaxima,
  'are the same values in another order': otherOrder,
  'have the same sums': sameSums,
  'have the same exclusive or': sameParity,
  'have some rows and columns of zeros': zeroRows,
} as const satisfies Record<string, Change>;

export type Resemblance = keyof typeof CHANGES;
export const RESEMBLANCES = Object.keys(CHANGES) as Resemblance[];

/** The inputs, all that may change changed in this way. */
export function resembling(
  contents: Contents,
  how: Resemblance,
  request: ChangeRequest & { readonly problem: ProblemFile },
): Contents {
  return changed(contents, request, (bytes, buffer, stream) => {
    const values = decode(packElements(buffer, bytes), buffer.dtype);
    const most = scalingOf(request.problem, buffer.name)?.most ?? 1;
    const input = { rowLength: buffer.shape.at(-1) ?? 1, most, dtype: buffer.dtype };
    CHANGES[how](values, input, inOrder(stream));
    return spreadElements(buffer, encode(values, buffer.dtype), NAN_POISON.byteValue);
  });
}

/** Names of inputs that have rows, and may change. */
export const inputsWithRows = (contents: Contents, buffers: readonly PlannedBuffer[]): string[] =>
  buffers
    .filter((one) => contents.has(one.name) && mayChange(one) && (one.shape.at(-2) ?? 1) > 1)
    .map(({ name }) => name);

/**
 * Two neighbouring rows of every matrix of these inputs are exchanged, the same ones in all inputs whose matrices have as many: what rows belong together does not change, such as a key and its value.
 */
export function withRowsExchanged(
  contents: Contents,
  inputs: readonly string[],
  { buffers, stream }: { readonly buffers: readonly PlannedBuffer[]; readonly stream: RandomStream },
): Contents {
  const result = new Map(contents);
  for (const buffer of buffers.filter(({ name }) => inputs.includes(name))) {
    const elements = packElements(buffer, contents.get(buffer.name)!).slice();
    const [rows, columns] = [buffer.shape.at(-2)!, buffer.shape.at(-1)!];
    const rowBytes = columns * sizeOfDType(buffer.dtype);
    for (let matrix = 0; matrix * rows * rowBytes < elements.length; matrix++) {
      const a = (matrix * rows + (stream.bits(matrix) % (rows - 1))) * rowBytes;
      const b = a + rowBytes;
      const kept = elements.slice(a, a + rowBytes);
      elements.copyWithin(a, b, b + rowBytes);
      elements.set(kept, b);
    }
    result.set(buffer.name, spreadElements(buffer, elements, NAN_POISON.byteValue));
  }
  return result;
}

/** As large as values may be, and as small. */
export type Scale = 'most' | 'least';

/** The inputs, all floating-point ones that may be scaled multiplied as far as may be. `undefined` if none may. */
export function scaled(
  contents: Contents,
  scale: Scale,
  { buffers, problem }: { readonly buffers: readonly PlannedBuffer[]; readonly problem: ProblemFile },
): Contents | undefined {
  const result = new Map(contents);
  for (const buffer of buffers) {
    const factor = contents.has(buffer.name) ? (scalingOf(problem, buffer.name)?.[scale] ?? 1) : 1;
    if (factor === 1) continue;
    const values = decode(packElements(buffer, contents.get(buffer.name)!), buffer.dtype);
    for (let i = 0; i < values.length; i++) values[i]! *= factor;
    result.set(buffer.name, spreadElements(buffer, encode(values, buffer.dtype), NAN_POISON.byteValue));
  }
  return [...result].some(([name, bytes]) => bytes !== contents.get(name)) ? result : undefined;
}

/** Buffers, of which those that may change are changed, and the random numbers of each. */
interface ChangeRequest {
  readonly buffers: readonly PlannedBuffer[];
  readonly streamOf: (input: string) => RandomStream;
}

/** The contents, with other bytes in each input that may change. */
function changed(
  contents: Contents,
  { buffers, streamOf }: ChangeRequest,
  change: (bytes: Uint8Array, buffer: PlannedBuffer, stream: RandomStream) => Uint8Array,
): Contents {
  const result = new Map(contents);
  for (const buffer of buffers) {
    const bytes = contents.get(buffer.name);
    if (bytes && mayChange(buffer)) result.set(buffer.name, change(bytes, buffer, streamOf(buffer.name)));
  }
  return result;
}

/** As {@link resembling}: about one element in 64 of every input is that of other inputs. */
export const mixed = (contents: Contents, others: Contents, request: ChangeRequest): Contents =>
  changed(contents, request, (bytes, { name, dtype }, stream) => {
    const other = others.get(name);
    return other ? almostSame(bytes, other, sizeOfDType(dtype), stream) : bytes;
  });

/** In every so many elements, two neighbours. */
const EXCHANGED = 64;

/** As {@link resembling}: a few neighbours are exchanged, so that sums over more than those stay. */
export const withNeighboursExchanged = (contents: Contents, request: ChangeRequest): Contents =>
  changed(contents, request, (bytes, buffer, stream) => {
    const [elements, size] = [packElements(buffer, bytes).slice(), sizeOfDType(buffer.dtype)];
    const count = elements.length / size;
    for (let from = 0; from + 1 < count; from += EXCHANGED) {
      const place = from + (stream.bits(from) % (Math.min(EXCHANGED, count - from) - 1));
      const pair = elements.slice(place * size, (place + 2) * size);
      elements.set(pair.subarray(size), place * size);
      elements.set(pair.subarray(0, size), (place + 1) * size);
    }
    return spreadElements(buffer, elements, NAN_POISON.byteValue);
  });
