import { GOLDEN_FRACTION } from '../../stats/random.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { type CheckRuns, NATURAL } from './check-runs.ts';
import { refused } from './judged-check.ts';
import type { Contents } from './resembling-inputs.ts';
import { FOLLOWED, followCounters } from './workspace-counters.ts';

/** What real launches may cost that confirm what counters showed. */
export const CONFIRMATION = { launches: 2 ** 14, ms: 60_000 } as const;

/** Of more launches: numbers after which one is made, and how many in a row before the one that went wrong. */
const HOPS = { spread: 48, inRow: 128 } as const;

/** Launches that are made in a row in any case, and when no more are. */
const IN_ROW = { launches: 1100, ms: 3000 } as const;

/**
 * A workspace that is zeroed once may count launches, and a kernel may do something else from the five hundredth on: because its author means
 * it, or because a count of arrivals ends at 16 bits. So words that grow by as much in every launch are set to what they would be just
 * before such a number, and two launches follow. If one goes wrong, as many launches are made from the beginning, because the words may hold what
 * no launch leaves there: only what these show is refused. Where they are too many, launches after dozens of other numbers must each leave exactly
 * what the next number asks for. The inputs are the check's own.
 */
export async function judgeManyLaunches(
  runs: CheckRuns,
  isRight: (run: RunResult) => Promise<boolean>,
): Promise<Refused | undefined> {
  if (!runs.keepsWorkspace) return undefined;
  await runs.replaceInputs(runs.contents);
  const counters = await followCounters(runs);
  if ('ok' in counters) return counters;
  const { beforeEnds, after } = counters;
  for (const launches of beforeEnds) {
    await runs.setKept(after(launches));
    for (const launch of [launches + 1, launches + 2]) {
      const run = await runs.run(NATURAL);
      const isGood = run.ok && (await isRight(run));
      const refusal = isGood ? undefined : await confirm(runs, launch, isRight, after);
      if (refusal) return refusal;
      if (!isGood) break;
    }
  }
  return undefined;
}

/**
 * Launches on the check's own inputs in a row, from the first one on. What a kernel counts need not be a word that grows by as much in every launch: a byte
 * beside others, or the place of one of three slots, of which 256 launches leave one over.
 */
export async function judgeLaunchesInRow(
  runs: CheckRuns,
  isRight: (run: RunResult) => Promise<boolean>,
): Promise<Refused | undefined> {
  if (!runs.keepsWorkspace) return undefined;
  await runs.replaceInputs(runs.contents);
  return launchInRow(runs, isRight, IN_ROW);
}

/** Real launches up to the one that went wrong. */
function confirm(
  runs: CheckRuns,
  launch: number,
  isRight: (run: RunResult) => Promise<boolean>,
  after: (launches: number) => Contents,
): Promise<Refused | undefined> {
  return launch > CONFIRMATION.launches
    ? confirmByHops(runs, launch, isRight, after)
    : launchInRow(runs, isRight, { launches: launch, ms: CONFIRMATION.ms });
}

/** Real launches from the beginning, so many or as long as there is time. */
async function launchInRow(
  runs: CheckRuns,
  isRight: (run: RunResult) => Promise<boolean>,
  most: { readonly launches: number; readonly ms: number },
): Promise<Refused | undefined> {
  const end = performance.now() + most.ms;
  for (let made = 1; made <= most.launches; made++) {
    const run = await runs.run({ ...NATURAL, forgetsEarlierRuns: made === 1 });
    if (!run.ok) return { ...run, reason: `launch ${made} in a row: ${run.reason}` };
    if (!(await isRight(run))) return otherResults(runs, made, '');
    if (performance.now() > end) return undefined;
  }
  return undefined;
}

/**
 * Launches after numbers spread over all that come before, each of which must be right and leave in the workspaces, to the byte, what the counters
 * foretell; then the last ones in a row.
 */
async function confirmByHops(
  runs: CheckRuns,
  launch: number,
  isRight: (run: RunResult) => Promise<boolean>,
  after: (launches: number) => Contents,
): Promise<Refused | undefined> {
  const isAsForetold = async (launches: number): Promise<boolean> => {
    const run = await runs.run(NATURAL);
    return run.ok && (await isRight(run)) && isSame(await runs.kept(), after(launches));
  };
  const spread = Array.from({ length: HOPS.spread }, (_, i) => Math.floor(((i * GOLDEN_FRACTION) % 1) * (launch - 1)));
  for (const launches of spread.filter((number) => number >= FOLLOWED)) {
    await runs.setKept(after(launches));
    if (!(await isAsForetold(launches + 1))) return undefined;
  }
  const first = launch - HOPS.inRow;
  await runs.setKept(after(first));
  for (let launches = first + 1; launches < launch; launches++) if (!(await isAsForetold(launches))) return undefined;
  const run = await runs.run(NATURAL);
  const how = ' (so many were not made: its workspaces were set to what they leave)';
  return run.ok && (await isRight(run)) ? undefined : otherResults(runs, launch, how);
}

const isSame = (a: Contents, b: Contents): boolean =>
  [...a].every(([name, bytes]) => Buffer.compare(bytes, b.get(name)!) === 0);

const otherResults = (runs: CheckRuns, launch: number, how: string): Refused =>
  refused('wrong', `launch ${launch} in a row gives other results than the first, of the same inputs${how}`, runs.name);
