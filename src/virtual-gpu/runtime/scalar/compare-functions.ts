import type { PtxInstruction } from '../../../ptx/ast.ts';
import type { FloatName } from './exact-float.ts';
import * as exact from './exact-float.ts';
import { elementName } from './float-functions.ts';
import { integerOperand, type LaneOperands, type ScalarCompiler } from './scalar-function.ts';

/** −1, 0, 1, or undefined for NaN. */
type Order = number | undefined;

const TESTS: Record<string, (order: number) => boolean> = {
  eq: (o) => o === 0,
  ne: (o) => o !== 0,
  lt: (o) => o < 0,
  le: (o) => o <= 0,
  gt: (o) => o > 0,
  ge: (o) => o >= 0,
  lo: (o) => o < 0,
  ls: (o) => o <= 0,
  hi: (o) => o > 0,
  hs: (o) => o >= 0,
};

/** `ltu` also holds for NaN; `num` and `nan` ask only about it. */
function testOf(comparison: string): ((order: Order) => boolean) | undefined {
  if (comparison === 'num') return (order) => order !== undefined;
  if (comparison === 'nan') return (order) => order === undefined;
  const ordered = TESTS[comparison];
  if (ordered) return (order) => order !== undefined && ordered(order);
  const unordered = comparison.endsWith('u') ? TESTS[comparison.slice(0, -1)] : undefined;
  return unordered && ((order) => order === undefined || unordered(order));
}

function floatOrder(name: FloatName, flushes: boolean, a: bigint, b: bigint): Order {
  const [x, y] = [a, b].map((pattern) => exact.toNumber(name, flushes ? exact.flushPattern(name, pattern) : pattern));
  return x! < y! ? -1 : x! > y! ? 1 : x === y ? 0 : undefined;
}

/** Orders of operands 1 and 2: one, or of packed types one per half. */
function ordersOf(instruction: PtxInstruction): (operands: LaneOperands) => Order[] {
  const type = instruction.modifiers.at(-1)!;
  const name = elementName(type);
  if (!name) {
    return (operands) => {
      const [a, b] = [integerOperand(operands, 1, type), integerOperand(operands, 2, type)];
      return [a < b ? -1 : a > b ? 1 : 0];
    };
  }
  const flushes = instruction.modifiers.includes('ftz');
  const order = (a: bigint, b: bigint): Order => floatOrder(name, flushes, a, b);
  if (!type.endsWith('x2')) return (operands) => [order(operands.unsigned(1, name), operands.unsigned(2, name))];
  return (operands) => {
    const [a, b] = [operands.unsigned(1, 'b32'), operands.unsigned(2, 'b32')];
    return [order(a & 0xffffn, b & 0xffffn), order(a >> 16n, b >> 16n)];
  };
}

const COMBINATIONS: ReadonlyMap<string, (a: boolean, b: boolean) => boolean> = new Map([
  ['and', (a, b) => a && b],
  ['or', (a, b) => a || b],
  ['xor', (a, b) => a !== b],
]);

/** Outcomes of the comparison (one, or two of packed types), each combined with predicate operand 3 if the opcode says so. */
function outcomesOf(
  instruction: PtxInstruction,
): ((operands: LaneOperands) => { plain: boolean[]; combine: (outcome: boolean) => boolean }) | undefined {
  const test = testOf(instruction.modifiers[0]!);
  if (!test) return undefined;
  const orders = ordersOf(instruction);
  const combination = instruction.modifiers.map((m) => COMBINATIONS.get(m)).find((c) => c !== undefined);
  return (operands) => ({
    plain: orders(operands).map(test),
    combine: (outcome) => (combination ? combination(outcome, operands.predicate(3)) : outcome),
  });
}

const flag = (value: boolean): bigint => (value ? 1n : 0n);

export const setPredicate: ScalarCompiler = (instruction) => {
  const outcomes = outcomesOf(instruction);
  if (!outcomes) return undefined;
  const isPair = instruction.operands[0]!.kind === 'pair';
  return (operands) => {
    const { plain, combine } = outcomes(operands);
    const p = flag(combine(plain[0]!));
    return isPair ? [p, flag(combine(plain[1] ?? !plain[0]))] : [p];
  };
};

/** `set`: true is 1.0, or all ones of an integer destination. */
export const setValue: ScalarCompiler = (instruction) => {
  const outcomes = outcomesOf(instruction);
  if (!outcomes) return undefined;
  const name = elementName(instruction.modifiers.at(-2)!);
  const isPacked = instruction.modifiers.at(-1)!.endsWith('x2');
  const yes = name ? exact.patternOf(name, exact.ofInteger(1n), 'rn') : isPacked ? 0xffffn : -1n;
  return (operands) => {
    const { plain, combine } = outcomes(operands);
    const [low, high] = plain.map((outcome) => (combine(outcome) ? yes : 0n));
    return [high === undefined ? low! : low! | (high << 16n)];
  };
};

export const select: ScalarCompiler = (instruction) => {
  const type = instruction.modifiers.at(-1)!;
  return (operands) => [operands.unsigned(operands.predicate(3) ? 1 : 2, type)];
};

/** `slct`: operand 1 where operand 3 is at least 0. */
export const selectBySign: ScalarCompiler = (instruction) => {
  const [type, signType] = instruction.modifiers.slice(-2) as [string, string];
  const flushes = instruction.modifiers.includes('ftz');
  return (operands) => {
    const order =
      signType === 'f32'
        ? floatOrder('f32', flushes, operands.unsigned(3, 'f32'), 0n)
        : Number(integerOperand(operands, 3, 's32'));
    return [operands.unsigned(order !== undefined && order >= 0 ? 1 : 2, type)];
  };
};
