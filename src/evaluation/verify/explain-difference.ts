import { ZERO_POISON } from '../launches/poison.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { type CheckRuns, NATURAL, OTHER_ORDER, type Trial } from './check-runs.ts';
import { countOf, differingElements, type Elements, elementsWhere, equalAt, firstOf } from './differences.ts';
import { cameOutOtherwise, describeDifference, type JudgedCheck, refused } from './judged-check.ts';
import { blamingFirstOf } from './who-wrote.ts';

/**
 * Finds why the two runs of a check differ, by changing one thing at a time: earlier launches, memory contents, buffer
 * addresses. If none of them matters, and the order alone does, that is the cause.
 */
export async function explainDifference(judged: JudgedCheck, first: RunResult, second: RunResult): Promise<Refused> {
  const { runs, outputs } = judged;
  const difference = describeDifference(outputs, first.outputs, second.outputs)!;
  for (const [run, trial] of [
    [first, NATURAL],
    [second, runs.reordered],
  ] as const) {
    const afresh = await runs.runAfresh(trial);
    if (!afresh.ok) return afresh;
    if (cameOutOtherwise(judged, run, afresh)) return explainHistory(judged, run, afresh);
  }
  for (const { trial, refuse } of causes(runs)) {
    const other = await runs.runAfresh(trial);
    if (!other.ok) return other;
    if (cameOutOtherwise(judged, first, other)) return refuse(runs.name, difference, runs);
  }
  const otherOrder = await runs.runAfresh(OTHER_ORDER);
  if (!otherOrder.ok) return otherOrder;
  if (!cameOutOtherwise(judged, first, otherOrder)) return refusePoison(runs.name, difference, runs);
  const landings = runs.copiesAsynchronously ? ', or on when asynchronous copies land' : '';
  const refusal = refused('wrong', `output depends on the order of CTAs or warps${landings}: ${difference}`, runs.name);
  const differing = differingElements(outputs, first.outputs, second.outputs)!;
  return blamingFirstOf(refusal, { runs, run: first, outputs }, differing);
}

const refusePoison = (check: string, difference: string, runs: CheckRuns): Refused =>
  refuseUninitialised(check, difference, runs.reordered.poison === ZERO_POISON ? 'zeros' : undefined);

interface Cause {
  trial: Trial;
  refuse: (check: string, difference: string, runs: CheckRuns) => Refused | Promise<Refused>;
}

/** Runs that each change one thing to its value in the second run. */
const causes = (runs: CheckRuns): Cause[] => [
  {
    trial: {
      ...NATURAL,
      name: "run 3 (natural order, NaN poison, run 2's shared and local memory)",
      privateMemory: runs.reordered.privateMemory,
    },
    refuse: refusePrivate,
  },
  {
    trial: { name: "run 3 (natural order, run 2's poison)", poison: runs.reordered.poison },
    refuse: refusePoison,
  },
  {
    trial: { ...NATURAL, name: 'run 3 (natural order, NaN poison, minimum alignment)', minimumAlignment: true },
    refuse: (check, difference) =>
      refused(
        'wrong',
        `output depends on where the buffers lie, at the declared minimum alignment: ${difference}`,
        check,
      ),
  },
];

/** @returns the refusal of a kernel that depends on unwritten shared or local memory, with the first such read. */
async function refusePrivate(check: string, difference: string, runs: CheckRuns): Promise<Refused> {
  const watched = await runs.run({ ...NATURAL, name: 'run 4 (natural order, reads watched)', findsRaces: true });
  const read = watched.ok ? watched.uninitialisedRead : undefined;
  const where = read === undefined ? '' : `; ${read}`;
  return refused('unsafe', `output depends on uninitialised shared or local memory: ${difference}${where}`, check);
}

/** @param over the memory contents that changed the result, if known. */
export function refuseUninitialised(check: string, difference: string, over?: string): Refused {
  const where = over === undefined ? '' : `, otherwise over ${over}`;
  return refused('unsafe', `output depends on uninitialised memory${where}: ${difference}`, check);
}

/** The launch gives another result than without earlier launches. */
export function explainHistory({ runs, outputs }: JudgedCheck, run: RunResult, afresh: RunResult): Refused {
  const name = `${runs.name} · ${run.conditions.name}`;
  const differing = differingElements(outputs, run.outputs, afresh.outputs)!;
  if (unwrittenAmong(differing, run, afresh) === differing.count) return refused('wrong', skipsWork(differing), name);
  const difference = describeDifference(outputs, run.outputs, afresh.outputs)!;
  const cause = runs.remembers
    ? 'on what earlier launches left in a workspace that is zeroed once or in a __device__ variable'
    : 'on nothing that is the same in two launches: its threads race for memory';
  return refused('wrong', `output depends ${cause}: ${difference}`, name);
}

/** Elements that hold the run's poison, of those that differ. */
function unwrittenAmong({ buffer }: Elements, run: RunResult, afresh: RunResult): number {
  const [got, want] = [run.outputs.get(buffer.name)!, afresh.outputs.get(buffer.name)!];
  const poison = new Uint8Array(8).fill(run.conditions.poison.byteValue);
  const isPoison = (offset: number, size: number): boolean =>
    got.subarray(offset, offset + size).every((byte, i) => byte === poison[i]);
  return (
    elementsWhere(buffer, (offset, size) => isPoison(offset, size) && !equalAt(got, want, offset, size))?.count ?? 0
  );
}

/** e.g. `a launch leaves 51 of 51 elements of Y as they lay, first [0, 0], because of launches before it: …`. */
export const skipsWork = (left: Elements): string =>
  `a launch leaves ${countOf(left)} as they lay, first ${firstOf(left)}, because of launches before it: it skips work, ` +
  'or leaves it to the next launch';
