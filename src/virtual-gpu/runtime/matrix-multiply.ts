import { typesOf } from '../codegen/instruction-parts.ts';
import { LANES } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import { bf16ToNumber, f16ToNumber, numberToF16 } from './half-numbers.ts';
import { accumulatorFor, tensorModel } from './tensor-model.ts';
import type { WarpContext } from './warp-context.ts';

/** How the elements of A and B lie in registers: elements per 32-bit register, and how to read one. */
interface ElementFormat {
  perRegister: number;
  read: (register: number, index: number) => number;
}

const scratch = new DataView(new ArrayBuffer(4));
function bitsToF32(bits: number): number {
  scratch.setUint32(0, bits >>> 0);
  return scratch.getFloat32(0);
}
function f32ToBits(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getUint32(0);
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

/** mma.sync m16n8k*: D = A·B + C by one warp. Fragment layouts: PTX ISA, matrix fragments for mma.m16n8k*. */
export function matrixMultiply(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const shape = instruction.modifiers.map((m) => /^m16n8k(\d+)$/.exec(m)).find((match) => match !== null);
  const [dType, aType, bType, cType] = typesOf(instruction);
  const format = FORMATS[aType ?? ''];
  const bFormat = FORMATS[bType ?? ''];
  if (!shape || !format || !bFormat || dType !== cType || lanes.length !== LANES) throw unsupported(instruction);
  const k = Number(shape[1]);
  const aCount = (M * k) / LANES / format.perRegister;
  const bCount = (N * k) / LANES / bFormat.perRegister;
  const cCount = dType === 'f16' ? 2 : 4;
  const read = (first: number, count: number) =>
    Array.from({ length: count }, (_, i) => lanes.map((lane) => context.word(operands[first + i]!, lane)));
  const a = gatherA(read(cCount, aCount), format, k);
  const b = gatherB(read(cCount + aCount, bCount), bFormat, k);
  const c = read(cCount + aCount + bCount, cCount);
  const accumulate = accumulatorFor(dType!, aType!, tensorModel(context.target));
  if (!accumulate) throw unsupported(instruction);
  for (const lane of lanes) {
    const [group, column] = [lane >> 2, (lane & 3) * 2];
    const results = [0, 1, 2, 3].map((i) => {
      const row = group + (i >> 1) * 8;
      return accumulate(readAccumulator(c, lane, i, dType!), a, b, row, column + (i & 1), k);
    });
    writeAccumulator(context, lane, results, dType!);
  }
}

/** A, 16 × k, row-major: register r of lane l covers row ⌊l/4⌋ (+8 for odd r), columns from the lane's quad place. */
function gatherA(registers: number[][], { perRegister, read }: ElementFormat, k: number): Float64Array {
  const a = new Float64Array(M * k);
  registers.forEach((words, r) => {
    words.forEach((word, lane) => {
      const row = (lane >> 2) + (r & 1) * 8;
      const column = (lane & 3) * perRegister + (r >> 1) * perRegister * 4;
      for (let i = 0; i < perRegister; i++) a[row * k + column + i] = read(word, i);
    });
  });
  return a;
}

/** B, k × 8, stored here by column: register r of lane l covers column ⌊l/4⌋. */
function gatherB(registers: number[][], { perRegister, read }: ElementFormat, k: number): Float64Array {
  const b = new Float64Array(N * k);
  registers.forEach((words, r) => {
    words.forEach((word, lane) => {
      const row = (lane & 3) * perRegister + r * perRegister * 4;
      for (let i = 0; i < perRegister; i++) b[(lane >> 2) * k + row + i] = read(word, i);
    });
  });
  return b;
}

function readAccumulator(c: number[][], lane: number, index: number, type: string): number {
  if (type === 'f16') return f16ToNumber(half(c[index >> 1]![lane]!, index & 1));
  const word = c[index]![lane]!;
  return type === 's32' ? word | 0 : bitsToF32(word);
}

function writeAccumulator(context: WarpContext, lane: number, results: number[], type: string): void {
  if (type === 'f16') {
    for (const r of [0, 1])
      context.setWord(
        context.operands[r]!,
        lane,
        numberToF16(results[r * 2]!) | (numberToF16(results[r * 2 + 1]!) << 16),
      );
    return;
  }
  results.forEach((value, i) => {
    context.setWord(context.operands[i]!, lane, type === 's32' ? value : f32ToBits(value));
  });
}
