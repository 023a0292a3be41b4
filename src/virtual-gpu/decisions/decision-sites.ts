import type { DecisionSite } from '../../core/decisions.ts';
import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { typeOf } from '../../ptx/instruction-parts.ts';
import { numberOfBits } from '../../ptx/literals.ts';

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
export function decisionSites(instructions: Iterable<PtxInstruction>): DecisionSites {
  const sites: DecisionSite[] = [];
  const indexOf = new Map<PtxInstruction, number>();
  let leftOut = 0;
  for (const instruction of instructions) {
    const kind = KINDS.get(instruction.opcode)?.(instruction);
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

const KINDS: ReadonlyMap<string, (instruction: PtxInstruction) => Kind | undefined> = new Map([
  ['setp', comparisonOf],
  ['min', boundOf],
  ['max', boundOf],
  ['and', combinationOf],
  ['or', combinationOf],
]);

/** Packed halves decide twice; they are left to their results. */
function comparisonOf(instruction: PtxInstruction): Kind | undefined {
  const { operands, modifiers } = instruction;
  const [destination] = operands;
  if (destination?.kind !== 'register' && destination?.kind !== 'pair') return undefined;
  if (destination.kind === 'pair' && destination.first.kind !== 'register') return undefined;
  const type = typeOf(instruction);
  if (type.endsWith('x2')) return undefined;
  const combining = modifiers.find((modifier) => modifier === 'and' || modifier === 'or' || modifier === 'xor');
  if (combining) return { kind: 'combination', comparison: combining, constant: undefined, isFloat: false };
  return {
    kind: 'comparison',
    comparison: modifiers[0]!,
    constant: numberIn(operands[2], type) ?? numberIn(operands[1], type),
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

const numberIn = (operand: PtxOperand | undefined, type: string): number | undefined =>
  operand?.kind === 'immediate' ? numberOfBits(operand, type) : undefined;
