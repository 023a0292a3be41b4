import type { DecisionSite } from '../../core/decisions.ts';
import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { typeOf } from '../../ptx/instruction-parts.ts';
import { numberOfBits } from '../../ptx/literals.ts';
import { bf16ToNumber, f16ToNumber } from '../runtime/half-numbers.ts';

/** The decisions of a function's code that its author wrote. */
export interface DecisionSites {
  readonly sites: readonly DecisionSite[];
  /** Place of an instruction's site in `sites`. */
  readonly indexOf: ReadonlyMap<PtxInstruction, number>;
  /** Decisions inside of library functions, and those without a place in the author's files. */
  readonly leftOut: number;
}

/**
 * Finds comparisons, their combinations, and minima and maxima with a constant. Those of library functions are left out, but not a bound that a library
 * function only passes on: `fminf(x, 600.0f)` is the author's.
 */
export function decisionSites(instructions: readonly PtxInstruction[]): DecisionSites {
  const numbers = numbersIn(instructions);
  const sites: DecisionSite[] = [];
  const indexOf = new Map<PtxInstruction, number>();
  let leftOut = 0;
  for (const instruction of instructions) {
    const kind = KINDS.get(instruction.opcode)?.(instruction, numbers);
    if (!kind) continue;
    const { place } = instruction;
    if (!place || place.headerDepth > (kind.kind === 'bound' ? 1 : 0)) {
      leftOut += 1;
      continue;
    }
    indexOf.set(instruction, sites.length);
    const { own, calledFrom, isInherited } = place;
    sites.push({ ...kind, place: own, calledFrom, isInherited });
  }
  return { sites, indexOf, leftOut };
}

type Kind = Pick<DecisionSite, 'kind' | 'comparison' | 'constant' | 'isFloat'>;

/** Registers that hold one number always, as the operand says that is moved into them: half-precision numbers can't be operands of `setp`. */
type Numbers = ReadonlyMap<string, PtxOperand>;

function numbersIn(instructions: readonly PtxInstruction[]): Numbers {
  const numbers = new Map<string, PtxOperand>();
  const twice = new Set<string>();
  for (const { opcode, guard, operands } of instructions) {
    const [destination, source] = operands;
    if (opcode !== 'mov' || guard || destination?.kind !== 'register' || source?.kind !== 'immediate') continue;
    if (twice.has(destination.name) || numbers.delete(destination.name)) twice.add(destination.name);
    else numbers.set(destination.name, source);
  }
  return numbers;
}

const KINDS: ReadonlyMap<string, (instruction: PtxInstruction, numbers: Numbers) => Kind | undefined> = new Map([
  ['setp', comparisonOf],
  ['min', boundOf],
  ['max', boundOf],
  ['and', combinationOf],
  ['or', combinationOf],
]);

const HALVES: Readonly<Record<string, (bits: number) => number>> = { f16: f16ToNumber, bf16: bf16ToNumber };

/** Packed halves decide twice; they are left to their results. */
function comparisonOf(instruction: PtxInstruction, numbers: Numbers): Kind | undefined {
  const { operands, modifiers } = instruction;
  const [destination] = operands;
  if (destination?.kind !== 'register' && destination?.kind !== 'pair') return undefined;
  if (destination.kind === 'pair' && destination.first.kind !== 'register') return undefined;
  const type = typeOf(instruction);
  if (type.endsWith('x2')) return undefined;
  const moved = (operand: PtxOperand | undefined): PtxOperand | undefined =>
    type in HALVES && operand?.kind === 'register' ? numbers.get(operand.name) : operand;
  const combining = modifiers.find((modifier) => modifier === 'and' || modifier === 'or' || modifier === 'xor');
  if (combining) return { kind: 'combination', comparison: combining, constant: undefined, isFloat: false };
  return {
    kind: 'comparison',
    comparison: modifiers[0]!,
    constant: numberIn(moved(operands[2]), type) ?? numberIn(moved(operands[1]), type),
    isFloat: isFloat(type),
  };
}

function combinationOf({ modifiers, operands, opcode }: PtxInstruction): Kind | undefined {
  if (!modifiers.includes('pred') || operands[0]?.kind !== 'register') return undefined;
  return { kind: 'combination', comparison: opcode, constant: undefined, isFloat: false };
}

const BOUNDED: ReadonlySet<string> = new Set(['s32', 'u32', 'f32', 's64', 'u64', 'f64']);

function boundOf(instruction: PtxInstruction): Kind | undefined {
  const { operands, opcode, modifiers } = instruction;
  const type = typeOf(instruction);
  if (!BOUNDED.has(type) || operands.length !== 3 || operands[0]?.kind !== 'register') return undefined;
  if (modifiers.includes('relu') || modifiers.includes('xorsign')) return undefined;
  const constant = numberIn(operands[2], type) ?? numberIn(operands[1], type);
  // max(−∞, x) bounds nothing: it is the first step of an unrolled loop.
  if (constant === undefined || !Number.isFinite(constant)) return undefined;
  return { kind: 'bound', comparison: opcode, constant, isFloat: isFloat(type) };
}

/** The operand that is a constant, of a minimum or maximum. */
export const boundIn = ({ operands }: PtxInstruction): number => (operands[2]?.kind === 'immediate' ? 2 : 1);

const isFloat = (type: string): boolean => type.startsWith('f') || type.startsWith('bf');

function numberIn(operand: PtxOperand | undefined, type: string): number | undefined {
  if (operand?.kind !== 'immediate') return undefined;
  const ofHalf = HALVES[type];
  return ofHalf ? ofHalf(Number(BigInt.asUintN(16, operand.value))) : numberOfBits(operand, type);
}
