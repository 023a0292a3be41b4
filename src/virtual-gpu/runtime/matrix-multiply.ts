import type { PtxInstruction } from '../../ptx/ast.ts';
import { typesOf } from '../codegen/instruction-parts.ts';
import { LANES } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import { bf16ToNumber, f16ToNumber, numberToF16 } from './half-numbers.ts';
import {
  type Accumulate,
  accumulatorFor,
  EXPONENT_OF_NOT_FINITE,
  type Factors,
  factorExponent,
  factorsFor,
  tensorModel,
} from './tensor-model.ts';
import type { WarpContext } from './warp-context.ts';

/** How the elements of A and B lie in registers: elements per 32-bit register, and how to read one. */
interface ElementFormat {
  perRegister: number;
  read: (register: number, index: number) => number;
  /** All 16-bit patterns, where elements have 16 bits. */
  pairs?: { values: Float64Array; exponents: Int16Array };
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
  const values = Float64Array.from({ length: 65_536 }, (_, bits) => toNumber(bits));
  return {
    perRegister: 2,
    read: (r, i) => toNumber(half(r, i)),
    pairs: { values, exponents: Int16Array.from(values, factorExponent) },
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

/** How A or B gets out of registers, and room for it: what it holds lasts for one instruction. */
interface Operand {
  format: ElementFormat;
  places: Int32Array;
  factors: Factors;
}

/** What an instruction's modifiers say. */
interface Form {
  k: number;
  a: Operand;
  b: Operand;
  /** Of C and D. */
  type: string;
  aCount: number;
  bCount: number;
  cCount: number;
  accumulate: Accumulate;
}

/** An instruction is executed a thousand times for each time that it is read. */
const forms = new WeakMap<PtxInstruction, Form>();

function formOf({ instruction, target }: WarpContext): Form {
  const known = forms.get(instruction);
  if (known) return known;
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
  const form = {
    k,
    a: { format: a, places: placesOfA(k, aCount, a.perRegister), factors: factorsFor(M * k) },
    b: { format: b, places: placesOfB(k, bCount, b.perRegister), factors: factorsFor(N * k) },
    type: dType,
    aCount,
    bCount,
    cCount: dType === 'f16' ? 2 : 4,
    accumulate,
  };
  forms.set(instruction, form);
  return form;
}

/** Elements of C or D in a lane. */
const RESULTS = 4;

/** mma.sync m16n8k*: D = A·B + C by one warp. Fragment layouts: PTX ISA, matrix fragments for mma.m16n8k*. */
export function matrixMultiply(context: WarpContext): void {
  if (context.lanes.length !== LANES) throw unsupported(context.instruction);
  const form = formOf(context);
  const { k, cCount, aCount, bCount, type, accumulate } = form;
  const a = gather(context.words(cCount, aCount), form.a);
  const b = gather(context.words(cCount + aCount, bCount), form.b);
  const c = context.words(cCount + aCount + bCount, cCount);
  const d = new Int32Array(cCount * LANES);
  const results = new Float64Array(RESULTS);
  for (let lane = 0; lane < LANES; lane++) {
    const group = lane >> 2;
    const column = (lane & 3) * 2;
    for (let i = 0; i < RESULTS; i++) {
      const row = group + (i >> 1) * 8;
      results[i] = accumulate(readAccumulator(c, lane, i, type), a, b, row, column + (i & 1), k);
    }
    writeAccumulator(d, lane, results, type);
  }
  for (let r = 0; r < cCount; r++) context.setWords(context.operands[r]!, d.subarray(r * LANES, (r + 1) * LANES));
}

/** Where the elements of A's registers belong, [register][lane][element]: register r of lane l covers row ⌊l/4⌋ (+8 for
 * odd r), columns from the lane's quad place; A is 16 × k, row-major. */
function placesOfA(k: number, count: number, perRegister: number): Int32Array {
  const places = new Int32Array(count * LANES * perRegister);
  for (let at = 0; at < places.length; at++) {
    const [r, lane, i] = placeParts(at, perRegister);
    const row = (lane >> 2) + (r & 1) * 8;
    places[at] = row * k + (lane & 3) * perRegister + (r >> 1) * perRegister * 4 + i;
  }
  return places;
}

/** The same for B, k × 8, stored here by column: register r of lane l covers column ⌊l/4⌋. */
function placesOfB(k: number, count: number, perRegister: number): Int32Array {
  const places = new Int32Array(count * LANES * perRegister);
  for (let at = 0; at < places.length; at++) {
    const [r, lane, i] = placeParts(at, perRegister);
    places[at] = (lane >> 2) * k + (lane & 3) * perRegister + r * perRegister * 4 + i;
  }
  return places;
}

const placeParts = (at: number, perRegister: number): [register: number, lane: number, element: number] => [
  Math.floor(at / perRegister / LANES),
  Math.floor(at / perRegister) % LANES,
  at % perRegister,
];

/** Decodes the registers of an operand into its factors. */
function gather(words: Uint32Array, { factors, places, format: { perRegister, read, pairs } }: Operand): Factors {
  const { values, exponents } = factors;
  let largest = 0;
  let at = 0;
  for (let register = 0; register < words.length; register++) {
    const word = words[register]!;
    for (let i = 0; i < perRegister; i++) {
      const bits = (word >>> (i * 16)) & 0xffff;
      const value = pairs ? pairs.values[bits]! : read(word, i);
      const exponent = pairs ? pairs.exponents[bits]! : factorExponent(value);
      const place = places[at++]!;
      values[place] = value;
      exponents[place] = exponent;
      if (exponent > largest) largest = exponent;
    }
  }
  factors.finite = largest < EXPONENT_OF_NOT_FINITE;
  return factors;
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
