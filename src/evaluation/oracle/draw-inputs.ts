import { type DType, sizeOfDType } from '../../core/dtype.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { generatorSetsOf } from '../../core/plan/generator-sets.ts';
import type { Dimensions, Generator, Problem, ProblemFile, ReferenceTensors } from '../../core/problem.ts';
import { decode, encode } from '../../core/rounding.ts';
import { valuesKey } from '../../core/values.ts';
import { createStream } from '../../stats/random.ts';
import { elementCountOf, packElements, spreadElements } from '../launches/layout.ts';
import { NAN_POISON } from '../launches/poison.ts';
import { NORMAL } from './generators/generator.ts';
import { generate } from './generators/index.ts';
import { mutatedSetOf, readableSet } from './mutated-inputs.ts';
import { change } from './secret/change.ts';
import { disguise } from './secret/disguise.ts';
import { secretSetOf } from './secret/secret-set.ts';

/** Names the inputs of one check. */
export interface CheckKey {
  readonly problem: Problem;
  readonly dimensions: Dimensions;
  readonly seed: number;
  /** Name of a generator set, a secret one included, or `declared` for each input's own generator. */
  readonly generatorSet: string;
}

/** Initial contents of the input buffers: as bytes for the device, and as the reference sees them. */
export interface DrawnInputs {
  /** Every `in` and `inout` buffer's bytes, laid out with its strides; gaps between elements hold NaN. */
  readonly bytes: ReadonlyMap<string, Uint8Array>;
  /** The same elements decoded from those bytes, row-major. */
  readonly tensors: ReferenceTensors;
}

/**
 * Draws all inputs of a check. The reference sees the values after rounding to the buffer's dtype, decoded from the bytes
 * that a kernel gets.
 */
export function drawInputs(
  request: Omit<CheckKey, 'problem'> & {
    problem: Pick<Problem, 'folder' | 'file'>;
    buffers: readonly PlannedBuffer[];
  },
): DrawnInputs {
  const { problem, buffers, dimensions, seed, generatorSet } = request;
  const { base, changes } = mutatedSetOf(generatorSet) ?? { base: generatorSet, changes: [] };
  const overrides = generatorSetsOf(problem.file)[base] ?? {};
  const secret = secretSetOf(base);
  const check = `${valuesKey(dimensions)} ${base}`;
  const bytes = new Map<string, Uint8Array>();
  const tensors: Record<string, Float64Array> = {};
  for (const buffer of buffers) {
    if (buffer.role !== 'in' && buffer.role !== 'inout') continue;
    const draw = (generator: Generator = NORMAL, label = 'input'): Float64Array =>
      generate(generator, {
        input: buffer.name,
        dtype: buffer.dtype,
        shape: buffer.shape,
        elementCount: elementCountOf(buffer),
        dimensions,
        folder: problem.folder,
        stream: createStream(seed, check, label, buffer.name),
        sharedStream: (shared) => createStream(seed, check, 'shared', shared),
      });
    const isWider = secret && createStream(seed, check, 'signs').bits(0) % 2 === 0;
    const wider = isWider ? widerGenerator(problem.file, buffer, dimensions) : undefined;
    const drawn = draw(overrides[buffer.name] ?? wider ?? buffer.generator);
    const disguised = secret
      ? disguise(drawn, secret, {
          ...{ problem: problem.file, buffer },
          stream: createStream(seed, check, 'disguise', buffer.name),
          shared: createStream(seed, check, 'disguise of all'),
        })
      : drawn;
    const values =
      changes.length === 0
        ? disguised
        : change(disguised, changes, {
            ...{ problem: problem.file, buffer },
            streamOf: (number, whose) =>
              createStream(seed, check, 'change', number, whose === 'own' ? buffer.name : ''),
            fresh: () => draw(buffer.generator, 'fresh'),
          });
    const encoded = encode(values, buffer.dtype);
    giveNansOfGpu(encoded, values, buffer.dtype);
    const laidOut = spreadElements(buffer, encoded, NAN_POISON.byteValue);
    bytes.set(buffer.name, laidOut);
    roundInPlace(buffer, values, packElements(buffer, laidOut), generatorSet);
    tensors[buffer.name] = values;
  }
  return { bytes, tensors };
}

/** Bits of the NaN that a GPU's arithmetic gives. Source: PTX ISA, floating-point instructions. */
const NAN_OF_GPU: Partial<Record<DType, number>> = { f32: 0x7fffffff, f16: 0x7fff, bf16: 0x7fff };

/** Every second NaN gets the bits that a GPU's own have, not those of the host's: code may take one of them for a mark. */
function giveNansOfGpu(encoded: Uint8Array, values: Float64Array, dtype: DType): void {
  const bits = NAN_OF_GPU[dtype];
  if (bits === undefined) return;
  const { buffer, byteOffset } = encoded;
  const words =
    dtype === 'f32'
      ? new Uint32Array(buffer, byteOffset, values.length)
      : new Uint16Array(buffer, byteOffset, values.length);
  for (let i = 1; i < values.length; i += 2) if (Number.isNaN(values[i])) words[i] = bits;
}

/**
 * What fills an input in another generator set of the problem, where that has values which the declared inputs lack: negative ones, or whole numbers of a wider
 * range. A workload may say that all values fall into one bin.
 */
function widerGenerator(
  problem: ProblemFile,
  { name, generator }: PlannedBuffer,
  dimensions: Dimensions,
): Generator | undefined {
  const others = Object.values(problem.generatorSets ?? {}).flatMap((set) => set[name] ?? []);
  if (generator?.kind === 'positive') return others.find(({ kind }) => kind === 'normal');
  if (generator?.kind !== 'index-range') return undefined;
  const widthOf = (one: Generator): number =>
    one.kind === 'index-range' ? evaluateExpression(one.high, dimensions) - evaluateExpression(one.low, dimensions) : 0;
  const [widest] = others.toSorted((a, b) => widthOf(b) - widthOf(a));
  return widest && widthOf(widest) > widthOf(generator) ? widest : undefined;
}

/** Elements of an input that are decoded at a time: the memory for them is small enough to be used again. */
const PART = 2 ** 13;

/**
 * Makes the drawn values those that the buffer holds. In their place, because new memory for millions of them takes longer than decoding does.
 *
 * @param packed the elements as the buffer has them, row-major.
 * @throws WarpsmithError `generator-overflow` if a value is infinite only because the dtype is too small: the input would test nothing.
 */
function roundInPlace(
  { name, dtype }: PlannedBuffer,
  drawn: Float64Array,
  packed: Uint8Array,
  generatorSet: string,
): void {
  const size = sizeOfDType(dtype);
  for (let from = 0; from < drawn.length; from += PART) {
    const rounded = decode(packed.subarray(from * size, Math.min(drawn.length, from + PART) * size), dtype);
    const element = firstOverflow(drawn.subarray(from, from + rounded.length), rounded);
    if (element >= 0) throw overflowOf({ name, dtype }, drawn[from + element]!, generatorSet);
    drawn.set(rounded, from);
  }
}

const overflowOf = (
  { name, dtype }: Pick<PlannedBuffer, 'name' | 'dtype'>,
  value: number,
  generatorSet: string,
): WarpsmithError =>
  new WarpsmithError({
    code: 'generator-overflow',
    message: `the ${readableSet(generatorSet)} inputs overflow: ${dtype} can't hold a value drawn for '${name}'`,
    path: `generatorSets.${generatorSet}.${name}`,
    received: String(value),
    expected: `a finite ${dtype}`,
    hint: 'Lower the magnitude.',
  });

/** A loop, because a callback per element takes ten times as long as the comparison. −1 if there is none. */
function firstOverflow(drawn: Float64Array, rounded: Float64Array): number {
  for (let i = 0; i < rounded.length; i++) {
    if (!Number.isFinite(rounded[i]!) && Number.isFinite(drawn[i]!)) return i;
  }
  return -1;
}
