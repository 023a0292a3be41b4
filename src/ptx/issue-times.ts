import type { ControlFlowGraph, PtxFunction, PtxInstruction } from './ast.ts';
import { mergedLoads, type WideLoad } from './merged-loads.ts';
import { timesOfRegions } from './scheduling/hand-over.ts';
import { type IssueTime, issueOfRound } from './scheduling/issue.ts';
import { listSchedule } from './scheduling/list-schedule.ts';
import { followLives, type LiveRegion, type Lives, type Step } from './scheduling/lives.ts';
import { findPlaces } from './scheduling/places.ts';
import { formRegions } from './scheduling/regions.ts';
import { unrollLoops } from './scheduling/unroll.ts';

/** A piece of straight code as ptxas may schedule it. */
export interface IssuedRegion {
  /** In the order of the PTX; it runs as often as the first of them. */
  readonly instructions: readonly PtxInstruction[];
  /** Of one run, or of one round of a loop. */
  readonly time: IssueTime;
}

/**
 * How long a warp with a scheduler to itself takes for each piece of a function: instructions in the order of a list schedule, each
 * issued when its operands are there. Short loops with a constant number of rounds are repeated, so that their loads overlap.
 */
export function issueTimes(fn: PtxFunction, cfg: ControlFlowGraph): IssuedRegion[] {
  const regions = formRegions(cfg);
  const lives = withMergedLoads(followLives(regions, findPlaces(fn, regions, 'loose')), mergedLoads(cfg.blocks));
  const repeated = unrollLoops(lives).filter(({ isCounted }) => isCounted);
  const isRepeated = (index: number): boolean =>
    repeated.some(({ header, latch }) => header <= index && index <= latch);
  const loops = repeated.map(({ header, copies, region }) => ({
    instructions: instructionsOf(lives.regions[header]!),
    time: shareOf(issueOfRound(listSchedule(region.steps)), copies),
  }));
  const others = timesOfRegions(lives.regions, isRepeated).flatMap((time, index) =>
    time ? [{ instructions: instructionsOf(lives.regions[index]!), time }] : [],
  );
  return [...loops, ...others];
}

/** One step for the loads that ptxas merges, where the first of them stands. */
function withMergedLoads(lives: Lives, merged: ReadonlyMap<PtxInstruction, WideLoad>): Lives {
  const regions = lives.regions.map((region) => {
    const begun = new Set<WideLoad>();
    const steps = region.steps.flatMap((step): Step[] => {
      const wide = merged.get(step.instruction);
      if (!wide) return [step];
      if (begun.has(wide)) return [];
      begun.add(wide);
      const parts = region.steps.filter(({ instruction }) => merged.get(instruction) === wide);
      return [{ ...step, writes: parts.flatMap(({ writes }) => writes) }];
    });
    return { ...region, steps };
  });
  return { ...lives, regions };
}

const instructionsOf = ({ steps }: LiveRegion): PtxInstruction[] => steps.map(({ instruction }) => instruction);

const shareOf = ({ issued, waits }: IssueTime, copies: number): IssueTime => ({
  issued: issued / copies,
  waits: new Map([...waits].map(([name, count]) => [name, count / copies])),
});
