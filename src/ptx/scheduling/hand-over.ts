import { andWait, type IssueTime, issueOfRound, issueOfRun, type Pending, type Result } from './issue.ts';
import { listSchedule } from './list-schedule.ts';
import type { LiveRegion, Step } from './lives.ts';

/** How a region ends. */
interface Ended {
  /** Without any wait for what is left. */
  readonly time: IssueTime;
  /** What it or those before it have begun, and others need. */
  readonly left: Pending;
  /** Of that, what it waits for because the code after it would not on all ways. */
  readonly waited: Result | undefined;
}

const NOTHING: Pending = new Map();
/** The second one knows what the first one found to be waited for. */
const PASSES = 2;

/**
 * Time of each region. A warp waits for a load where it uses the result, not where a piece of code ends (a scoreboard holds its
 * register: Nsight Compute's "long scoreboard"). So what all ways into a region have begun goes on beside it. What only some have
 * begun, or a loop would take in, is waited for before.
 *
 * @param isApart regions that take nothing over and leave nothing, and whose time is not wanted.
 */
export function timesOfRegions(
  regions: readonly LiveRegion[],
  isApart: (index: number) => boolean,
): (IssueTime | undefined)[] {
  const orders = regions.map(({ steps }, index) => (isApart(index) ? [] : listSchedule(steps)));
  const before = regions.map((_, index) => (isApart(index) ? undefined : waysInto(regions, index)));
  const written = regions.map(({ steps }) => new Set(steps.flatMap(({ writes }) => writes)));
  let last: readonly (Ended | undefined)[] = [];
  for (let pass = 0; pass < PASSES; pass++) {
    const now: (Ended | undefined)[] = [];
    const goingInto = (index: number, leftBy: (way: number) => Pending): Pending =>
      goingOn(
        (before[index] ?? []).map((way) => ({
          left: leftBy(way),
          made: new Set([...written[way]!, ...(now[way]?.left.keys() ?? [])]),
        })),
      );
    const leftBy = (way: number): Pending => now[way]?.left ?? NOTHING;
    regions.forEach((region, index) => {
      const restOf = (way: number): Pending => after(leftBy(way), last[way]?.waited);
      now.push(isApart(index) ? undefined : endOf(region, index, orders[index]!, goingInto(index, restOf)));
    });
    last = now.map((ended, index) => {
      if (!ended) return undefined;
      const taken = regions[index]!.successors.map((next) => ({
        needed: regions[next]!.liveIn,
        goesOn: goingInto(next, leftBy),
      }));
      return { ...ended, waited: longestExcess(ended.left, taken) };
    });
  }
  return last.map((ended) => ended && (ended.waited ? andWait(ended.time, ended.waited) : ended.time));
}

/** The regions that lead to this one; none if one of them comes after it. */
function waysInto(regions: readonly LiveRegion[], index: number): readonly number[] {
  const ways = regions.flatMap(({ successors }, way) => (successors.includes(index) ? [way] : []));
  return ways.every((way) => way < index) ? ways : [];
}

function endOf(
  region: LiveRegion,
  index: number,
  order: readonly Step[],
  taken: Pending,
): Omit<Ended, 'waited'> & { waited: undefined } {
  if (region.successors.includes(index)) return { time: issueOfRound(order), left: NOTHING, waited: undefined };
  return { ...issueOfRun(order, region.liveOut, taken), waited: undefined };
}

/** A way into a region: what it leaves to wait for, and what it has written or left, waited for or not. */
interface Way {
  readonly left: Pending;
  readonly made: ReadonlySet<number>;
}

/** What goes on in a region: of the values that all ways have begun or made anew, the longest. */
function goingOn(ways: readonly Way[]): Pending {
  const shared = new Map<number, Result>();
  for (const [place, result] of ways.flatMap(({ left }) => [...left])) {
    const known = shared.get(place);
    if (known ? known.at < result.at : ways.every(({ made }) => made.has(place))) shared.set(place, result);
  }
  return shared;
}

/** What is still on its way after a wait. */
const after = (pending: Pending, waited: Result | undefined): Pending =>
  waited
    ? new Map(
        [...pending].flatMap(([place, { at, by }]) => (at > waited.at ? [[place, { at: at - waited.at, by }]] : [])),
      )
    : pending;

/** The longest wait for a needed result beyond what goes on in the code after it. */
function longestExcess(
  left: Pending,
  taken: readonly { readonly needed: ReadonlySet<number>; readonly goesOn: Pending }[],
): Result | undefined {
  let longest: Result | undefined;
  for (const { needed, goesOn } of taken)
    for (const [place, { at, by }] of left) {
      const excess = needed.has(place) ? at - (goesOn.get(place)?.at ?? 0) : 0;
      if (excess > (longest?.at ?? 0)) longest = { at: excess, by };
    }
  return longest;
}
