import type { ControlFlowGraph, PtxFunction } from './ast.ts';
import { definitionsAndUses } from './def-use.ts';
import { analyseLiveness } from './liveness.ts';
import { registersOfPtxType } from './types.ts';

/**
 * What ptxas adds to the largest number of live registers, fitted to ptxas 13.0 on 21 kernels compiled by clang for
 * sm_89 (saxpy to an mma.sync attention): mean error 14 %. It moves loads up, which makes lives longer, and reserves
 * a stack pointer and a scratch register.
 */
const SCHEDULING_FACTOR = 1.05;
const RESERVED_REGISTERS = 2;

/** Of every SM since Kepler. */
const REGISTERS_PER_SM = 65_536;
const MAXIMUM_REGISTERS_PER_THREAD = 255;
/** Registers are allocated per warp in units of 256: 8 per thread. */
const ALLOCATION_UNIT = 8;

/**
 * Estimate of the 32-bit registers per thread that ptxas would give the function: the largest number live at once
 * (64-bit values count twice, predicates have registers of their own) plus ptxas's own needs, within what
 * `.maxnreg` and `.maxntid` × `.minnctapersm` allow.
 */
export function estimateRegisters(fn: PtxFunction, cfg: ControlFlowGraph): number {
  const wanted = Math.round(SCHEDULING_FACTOR * maximumLiveRegisters(fn, cfg)) + RESERVED_REGISTERS;
  return Math.min(wanted, registerLimit(fn));
}

function registerLimit(fn: PtxFunction): number {
  const threads = (fn.requiredThreads ?? fn.maxThreads)?.reduce((product, extent) => product * extent, 1) ?? 1;
  const perThread = REGISTERS_PER_SM / (threads * (fn.minCtasPerSm ?? 1));
  const byLaunchBounds = Math.floor(perThread / ALLOCATION_UNIT) * ALLOCATION_UNIT;
  return Math.min(MAXIMUM_REGISTERS_PER_THREAD, byLaunchBounds, fn.maxRegisters ?? MAXIMUM_REGISTERS_PER_THREAD);
}

/** Largest number of 32-bit registers live at any point. */
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
