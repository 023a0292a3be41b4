import type { BasicBlock, ControlFlowGraph, PtxFunction, PtxInstruction } from './ast.ts';
import { orderBlocks } from './block-order.ts';
import { UnsupportedPtxError } from './errors.ts';
import { controlOf } from './instructions/properties.ts';
import { elementsOf } from './operands.ts';
import { immediatePostDominators } from './post-dominators.ts';

/** How control leaves an instruction that ends a block. */
interface Terminator {
  /** Labels control may go to. */
  targets: string[];
  /** Lanes may go on to the next instruction. */
  fallsThrough: boolean;
  /** Lanes may leave the function. */
  leaves: boolean;
}

/** What `instruction` does to control flow; undefined when control simply goes on. */
function terminatorOf(instruction: PtxInstruction): Terminator | undefined {
  const fallsThrough = instruction.guard !== undefined;
  switch (controlOf(instruction)) {
    case 'branch':
      return { targets: labelNames(instruction), fallsThrough, leaves: false };
    case 'switch':
      if (fallsThrough)
        throw new UnsupportedPtxError(instruction.text, instruction.ptxLine, 'with a guard is not supported');
      return { targets: labelNames(instruction), fallsThrough, leaves: false };
    case 'leave':
      return { targets: [], fallsThrough, leaves: true };
    // A trap ends the whole launch, so no lane ever waits for one that trapped: no edge to the exit.
    case 'trap':
      return { targets: [], fallsThrough, leaves: false };
    default:
      return undefined;
  }
}

const labelNames = (instruction: PtxInstruction): string[] =>
  instruction.operands.flatMap(elementsOf).flatMap((operand) => (operand.kind === 'label' ? [operand.name] : []));

/** A block before ordering. `leaves` is an edge to the exit. */
interface DraftBlock {
  labels: string[];
  instructions: PtxInstruction[];
  successors: number[];
  leaves: boolean;
}

/**
 * Basic blocks of a function, with unreachable ones dropped, in an order where each block comes after all blocks that
 * reach it other than by closing a loop, and where the blocks of a loop stand together. So when diverged lanes run
 * lowest index first, lanes that arrive early at a reconvergence point or loop exit wait for the others. A loop that
 * is closed from several places (`continue`) gets an empty block at its end through which all rounds go, so that lanes
 * wait for each other there too.
 *
 * `successors` of a conditional branch are `[taken, fall-through]`, of `brx.idx` one per table entry, of a guarded
 * `ret`/`exit`/`trap` the fall-through.
 */
export function buildControlFlowGraph(fn: PtxFunction): ControlFlowGraph {
  const drafts = splitIntoBlocks(fn);
  joinBackEdges(drafts);
  const { order, loopHeaders } = orderBlocks(drafts.map((draft) => draft.successors));
  const newIndex = new Map(order.map((old, index) => [old, index]));
  const blocks: BasicBlock[] = order.map((old, index) => {
    const { labels, instructions, successors } = drafts[old]!;
    return { index, labels, instructions, successors: successors.map((s) => newIndex.get(s)!), predecessors: [] };
  });
  for (const block of blocks) {
    for (const successor of new Set(block.successors)) blocks[successor]!.predecessors.push(block.index);
  }
  const leaves = order.map((old) => drafts[old]!.leaves);
  return {
    blocks,
    immediatePostDominators: immediatePostDominators(
      blocks.map((block) => block.successors),
      leaves,
    ),
    loopHeaders: new Set(loopHeaders.map((old) => newIndex.get(old)!)),
  };
}

/** Leads all edges that close one loop through one empty block. */
function joinBackEdges(blocks: DraftBlock[]): void {
  const { order, loopHeaders } = orderBlocks(blocks.map((block) => block.successors));
  const position = new Map(order.map((index, at) => [index, at]));
  for (const header of loopHeaders) {
    const closing = order.filter(
      (index) => position.get(index)! >= position.get(header)! && blocks[index]!.successors.includes(header),
    );
    if (closing.length < 2) continue;
    const latch = blocks.length;
    blocks.push({ labels: [], instructions: [], successors: [header], leaves: false });
    for (const index of closing) {
      const block = blocks[index]!;
      block.successors = block.successors.map((successor) => (successor === header ? latch : successor));
    }
  }
}

function splitIntoBlocks(fn: PtxFunction): DraftBlock[] {
  const blocks: DraftBlock[] = [];
  const terminators: (Terminator | undefined)[] = [];
  const blockOfLabel = new Map<string, number>();
  let current: DraftBlock | undefined;
  const open = (): DraftBlock => {
    current = { labels: [], instructions: [], successors: [], leaves: false };
    blocks.push(current);
    terminators.push(undefined);
    return current;
  };
  for (const statement of fn.body) {
    if (statement.kind === 'label') {
      // Consecutive labels name one block.
      const block: DraftBlock = current && current.instructions.length === 0 ? current : open();
      block.labels.push(statement.name);
      blockOfLabel.set(statement.name, blocks.length - 1);
      continue;
    }
    const block: DraftBlock = current ?? open();
    block.instructions.push(statement.instruction);
    const terminator = terminatorOf(statement.instruction);
    if (!terminator) continue;
    terminators[blocks.length - 1] = terminator;
    current = undefined;
  }
  if (blocks.length === 0) open();
  blocks.forEach((block, index) => {
    const { targets, fallsThrough, leaves } = terminators[index] ?? { targets: [], fallsThrough: true, leaves: false };
    block.successors.push(...targets.map((label) => blockOfLabel.get(label)!));
    const isLast = index === blocks.length - 1;
    if (fallsThrough && !isLast) block.successors.push(index + 1);
    block.leaves = leaves || (fallsThrough && isLast);
  });
  joinStraightLines(blocks);
  return blocks;
}

/**
 * Joins a block with its follower when nothing else leads there: labels that only debug information uses (`$L__tmp7`)
 * would else cut straight code into pieces. What is joined becomes unreachable.
 */
function joinStraightLines(blocks: readonly DraftBlock[]): void {
  const predecessorCount = new Array<number>(blocks.length).fill(0);
  for (const block of blocks) for (const successor of block.successors) predecessorCount[successor]!++;
  // Backwards, so that a whole chain ends up in its first block.
  for (let index = blocks.length - 2; index >= 0; index--) {
    const block = blocks[index]!;
    const last = block.instructions.at(-1);
    if (last && terminatorOf(last)) continue;
    if (predecessorCount[index + 1] !== 1) continue;
    const follower = blocks[index + 1]!;
    block.instructions.push(...follower.instructions);
    block.successors = follower.successors;
    block.leaves = follower.leaves;
    follower.successors = [];
  }
}
