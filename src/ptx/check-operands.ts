import type { PtxFunction, PtxInstruction, PtxModule, PtxOperand, PtxType } from './ast.ts';
import { PtxSyntaxError } from './errors.ts';
import { leavesOf } from './operands.ts';
import { isPtxType, sizeOfPtxType } from './types.ts';

/**
 * What stands at one place of an instruction: bits of a register (1 for a predicate), or at least so many; a memory
 * address; a label. `optional` places may be missing, with all after them.
 */
type Place =
  | { is: 'value'; bits: number; orMore?: true; optional?: true }
  | { is: 'address' }
  | { is: 'label' }
  /** Not checked here: vectors of many kinds, barrier numbers, … */
  | { is: 'anything'; optional?: true };

type Signature = (instruction: PtxInstruction) => Place[];

const bitsOf = (type: PtxType): number => (type === 'pred' ? 1 : sizeOfPtxType(type) * 8);
const value = (bits: number): Place => ({ is: 'value', bits });
const optional = (bits: number): Place => ({ is: 'value', bits, optional: true });
const predicate = value(1);
const address: Place = { is: 'address' };

const typesOf = ({ modifiers }: PtxInstruction): number[] => modifiers.filter(isPtxType).map(bitsOf);

/** Bits of the last type, which most instructions work in; undefined when there is none. */
const lastBits = (instruction: PtxInstruction): number | undefined => typesOf(instruction).at(-1);

/** `count` operands of the instruction's type, the result included; `more` may follow. */
const alike =
  (count: number, ...more: Place[]): Signature =>
  (instruction) => {
    const bits = lastBits(instruction);
    return bits === undefined ? [] : [...new Array<Place>(count).fill(value(bits)), ...more];
  };

/** Multiplications: `.wide` has a result, and an addend, of twice the width. */
const multiply =
  (addends: number): Signature =>
  (instruction) => {
    const bits = lastBits(instruction);
    if (bits === undefined) return [];
    const wide = value(instruction.modifiers.includes('wide') ? 2 * bits : bits);
    return [wide, value(bits), value(bits), ...new Array<Place>(addends).fill(wide)];
  };

/** A 32-bit result from one operand of the instruction's type. */
const countBits: Signature = (instruction) => [value(32), value(lastBits(instruction) ?? 32)];

/** First type: the result; last type: the sources. */
const convert: Signature = (instruction) => {
  const [to, from] = typesOf(instruction);
  if (to === undefined || from === undefined) return [];
  const wider = (bits: number): Place => ({ is: 'value', bits, orMore: true });
  return [wider(to), wider(from), { ...wider(from), optional: true }, { is: 'anything', optional: true }];
};

const compare: Signature = (instruction) => {
  const bits = lastBits(instruction) ?? 32;
  return [predicate, value(bits), value(bits), optional(1)];
};

const set: Signature = (instruction) => {
  const [to, from] = typesOf(instruction);
  return to === undefined || from === undefined ? [] : [value(to), value(from), value(from), optional(1)];
};

/** `slct.T.s32|f32`: the last operand, of the last type, chooses. */
const chooseBySign: Signature = (instruction) => {
  const [to, by] = typesOf(instruction);
  return to === undefined || by === undefined ? [] : [value(to), value(to), value(to), value(by)];
};

/** A loaded or stored register may be wider than the access. */
const memoryValue = (instruction: PtxInstruction): Place => ({
  is: 'value',
  bits: lastBits(instruction) ?? 8,
  orMore: true,
});

const ATOMIC_OPERANDS: ReadonlySet<string> = new Set(['cas']);
const atomic: Signature = (instruction) => {
  const bits = lastBits(instruction);
  if (bits === undefined || instruction.modifiers.some((m) => /^v\d$/.test(m))) return [];
  const result = instruction.opcode === 'atom' ? [value(bits)] : [];
  const operands = instruction.modifiers.some((m) => ATOMIC_OPERANDS.has(m)) ? 2 : 1;
  return [...result, address, ...new Array<Place>(operands).fill(value(bits)), { is: 'anything', optional: true }];
};

const vote: Signature = ({ modifiers }) => {
  const result = value(modifiers.includes('ballot') ? 32 : 1);
  return [result, predicate, optional(32)];
};

const BARRIER: Place[] = [
  { is: 'value', bits: 32 },
  { is: 'value', bits: 32, optional: true },
];

const barrier: Signature = ({ modifiers }) => {
  if (modifiers.includes('red')) return [];
  return modifiers.includes('cluster') ? [] : BARRIER;
};

const SIGNATURES: ReadonlyMap<string, Signature> = new Map<string, Signature>([
  ...(['add', 'sub', 'addc', 'subc', 'div', 'rem', 'and', 'or', 'xor', 'copysign', 'mul24'] as const).map(
    (opcode) => [opcode, alike(3)] as const,
  ),
  ...(['min', 'max'] as const).map((opcode) => [opcode, alike(3, { is: 'anything', optional: true })] as const),
  ...(['abs', 'neg', 'not', 'cnot', 'sqrt', 'rsqrt', 'rcp', 'sin', 'cos', 'lg2', 'ex2', 'tanh', 'brev'] as const).map(
    (opcode) => [opcode, alike(2)] as const,
  ),
  ...(['fma', 'sad', 'mad24'] as const).map((opcode) => [opcode, alike(4)] as const),
  ...(['mul'] as const).map((opcode) => [opcode, multiply(0)] as const),
  ...(['mad', 'madc'] as const).map((opcode) => [opcode, multiply(1)] as const),
  ...(['shl', 'shr'] as const).map((opcode) => [opcode, alike(2, value(32))] as const),
  ['bfe', alike(2, value(32), value(32))],
  ['bfi', alike(3, value(32), value(32))],
  ['shf', alike(4)],
  ['lop3', alike(4, value(32), { is: 'anything', optional: true })],
  ['prmt', alike(4)],
  ['dp4a', alike(4)],
  ['dp2a', alike(4)],
  ...(['popc', 'clz', 'bfind'] as const).map((opcode) => [opcode, countBits] as const),
  ['setp', compare],
  ['set', set],
  ['selp', alike(3, predicate)],
  ['slct', chooseBySign],
  ['cvt', convert],
  ['ld', (instruction) => [memoryValue(instruction), address, { is: 'anything', optional: true }]],
  ['ldu', (instruction) => [memoryValue(instruction), address]],
  ['st', (instruction) => [address, memoryValue(instruction), { is: 'anything', optional: true }]],
  ['atom', atomic],
  ['red', atomic],
  ['mov', alike(2)],
  ['cvta', alike(2)],
  ['isspacep', () => [predicate, { is: 'anything' }]],
  ['shfl', () => [value(32), value(32), value(32), value(32), optional(32)]],
  ['vote', vote],
  ['activemask', () => [value(32)]],
  ['match', (instruction) => [value(32), value(lastBits(instruction) ?? 32), value(32)]],
  ['redux', alike(2, value(32))],
  ['bra', () => [{ is: 'label' }]],
  ['bar', barrier],
  ['barrier', barrier],
]);

/** Instructions of packed halves that test two values at once have two predicates; elsewhere a pair is a second result. */
const pairsOf = (operand: PtxOperand): PtxOperand[] =>
  operand.kind === 'pair' ? [operand.first, operand.second] : [operand];

/**
 * Checks the operands of the instructions whose operands depend on the opcode alone: how many there are, and that each
 * register is as wide as the instruction's type says. A PTX assembler would refuse what is refused here. Names must be
 * declared.
 *
 * Source: PTX ISA, operand size exceeding instruction-type size (ld, st, cvt), and each instruction's description.
 * @throws PtxSyntaxError for the first instruction that is not well formed.
 */
export function checkOperands(fn: PtxFunction, module: PtxModule): void {
  const names = new Set(
    [...module.variables, ...fn.variables, ...fn.parameters, ...fn.returns].map(({ name }) => name),
  );
  for (const { name } of module.functions) names.add(name);
  for (const statement of fn.body) {
    if (statement.kind !== 'instruction') continue;
    const { instruction } = statement;
    const problem = problemOf(fn, instruction, names);
    if (problem !== undefined) throw new PtxSyntaxError(problem, instruction.ptxLine, instruction.text);
  }
}

function problemOf(fn: PtxFunction, instruction: PtxInstruction, names: ReadonlySet<string>): string | undefined {
  const { operands, guard, text } = instruction;
  if (guard && bitsOf(fn.registers.get(guard.register)!) !== 1) return `${guard.register} is not a predicate`;
  for (const leaf of operands.flatMap(leavesOf))
    if (leaf.kind === 'symbol' && !names.has(leaf.name)) return `nothing is named \`${leaf.name}\``;
  const places = SIGNATURES.get(instruction.opcode)?.(instruction) ?? [];
  if (places.length === 0) return undefined;
  const required = places.filter((place) => !('optional' in place)).length;
  if (operands.length < required || operands.length > places.length)
    return `\`${text}\` takes ${required} operands, not ${operands.length}`;
  for (const [index, operand] of operands.entries()) {
    const problem = misfit(fn, instruction, operand, places[index]!);
    if (problem !== undefined) return `operand ${index + 1} of \`${text}\` ${problem}`;
  }
  return undefined;
}

function misfit(fn: PtxFunction, instruction: PtxInstruction, operand: PtxOperand, place: Place): string | undefined {
  if (place.is === 'anything') return undefined;
  if (place.is === 'label') return operand.kind === 'label' ? undefined : 'is not a label';
  if (place.is === 'address') return operand.kind === 'address' ? addressProblem(fn, operand) : 'is not an address';
  if (operand.kind === 'vector') return vectorProblem(fn, instruction, operand.elements, place);
  if (operand.kind === 'address' || operand.kind === 'label')
    return `is ${operand.kind === 'label' ? 'a label' : 'an address'}`;
  const [first, second] = pairsOf(operand);
  const widthProblem = first && registerProblem(fn, first, place);
  if (widthProblem !== undefined) return widthProblem;
  return second && registerProblem(fn, second, { is: 'value', bits: 1 });
}

/** An address is a name or a register of 32 or 64 bits. */
function addressProblem(fn: PtxFunction, { base }: Extract<PtxOperand, { kind: 'address' }>): string | undefined {
  if (base?.kind !== 'register') return undefined;
  const bits = bitsOf(fn.registers.get(base.name)!);
  return bits === 32 || bits === 64 ? undefined : `has an address of ${bits} bits`;
}

/** A vector of a load or store has elements of its type; one of a mov makes up the type's width. */
function vectorProblem(
  fn: PtxFunction,
  { opcode, modifiers, text }: PtxInstruction,
  elements: readonly PtxOperand[],
  place: Extract<Place, { is: 'value' }>,
): string | undefined {
  const width = Number(modifiers.find((m) => /^v[248]$/.test(m))?.slice(1) ?? 1);
  if (opcode === 'ld' || opcode === 'ldu' || opcode === 'st') {
    if (elements.length !== width) return `has ${elements.length} elements, not ${width}`;
    return elements.map((element) => registerProblem(fn, element, place)).find((problem) => problem !== undefined);
  }
  if (opcode !== 'mov') return `can't be a vector in \`${text}\``;
  const each = place.bits / elements.length;
  return elements
    .map((element) => registerProblem(fn, element, { is: 'value', bits: each }))
    .find((problem) => problem !== undefined);
}

function registerProblem(
  fn: PtxFunction,
  operand: PtxOperand,
  { bits, orMore }: Extract<Place, { is: 'value' }>,
): string | undefined {
  if (operand.kind !== 'register') return undefined;
  const type = fn.registers.get(operand.name)!;
  const width = bitsOf(type);
  const fits = width === bits || (orMore === true && width > bits);
  return fits ? undefined : `is ${operand.name}, a .${type} register, where ${bits} bits are wanted`;
}
