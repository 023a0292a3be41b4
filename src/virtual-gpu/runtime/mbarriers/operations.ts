import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { has, spaceOf } from '../../../ptx/instruction-parts.ts';
import type { RunnableImage } from '../../kernel-image.ts';
import { ALL_LANES, CLUSTER_RANK_SHIFT, LANES, OFFSET_IN_CTA, WARP } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { CtaState } from '../cta-state.ts';
import { type DirectSite, type DirectStep, registerOf } from '../direct-site.ts';
import type { PrivateMemory } from '../memories.ts';
import type { WarpContext } from '../warp-context.ts';
import { isAfter, type Mbarrier, MbarrierMistake, pendingCountOf, stateOf } from './mbarriers.ts';

const MBARRIER_BYTES = 8;

/** One lane's part of an operation. */
interface LaneOperation {
  readonly context: WarpContext;
  readonly lane: number;
  /** In whose shared memory the mbarrier lies, and where. */
  readonly cta: CtaState;
  readonly address: number;
  /** The operand before the address, and those behind it. */
  readonly result: PtxOperand | undefined;
  readonly values: readonly PtxOperand[];
}

const wordOf = ({ context, values, lane }: LaneOperation, index: number, otherwise: number): number =>
  values[index] === undefined ? otherwise : context.word(values[index], lane);

const objectOf = ({ cta, address }: LaneOperation): Mbarrier => cta.barriers.at(address);

function arrive(operation: LaneOperation): void {
  const { context, cta, result, lane } = operation;
  const { barriers } = cta;
  const object = objectOf(operation);
  const returned = result && result.kind !== 'sink' ? { result, state: stateOf(object) } : undefined;
  const expectsBytes = has(context.instruction, 'expect_tx');
  if (expectsBytes) barriers.expectBytes(object, wordOf(operation, 0, 0));
  const count = expectsBytes ? 1 : wordOf(operation, 0, 1);
  context.watcher?.released(object.address, context.warp, cta.rank);
  if (context.instruction.modifiers[0] === 'arrive_drop') barriers.drop(object, count);
  else barriers.arrive(object, count);
  if (returned) context.setDouble(returned.result, lane, returned.state);
}

/** Whether the phase of a parity is complete. */
const hasPassed =
  (object: Mbarrier, parity: number): (() => boolean) =>
  () =>
    ((object.phase ^ parity) & 1) !== 0;

/** A wait for the phase in which a state was taken, or for the one of a parity. */
function waitOver(operation: LaneOperation, object: Mbarrier): () => boolean {
  const { context, values, lane } = operation;
  if (has(context.instruction, 'parity')) return hasPassed(object, context.word(values[0]!, lane));
  const state = context.double(values[0]!, lane);
  return () => isAfter(object, state);
}

function wait(operation: LaneOperation): void {
  const { context, address, lane, result } = operation;
  context.cta.land(address);
  const object = objectOf(operation);
  const isOver = waitOver(operation, object);
  const holds = isOver();
  if (result) context.setPredicate(result, lane, holds);
  if (!holds) {
    poll(context, object, isOver, [lane]);
    return;
  }
  context.cta.passed(object);
  context.watcher?.acquired(address, context.warp);
}

const isSuspending = ({ modifiers }: PtxInstruction): boolean => modifiers[0] === 'try_wait';

/** Lanes wait for a phase: their warp gives way at the end of the block. */
function poll(
  { instruction, memory, cta, warp }: Pick<WarpContext, 'instruction' | 'memory' | 'cta' | 'warp'>,
  barrier: Mbarrier,
  isOver: () => boolean,
  lanes: readonly number[],
): void {
  memory.i32[(warp + WARP.yields) >> 2] = 1;
  cta.poll({ instruction, warp, lanes, barrier, isOver, suspends: isSuspending(instruction) });
}

type Operation = (operation: LaneOperation) => void;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  init: (operation) => {
    operation.cta.barriers.initialise(operation.address, wordOf(operation, 0, 0));
    operation.context.watcher?.released(operation.address, operation.context.warp, operation.cta.rank);
  },
  inval: ({ cta, address }) => cta.barriers.invalidate(address),
  expect_tx: (operation) => operation.cta.barriers.expectBytes(objectOf(operation), wordOf(operation, 0, 0)),
  complete_tx: (operation) => operation.cta.barriers.completeBytes(objectOf(operation), wordOf(operation, 0, 0)),
  arrive,
  arrive_drop: arrive,
  test_wait: wait,
  try_wait: wait,
};

/** mbarrier.*, lane by lane. Source: PTX ISA, mbarrier. */
export function mbarrierOperation(instruction: PtxInstruction): (context: WarpContext) => void {
  const name = instruction.modifiers[0] ?? '';
  if (name === 'pending_count') return pendingCount;
  const space = spaceOf(instruction);
  const operation = OPERATIONS[name];
  const at = instruction.operands.findIndex(({ kind }) => kind === 'address');
  if (!operation || at < 0) throw unsupported(instruction);
  return (context) => operate(context, operation, at, space);
}

function pendingCount(context: WarpContext): void {
  const { operands, lanes } = context;
  for (const lane of lanes) context.setWord(operands[0]!, lane, pendingCountOf(context.double(operands[1]!, lane)));
}

/** A wait of a whole warp at one mbarrier of the own CTA for one parity. */
export function directMbarrierWait({ instruction, image, memory }: DirectSite): DirectStep | undefined {
  const [result, at, parity] = instruction.operands;
  if (OPERATIONS[instruction.modifiers[0] ?? ''] !== wait || !has(instruction, 'parity')) return undefined;
  if (spaceOf(instruction) !== 'shared' || at?.kind !== 'address') return undefined;
  const base = registerOf(image, at.base);
  const predicate = registerOf(image, result);
  const parityOf = wordOfAll(image, memory, parity);
  if (base?.kind !== 'word' || !predicate || predicate.uniform || !parityOf) return undefined;
  const displacement = Number(at.offset);
  return ({ cta, watcher }, warp) => {
    const address = alikeInAll(memory, (warp + base.offset) >> 2, base.uniform);
    const expected = parityOf(warp);
    if (address === undefined || expected === undefined) return false;
    const offset = offsetAsNamed(image, cta, (address + displacement) >>> 0);
    if (offset === undefined) return false;
    cta.land(offset);
    const object = cta.barriers.find(offset);
    if (!object) return false;
    const isOver = hasPassed(object, expected);
    const holds = isOver();
    const first = (warp + predicate.offset) >> 2;
    memory.i32.fill(holds ? -1 : 0, first, first + LANES);
    if (!holds) {
      poll({ instruction, memory, cta, warp }, object, isOver, ALL_LANES);
      return true;
    }
    cta.passed(object);
    watcher?.acquired(offset, warp);
    return true;
  };
}

/** Where in the own shared memory an address lies that names this CTA; of others the general form finds out. */
function offsetAsNamed({ namesCtas }: RunnableImage, { rank }: CtaState, address: number): number | undefined {
  return address >>> CLUSTER_RANK_SHIFT === (namesCtas ? rank : 0) ? address & OFFSET_IN_CTA : undefined;
}

/** Reads a word of a warp; what that gives is undefined where its lanes have several. */
function wordOfAll(
  image: RunnableImage,
  memory: PrivateMemory,
  operand: PtxOperand | undefined,
): ((warp: number) => number | undefined) | undefined {
  if (operand?.kind === 'immediate') return () => Number(BigInt.asUintN(32, operand.value));
  const register = registerOf(image, operand);
  if (register?.kind !== 'word') return undefined;
  return (warp) => alikeInAll(memory, (warp + register.offset) >> 2, register.uniform);
}

/** The word that all lanes have in a register that lies there; undefined if they have several. */
function alikeInAll({ u32 }: PrivateMemory, at: number, isUniform: boolean): number | undefined {
  const word = u32[at]!;
  if (!isUniform) for (let lane = 1; lane < LANES; lane++) if (u32[at + lane] !== word) return undefined;
  return word;
}

/** Those that reach an mbarrier of another CTA of the cluster. */
const REMOTE: ReadonlySet<string> = new Set(['arrive', 'arrive_drop', 'expect_tx', 'complete_tx']);

function operate(context: WarpContext, operation: Operation, at: number, space: string): void {
  const { instruction, operands, lanes } = context;
  for (const lane of lanes) {
    const place = mbarrierAt(context, operands[at]!, lane, space);
    if (place.cta !== context.cta && !REMOTE.has(instruction.modifiers[0]!))
      throw context.fault(
        'barrier',
        `reaches no mbarrier of another CTA, here of CTA ${place.cta.rank} of the cluster:`,
        lane,
      );
    const values = operands.slice(at + 1);
    atMbarrier(context, lane, place.address, () =>
      operation({ context, lane, ...place, result: at > 0 ? operands[0] : undefined, values }),
    );
  }
}

/** An mbarrier of the own CTA, or of another one of the cluster. @throws KernelFault where none can lie. */
export function mbarrierAt(
  context: WarpContext,
  operand: PtxOperand,
  lane: number,
  space: string,
): { cta: CtaState; address: number } {
  const address = context.address(operand, lane);
  const place = context.resolve(address, space, MBARRIER_BYTES, true, lane);
  if (place.space !== 'shared' && place.space !== 'cluster')
    throw context.fault('barrier', `an mbarrier in ${place.space} memory, where none can be`, lane);
  return context.inCluster(address, space, lane);
}

/** The mbarrier that bytes sent to the shared memory of `cta` complete: it lies there, too, and is initialised. */
export function mbarrierBeside(context: WarpContext, operand: PtxOperand, lane: number, cta: CtaState): number {
  const barrier = mbarrierAt(context, operand, lane, 'shared');
  if (barrier.cta !== cta)
    throw context.fault(
      'barrier',
      `sends to CTA ${cta.rank} of the cluster and completes an mbarrier of CTA ${barrier.cta.rank}: both lie in one CTA, not`,
      lane,
    );
  atMbarrier(context, lane, barrier.address, () => void cta.barriers.at(barrier.address));
  return barrier.address;
}

/** So many bytes have come. */
export function completeBytes(
  context: WarpContext,
  lane: number,
  { barriers }: CtaState,
  at: number,
  bytes: number,
): void {
  atMbarrier(context, lane, at, () => barriers.completeBytes(barriers.at(at), bytes));
}

/** Names instruction, lane and address of a mistake. */
export function atMbarrier<T>(context: WarpContext, lane: number, address: number, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof MbarrierMistake)) throw error;
    throw context.fault('barrier', `the mbarrier at shared address ${address}: ${error.message}`, lane, {
      address: BigInt(address),
      accessBytes: MBARRIER_BYTES,
      space: 'shared',
    });
  }
}
