import type { PtxInstruction } from '../../ptx/ast.ts';
import { has, typesOf } from '../../ptx/instruction-parts.ts';
import { LANES } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import { ELEMENT_FORMATS, type ElementFormat, readAccumulator, writeAccumulator } from './matrix-elements.ts';
import { type Accumulate, accumulatorFor, type Factors, factorsOf, isFloat8, tensorModel } from './tensor-model.ts';
import type { WarpContext } from './warp-context.ts';

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

/** Decoded once per instruction, because each executes a thousand times, and a kernel has many equal ones. */
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

/** Other products: of sparse matrices. */
const UNSUPPORTED = ['sp', 'sp::ordered_metadata'];
/** The only depth at which it is known how 8-bit floats are added. */
const FLOAT8_DEPTH = 32;

function readForm(instruction: PtxInstruction, target: string): Form {
  const shape = instruction.modifiers.map((m) => /^m16n8k(\d+)$/.exec(m)).find((match) => match !== null);
  const [dType, aType, bType, cType] = typesOf(instruction);
  const a = ELEMENT_FORMATS[aType ?? ''];
  const b = ELEMENT_FORMATS[bType ?? ''];
  if (!shape || !a || !b || !dType || dType !== cType || UNSUPPORTED.some((name) => has(instruction, name)))
    throw unsupported(instruction);
  const k = Number(shape[1]);
  const accumulate = accumulatorFor(dType, aType!, tensorModel(target), has(instruction, 'satfinite'));
  if (!accumulate || (isFloat8(aType!) && k !== FLOAT8_DEPTH)) throw unsupported(instruction);
  const aCount = (M * k * a.bits) / 32 / LANES;
  const bCount = (N * k * b.bits) / 32 / LANES;
  return { k, a, b, type: dType, aCount, bCount, cCount: dType === 'f16' ? 2 : 4, accumulate };
}

/** Elements of C or D in a lane. */
const RESULTS = 4;

/**
 * mma.sync m16n8k*: D = A·B + C by one warp, of what compiled code leaves. Fragment layouts: PTX ISA, matrix fragments for mma.m16n8k*.
 */
export function matrixMultiply(context: WarpContext): void {
  if (context.lanes.length !== LANES) throw unsupported(context.instruction);
  const form = formOf(context);
  const { cCount, aCount, bCount } = form;
  const aWords = context.words(cCount, aCount);
  const bWords = context.words(cCount + aCount, bCount);
  const c = context.words(cCount + aCount + bCount, cCount);
  const d = new Int32Array(cCount * LANES);
  multiplyByElement(form, aWords, bWords, c, d);
  for (let r = 0; r < cCount; r++) context.setWords(context.operands[r]!, d, r * LANES);
}

/** D element by element: any form, any numbers. */
function multiplyByElement(form: Form, aWords: Uint32Array, bWords: Uint32Array, c: Uint32Array, d: Int32Array): void {
  const { k, type, accumulate, aCount, bCount } = form;
  const a = gather(aWords, form.a, { k, rows: M, registers: aCount }, placeInA);
  const b = gather(bWords, form.b, { k, rows: N, registers: bCount }, placeInB);
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

/** Where the first element of A's register r of a lane belongs, 16 × k, row-major: row ⌊lane/4⌋ (+8 for odd r). */
const placeInA = (k: number, perRegister: number, r: number, lane: number): number =>
  ((lane >> 2) + (r & 1) * 8) * k + (lane & 3) * perRegister + (r >> 1) * perRegister * 4;

/** The same of B, k × 8, by column: column ⌊lane/4⌋. */
const placeInB = (k: number, perRegister: number, r: number, lane: number): number =>
  (lane >> 2) * k + (lane & 3) * perRegister + r * perRegister * 4;

/** The elements of a matrix with rows (of B, columns) of k. */
function gather(
  words: Uint32Array,
  { bits, read }: Form['a'],
  { k, rows, registers }: { k: number; rows: number; registers: number },
  placeIn: typeof placeInA,
): Factors {
  const perRegister = 32 / bits;
  const elements = new Float64Array(rows * k);
  for (let r = 0; r < registers; r++) {
    for (let lane = 0; lane < LANES; lane++) {
      const first = placeIn(k, perRegister, r, lane);
      for (let i = 0; i < perRegister; i++) elements[first + i] = read(words[r * LANES + lane]!, i);
    }
  }
  return factorsOf(elements);
}
