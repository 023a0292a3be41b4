import type { PtxInstruction } from '../../ptx/ast.ts';
import { typesOf } from '../codegen/instruction-parts.ts';
import { LANES } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import { bf16ToNumber, f16ToNumber, numberToF16 } from './half-numbers.ts';
import { type Accumulate, accumulatorFor, type Factors, factorsOf, tensorModel } from './tensor-model.ts';
import type { WarpContext } from './warp-context.ts';

/** How the elements of A and B lie in registers: elements per 32-bit register, and how to read one. */
interface ElementFormat {
  perRegister: number;
  read: (register: number, index: number) => number;
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

const FORMATS: Record<string, ElementFormat> = {
  f16: { perRegister: 2, read: (r, i) => f16ToNumber(half(r, i)) },
  bf16: { perRegister: 2, read: (r, i) => bf16ToNumber(half(r, i)) },
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
  const form = {
    k,
    a,
    b,
    type: dType,
    aCount: (M * k) / LANES / a.perRegister,
    bCount: (N * k) / LANES / b.perRegister,
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
  const a = gatherA(context.words(cCount, aCount), form);
  const b = gatherB(context.words(cCount + aCount, bCount), form);
  const c = context.words(cCount + aCount + bCount, cCount);
  const d = new Int32Array(cCount * LANES);
  const results = new Float64Array(RESULTS);
  for (let lane = 0; lane < LANES; lane++) {
    const [group, column] = [lane >> 2, (lane & 3) * 2];
    for (let i = 0; i < RESULTS; i++) {
      const row = group + (i >> 1) * 8;
      results[i] = accumulate(readAccumulator(c, lane, i, type), a, b, row, column + (i & 1), k);
    }
    writeAccumulator(d, lane, results, type);
  }
  for (let r = 0; r < cCount; r++) context.setWords(context.operands[r]!, d.subarray(r * LANES, (r + 1) * LANES));
}

/** A, 16 × k, row-major: register r of lane l covers row ⌊l/4⌋ (+8 for odd r), columns from the lane's quad place. */
function gatherA(words: Uint32Array, { k, aCount, a: { perRegister, read } }: Form): Factors {
  const a = new Float64Array(M * k);
  for (let r = 0; r < aCount; r++) {
    for (let lane = 0; lane < LANES; lane++) {
      const row = (lane >> 2) + (r & 1) * 8;
      const column = (lane & 3) * perRegister + (r >> 1) * perRegister * 4;
      for (let i = 0; i < perRegister; i++) a[row * k + column + i] = read(words[r * LANES + lane]!, i);
    }
  }
  return factorsOf(a);
}

/** B, k × 8, stored here by column: register r of lane l covers column ⌊l/4⌋. */
function gatherB(words: Uint32Array, { k, bCount, b: { perRegister, read } }: Form): Factors {
  const b = new Float64Array(N * k);
  for (let r = 0; r < bCount; r++) {
    for (let lane = 0; lane < LANES; lane++) {
      const row = (lane & 3) * perRegister + r * perRegister * 4;
      for (let i = 0; i < perRegister; i++) b[(lane >> 2) * k + row + i] = read(words[r * LANES + lane]!, i);
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
