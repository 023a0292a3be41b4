import type { ControlFlowGraph } from './ast.ts';
import { definitionsAndUses } from './instructions/properties.ts';

/** Registers live at the start and the end of each block, by block index. */
export interface Liveness {
  liveIn: Set<string>[];
  liveOut: Set<string>[];
}

/** Backward data-flow analysis. A guarded definition does not end the life of the value before it. */
export function analyseLiveness(cfg: ControlFlowGraph): Liveness {
  const { blocks } = cfg;
  const summaries = blocks.map((block) => summarise(block.instructions));
  const liveIn = summaries.map((summary) => new Set(summary.usedFirst));
  const liveOut = blocks.map(() => new Set<string>());
  // Last blocks first: most lives reach their definition in one sweep.
  const pending = blocks.map((block) => block.index);
  const isPending = new Set(pending);
  for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
    isPending.delete(index);
    const block = blocks[index]!;
    const { killed } = summaries[index]!;
    let grew = false;
    for (const successor of block.successors) {
      for (const register of liveIn[successor]!) {
        if (liveOut[index]!.has(register)) continue;
        liveOut[index]!.add(register);
        if (killed.has(register) || liveIn[index]!.has(register)) continue;
        liveIn[index]!.add(register);
        grew = true;
      }
    }
    if (!grew) continue;
    for (const predecessor of block.predecessors) {
      if (isPending.has(predecessor)) continue;
      isPending.add(predecessor);
      pending.push(predecessor);
    }
  }
  return { liveIn, liveOut };
}

interface Summary {
  /** Read before any write in the block. */
  usedFirst: Set<string>;
  /** Always written in the block. */
  killed: Set<string>;
}

function summarise(instructions: ControlFlowGraph['blocks'][number]['instructions']): Summary {
  const usedFirst = new Set<string>();
  const killed = new Set<string>();
  for (const instruction of instructions) {
    const { definitions, uses } = definitionsAndUses(instruction);
    for (const register of uses) if (!killed.has(register)) usedFirst.add(register);
    if (instruction.guard) continue;
    for (const register of definitions) killed.add(register);
  }
  return { usedFirst, killed };
}
