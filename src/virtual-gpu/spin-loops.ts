import type { PtxInstruction } from '../ptx/ast.ts';
import { isOfCluster, lastModifier, spaceOf } from '../ptx/instruction-parts.ts';
import { instructionClass, memoryActionOf } from '../ptx/instructions/properties.ts';
import { numberOfBits } from '../ptx/literals.ts';
import type { JitBlock } from './codegen/control/blocks.ts';
import { resolveSymbols, type SymbolAddress } from './codegen/state/symbols.ts';
import { isMarkedStrong } from './race-detector/watched-access.ts';

/** A read that a loop makes anew in each round, as code does that waits for others. */
export interface SpinLoop {
  /** Where the read stands in the PTX. */
  readonly ptxLine: number;
  /** The read, with the addresses of variables in place of their names. */
  readonly instruction: PtxInstruction;
  /** Blocks of the loop. */
  readonly blocks: readonly number[];
  /** Whether anything in it writes to memory, be it an atomic that reads. */
  readonly changesMemory: boolean;
  /** The largest whole number that something in it is compared with, such as how often; 0 if there is none up to {@link MOST_LOOKS}. */
  readonly looks: number;
}

/** A loop that gives up later takes too long here. */
const MOST_LOOKS = 2 ** 17;

const POLLED: ReadonlySet<string> = new Set(['global', 'shared', 'generic']);

function mayPoll(instruction: PtxInstruction): boolean {
  if (!POLLED.has(spaceOf(instruction)) || isOfCluster(instruction)) return false;
  const action = memoryActionOf(instruction);
  return action === 'atomic' ? instruction.opcode === 'atom' : action === 'load' && isMarkedStrong(instruction);
}

/** Volatile and ordered reads, and atomics, in loops. */
export function spinLoopsOf(
  blocks: readonly JitBlock[],
  symbols: ReadonlyMap<string, SymbolAddress>,
  namesCtas: boolean,
): readonly SpinLoop[] {
  return blocks.flatMap((block) => {
    const polls = block.instructions.filter(mayPoll);
    const around = polls.length > 0 ? loopAround(block.index, blocks) : [];
    if (around.length === 0) return [];
    const changesMemory = around.some((at) => blocks[at]!.instructions.some(mayWrite));
    const looks = Math.max(0, ...around.flatMap((at) => blocks[at]!.instructions.flatMap(comparedWith)));
    return polls.map((instruction) => ({
      ptxLine: instruction.ptxLine,
      instruction: resolveSymbols(instruction, symbols, namesCtas),
      ...{ blocks: around, changesMemory, looks },
    }));
  });
}

/** Whole numbers of which a loop may make its end depend. */
function comparedWith(instruction: PtxInstruction): number[] {
  if (instructionClass(instruction) !== 'predicate' || !/^[su]\d/.test(lastModifier(instruction))) return [];
  const numbers = instruction.operands.flatMap((one) =>
    one.kind === 'immediate' ? [Math.abs(numberOfBits(one, 's64'))] : [],
  );
  return numbers.filter((number) => number <= MOST_LOOKS);
}

const mayWrite = (instruction: PtxInstruction): boolean => !['none', 'load'].includes(memoryActionOf(instruction));

/** Blocks that a block leads to and that lead back to it; none if there is no way back. */
function loopAround(index: number, blocks: readonly JitBlock[]): readonly number[] {
  const ahead = reachable(index, (at) => blocks[at]!.successors);
  const behind = reachable(index, (at) => blocks[at]!.predecessors);
  return [...ahead].filter((at) => behind.has(at));
}

function reachable(from: number, next: (index: number) => readonly number[]): ReadonlySet<number> {
  const found = new Set<number>();
  const open = [...next(from)];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at < 0 || found.has(at)) continue;
    found.add(at);
    open.push(...next(at));
  }
  return found;
}
