import { roundUp } from '../core/values.ts';
import type { ControlFlowGraph, PtxFunction, PtxInstruction } from './ast.ts';
import { spaceOf } from './instruction-parts.ts';
import { definitionsAndUses, memoryActionOf } from './instructions/properties.ts';
import { analyseLiveness } from './liveness.ts';
import { registersOfPtxType } from './types.ts';

/**
 * What ptxas needs beyond the values alive at once: a stack pointer, scratch, loads moved up. Fitted, with what counts
 * as free below, to ptxas 13.0 for sm_89 on 90 functions compiled by clang, from saxpy to an mma.sync attention: mean
 * error 12 %; the worst with more than 32 registers is 1.6 × too many.
 */
const RESERVED_REGISTERS = 4;

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
  return Math.min(maximumLiveRegisters(fn, cfg) + RESERVED_REGISTERS, registerLimit(fn));
}

function registerLimit(fn: PtxFunction): number {
  const threads = (fn.requiredThreads ?? fn.maxThreads)?.reduce((product, extent) => product * extent, 1) ?? 1;
  const perThread = REGISTERS_PER_SM / (threads * (fn.minCtasPerSm ?? 1));
  const byLaunchBounds = Math.floor(perThread / ALLOCATION_UNIT) * ALLOCATION_UNIT;
  return Math.min(MAXIMUM_REGISTERS_PER_THREAD, byLaunchBounds, fn.maxRegisters ?? MAXIMUM_REGISTERS_PER_THREAD);
}

/**
 * Registers per thread of a kernel with `setmaxnreg`: ptxas gives it all that its bounds allow. Undefined without bounds, for
 * then ptxas leaves the instruction out.
 */
export function registersAtStart(fn: PtxFunction): number | undefined {
  const isBounded = fn.requiredThreads ?? fn.maxThreads ?? fn.maxRegisters;
  return isBounded === undefined ? undefined : roundUp(registerLimit(fn), ALLOCATION_UNIT);
}

/** Operands that machine instructions take as they are, or that one instruction makes again. */
const FREE_SOURCES: ReadonlySet<string> = new Set(['immediate', 'symbol', 'special']);

/** True for a kernel parameter (read from constant memory), a constant, an address or a special register. */
function isFree(instruction: PtxInstruction): boolean {
  const { opcode, operands, guard } = instruction;
  if (guard) return false;
  if (memoryActionOf(instruction) === 'load') return spaceOf(instruction) === 'param';
  return opcode === 'mov' && FREE_SOURCES.has(operands[1]?.kind ?? '');
}

/** Registers whose only definition is free: they need no place between uses. */
function freeRegisters(cfg: ControlFlowGraph): Set<string> {
  const definitionCount = new Map<string, number>();
  const free = new Set<string>();
  for (const block of cfg.blocks) {
    for (const instruction of block.instructions) {
      for (const name of definitionsAndUses(instruction).definitions) {
        definitionCount.set(name, (definitionCount.get(name) ?? 0) + 1);
        if (isFree(instruction)) free.add(name);
      }
    }
  }
  return new Set([...free].filter((name) => definitionCount.get(name) === 1));
}

/** Largest number of 32-bit registers that are live at once, without values that cost nothing to recompute. */
export function maximumLiveRegisters(fn: PtxFunction, cfg: ControlFlowGraph): number {
  const { liveOut } = analyseLiveness(cfg);
  const free = freeRegisters(cfg);
  const width = (name: string): number => (free.has(name) ? 0 : registersOfPtxType(fn.registers.get(name) ?? ''));
  const total = (names: Iterable<string>): number => [...names].reduce((sum, name) => sum + width(name), 0);
  let maximum = 0;
  for (const block of cfg.blocks) {
    const live = new Set(liveOut[block.index]!);
    let count = total(live);
    maximum = Math.max(maximum, count);
    for (const instruction of block.instructions.toReversed()) {
      const { definitions, uses } = definitionsAndUses(instruction);
      // A written value needs a register even if nothing reads it.
      maximum = Math.max(maximum, count + total(definitions.filter((name) => !live.has(name))));
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
