import type { PtxFunction, PtxInstruction, StateSpace } from './ast.ts';
import { isPtxType } from './types.ts';

const SPACES: ReadonlySet<string> = new Set(['global', 'shared', 'local', 'const', 'param']);

/** State space of a load, store or atomic; `generic` when the opcode names none. */
export function spaceOf(instruction: PtxInstruction): Exclude<StateSpace, 'reg'> {
  for (const modifier of instruction.modifiers) {
    const base = modifier.split('::')[0]!;
    if (SPACES.has(base)) return base as Exclude<StateSpace, 'reg'>;
  }
  return 'generic';
}

/** Whether its addresses may lie in the shared memory of another CTA of the cluster. */
export const isOfCluster = ({ modifiers }: PtxInstruction): boolean => modifiers.includes('shared::cluster');

/** The type of most instructions; empty if there are no modifiers. */
export const lastModifier = ({ modifiers }: PtxInstruction): string => modifiers.at(-1) ?? '';

/** The type modifiers, in order. */
export const typesOf = (instruction: PtxInstruction): string[] => instruction.modifiers.filter(isPtxType);

/** The last type modifier, which is the operand type of all but `cvt`-like instructions. */
export function typeOf(instruction: PtxInstruction): string {
  const type = typesOf(instruction).at(-1);
  if (type === undefined) throw new Error(`${instruction.text} has no type`);
  return type;
}

/** 1, 2, 4 or 8 elements of a vector load or store. */
export function vectorLength(instruction: PtxInstruction): number {
  for (const modifier of instruction.modifiers) {
    if (/^v[248]$/.test(modifier)) return Number(modifier.slice(1));
  }
  return 1;
}

/** Opcode with its modifiers, as the text has them: `shfl.sync.down.b32`. */
export const fullName = ({ text }: PtxInstruction): string => text.replace(/^@!?\S+\s+/, '').split(/[\s;]/)[0]!;

export const has = (instruction: PtxInstruction, modifier: string): boolean => instruction.modifiers.includes(modifier);

/** The same instruction with another opcode, at the same place. */
export const rewritten = (
  instruction: PtxInstruction,
  opcode: string,
  modifiers: string[],
  operands = instruction.operands,
): PtxInstruction => ({ ...instruction, opcode, modifiers, text: [opcode, ...modifiers].join('.'), operands });

/** All instructions of a function, in order. */
export const instructionsOf = ({ body }: Pick<PtxFunction, 'body'>): PtxInstruction[] =>
  body.flatMap((statement) => (statement.kind === 'instruction' ? [statement.instruction] : []));

/** Modifiers that do not select an instruction's code: default rounding and hints. The code itself looks at `ftz`. */
const NEUTRAL: ReadonlySet<string> = new Set(['rn', 'ftz', 'uni', 'full']);

/** Opcode with the modifiers that matter, e.g. `fma.f32` for `fma.rn.ftz.f32`. */
export function formOf(instruction: PtxInstruction): string {
  const modifiers = instruction.modifiers.filter((m) => !NEUTRAL.has(m));
  return [instruction.opcode, ...modifiers].join('.');
}
