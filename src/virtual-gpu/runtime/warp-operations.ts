import { onceFor } from '../../core/once-for.ts';
import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { DRIVER_OPCODES } from '../../ptx/driver-functions.ts';
import { has, spaceOf, typeOf, vectorLength } from '../../ptx/instruction-parts.ts';
import { namedLanesOf } from '../../ptx/instructions/properties.ts';
import { TRANSLATE } from '../../ptx/translation.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { LANES, SHARED } from '../layout.ts';
import { isMarkedStrong } from '../race-detector/watched-access.ts';
import { unsupported } from '../unsupported.ts';
import { asyncCopy } from './async-copy.ts';
import { performAtomic } from './atomics.ts';
import { applyPriority, createPolicy, discard, prefetch } from './cache-hints.ts';
import { clusterArrive, mapAddress, rankOfAddress, storeAsync } from './clusters/operations.ts';
import { checkMask, MASK_CHECK } from './lane-masks.ts';
import { matrixCountOf, MATRIX_ROW_BYTES as ROW_BYTES, MATRIX_ROWS as ROWS } from './matrix-form.ts';
import { matrixMultiply } from './matrix-multiply.ts';
import { mbarrierOperation } from './mbarriers/operations.ts';
import { failAssertion, print } from './printing/print.ts';
import { scalarOperation } from './scalar-operations.ts';
import { laterOf, START } from './warp-clocks.ts';
import { type Address, addressHalves, originOf, type WarpContext } from './warp-context.ts';
import { warpgroupMultiply } from './warpgroups/multiply.ts';

export type WarpOperation = (context: WarpContext) => void;

/** Destination operands of a possibly paired first operand. */
function destinations(operand: PtxOperand): [PtxOperand, PtxOperand | undefined] {
  return operand.kind === 'pair' ? [operand.first, operand.second] : [operand, undefined];
}

function match(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const [value, predicate] = destinations(operands[0]!);
  const values = new Map(lanes.map((lane) => [lane, context.integer(operands[1]!, lane)]));
  const same = (lane: number) => lanes.reduce((m, l) => (values.get(l) === values.get(lane) ? m | (1 << l) : m), 0);
  for (const lane of lanes) {
    const named = namedLanes(context, lane);
    const mask = same(lane) & named;
    context.setWord(value, lane, has(instruction, 'any') || mask === named ? mask : 0);
    if (predicate) context.setPredicate(predicate, lane, mask === named);
  }
}

/** The lanes of a warp that execute an instruction together: those of its own mask, which may differ from lane to lane. */
function namedLanes(context: WarpContext, lane: number): number {
  const mask = namedLanesOf(context.instruction);
  return mask ? context.word(mask, lane) & context.bits : context.bits | 0;
}

const REDUCTIONS: Record<string, (a: number, b: number) => number> = {
  add: (a, b) => (a + b) | 0,
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

function redux(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const signed = typeOf(instruction) === 's32';
  const op = ['add', 'and', 'or', 'xor', 'min', 'max'].find((name) => has(instruction, name))!;
  const values = new Map(lanes.map((lane) => [lane, context.word(operands[1]!, lane)]));
  const order = (v: number) => (signed ? v | 0 : v >>> 0);
  const reduce = (own: number[]): number =>
    op === 'min' || op === 'max' ? Math[op](...own.map(order)) : own.reduce((a, b) => REDUCTIONS[op]!(a, b));
  const results = new Map<number, number>();
  for (const lane of lanes) {
    const named = namedLanes(context, lane) | (1 << lane);
    if (!results.has(named))
      results.set(named, reduce(lanes.filter((one) => (named >>> one) & 1).map((one) => values.get(one)!)));
    context.setWord(operands[0]!, lane, results.get(named)!);
  }
}

function elect(context: WarpContext): void {
  const [value, predicate] = destinations(context.operands[0]!);
  const leader = context.lanes[0]!;
  for (const lane of context.lanes) {
    context.setWord(value, lane, leader);
    if (predicate) context.setPredicate(predicate, lane, lane === leader);
  }
}

/** bar.arrive: counts towards the barrier and goes on. */
function arrive(context: WarpContext): void {
  const { operands, lanes, arrived, cta } = context;
  const [id, expected] = [context.word(operands[0]!, lanes[0]!), context.word(operands[1]!, lanes[0]!)];
  const before = arrived.get(id);
  const threads = (before?.threads ?? 0) + lanes.length;
  // The barrier is complete and nobody waits, so the next arrivals belong to its next use.
  const completes = threads >= expected;
  if (completes) arrived.delete(id);
  else arrived.set(id, { threads, at: laterOf(before?.at ?? START, cta.now) });
  context.watcher?.arrive(id, context.warp, completes);
}

/** Called only if the kernel is watched for races; otherwise a fence has no effect. */
function fence({ instruction, watcher, warp }: WarpContext): void {
  const { modifiers } = instruction;
  if (modifiers[0] !== 'proxy') watcher?.fence(warp, !modifiers.includes('cta'));
  else if (modifiers[1]?.startsWith('async')) watcher?.proxyFence(warp);
}

function setMaximumRegisters(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const [lane] = lanes as [number];
  const warp = Math.floor(context.threadOf(lane) / LANES);
  context.cta.registers.set(context, warp, context.word(operands[0]!, lane), instruction.modifiers[0] === 'inc');
}

function trap(context: WarpContext): void {
  throw context.fault('trap', 'the kernel executed trap (__trap)', context.lanes[0]);
}

/** An element of up to four bytes as a register holds it: signed types are extended, but for those of two bytes. */
function readElement(view: DataView, offset: number, type: string): number {
  switch (sizeOfPtxType(type)) {
    case 1:
      return type === 's8' ? view.getInt8(offset) : view.getUint8(offset);
    case 2:
      return view.getUint16(offset, true);
    default:
      return view.getInt32(offset, true);
  }
}

function writeElement(
  context: WarpContext,
  view: DataView,
  offset: number,
  type: string,
  source: PtxOperand,
  lane: number,
): void {
  const size = sizeOfPtxType(type);
  if (size === 8) view.setBigUint64(offset, context.double(source, lane), true);
  else if (size === 4) view.setUint32(offset, context.word(source, lane), true);
  else if (size === 2) view.setUint16(offset, context.word(source, lane), true);
  else view.setUint8(offset, context.word(source, lane));
}

/** What a load or store says, read once. */
interface AccessForm {
  readonly type: string;
  readonly count: number;
  /** Of an element. */
  readonly size: number;
  readonly space: string;
  /** Volatile, relaxed, acquire or release. */
  readonly isStrong: boolean;
}

const accessFormOf = onceFor((instruction: PtxInstruction): AccessForm => {
  const type = typeOf(instruction);
  return {
    ...{ type, count: vectorLength(instruction), size: sizeOfPtxType(type) },
    ...{ space: spaceOf(instruction), isStrong: isMarkedStrong(instruction) },
  };
});

/** Addresses of the load, or store, at hand: one object, since there may be thousands of a wait. */
const [LOADS, STORES] = [addressHalves(), addressHalves()];

/** Loads and stores through generic addresses, which may point to different spaces in different lanes. */
function genericLoad(context: WarpContext): void {
  const { instruction, operands, lanes, watcher } = context;
  const form = accessFormOf(instruction);
  const { count, space, isStrong } = form;
  const bytes = form.size * count;
  const addresses = context.addresses(operands[count]!, LOADS);
  if (context.areDirect(addresses, space, bytes)) {
    loadDirectly(context, form, space, addresses.low, bytes);
    return;
  }
  const accesses: { lane: number; address: Address; space: string }[] = [];
  for (const lane of lanes) {
    const address = { low: addresses.low[lane]!, high: addresses.high[lane]! };
    const place = context.resolve(address, space, bytes, false, lane);
    const { view, offset } = watcher && isStrong ? context.withOlderValue(place, address, bytes, lane) : place;
    loadElements(context, form, view, offset, lane);
    if (context.listens) accesses.push({ lane, address, space: place.space });
  }
  context.countRequest(accesses, bytes, 'load');
}

/** The same where all places have been checked: a wait for others reads thousands of times. */
function loadDirectly(
  context: WarpContext,
  form: AccessForm,
  space: 'global' | 'shared',
  addresses: Uint32Array,
  bytes: number,
): void {
  const { lanes, watcher } = context;
  const [view, origin] = [context.viewOf(space), originOf(space)];
  const mayBeOlder = form.isStrong && watcher?.remembers(space) === true;
  const read: number[] = [];
  for (const lane of lanes) {
    const address = addresses[lane]!;
    read.push(address);
    if (space === 'global') context.markRead(address, bytes);
    const older = mayBeOlder ? context.olderDirectValue(space, address, bytes, lane) : undefined;
    if (older) loadElements(context, form, older, 0, lane);
    else loadElements(context, form, view, origin + address, lane);
  }
  context.countRequestIn(space, read, lanes, bytes, 'load');
}

function loadElements(
  context: WarpContext,
  { type, count, size }: AccessForm,
  view: DataView,
  offset: number,
  lane: number,
): void {
  for (let element = 0; element < count; element++) {
    const at = offset + element * size;
    const to = context.operands[element]!;
    if (size === 8) context.setHalves(to, lane, view.getUint32(at, true), view.getUint32(at + 4, true));
    else context.setWord(to, lane, readElement(view, at, type));
  }
}

function genericStore(context: WarpContext): void {
  const { instruction, operands, lanes, watcher } = context;
  const { type, count, size, space, isStrong } = accessFormOf(instruction);
  const { low, high } = context.addresses(operands[0]!, STORES);
  const accesses: { lane: number; address: Address; space: string }[] = [];
  for (const lane of lanes) {
    const address = { low: low[lane]!, high: high[lane]! };
    const place = context.resolve(address, space, size * count, true, lane);
    if (watcher && isStrong) context.beforeStrongWrite(place, address, size * count);
    for (let element = 0; element < count; element++)
      writeElement(context, place.view, place.offset + element * size, type, operands[1 + element]!, lane);
    if (context.listens) accesses.push({ lane, address, space: place.space });
  }
  context.countRequest(accesses, size * count, 'store');
}

/**
 * ldmatrix: up to four 8×8 matrices of 16-bit elements from shared memory; lanes 8i … 8i + 7 give the rows of matrix
 * i, and lane l gets elements 2·(l mod 4) and the next of row ⌊l / 4⌋ (of the transposed matrix under `.trans`).
 * Source: PTX ISA, ldmatrix.
 */
function loadMatrix(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const count = matrixCountOf(instruction);
  if (count === undefined || lanes.length !== LANES) throw unsupported(instruction);
  const move = has(instruction, 'trans') ? transposeRows : copyRows;
  const rows = new Int32Array(LANES);
  for (let matrix = 0; matrix < count; matrix++)
    context.sharedRows(operands[count]!, MATRIX_LANES[matrix]!, ROW_BYTES, rows);
  const words = new Uint32Array(LANES);
  for (let matrix = 0; matrix < count; matrix++) {
    move(context, rows.subarray(matrix * ROWS), words);
    context.setWords(operands[matrix]!, words);
  }
}

const MATRIX_LANES = Array.from({ length: LANES / ROWS }, (_, matrix) =>
  Array.from({ length: ROWS }, (_, row) => matrix * ROWS + row),
);

/** Row r, at an offset in shared memory, goes to lanes 4r … 4r + 3. */
function copyRows({ privateWords }: WarpContext, rows: Int32Array, words: Uint32Array): void {
  for (let i = 0; i < LANES; i++) words[i] = privateWords[((SHARED + rows[i >> 2]!) >> 2) + (i & 3)]!;
}

/** Column c of two neighbouring rows goes to lane 4c + half of the first. */
function transposeRows({ sharedHalves: halves }: WarpContext, rows: Int32Array, words: Uint32Array): void {
  const half = (row: number, column: number): number => halves[((SHARED + rows[row]!) >> 1) + column]!;
  for (let i = 0; i < LANES; i++) words[i] = half((i & 3) * 2, i >> 2) | (half((i & 3) * 2 + 1, i >> 2) << 16);
}

/** The lanes that hold element `index` of a row of an 8×8 matrix of 16 bits: two neighbours each. */
const laneOf = (row: number, column: number): number => row * 4 + (column >> 1);

/** Element of a matrix whose registers are `words`. */
const elementOf = (words: Uint32Array, first: number, row: number, column: number): number =>
  (words[first + laneOf(row, column)]! >>> ((column & 1) * 16)) & 0xffff;

/** stmatrix: what `ldmatrix` loads, the other way. Source: PTX ISA. */
function storeMatrix(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  const count = matrixCountOf(instruction);
  if (count === undefined || lanes.length !== LANES) throw unsupported(instruction);
  const transposed = has(instruction, 'trans');
  const words = context.words(1, count);
  const accesses = lanes.slice(0, count * ROWS).map((lane) => {
    const address = context.address(operands[0]!, lane);
    const place = context.resolve(address, 'shared', ROW_BYTES, true, lane);
    const first = Math.floor(lane / ROWS) * LANES;
    const row = lane % ROWS;
    for (let column = 0; column < ROWS; column++) {
      const element = transposed ? elementOf(words, first, column, row) : elementOf(words, first, row, column);
      place.view.setUint16(place.offset + column * 2, element, true);
    }
    return { lane, address, space: place.space };
  });
  for (let matrix = 0; matrix < count; matrix++)
    context.countRequest(accesses.slice(matrix * ROWS, (matrix + 1) * ROWS), ROW_BYTES, 'store');
}

/** movmatrix: transposes an 8×8 matrix of 16 bits. Source: PTX ISA. */
function moveMatrix(context: WarpContext): void {
  const { instruction, operands, lanes } = context;
  if (lanes.length !== LANES || !has(instruction, 'trans') || !has(instruction, 'b16')) throw unsupported(instruction);
  const words = context.words(1, 1);
  for (const lane of lanes) {
    const [row, column] = [lane >> 2, (lane & 3) * 2];
    const pair = elementOf(words, 0, column, row) | (elementOf(words, 0, column + 1, row) << 16);
    context.setWord(operands[0]!, lane, pair);
  }
}

/** What JavaScript does for compiled code, by opcode. */
export const WARP_OPERATIONS: ReadonlyMap<string, WarpOperation> = new Map<string, WarpOperation>([
  ['match', match],
  ['redux', redux],
  ['elect', elect],
  ['bar', arrive],
  ['mapa', mapAddress],
  ['getctarank', rankOfAddress],
  ['membar', fence],
  ['fence', fence],
  ['prefetch', prefetch],
  ['prefetchu', prefetch],
  ['applypriority', applyPriority],
  ['discard', discard],
  ['createpolicy', createPolicy],
  ['trap', trap],
  ['brkpt', trap],
  [DRIVER_OPCODES.print, print],
  [DRIVER_OPCODES.failAssertion, failAssertion],
  ['ld', genericLoad],
  ['ldu', genericLoad],
  ['atom', performAtomic],
  ['red', performAtomic],
  ['mma', matrixMultiply],
  ['ldmatrix', loadMatrix],
  ['stmatrix', storeMatrix],
  ['movmatrix', moveMatrix],
  ['setmaxnreg', setMaximumRegisters],
]);

/** The same, of opcodes whose modifiers make several instructions of them. Throw `UnsupportedPtxError` for the others. */
export const WARP_OPERATIONS_BY_FORM: ReadonlyMap<string, (instruction: PtxInstruction) => WarpOperation> = new Map([
  ['st', (instruction) => (instruction.modifiers[0] === 'async' ? storeAsync(instruction) : genericStore)],
  ['barrier', (instruction) => (has(instruction, 'cluster') ? clusterArrive : arrive)],
  ['cp', asyncCopy],
  ['mbarrier', mbarrierOperation],
  ['wgmma', warpgroupMultiply],
]);

/** What we add to code, which is no instruction of PTX. */
const ADDED_OPERATIONS: ReadonlyMap<string, WarpOperation> = new Map([
  [MASK_CHECK, checkMask],
  [TRANSLATE, (context) => context.pages.translate(context)],
]);

/**
 * The JavaScript implementation of an instruction without compiled code.
 * @throws UnsupportedPtxError if there is none.
 */
export function warpOperation(instruction: PtxInstruction): WarpOperation {
  const operation =
    WARP_OPERATIONS.get(instruction.opcode) ??
    ADDED_OPERATIONS.get(instruction.opcode) ??
    WARP_OPERATIONS_BY_FORM.get(instruction.opcode)?.(instruction) ??
    scalarOperation(instruction);
  if (!operation) throw unsupported(instruction);
  return operation;
}
