import { LANES_PER_WARP } from '../core/gpu-sizes.ts';
import { product, roundUp } from '../core/values.ts';
import type { ControlFlowGraph, PtxFunction } from './ast.ts';
import { followLives, type Lives, peakInOrder } from './scheduling/lives.ts';
import { peakWhenScheduled } from './scheduling/peak.ts';
import { type Economy, findPlaces } from './scheduling/places.ts';
import { formRegions, type Region } from './scheduling/regions.ts';
import { unrollLoops } from './scheduling/unroll.ts';

/*
 * Three figures were set on half of the kernels in docs/results/registers.json, by bench/virtual-gpu/registers.ts. The other
 * half tells how good they are: docs/how-it-works/time-model.md#registers.
 */

/** A stack pointer, and one that is never free between two instructions. */
const RESERVED_REGISTERS = 2;
/** More where registers are short: what ptxas makes again needs a place while it does. */
const RESERVED_WHEN_SHORT = 6;
/** ptxas squeezes code that is this near to a step of the occupancy. */
const SQUEEZED_RATIO = 0.97;
/** ptxas gives no kernel fewer. */
const FEWEST_REGISTERS = 8;

/** Of every SM since Kepler. */
const REGISTERS_PER_SM = 65_536;
const SCHEDULERS_PER_SM = 4;
const MAXIMUM_REGISTERS_PER_THREAD = 255;
/** Registers are allocated per warp in units of 256: 8 per thread. */
const ALLOCATION_UNIT = 8;

/** Most that an SM holds. Source: CUDA C++ Programming Guide, technical specifications per compute capability. */
const RESIDENT: Readonly<Record<string, { warps: number; ctas: number }>> = {
  sm_86: { warps: 48, ctas: 16 },
  sm_87: { warps: 48, ctas: 16 },
  sm_89: { warps: 48, ctas: 24 },
};
const RESIDENT_ELSEWHERE = { warps: 64, ctas: 32 };

/**
 * Estimate of the 32-bit registers per thread that ptxas would give the function. ptxas moves loads up and repeats loops as
 * long as this costs no occupancy, and saves where a little more would cost some. So the estimate lies between what the
 * code needs in its order, and what it takes with its latencies covered, at the next step of the occupancy at most; and within
 * what `.maxnreg` and `.maxntid` × `.minnctapersm` allow.
 *
 * @param target of the module, such as `sm_90a`.
 */
export function estimateRegisters(fn: PtxFunction, cfg: ControlFlowGraph, target: string): number {
  const atStart = changesRegisters(fn) ? registersAtStart(fn) : undefined;
  if (atStart !== undefined) return atStart;
  const regions = formRegions(cfg);
  const needed = leastRegisters(fn, regions) + RESERVED_WHEN_SHORT;
  const step = occupancyStep(fn, target, needed * SQUEEZED_RATIO);
  const wanted = Math.max(FEWEST_REGISTERS, takenAtEase(fn, regions) + RESERVED_REGISTERS);
  return Math.min(registerLimit(fn), step, Math.max(needed, wanted));
}

const changesRegisters = ({ body }: PtxFunction): boolean =>
  body.some((statement) => statement.kind === 'instruction' && statement.instruction.opcode === 'setmaxnreg');

/**
 * Values that do not fit into the registers that the bounds allow, in 32-bit registers: ptxas spills about as many. 0 if all fit.
 */
export const spilledRegisters = (fn: PtxFunction, cfg: ControlFlowGraph): number =>
  Math.max(0, leastRegisters(fn, formRegions(cfg)) + RESERVED_REGISTERS - registerLimit(fn));

const livesOf = (fn: PtxFunction, regions: readonly Region[], economy: Economy): Lives =>
  followLives(regions, findPlaces(fn, regions, economy));

/** Most registers alive at once in the order of the PTX, with all that costs ptxas none left out. */
function leastRegisters(fn: PtxFunction, regions: readonly Region[]): number {
  const lives = livesOf(fn, regions, 'tight');
  return Math.max(...lives.regions.map((region) => peakInOrder(region, lives.widths)));
}

/** Most registers alive at once if latencies are covered. */
function takenAtEase(fn: PtxFunction, regions: readonly Region[]): number {
  const lives = livesOf(fn, regions, 'loose');
  return Math.max(
    ...lives.regions.map((region) => peakWhenScheduled(region, lives.widths)),
    ...unrollLoops(lives).map(({ region, widths }) => peakWhenScheduled(region, widths)),
  );
}

/** Most registers with which an SM holds as many CTAs as with `needed`. */
function occupancyStep(fn: PtxFunction, target: string, needed: number): number {
  const { warps, ctas } = RESIDENT[target.replace(/[af]$/, '')] ?? RESIDENT_ELSEWHERE;
  const threads = fn.requiredThreads ?? fn.maxThreads;
  const warpsPerCta = threads ? Math.ceil(product(threads) / LANES_PER_WARP) : 1;
  const mostCtas = Math.min(Math.floor(warps / warpsPerCta), threads ? ctas : warps);
  for (let resident = mostCtas; resident > 1; resident--) {
    const perScheduler = Math.ceil((resident * warpsPerCta) / SCHEDULERS_PER_SM);
    const registers = REGISTERS_PER_SM / SCHEDULERS_PER_SM / perScheduler / LANES_PER_WARP;
    const step = Math.floor(registers / ALLOCATION_UNIT) * ALLOCATION_UNIT;
    if (step >= needed) return Math.min(step, MAXIMUM_REGISTERS_PER_THREAD);
  }
  return MAXIMUM_REGISTERS_PER_THREAD;
}

function registerLimit(fn: PtxFunction): number {
  const threads = product(fn.requiredThreads ?? fn.maxThreads ?? [1]);
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
