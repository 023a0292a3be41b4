import type { CodeConstants } from '../../core/decisions.ts';
import type { PtxInstruction, PtxModule } from '../../ptx/ast.ts';
import { typesOf } from '../../ptx/instruction-parts.ts';
import { numberOfBits } from '../../ptx/literals.ts';

/** Sizes that a constant may bear on; smaller ones are everywhere, larger ones can't be verified. */
const SIZES = { least: 8, most: 2 ** 22 } as const;

/** How far apart a constant operand moves two values. */
const GAP_OF: Readonly<Record<string, (constant: number) => number>> = { add: Math.abs, sub: Math.abs };

/** Powers of e or two that exponentials of differences bear: smaller ones are rounding's, beyond larger ones fp32 ends. */
const GAPS = { least: 4, most: 128 } as const;

/** Smaller numbers are subtracted everywhere. */
const LEAST_SUBTRACTED = 256;

/** What a value is held against. */
const BOUND_OF: Readonly<Record<string, (constant: number) => number>> = {
  setp: (constant) => constant,
  min: (constant) => constant,
  max: (constant) => constant,
};

/** Sizes that a constant operand speaks of, of the last operand if it is one. */
const SIZE_OF: Readonly<Record<string, (constant: number) => number>> = {
  ...BOUND_OF,
  rem: (constant) => constant,
  div: (constant) => constant,
  mul: (constant) => constant,
  mad: (constant) => constant,
  and: (mask) => (mask > 0 ? mask + 1 : -mask),
  // `K - 14321 < 16` is what compilers make of a quotient that equals a number.
  add: (constant) => (constant <= -LEAST_SUBTRACTED ? -constant : 0),
  shr: (bits) => 2 ** bits,
  shl: (bits) => 2 ** bits,
};

const isBounding = ({ opcode }: PtxInstruction): boolean => Object.hasOwn(BOUND_OF, opcode);

/** Constants of the code that its author wrote; `fminf(x, 600.0f)` passes one on. */
export function constantsOf({ functions }: PtxModule): CodeConstants {
  const [sizes, values, gaps] = [new Set<number>(), new Set<number>(), new Set<number>()];
  for (const { body } of functions)
    for (const statement of body) {
      if (statement.kind !== 'instruction') continue;
      const { instruction } = statement;
      const depth = instruction.place?.headerDepth ?? Number.POSITIVE_INFINITY;
      if (depth > (isBounding(instruction) ? 1 : 0)) continue;
      for (const constant of constantsIn(instruction)) {
        if (isFloating(instruction)) {
          addValue(instruction, constant, values);
          addGap(instruction, constant, gaps);
        } else addSize(instruction, constant, sizes);
      }
    }
  const [inOrder, ofValues, ofGaps] = [sizes, values, gaps].map((set) => [...set].sort((a, b) => a - b));
  return { sizes: inOrder!, values: ofValues!, gaps: ofGaps! };
}

const typeIn = (instruction: PtxInstruction): string => typesOf(instruction).at(-1) ?? 'b32';

const isFloating = (instruction: PtxInstruction): boolean => /^b?f\d/.test(typeIn(instruction));

const constantsIn = (instruction: PtxInstruction): number[] =>
  instruction.operands
    .slice(1)
    .flatMap((operand) => (operand.kind === 'immediate' ? [numberOfBits(operand, typeIn(instruction))] : []));

function addSize({ opcode }: PtxInstruction, constant: number, sizes: Set<number>): void {
  const size = SIZE_OF[opcode]?.(constant);
  if (size !== undefined && size >= SIZES.least && size <= SIZES.most) sizes.add(size);
}

function addValue(instruction: PtxInstruction, constant: number, values: Set<number>): void {
  if (isBounding(instruction) && Number.isFinite(constant) && constant !== 0) values.add(constant);
}

function addGap({ opcode }: PtxInstruction, constant: number, gaps: Set<number>): void {
  const gap = GAP_OF[opcode]?.(constant);
  if (gap !== undefined && gap >= GAPS.least && gap < GAPS.most) gaps.add(gap);
}
