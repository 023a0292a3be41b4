import { onceFor } from '../../core/once-for.ts';
import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { has } from '../../ptx/instruction-parts.ts';
import type { Moment } from './warp-clocks.ts';

/** Lanes of one warp that wait at one barrier instruction. */
export interface WaitingLanes {
  warp: number;
  /** The block from which they continue, which names the barrier instruction. */
  block: number;
  lanes: readonly number[];
}

/** Everybody who waits at one of the CTA's barriers. */
export interface Arrival {
  /** Barrier number, 0 … 15. */
  id: number;
  threads: number;
  expected: number;
  /** All threads of the CTA are expected that have not exited, not a count that the code names. */
  isWhole: boolean;
  groups: WaitingLanes[];
}

/** Reads an operand that is not an immediate, for one lane. */
export type OperandReader = (operand: PtxOperand, waiting: WaitingLanes) => number;

/** Barrier number and thread count operands; a barrier.red has a destination before and a predicate after them. */
function operandsOf(instruction: PtxInstruction): [PtxOperand | undefined, PtxOperand | undefined] {
  const operands = has(instruction, 'red') ? instruction.operands.slice(1, -1) : instruction.operands;
  return [operands[0], operands[1]];
}

/** Number of a barrier at which all threads of the CTA meet and that hands nothing round; else undefined. */
export const wholeBarrierOf = onceFor((instruction: PtxInstruction): number | undefined => {
  const [id, count] = operandsOf(instruction);
  const isOfCta = !has(instruction, 'cluster');
  const isWhole =
    isOfCta && !has(instruction, 'red') && count === undefined && (id === undefined || id.kind === 'immediate');
  return isWhole ? Number(id?.kind === 'immediate' ? id.value : 0) : undefined;
});

/** Threads that arrived at each barrier without waiting (`bar.arrive`), by its number; and when the last did. */
export type ArrivedThreads = Map<number, { readonly threads: number; readonly at: Moment }>;

/**
 * Groups waiting lanes by barrier. Where an instruction names no count, all `liveThreads` are expected: a thread that exits no longer
 * keeps a barrier of the whole CTA waiting (PTX ISA, `exit`). `arrived` threads count too.
 */
export function arrivalsOf(
  waiting: readonly WaitingLanes[],
  barriers: ReadonlyMap<number, PtxInstruction>,
  liveThreads: number,
  arrived: ArrivedThreads,
  read: OperandReader,
): Arrival[] {
  const arrivals = new Map<number, Arrival>();
  for (const group of waiting) {
    const [idOperand, countOperand] = operandsOf(barriers.get(group.block)!);
    const value = (operand: PtxOperand | undefined) =>
      operand === undefined ? 0 : operand.kind === 'immediate' ? Number(operand.value) : read(operand, group);
    const id = value(idOperand);
    const count = value(countOperand);
    const arrival = arrivals.get(id) ?? {
      id,
      threads: arrived.get(id)?.threads ?? 0,
      expected: count || liveThreads,
      isWhole: count === 0,
      groups: [],
    };
    arrival.threads += group.lanes.length;
    arrival.groups.push(group);
    arrivals.set(id, arrival);
  }
  return [...arrivals.values()];
}
