import { GOLDEN_FRACTION } from '../../stats/random.ts';
import type { Refused } from '../launches/refusal.ts';
import type { RunResult } from '../launches/run-once.ts';
import { type CheckRuns, NATURAL } from './check-runs.ts';
import { refused } from './judged-check.ts';
import type { Contents } from './resembling-inputs.ts';

/** Where numbers of launches, or of arriving CTAs, may end: 8, 9, 10, 12, 15, 16, 24, 31 and 32 bits. */
const ENDS = [8, 9, 10, 12, 15, 16, 24, 31, 32].map((bits) => 2 ** bits);

/** What real launches may cost that confirm what counters showed. */
const CONFIRMATION = { launches: 2 ** 14, ms: 60_000 } as const;

/** Of more launches: numbers after which one is made, and how many in a row before the one that went wrong. */
const HOPS = { spread: 48, inRow: 128 } as const;

/** Launches that are made in a row in any case, and when no more are. */
const IN_ROW = { launches: 1100, ms: 3000 } as const;

/** Launches in a row that show whether a counter counts on. */
const WATCHED = 3;

/** Largest step of what is taken for a counter; and how many that differ are followed. */
const COUNTERS = { step: 2 ** 16, most: 4 } as const;

const WORD_BYTES = 4;

/** A 32-bit word of a workspace that grows by as much in every launch. */
interface Counter {
  readonly buffer: string;
  readonly byte: number;
  /** After the watched launches. */
  readonly value: number;
  readonly step: number;
}

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
  const watched = await watch(runs);
  if (!Array.isArray(watched)) return watched;
  const counters = countersIn(watched);
  const after = (launches: number): Contents => setForward(watched.at(-1)!, counters, launches - WATCHED);
  for (const launches of launchesBeforeEnds(counters)) {
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

/** What the workspaces held after each of the first launches. */
async function watch(runs: CheckRuns): Promise<Contents[] | Refused> {
  const seen: Contents[] = [];
  for (let launch = 1; launch <= WATCHED; launch++) {
    const run = await runs.run({ ...NATURAL, forgetsEarlierRuns: launch === 1 });
    if (!run.ok) return run;
    seen.push(await runs.kept());
  }
  return seen;
}

function countersIn(seen: readonly Contents[]): Counter[] {
  return [...seen[0]!.keys()].flatMap((buffer) => {
    const [before, between, after] = seen.map((contents) => wordsOf(contents.get(buffer)!)) as Uint32Array[];
    const counters: Counter[] = [];
    after!.forEach((value, i) => {
      const step = value - between![i]!;
      if (step === 0 || Math.abs(step) > COUNTERS.step || step !== between![i]! - before![i]!) return;
      counters.push({ buffer, byte: i * WORD_BYTES, value, step });
    });
    return counters;
  });
}

const wordsOf = (bytes: Uint8Array): Uint32Array =>
  new Uint32Array(bytes.slice(0, bytes.length - (bytes.length % WORD_BYTES)).buffer);

/** Numbers of launches after which the next one takes some counter to such an end, or past it. */
function launchesBeforeEnds(counters: readonly Counter[]): number[] {
  const distinct = new Map(counters.filter(({ step }) => step > 0).map((one) => [`${one.value} ${one.step}`, one]));
  const all = [...distinct.values()]
    .slice(0, COUNTERS.most)
    .flatMap(({ value, step }) =>
      ENDS.filter((end) => end > value).map((end) => WATCHED + Math.floor((end - 1 - value) / step)),
    );
  return [...new Set(all)].filter((launches) => launches > WATCHED).sort((a, b) => a - b);
}

/** The workspaces as they are so many launches later. */
function setForward(kept: Contents, counters: readonly Counter[], launches: number): Contents {
  const later = new Map([...kept].map(([name, bytes]) => [name, bytes.slice()]));
  for (const { buffer, byte, value, step } of counters) {
    const bytes = later.get(buffer)!;
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(byte, (value + launches * step) >>> 0, true);
  }
  return later;
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
  for (const launches of spread.filter((number) => number >= WATCHED)) {
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
