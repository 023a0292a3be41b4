import type { PtxFunction, PtxInstruction, PtxOperand, PtxStatement } from './ast.ts';
import { rewritten } from './instruction-parts.ts';
import { controlOf, memoryActionOf, runsAs, synchronisationOf } from './instructions/properties.ts';
import { f32BitsOfF64 } from './literals.ts';
import { mapOperand } from './operands.ts';
import { isPtxType, sizeOfPtxType } from './types.ts';
import { uniqueName } from './unique-name.ts';

/**
 * Rewrites a few rare forms into common ones, so that code that executes PTX need not know them:
 * - extended-precision chains (`add.cc` … `madc`) without the condition code;
 * - `cvt` into a register wider than its type as a conversion to the register's width, from one in two steps;
 * - loads into and stores from such registers with a conversion of its own;
 * - decimal literals of `.f32` instructions as f32;
 * - guarded warp-wide instructions, barriers and traps behind a branch.
 *
 * Where an instruction becomes several, `countedAs` says what counts.
 */
export function canonicalForm(fn: PtxFunction): PtxFunction {
  const rewriter: Rewriter = { registers: new Map(fn.registers), used: new Set(namesIn(fn)) };
  const body = fn.body.flatMap((statement) => rewriteStatement(statement, rewriter));
  return { ...fn, registers: rewriter.registers, body };
}

interface Rewriter {
  /** Grows by the scratch registers. */
  readonly registers: Map<string, string>;
  /** Names of registers and labels. */
  readonly used: Set<string>;
}

const namesIn = (fn: PtxFunction): string[] => [
  ...fn.registers.keys(),
  ...fn.body.flatMap((statement) => (statement.kind === 'label' ? [statement.name] : [])),
];

function rewriteStatement(statement: PtxStatement, rewriter: Rewriter): PtxStatement[] {
  if (statement.kind === 'label') return [statement];
  const instruction = withF32Literals(statement.instruction);
  if (instruction.guard && belongsBehindBranch(instruction)) return behindBranch(instruction, rewriter);
  if (runsAs(instruction) === 'access')
    return withNarrowRegisters(instruction, rewriter).map((part) => ({ kind: 'instruction', instruction: part }));
  return withoutCarry(instruction, rewriter)
    .flatMap((plain) => withNarrowSource(toRegisterWidth(plain, rewriter.registers), rewriter))
    .map((plain, index, all) => ({
      kind: 'instruction',
      instruction: countedOnce(plain, instruction, index, all.length),
    }));
}

/** Of several instructions, the first is counted as the one that they replace. */
const countedOnce = (part: PtxInstruction, whole: PtxInstruction, index: number, parts: number): PtxInstruction =>
  parts === 1 ? part : { ...part, countedAs: index === 0 ? whole : null };

/** Whether a guarded form must stand behind a branch: instructions at which lanes meet, `brx.idx` and `trap`. */
function belongsBehindBranch(instruction: PtxInstruction): boolean {
  const control = controlOf(instruction);
  if (control === 'switch' || control === 'trap') return true;
  const meeting = synchronisationOf(instruction);
  return meeting !== 'none' && meeting !== 'memory';
}

function behindBranch(instruction: PtxInstruction, rewriter: Rewriter): PtxStatement[] {
  const { guard, ...unguarded } = instruction;
  const label = uniqueName(rewriter.used, '$skip');
  const branch = rewritten(instruction, 'bra', [], [{ kind: 'label', name: label }]);
  return [
    {
      kind: 'instruction',
      instruction: { ...branch, guard: { ...guard!, negated: !guard!.negated }, countedAs: instruction },
    },
    { kind: 'instruction', instruction: { ...unguarded, countedAs: null } },
    { kind: 'label', name: label },
  ];
}

/** A literal such as 1.5 is a double in PTX; in an f32 instruction it means the f32. */
function withF32Literals(instruction: PtxInstruction): PtxInstruction {
  if (instruction.modifiers.at(-1) !== 'f32') return instruction;
  const operands = instruction.operands.map((operand) =>
    mapOperand(operand, (leaf) =>
      leaf.kind === 'immediate' && leaf.type === 'f64-bits'
        ? { kind: 'immediate', type: 'f32-bits', value: f32BitsOfF64(leaf.value) }
        : leaf,
    ),
  );
  return { ...instruction, operands };
}

/**
 * A load extends to the width of its registers, by the sign of its type; a store takes the low bits of wider ones.
 * Here both go through registers as wide as the type (16 bits for a byte), with conversions that are not counted.
 */
function withNarrowRegisters(access: PtxInstruction, rewriter: Rewriter): PtxInstruction[] {
  const type = access.modifiers.at(-1)!;
  const typeBits = sizeOfPtxType(type) * 8;
  const isLoad = memoryActionOf(access) === 'load';
  const narrowBits = Math.max(16, typeBits);
  const conversions: PtxInstruction[] = [];
  const replace = (operand: PtxOperand, index: number): PtxOperand => {
    if (operand.kind !== 'register') return operand;
    const wideBits = sizeOfPtxType(rewriter.registers.get(operand.name) ?? '') * 8;
    // A byte with a sign must leave a 16-bit register's upper half in order too.
    if (wideBits <= narrowBits && !(isLoad && type === 's8')) return operand;
    // Names with `@` can't occur in PTX text.
    const narrow: PtxOperand = { kind: 'register', name: `@narrow${narrowBits}_${index}` };
    rewriter.registers.set(narrow.name, `b${narrowBits}`);
    const sign = type.startsWith('s') ? 's' : 'u';
    const cvt = isLoad
      ? rewritten(access, 'cvt', [`${sign}${wideBits}`, `${sign}${typeBits}`], [operand, narrow])
      : rewritten(access, 'cvt', [`u${narrowBits}`, `u${wideBits}`], [narrow, operand]);
    conversions.push({ ...cvt, countedAs: null });
    return narrow;
  };
  const at = isLoad ? 0 : 1;
  const operands = access.operands.map((operand, index) => {
    if (index !== at) return operand;
    return operand.kind === 'vector' ? { ...operand, elements: operand.elements.map(replace) } : replace(operand, 0);
  });
  if (conversions.length === 0) return [access];
  const narrowed = { ...access, operands };
  return isLoad ? [narrowed, ...conversions] : [...conversions, narrowed];
}

/** `cvt.s8.s32` into a 32-bit register sign-extends the 8-bit result: `cvt.s32.s8` of the same source. */
function toRegisterWidth(instruction: PtxInstruction, registers: ReadonlyMap<string, string>): PtxInstruction {
  const [to, from] = instruction.modifiers.slice(-2);
  const destination = instruction.operands[0];
  const isPlain = instruction.opcode === 'cvt' && instruction.modifiers.length === 2;
  if (!isPlain || destination?.kind !== 'register' || !isInteger(to!) || !isInteger(from!)) return instruction;
  const registerBytes = sizeOfPtxType(registers.get(destination.name) ?? '');
  // A 16-bit register holds 8-bit results as they are.
  if (registerBytes <= Math.max(2, sizeOfPtxType(to!))) return instruction;
  const narrowest = sizeOfPtxType(from!) < sizeOfPtxType(to!) ? from! : to!;
  return rewritten(instruction, 'cvt', [`${to![0]}${registerBytes * 8}`, narrowest], instruction.operands);
}

/** `cvt.s64.s32` reads the low half of a 64-bit register: that half becomes a register of its own first. */
function withNarrowSource(instruction: PtxInstruction, rewriter: Rewriter): PtxInstruction[] {
  const [to, source] = instruction.operands;
  const from = instruction.modifiers.at(-1);
  if (instruction.opcode !== 'cvt' || source?.kind !== 'register' || !isInteger(from!)) return [instruction];
  const registerBytes = sizeOfPtxType(rewriter.registers.get(source.name) ?? '');
  if (registerBytes < 8 || sizeOfPtxType(from!) === 8) return [instruction];
  // Names with `@` can't occur in PTX text.
  const narrow: PtxOperand = { kind: 'register', name: '@narrow32_0' };
  rewriter.registers.set(narrow.name, 'b32');
  return [rewritten(instruction, 'cvt', ['u32', 'u64'], [narrow, source]), { ...instruction, operands: [to!, narrow] }];
}

const isInteger = (type: string): boolean => isPtxType(type) && /^[us]\d/.test(type);

/** One step of a chain: what it adds or subtracts, and whether the carry goes in and comes out. */
interface CarryStep {
  subtracts: boolean;
  carryIn: boolean;
  carryOut: boolean;
  multiplies: boolean;
}

/** By opcode; `.cc` says whether the carry comes out. */
const CARRY_STEPS: ReadonlyMap<string, Omit<CarryStep, 'carryOut'>> = new Map([
  ['add', { subtracts: false, carryIn: false, multiplies: false }],
  ['sub', { subtracts: true, carryIn: false, multiplies: false }],
  ['mad', { subtracts: false, carryIn: false, multiplies: true }],
  ['addc', { subtracts: false, carryIn: true, multiplies: false }],
  ['subc', { subtracts: true, carryIn: true, multiplies: false }],
  ['madc', { subtracts: false, carryIn: true, multiplies: true }],
]);

function carryStepOf({ opcode, modifiers }: PtxInstruction): CarryStep | undefined {
  const step = CARRY_STEPS.get(opcode);
  const carryOut = modifiers.includes('cc');
  return step && (step.carryIn || carryOut) ? { ...step, carryOut } : undefined;
}

/** Expands a step into plain arithmetic and comparisons; CC.CF is a predicate register. */
function withoutCarry(instruction: PtxInstruction, rewriter: Rewriter): PtxInstruction[] {
  const step = carryStepOf(instruction);
  if (!step) return [instruction];
  const type = `u${sizeOfPtxType(instruction.modifiers.at(-1)!) * 8}`;
  const register = (name: string, registerType: string): PtxOperand => {
    // Names with `@` can't occur in PTX text.
    rewriter.registers.set(name, registerType);
    return { kind: 'register', name };
  };
  const bits = `b${type.slice(1)}`;
  const carry = register('@carry', 'pred');
  const [term, total, addend] = ['term', 'total', 'addend'].map((name) => register(`@${name}${bits}`, bits));
  const result: PtxInstruction[] = [];
  const emit = (opcode: string, modifiers: string[], ...operands: PtxOperand[]): void => {
    result.push(rewritten(instruction, opcode, modifiers, operands));
  };

  let [destination, left, right] = instruction.operands as [PtxOperand, PtxOperand, PtxOperand];
  if (step.multiplies) {
    emit(
      'mul',
      [instruction.modifiers.includes('hi') ? 'hi' : 'lo', signOf(instruction) + type.slice(1)],
      term!,
      left,
      right,
    );
    [left, right] = [instruction.operands[3]!, term!];
  } else emit('mov', [bits], term!, left);
  // `total` comes from copies, so that the destination may be a source.
  const operation = step.subtracts ? 'sub' : 'add';
  const base = step.multiplies ? left : term!;
  emit(operation, [type], total!, base, right);
  const overflow = (predicate: PtxOperand): void => {
    // A sum wrapped when it is below an addend; a difference when the subtrahend is larger.
    if (step.subtracts) emit('setp', ['lt', type], predicate, base, right);
    else emit('setp', ['lt', type], predicate, total!, right);
  };
  if (!step.carryIn) {
    if (step.carryOut) overflow(carry);
    emit('mov', [bits], destination, total!);
    return result;
  }
  emit('selp', [bits], addend!, ONE, ZERO, carry);
  const first = register('@overflow', 'pred');
  if (step.carryOut) overflow(carry);
  if (step.carryOut && step.subtracts) emit('setp', ['lt', type], first, total!, addend!);
  emit(operation, [type], total!, total!, addend!);
  if (step.carryOut && !step.subtracts) emit('setp', ['lt', type], first, total!, addend!);
  if (step.carryOut) emit('or', ['pred'], carry, carry, first);
  emit('mov', [bits], destination, total!);
  return result;
}

const ONE: PtxOperand = { kind: 'immediate', type: 'integer', value: 1n };
const ZERO: PtxOperand = { kind: 'immediate', type: 'integer', value: 0n };

const signOf = (instruction: PtxInstruction): string => (instruction.modifiers.at(-1)!.startsWith('s') ? 's' : 'u');
