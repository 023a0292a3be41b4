import type { ControlFlowGraph, PtxFunction, PtxInstruction } from './ast.ts';
import { timesOfRegions } from './scheduling/hand-over.ts';
import { type IssueTime, issueOfRound } from './scheduling/issue.ts';
import { listSchedule } from './scheduling/list-schedule.ts';
import { followLives, type LiveRegion } from './scheduling/lives.ts';
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
  const lives = followLives(regions, findPlaces(fn, regions, 'loose'));
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

const instructionsOf = ({ steps }: LiveRegion): PtxInstruction[] => steps.map(({ instruction }) => instruction);

const shareOf = ({ issued, waits }: IssueTime, copies: number): IssueTime => ({
  issued: issued / copies,
  waits: new Map([...waits].map(([name, count]) => [name, count / copies])),
});
