import type { PtxInstruction } from '../../../src/ptx/ast.ts';
import {
  bitsOfType,
  inputsOf,
  isSigned,
  type LaneInputs,
  type LaneState,
  type RegisterTypes,
  type Results,
} from './lane.ts';

/** A lane that executes a warp-wide instruction. */
export interface ActiveLane {
  readonly lane: number;
  readonly state: LaneState;
  readonly inputs: LaneInputs;
}

/** Results for each lane, by lane number. */
type WarpOperation = (lanes: readonly ActiveLane[], instruction: PtxInstruction) => Map<number, Results>;

export const activeLanes = (
  instruction: PtxInstruction,
  types: RegisterTypes,
  lanes: ReadonlyMap<number, LaneState>,
): ActiveLane[] => [...lanes].map(([lane, state]) => ({ lane, state, inputs: inputsOf(instruction, types, state) }));

const each = (lanes: readonly ActiveLane[], result: (lane: ActiveLane) => Results): Map<number, Results> =>
  new Map(lanes.map((lane) => [lane.lane, result(lane)]));

const bit = (lane: number): bigint => 1n << BigInt(lane);
const flag = (value: boolean): bigint => (value ? 1n : 0n);

/** Lanes named by the membership mask, operand `index`. */
const members = (lanes: readonly ActiveLane[], of: ActiveLane, index: number): ActiveLane[] => {
  const mask = of.inputs.unsigned(index, 'b32');
  return lanes.filter(({ lane }) => (mask & bit(lane)) !== 0n);
};

/** Source lane before the range check, and whether it is in range. */
const SHUFFLE_SOURCE: Record<
  string,
  (lane: number, b: number, segment: number, low: number, high: number) => { source: number; inRange: boolean }
> = {
  up: (lane, b, _segment, _low, high) => ({ source: lane - b, inRange: lane - b >= high }),
  down: (lane, b, _segment, _low, high) => ({ source: lane + b, inRange: lane + b <= high }),
  bfly: (lane, b, _segment, _low, high) => ({ source: lane ^ b, inRange: (lane ^ b) <= high }),
  idx: (_lane, b, segment, low, high) => {
    const source = low | (b & ~segment & 31);
    return { source, inRange: source <= high };
  },
};

const shuffle: WarpOperation = (lanes, instruction) => {
  const values = new Map(lanes.map(({ lane, inputs }) => [lane, inputs.unsigned(1, 'b32')]));
  const find = SHUFFLE_SOURCE[instruction.modifiers.find((m) => m in SHUFFLE_SOURCE)!]!;
  return each(lanes, ({ lane, inputs }) => {
    const b = Number(inputs.unsigned(2, 'b32') & 31n);
    const c = Number(inputs.unsigned(3, 'b32'));
    const segment = (c >> 8) & 31;
    const low = lane & segment;
    const high = low | (c & 31 & ~segment);
    const { source, inRange } = find(lane, b, segment, low, high);
    // Undefined where the source lane does not execute the shuffle.
    const value = values.get(inRange ? source : lane);
    return inputs.destinationBits.length === 2 ? [value, flag(inRange)] : [value];
  });
};

const vote: WarpOperation = (lanes, instruction) =>
  each(lanes, (lane) => {
    const votes = members(lanes, lane, 2).map((member) => ({ lane: member.lane, yes: member.inputs.predicate(1) }));
    if (instruction.modifiers.includes('ballot')) {
      return [votes.reduce((mask, { lane: at, yes }) => (yes ? mask | bit(at) : mask), 0n)];
    }
    if (instruction.modifiers.includes('any')) return [flag(votes.some(({ yes }) => yes))];
    const all = votes.every(({ yes }) => yes);
    return [flag(instruction.modifiers.includes('uni') ? all || votes.every(({ yes }) => !yes) : all)];
  });

const match: WarpOperation = (lanes, instruction) =>
  each(lanes, (lane) => {
    const group = members(lanes, lane, 2);
    const own = lane.inputs.unsigned(1);
    const equal = group.filter(({ inputs }) => inputs.unsigned(1) === own);
    const mask = (of: readonly ActiveLane[]): bigint => of.reduce((all, { lane: at }) => all | bit(at), 0n);
    if (instruction.modifiers.includes('any')) return [mask(equal)];
    const all = equal.length === group.length;
    const result = all ? mask(group) : 0n;
    return lane.inputs.destinationBits.length === 2 ? [result, flag(all)] : [result];
  });

const REDUCTIONS: Record<string, (a: bigint, b: bigint) => bigint> = {
  add: (a, b) => a + b,
  min: (a, b) => (a < b ? a : b),
  max: (a, b) => (a > b ? a : b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

const reduce: WarpOperation = (lanes, instruction) => {
  const combine = REDUCTIONS[instruction.modifiers.find((m) => m in REDUCTIONS)!]!;
  return each(lanes, (lane) => {
    const { type } = lane.inputs;
    const values = members(lanes, lane, 2).map(({ inputs }) => inputs.integer(1));
    const total = values.reduce(combine);
    return [isSigned(type) ? BigInt.asIntN(bitsOfType(type), total) : total];
  });
};

const activeMask: WarpOperation = (lanes) => {
  const mask = lanes.reduce((all, { lane }) => all | bit(lane), 0n);
  return each(lanes, () => [mask]);
};

/** The lowest member leads. */
const elect: WarpOperation = (lanes) =>
  each(lanes, (lane) => {
    const leader = Math.min(...members(lanes, lane, 1).map((member) => member.lane));
    return [BigInt(leader), flag(lane.lane === leader)];
  });

/** Operations over the lanes of a warp, by opcode. */
export const WARP_OPERATIONS: ReadonlyMap<string, WarpOperation> = new Map<string, WarpOperation>([
  ['shfl', shuffle],
  ['vote', vote],
  ['match', match],
  ['redux', reduce],
  ['activemask', activeMask],
  ['elect', elect],
]);
