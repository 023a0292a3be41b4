import { onceFor } from '../../core/once-for.ts';
import type { PtxInstruction } from '../../ptx/ast.ts';
import { spaceOf, typeOf } from '../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { LANES } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import { type Combine, doubleCombination, flushingAdd, wordCombination } from './combinations.ts';
import { type Address, addressHalves, originOf, type ResolvedAddress, type WarpContext } from './warp-context.ts';

const OPERATIONS = ['add', 'min', 'max', 'and', 'or', 'xor', 'exch', 'cas', 'inc', 'dec'];

/** Does one lane's turn at a place of memory. */
type Turn = (context: WarpContext, place: ResolvedAddress, lane: number) => void;

/** What an instruction says, read once. */
interface Form {
  space: string;
  size: number;
  /** The address operand's index; the values follow it. */
  first: number;
  turn: Turn;
  /** Of a word: its new value in device memory and in shared memory. */
  word?: Readonly<Record<'global' | 'shared', Combine<number>>> | undefined;
}

const formOf = onceFor((instruction: PtxInstruction): Form => {
  const type = typeOf(instruction);
  const operation = instruction.modifiers.find((m) => OPERATIONS.includes(m));
  const size = sizeOfPtxType(type);
  const first = instruction.opcode === 'atom' ? 1 : 0;
  const turn = operation === undefined ? undefined : turnOf(operation, type, size, first);
  if (!turn) throw unsupported(instruction);
  const combine = size === 4 ? wordCombination(operation!, type, 32) : undefined;
  const word = combine && { shared: combine, global: isFloatAddition(operation!, type) ? flushingAdd : combine };
  return { space: spaceOf(instruction), size, first, turn, word };
});

const isFloatAddition = (operation: string, type: string): boolean => operation === 'add' && type === 'f32';

function turnOf(operation: string, type: string, size: number, first: number): Turn | undefined {
  if (size === 8) {
    const combine = doubleCombination(operation, type);
    return combine && doubleTurn(combine, first);
  }
  const combine = wordCombination(operation, type, size * 8);
  if (!combine) return undefined;
  const turn = wordTurn(combine, size, first);
  if (!isFloatAddition(operation, type)) return turn;
  const inDeviceMemory = wordTurn(flushingAdd, size, first);
  return (context, place, lane) => (place.space === 'global' ? inDeviceMemory : turn)(context, place, lane);
}

function doubleTurn(combine: Combine<bigint>, first: number): Turn {
  const read = (context: WarpContext, index: number, lane: number): bigint => {
    const operand = context.operands[index];
    return operand ? context.double(operand, lane) : 0n;
  };
  return (context, { view, offset }, lane) => {
    const old = view.getBigUint64(offset, true);
    view.setBigUint64(offset, combine(old, read(context, first + 1, lane), read(context, first + 2, lane)), true);
    if (first > 0) context.setDouble(context.operands[0]!, lane, old);
  };
}

function wordTurn(combine: Combine<number>, size: number, first: number): Turn {
  const mask = size === 4 ? 0xffffffff : 0xffff;
  const read = (context: WarpContext, index: number, lane: number): number => {
    const operand = context.operands[index];
    return operand ? (context.word(operand, lane) & mask) >>> 0 : 0;
  };
  return (context, { view, offset }, lane) => {
    const old = size === 4 ? view.getUint32(offset, true) : view.getUint16(offset, true);
    const next = combine(old, read(context, first + 1, lane), read(context, first + 2, lane));
    if (size === 4) view.setUint32(offset, next, true);
    else view.setUint16(offset, next, true);
    if (first > 0) context.setWord(context.operands[0]!, lane, old);
  };
}

/** Where an atomic is tried: none has more bytes. */
const COPY = new DataView(new ArrayBuffer(16));

const ADDRESSES = addressHalves();

/** Does all lanes' turns in one loop, where each changes a word of device memory or of the own shared memory and none gets an older value. False if that is not so. */
function performDirectly(context: WarpContext, { space, size, first, word }: Form): boolean {
  const { operands, lanes } = context;
  if (word === undefined || context.watcher?.remembers(space)) return false;
  const addresses = context.addresses(operands[first]!, ADDRESSES);
  if (!context.areDirect(addresses, space, size)) return false;
  if (space === 'global') context.markChanged(addresses, size);
  const values = context.words(first + 1, operands.length - first - 1);
  const [view, origin, combine] = [context.viewOf(space), originOf(space), word[space]];
  for (const lane of lanes) {
    const at = origin + addresses.low[lane]!;
    const old = view.getUint32(at, true);
    view.setUint32(at, combine(old, values[lane]!, values[LANES + lane] ?? 0), true);
    if (first > 0) context.setWord(operands[0]!, lane, old);
  }
  if (context.listens) {
    const changed = lanes.map((lane) => addresses.low[lane]!);
    context.countRequestIn(space, changed, lanes, size, 'atomic');
  }
  return true;
}

/** atom and red: lanes take turns in lane order. `red` has no destination. */
export function performAtomic(context: WarpContext): void {
  const { operands, lanes } = context;
  const form = formOf(context.instruction);
  if (performDirectly(context, form)) return;
  const { space, size, first, turn } = form;
  const accesses: { lane: number; address: Address; space: string }[] = [];
  for (const lane of lanes) {
    const address = context.address(operands[first]!, lane);
    const place = context.resolve(address, space, size, true, lane, size);
    accesses.push({ lane, address, space: place.space });
    if (context.watcher?.remembers(place.space)) {
      context.beforeStrongWrite(place, address, size);
      if (first > 0 && takesOlderValue(context, place, { address, lane, size, turn })) continue;
    }
    turn(context, place, lane);
  }
  context.countRequest(accesses, size, 'atomic');
}

/**
 * An atomic that leaves the value as it is may come before later writes. Lets it, on a copy, where the value before them stays as it
 * is, too: `atomicAdd(&flag, 0)`, a compare-and-swap that fails.
 */
function takesOlderValue(
  context: WarpContext,
  place: ResolvedAddress,
  { address, lane, size, turn }: { address: Address; lane: number; size: number; turn: Turn },
): boolean {
  const onCopy = { ...place, view: COPY, offset: 0 };
  const keepsAt = (view: DataView, offset: number): boolean => {
    for (let at = 0; at < size; at++) COPY.setUint8(at, view.getUint8(offset + at));
    turn(context, onCopy, lane);
    for (let at = 0; at < size; at++) if (COPY.getUint8(at) !== view.getUint8(offset + at)) return false;
    return true;
  };
  const keeps = (contents: DataView): boolean => keepsAt(contents, 0);
  return keepsAt(place.view, place.offset) && context.olderValue(place, address, size, lane, keeps) !== undefined;
}
