import type { PtxInstruction } from '../../ptx/ast.ts';
import { typesOf } from '../../ptx/instruction-parts.ts';
import { LANES } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import { bf16ToNumber, f16ToNumber, numberToF16 } from './half-numbers.ts';
import { createTensorKernel, type TensorKernel } from './tensor-kernel.ts';
import { type Accumulate, accumulatorFor, type Factors, factorsOf, tensorModel } from './tensor-model.ts';
import type { WarpContext } from './warp-context.ts';

/** How the elements of A and B lie in registers: elements per 32-bit register, and how to read one. */
interface ElementFormat {
  perRegister: number;
  read: (register: number, index: number) => number;
  /** Values of all patterns, where elements have 16 bits. f32 holds every one. */
  table?: Float32Array;
}

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);
function bitsToF32(bits: number): number {
  singleBits[0] = bits;
  return single[0]!;
}
function f32ToBits(value: number): number {
  single[0] = value;
  return singleBits[0]!;
}

const half = (register: number, index: number): number => (register >>> (index * 16)) & 0xffff;

function sixteenBits(toNumber: (bits: number) => number): ElementFormat {
  return {
    perRegister: 2,
    read: (r, i) => toNumber(half(r, i)),
    table: Float32Array.from({ length: 65_536 }, (_, bits) => toNumber(bits)),
  };
}

const FORMATS: Record<string, ElementFormat> = {
  f16: sixteenBits(f16ToNumber),
  bf16: sixteenBits(bf16ToNumber),
  // TF32 ignores the low 13 bits.
  tf32: { perRegister: 1, read: (r) => bitsToF32(r & 0xffffe000) },
  s8: { perRegister: 4, read: (r, i) => ((r >>> (i * 8)) << 24) >> 24 },
  u8: { perRegister: 4, read: (r, i) => (r >>> (i * 8)) & 255 },
};

const M = 16;
const N = 8;

/** What an instruction's modifiers say. */
interface Form {
  k: number;
  a: ElementFormat;
  b: ElementFormat;
  /** Of C and D. */
  type: string;
  aCount: number;
  bCount: number;
  cCount: number;
  accumulate: Accumulate;
  /** For 16-bit elements and f32 accumulators: where their elements belong in the kernel's arrays. */
  fast?: { kernel: TensorKernel; aPlaces: Int32Array; bPlaces: Int32Array; cPlaces: Int32Array };
}

/** An instruction is executed a thousand times for each time that it is read, and a kernel has many alike. */
const forms = new WeakMap<PtxInstruction, Form>();
const formsByText = new Map<string, Form>();

function formOf({ instruction, target }: WarpContext): Form {
  const known = forms.get(instruction);
  if (known) return known;
  const text = [target, ...instruction.modifiers].join('.');
  const form = formsByText.get(text) ?? readForm(instruction, target);
  formsByText.set(text, form);
  forms.set(instruction, form);
  return form;
}

function readForm(instruction: PtxInstruction, target: string): Form {
  const shape = instruction.modifiers.map((m) => /^m16n8k(\d+)$/.exec(m)).find((match) => match !== null);
  const [dType, aType, bType, cType] = typesOf(instruction);
  const a = FORMATS[aType ?? ''];
  const b = FORMATS[bType ?? ''];
  if (!shape || !a || !b || !dType || dType !== cType) throw unsupported(instruction);
  const k = Number(shape[1]);
  const accumulate = accumulatorFor(dType, aType!, tensorModel(target));
  if (!accumulate) throw unsupported(instruction);
  const aCount = (M * k) / LANES / a.perRegister;
  const bCount = (N * k) / LANES / b.perRegister;
  const { blockSize, fractionBits } = tensorModel(target);
  return {
    k,
    a,
    b,
    type: dType,
    aCount,
    bCount,
    cCount: dType === 'f16' ? 2 : 4,
    accumulate,
    ...(dType === 'f32' &&
      a.table &&
      b.table && {
        fast: {
          kernel: createTensorKernel(k, blockSize[aType!]!, fractionBits),
          aPlaces: places(aCount, a.perRegister, (r, lane, i) => aPlace(k, a.perRegister, r, lane, i)),
          bPlaces: places(bCount, b.perRegister, (r, lane, i) => {
            const byColumn = bPlace(k, b.perRegister, r, lane, i);
            return (byColumn % k) * N + Math.floor(byColumn / k);
          }),
          cPlaces: places(4, 1, (r, lane) => ((lane >> 2) + (r >> 1) * 8) * N + (lane & 3) * 2 + (r & 1)),
        },
      }),
  };
}

/** Elements of C or D in a lane. */
const RESULTS = 4;

/** mma.sync m16n8k*: D = A·B + C by one warp. Fragment layouts: PTX ISA, matrix fragments for mma.m16n8k*. */
export function matrixMultiply(context: WarpContext): void {
  if (context.lanes.length !== LANES) throw unsupported(context.instruction);
  const form = formOf(context);
  if (multiplyFast(context, form)) return;
  const { cCount, aCount, bCount } = form;
  const aWords = context.words(cCount, aCount);
  const bWords = context.words(cCount + aCount, bCount);
  const c = context.words(cCount + aCount + bCount, cCount);
  const d = new Int32Array(cCount * LANES);
  multiplyByElement(form, aWords, bWords, c, d);
  for (let r = 0; r < cCount; r++) context.setWords(context.operands[r]!, d, r * LANES);
}

/** False where there is no fast form, or some element is not finite or leaves the normal numbers; D is then unchanged. */
function multiplyFast(context: WarpContext, { a, b, aCount, bCount, cCount, fast }: Form): boolean {
  if (!fast) return false;
  const { kernel, aPlaces, bPlaces, cPlaces } = fast;
  const { registerWords, registerNumbers } = context;
  for (let r = 0; r < aCount + bCount + 2 * cCount; r++) if (context.registerPlace(r) < 0) return false;
  for (let r = 0; r < aCount; r++)
    decodeHalves(kernel.a, a.table!, registerWords, context.registerPlace(cCount + r), aPlaces, r);
  for (let r = 0; r < bCount; r++)
    decodeHalves(kernel.b, b.table!, registerWords, context.registerPlace(cCount + aCount + r), bPlaces, r);
  for (let r = 0; r < cCount; r++) {
    const place = context.registerPlace(cCount + aCount + bCount + r);
    for (let lane = 0; lane < LANES; lane++) kernel.c[cPlaces[r * LANES + lane]!] = registerNumbers[place + lane]!;
  }
  if (!kernel.multiply()) return false;
  for (let r = 0; r < cCount; r++) {
    const place = context.registerPlace(r);
    for (let lane = 0; lane < LANES; lane++) registerNumbers[place + lane] = kernel.c[cPlaces[r * LANES + lane]!]!;
  }
  return true;
}

/** Writes the elements of all lanes' register `r` of an operand to the kernel's array. */
function decodeHalves(
  values: Float64Array,
  table: Float32Array,
  words: Uint32Array,
  place: number,
  into: Int32Array,
  r: number,
): void {
  const first = r * LANES * 2;
  for (let lane = 0; lane < LANES; lane++) {
    const word = words[place + lane]!;
    values[into[first + 2 * lane]!] = table[word & 0xffff]!;
    values[into[first + 2 * lane + 1]!] = table[word >>> 16]!;
  }
}

/** D element by element: any form, any numbers. */
function multiplyByElement(form: Form, aWords: Uint32Array, bWords: Uint32Array, c: Uint32Array, d: Int32Array): void {
  const { k, type, accumulate } = form;
  const a = gatherA(aWords, form);
  const b = gatherB(bWords, form);
  const results = new Float64Array(RESULTS);
  for (let lane = 0; lane < LANES; lane++) {
    const [group, column] = [lane >> 2, (lane & 3) * 2];
    for (let i = 0; i < RESULTS; i++) {
      const row = group + (i >> 1) * 8;
      results[i] = accumulate(readAccumulator(c, lane, i, type), a, b, row, column + (i & 1), k);
    }
    writeAccumulator(d, lane, results, type);
  }
}

/** Where element i of A's register r of a lane belongs, 16 × k, row-major: row ⌊lane/4⌋ (+8 for odd r). */
const aPlace = (k: number, perRegister: number, r: number, lane: number, i: number): number =>
  ((lane >> 2) + (r & 1) * 8) * k + (lane & 3) * perRegister + (r >> 1) * perRegister * 4 + i;

/** The same of B, k × 8, by column: column ⌊lane/4⌋. */
const bPlace = (k: number, perRegister: number, r: number, lane: number, i: number): number =>
  (lane >> 2) * k + (lane & 3) * perRegister + r * perRegister * 4 + i;

/** Places of all elements of an operand, [register][lane][element]. */
function places(count: number, perRegister: number, place: (r: number, lane: number, i: number) => number): Int32Array {
  return Int32Array.from({ length: count * LANES * perRegister }, (_, at) => {
    const slot = Math.floor(at / perRegister);
    return place(Math.floor(slot / LANES), slot % LANES, at % perRegister);
  });
}

function gatherA(words: Uint32Array, { k, aCount, a: { perRegister, read } }: Form): Factors {
  const a = new Float64Array(M * k);
  for (let r = 0; r < aCount; r++) {
    for (let lane = 0; lane < LANES; lane++) {
      for (let i = 0; i < perRegister; i++) a[aPlace(k, perRegister, r, lane, i)] = read(words[r * LANES + lane]!, i);
    }
  }
  return factorsOf(a);
}

/** By column. */
function gatherB(words: Uint32Array, { k, bCount, b: { perRegister, read } }: Form): Factors {
  const b = new Float64Array(N * k);
  for (let r = 0; r < bCount; r++) {
    for (let lane = 0; lane < LANES; lane++) {
      for (let i = 0; i < perRegister; i++) b[bPlace(k, perRegister, r, lane, i)] = read(words[r * LANES + lane]!, i);
    }
  }
  return factorsOf(b);
}

function readAccumulator(c: Uint32Array, lane: number, index: number, type: string): number {
  if (type === 'f16') return f16ToNumber(half(c[(index >> 1) * LANES + lane]!, index & 1));
  const word = c[index * LANES + lane]!;
  return type === 's32' ? word | 0 : bitsToF32(word);
}

function writeAccumulator(d: Int32Array, lane: number, results: Float64Array, type: string): void {
  if (type === 'f16') {
    for (const r of [0, 1])
      d[r * LANES + lane] = numberToF16(results[r * 2]!) | (numberToF16(results[r * 2 + 1]!) << 16);
    return;
  }
  for (let i = 0; i < RESULTS; i++) d[i * LANES + lane] = type === 's32' ? results[i]! : f32ToBits(results[i]!);
}
