import type { DecisionSite } from '../../core/decisions.ts';
import type { BasicBlock, PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { typeOf } from '../../ptx/instruction-parts.ts';
import { controlOf, definitionsAndUses } from '../../ptx/instructions/properties.ts';
import { numberOfBits } from '../../ptx/literals.ts';
import type { SourcePlace } from '../../ptx/source-locations.ts';
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
export function decisionSites(blocks: readonly BasicBlock[]): DecisionSites {
  const instructions = blocks.flatMap((block) => block.instructions);
  const numbers = numbersIn(instructions);
  const deciding = instructions.flatMap((instruction): Deciding[] => {
    const kind = KINDS.get(instruction.opcode)?.(instruction, numbers);
    return kind ? [{ instruction, kind }] : [];
  });
  const repeating = predicatesOfLoops(blocks);
  const parts = partsOfCombinations(deciding);
  const ofLibraries = boundsOfLibraries(deciding);
  const sites: DecisionSite[] = [];
  const indexOf = new Map<PtxInstruction, number>();
  let leftOut = 0;
  for (const { instruction, kind } of deciding) {
    const { place } = instruction;
    if (!place || isOfLibrary(kind, place) || (place.isInherited && ofLibraries.has(boundKey(kind)))) {
      leftOut += 1;
      continue;
    }
    indexOf.set(instruction, sites.length);
    const { own, calledFrom, isInherited } = place;
    const [result] = definitionsAndUses(instruction).definitions;
    const isLoopTest = result !== undefined && repeating.has(result);
    sites.push({
      ...kind,
      place: own,
      calledFrom,
      isInherited,
      isPart: parts.has(instruction),
      isLoopTest,
      isOfSelections: instruction.countedAs === null && kind.kind === 'combination',
    });
  }
  return { sites, indexOf, leftOut };
}

const isOfLibrary = ({ kind }: Kind, { headerDepth }: SourcePlace): boolean => headerDepth > (kind === 'bound' ? 1 : 0);

interface Deciding {
  readonly instruction: PtxInstruction;
  readonly kind: Kind;
}

/** Bounds inside of library functions. Copies of them that the compiler moved have lost where they come from. */
const boundsOfLibraries = (deciding: readonly Deciding[]): ReadonlySet<string> =>
  new Set(
    deciding.flatMap(({ instruction: { place }, kind }) =>
      kind.kind === 'bound' && place && isOfLibrary(kind, place) ? [boundKey(kind)] : [],
    ),
  );

const boundKey = ({ kind, comparison, constant }: Kind): string => `${kind} ${comparison} ${constant}`;

/** Predicates with which a branch goes back. */
function predicatesOfLoops(blocks: readonly BasicBlock[]): ReadonlySet<string> {
  return new Set(
    blocks.flatMap(({ index, instructions, successors }) => {
      const last = instructions.at(-1);
      return last?.guard && controlOf(last) === 'branch' && successors[0]! <= index ? [last.guard.register] : [];
    }),
  );
}

/** Combinations with which a longer one of the same place goes on, by the same operation. */
function partsOfCombinations(deciding: readonly Deciding[]): ReadonlySet<PtxInstruction> {
  const combinations = deciding.filter(({ kind }) => kind.kind === 'combination').map(({ instruction }) => instruction);
  const makers = new Map(
    combinations.flatMap((one) => [...definitionsAndUses(one).definitions].map((register) => [register, one] as const)),
  );
  const goesOn = (shorter: PtxInstruction | undefined, longer: PtxInstruction): boolean =>
    shorter?.opcode === longer.opcode && JSON.stringify(shorter.place) === JSON.stringify(longer.place);
  return new Set(
    combinations.flatMap((longer) =>
      definitionsAndUses(longer).uses.flatMap((register) => {
        const shorter = makers.get(register);
        return shorter && goesOn(shorter, longer) ? [shorter] : [];
      }),
    ),
  );
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
