import type { ObservedDecision, OperandPair } from '../../core/decisions.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { isFloatType } from '../oracle/solve-equalities.ts';

/** How far operands are from making a decision go a way: 0 if they do; `undefined` of operands that have no order, as NaN. */
export type Distance = (pair: OperandPair) => bigint | undefined;

type Relation = 'equal' | 'unequal' | 'less' | 'lessOrEqual' | 'greater' | 'greaterOrEqual';

const RELATIONS: Readonly<Record<string, Relation>> = {
  ...{ eq: 'equal', ne: 'unequal', lt: 'less', le: 'lessOrEqual', gt: 'greater', ge: 'greaterOrEqual' },
  ...{ lo: 'less', ls: 'lessOrEqual', hi: 'greater', hs: 'greaterOrEqual' },
};

const OPPOSITE: Readonly<Record<Relation, Relation>> = {
  equal: 'unequal',
  unequal: 'equal',
  less: 'greaterOrEqual',
  greaterOrEqual: 'less',
  greater: 'lessOrEqual',
  lessOrEqual: 'greater',
};

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);

/** By how much the first operand has to change, in steps of whole numbers. */
const STEPS: Readonly<Record<Relation, (a: bigint, b: bigint) => bigint>> = {
  equal: (a, b) => magnitude(a - b),
  unequal: (a, b) => (a === b ? 1n : 0n),
  less: (a, b) => (a < b ? 0n : a - b + 1n),
  lessOrEqual: (a, b) => (a <= b ? 0n : a - b),
  greater: (a, b) => (a > b ? 0n : b - a + 1n),
  greaterOrEqual: (a, b) => (a >= b ? 0n : b - a),
};

/**
 * Distances from making a decision go a way, each zero at the same operands. One that asks whether whole numbers are equal has three: by their difference, by how many of their
 * low bits agree, and by how many of all bits do. A sum leads to the first, a product with an odd number to the second, what shuffles bits to the third. None for combinations.
 *
 * @param type - PTX type of the operands.
 */
export function distancesTo(decision: ObservedDecision, type: string, way: boolean): Distance[] {
  const relation = relationOf(decision);
  if (!relation) return [];
  const wanted = way ? relation : OPPOSITE[relation];
  const byDifference: Distance = (pair) => {
    const [a, b] = ordered(decision, pair, type);
    return a === undefined || b === undefined ? undefined : STEPS[wanted](a, b);
  };
  if (wanted !== 'equal' || isFloatType(type)) return [byDifference];
  const bits = BigInt(8 * sizeOfPtxType(type));
  return [byDifference, ({ a, b }) => unlikeFromBelow(a ^ b, bits), ({ a, b }) => unlikeBits(a ^ b)];
}

/** How the value is to the constant where a bound is true: where it limits the value. */
const LIMITS: Readonly<Record<string, Relation>> = { min: 'greaterOrEqual', max: 'lessOrEqual' };

function relationOf({ kind, comparison }: ObservedDecision): Relation | undefined {
  if (kind === 'bound') return LIMITS[comparison];
  // Floating-point comparisons that hold for NaN end with a u.
  return kind === 'comparison' ? (RELATIONS[comparison] ?? RELATIONS[comparison.replace(/u$/, '')]) : undefined;
}

/** Both operands as numbers, of a bound the value first. */
function ordered(
  { kind, constant }: ObservedDecision,
  { a, b }: OperandPair,
  type: string,
): [bigint | undefined, bigint | undefined] {
  const [one, other] = [orderOf(a, type), orderOf(b, type)];
  const isFirstConstant = kind === 'bound' && constant !== undefined && one === orderOfNumber(constant, type);
  return isFirstConstant ? [other, one] : [one, other];
}

/** Bits of the fraction and the largest pattern of a finite or infinite magnitude, by type. */
const INFINITIES: Readonly<Record<string, bigint>> = {
  f16: 0x7c00n,
  bf16: 0x7f80n,
  f32: 0x7f80_0000n,
  f64: 0x7ff0_0000_0000_0000n,
};

/** A whole number that grows as the operand does: neighbouring floating-point numbers are 1 apart. `undefined` of NaN. */
function orderOf(bits: bigint, type: string): bigint | undefined {
  const width = 8 * sizeOfPtxType(type);
  if (!isFloatType(type)) return type.startsWith('s') ? BigInt.asIntN(width, bits) : bits;
  const size = BigInt.asUintN(width - 1, bits);
  const most = INFINITIES[type];
  if (most === undefined || size > most) return undefined;
  return size === bits ? size : -size;
}

function orderOfNumber(value: number, type: string): bigint | undefined {
  const view = new DataView(new ArrayBuffer(8));
  if (type === 'f32') {
    view.setFloat32(0, value);
    return orderOf(BigInt(view.getUint32(0)), type);
  }
  if (type === 'f64') {
    view.setFloat64(0, value);
    return orderOf(view.getBigUint64(0), type);
  }
  return isFloatType(type) ? undefined : BigInt(Math.trunc(value));
}

/** Bits from the lowest unlike one upwards. */
function unlikeFromBelow(unlike: bigint, bits: bigint): bigint {
  for (let at = 0n; at < bits; at++) if ((unlike >> at) & 1n) return bits - at;
  return 0n;
}

function unlikeBits(unlike: bigint): bigint {
  let count = 0n;
  for (let rest = unlike; rest > 0n; rest >>= 1n) count += rest & 1n;
  return count;
}
