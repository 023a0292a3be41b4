import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { NATURAL, type Trial } from './check-runs.ts';
import { CONFIRMATION } from './judge-many-launches.ts';
import { describeDifference, type JudgedCheck, refused } from './judged-check.ts';
import type { Contents } from './resembling-inputs.ts';
import { followCounters } from './workspace-counters.ts';

const WATCHED = {
  ...NATURAL,
  name: 'a run in which reads give older values, behind one on other inputs',
  findsRaces: true,
} as const satisfies Trial;

interface OlderReads {
  /** The check's own values in another order, for the launches before. */
  readonly others: Contents;
  /** On the check's own inputs. */
  readonly first: RunResult;
  /** Whether a run on the check's own inputs is right. */
  isRight(run: RunResult): Promise<boolean>;
}

/**
 * The check's own inputs behind launches on the same values in another order, and volatile and atomic reads give older values. CTAs run one after
 * the other here: without that, none would meet what an earlier launch left in the word of a neighbour that is not as far yet.
 *
 * Behind the first launches, and where a counter comes to its end: words that wait for the number of a launch take all that is there for it, if
 * numbers begin at 0 again.
 */
export async function judgeOlderReads(judged: JudgedCheck, reads: OlderReads): Promise<Refused | undefined> {
  const { runs } = judged;
  if (!runs.keepsWorkspace || !runs.choosesPrivateMemory) return undefined;
  await runs.replaceInputs(reads.others);
  const counters = await followCounters(runs);
  if ('ok' in counters) return counters;
  const behindOthers = await judgeWatched(judged, reads, '');
  if (behindOthers) return behindOthers;
  for (const launches of counters.beforeEnds.filter((number) => number < CONFIRMATION.launches)) {
    await runs.setKept(counters.after(launches));
    if (!(await judgeWatched(judged, reads, ''))) continue;
    // The words may hold what no launch leaves there: as many are really made.
    if (!(await launchOnOthers(judged, reads, launches))) return undefined;
    const refusal = await judgeWatched(judged, reads, `launch ${launches + 1} in a row: `);
    if (refusal) return refusal;
  }
  return undefined;
}

/** The check's own inputs, watched. */
async function judgeWatched(
  { runs, outputs }: JudgedCheck,
  { first, isRight }: OlderReads,
  which: string,
): Promise<Refused | undefined> {
  await runs.replaceInputs(runs.contents);
  const run = await runs.run(WATCHED);
  if (!run.ok) return run;
  if (await isRight(run)) return undefined;
  const difference = describeDifference(outputs, first.outputs, run.outputs)!;
  const reason = run.olderRead === undefined ? difference : `${difference}; ${run.olderRead}`;
  return refused(
    'unsafe',
    `output depends on what earlier launches left in a workspace that is zeroed once, where a CTA reads before another has written: ${which}${reason}`,
    `${runs.name} · ${WATCHED.name}`,
  );
}

/** So many launches on other inputs, from the first one on. Whether there was time for them, and they ended. */
async function launchOnOthers({ runs }: JudgedCheck, { others }: OlderReads, launches: number): Promise<boolean> {
  const end = performance.now() + CONFIRMATION.ms;
  await runs.replaceInputs(others);
  for (let made = 1; made <= launches; made++) {
    const run = await runs.run({ ...NATURAL, forgetsEarlierRuns: made === 1 });
    if (!run.ok || performance.now() > end) return false;
  }
  return true;
}
