import type { BasicBlock, ControlFlowGraph, PtxInstruction } from '../../../ptx/ast.ts';
import { controlOf, synchronisationOf } from '../../../ptx/instructions/properties.ts';
import { PC } from '../../layout.ts';
import { CLOCKS } from '../state/specials.ts';

/** Where control goes; EXIT means the lane is finished. */
export const EXIT = -1;

export type Terminator =
  | { kind: 'jump'; target: number }
  | { kind: 'branch'; instruction: PtxInstruction; taken: number; fallThrough: number }
  /** brx.idx: the index operand chooses one of the targets. */
  | { kind: 'switch'; instruction: PtxInstruction; targets: number[] }
  | { kind: 'barrier'; instruction: PtxInstruction; next: number }
  | { kind: 'trap'; instruction: PtxInstruction };

/** A block for the JIT: without inner barriers; if lanes may diverge, warp-synchronous instructions come first. */
export interface JitBlock extends BasicBlock {
  /** Instructions without the terminator. */
  body: PtxInstruction[];
  terminator: Terminator;
  /** Other lanes of the warp should arrive before this block runs. */
  syncPoint: boolean;
  /** Lanes of one warp may run this block at different times. */
  divergent: boolean;
}

/** The value a lane's program counter takes for a target. */
export function programCounterOf(target: number, blocks: readonly JitBlock[]): number {
  if (target === EXIT) return PC.exited;
  const { syncPoint, divergent } = blocks[target]!;
  if (!divergent) return target | PC.convergent;
  return target | (syncPoint ? PC.syncPoint : 0);
}

/** Whether a warp waits there for all threads of its CTA, or of its cluster. */
const isBarrier = (i: PtxInstruction): boolean => ['cta', 'cluster'].includes(synchronisationOf(i));

export const readsClock = (i: PtxInstruction): boolean =>
  i.operands.some((o) => o.kind === 'special' && CLOCKS.has(o.name));

/** Instructions that exchange data between lanes and therefore need them together. */
const isWarpSynchronous = (i: PtxInstruction): boolean => ['warp', 'warpgroup'].includes(synchronisationOf(i));

/**
 * Splits the blocks of `cfg` after barriers and clock reads, before draws and, in divergent blocks, before warp-synchronous instructions.
 * @param draws atomics by which CTAs draw work: before each of them ends a block, be it an empty one, in which the CTA may give way.
 */
export function splitBlocks(
  cfg: ControlFlowGraph,
  divergentBlocks: ReadonlySet<number>,
  draws: ReadonlySet<PtxInstruction>,
): JitBlock[] {
  const pieces = cfg.blocks.map((block) => cut(block, divergentBlocks.has(block.index), draws));
  const firstPiece: number[] = [];
  let count = 0;
  for (const list of pieces) {
    firstPiece.push(count);
    count += list.length;
  }
  const result: JitBlock[] = [];
  for (const block of cfg.blocks) {
    const list = pieces[block.index]!;
    list.forEach((instructions, position) => {
      const index = result.length;
      const isLast = position === list.length - 1;
      const successors = isLast ? block.successors.map((s) => firstPiece[s]!) : [index + 1];
      const divergent = divergentBlocks.has(block.index) || onlyLeaves(instructions);
      result.push(finish(index, instructions, successors, isLast, divergent));
    });
  }
  for (const block of result) for (const s of new Set(block.successors)) result[s]!.predecessors.push(block.index);
  return result;
}

/** A thread that is finished leaves, whoever waits elsewhere: barriers need not wait for it. */
const onlyLeaves = (instructions: readonly PtxInstruction[]): boolean =>
  instructions.length === 1 && controlOf(instructions[0]!) === 'leave' && !instructions[0]!.guard;

function cut(block: BasicBlock, divergent: boolean, draws: ReadonlySet<PtxInstruction>): PtxInstruction[][] {
  const pieces: PtxInstruction[][] = [[]];
  for (const instruction of block.instructions) {
    if (draws.has(instruction)) pieces.push([]);
    if (divergent && isWarpSynchronous(instruction) && pieces.at(-1)!.length > 0) pieces.push([]);
    pieces.at(-1)!.push(instruction);
    if (isBarrier(instruction) || readsClock(instruction)) pieces.push([]);
  }
  return pieces;
}

function finish(
  index: number,
  instructions: PtxInstruction[],
  successors: number[],
  isLastPiece: boolean,
  divergent: boolean,
): JitBlock {
  const last = instructions.at(-1);
  const terminator = terminatorOf(last, successors, isLastPiece);
  const isLastOnlyControl = last !== undefined && (terminator.kind !== 'jump' || controlOf(last) !== 'next');
  return {
    index,
    labels: [],
    instructions,
    body: isLastOnlyControl ? instructions.slice(0, -1) : instructions,
    successors,
    predecessors: [],
    terminator,
    syncPoint: divergent && instructions[0] !== undefined && isWarpSynchronous(instructions[0]),
    divergent,
  };
}

function terminatorOf(last: PtxInstruction | undefined, successors: number[], isLastPiece: boolean): Terminator {
  const next = successors[0] ?? EXIT;
  if (!last) return { kind: 'jump', target: next };
  if (isBarrier(last)) return { kind: 'barrier', instruction: last, next };
  if (!isLastPiece) return { kind: 'jump', target: next };
  switch (controlOf(last)) {
    case 'trap':
      return { kind: 'trap', instruction: last };
    case 'switch':
      return { kind: 'switch', instruction: last, targets: successors };
    case 'leave':
      if (!last.guard) return { kind: 'jump', target: EXIT };
      return { kind: 'branch', instruction: last, taken: EXIT, fallThrough: next };
    case 'branch':
      if (!last.guard) return { kind: 'jump', target: next };
      return { kind: 'branch', instruction: last, taken: next, fallThrough: successors[1] ?? EXIT };
    default:
      return { kind: 'jump', target: next };
  }
}
