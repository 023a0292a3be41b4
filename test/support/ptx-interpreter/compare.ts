import { compare } from './exact.ts';
import { elementType, isFloating } from './floating.ts';
import { decode, type FloatType, flush, one } from './formats.ts';
import type { LaneInputs, LaneOperation } from './lane.ts';

type Order = -1 | 0 | 1;

/** What each comparison asks of the order; lo, ls, hi, hs are lt, le, gt, ge of unsigned values. */
const ORDERED: Record<string, (order: Order) => boolean> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  lt: (order) => order < 0,
  le: (order) => order <= 0,
  gt: (order) => order > 0,
  ge: (order) => order >= 0,
  lo: (order) => order < 0,
  ls: (order) => order <= 0,
  hi: (order) => order > 0,
  hs: (order) => order >= 0,
};

/** `ltu` is true where `lt` is, and when an operand is NaN; `num` and `nan` ask only that. */
function holds(comparison: string, order: Order | undefined): boolean {
  if (comparison === 'num') return order !== undefined;
  if (comparison === 'nan') return order === undefined;
  const ordered = ORDERED[comparison];
  if (ordered) return order !== undefined && ordered(order);
  return order === undefined || ORDERED[comparison.slice(0, 2)]!(order);
}

const orderOf = (a: bigint, b: bigint): Order => (a < b ? -1 : a > b ? 1 : 0);

function floatOrder(inputs: LaneInputs, type: FloatType, a: bigint, b: bigint): Order | undefined {
  const value = (bits: bigint) => decode(type, inputs.has('ftz') ? flush(type, bits) : bits);
  return compare(value(a), value(b));
}

/** Outcome of the comparison, one per element of a packed type. */
function outcomes(inputs: LaneInputs): boolean[] {
  const comparison = inputs.instruction.modifiers[0]!;
  const { type } = inputs;
  if (!isFloating(type)) return [holds(comparison, orderOf(inputs.integer(1), inputs.integer(2)))];
  const element = elementType(type);
  if (element === type) return [holds(comparison, floatOrder(inputs, element, inputs.unsigned(1), inputs.unsigned(2)))];
  return [0n, 16n].map((shift) => {
    const half = (index: number): bigint => (inputs.unsigned(index, 'b32') >> shift) & 0xffffn;
    return holds(comparison, floatOrder(inputs, element, half(1), half(2)));
  });
}

const COMBINE: Record<string, (a: boolean, b: boolean) => boolean> = {
  and: (a, b) => a && b,
  or: (a, b) => a || b,
  xor: (a, b) => a !== b,
};

/** The comparison combined with predicate operand 3, where the opcode says so. */
function combined(inputs: LaneInputs, outcome: boolean): boolean {
  const name = Object.keys(COMBINE).find((operation) => inputs.has(operation));
  return name ? COMBINE[name]!(outcome, inputs.predicate(3)) : outcome;
}

const flag = (value: boolean): bigint => (value ? 1n : 0n);

/** p = cmp ∘ c and q = ¬cmp ∘ c; of a packed type, p is the low and q the high half's. */
export const setPredicate: LaneOperation = (inputs) => {
  const [low, high] = outcomes(inputs) as [boolean, boolean | undefined];
  const p = flag(combined(inputs, low));
  if (inputs.destinationBits.length === 1) return [p];
  return [p, flag(combined(inputs, high ?? !low))];
};

/** True is 1.0 for a floating destination, all ones for an integer one. */
export const setValue: LaneOperation = (inputs) => {
  const to = inputs.instruction.modifiers.at(-2)!;
  const element = isFloating(to) ? elementType(to) : undefined;
  const results = outcomes(inputs).map((outcome) => combined(inputs, outcome));
  if (results.length === 2) {
    const yes = element ? one(element) : 0xffffn;
    return [(results[0] ? yes : 0n) | ((results[1] ? yes : 0n) << 16n)];
  }
  return [results[0] ? (element ? one(element) : -1n) : 0n];
};

/** a where c is true. */
export const select: LaneOperation = (inputs) => [inputs.unsigned(inputs.predicate(3) ? 1 : 2)];

/** a where c ≥ 0; NaN and (without `.ftz`) negative subnormals choose b. */
export const selectBySign: LaneOperation = (inputs) => {
  const [dataType, type] = inputs.instruction.modifiers.slice(-2) as [string, string];
  const order =
    type === 'f32' ? floatOrder(inputs, 'f32', inputs.unsigned(3, 'f32'), 0n) : orderOf(inputs.signed(3, 's32'), 0n);
  return [inputs.unsigned(holds('ge', order) ? 1 : 2, dataType)];
};
