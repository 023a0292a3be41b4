import type { Refused } from '../launches/refusal.ts';
import { type CheckRuns, NATURAL } from './check-runs.ts';
import type { Contents } from './resembling-inputs.ts';

/** Where numbers of launches, or of arriving CTAs, may end: 8, 9, 10, 12, 15, 16, 24, 31 and 32 bits. */
const ENDS = [8, 9, 10, 12, 15, 16, 24, 31, 32].map((bits) => 2 ** bits);

/** Launches in a row that show whether a counter counts on. */
export const FOLLOWED = 3;

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

/** What workspaces that are zeroed once count, seen in their first launches. */
export interface WorkspaceCounters {
  /** Numbers of launches, ascending, after which the next one takes some counter to an end of its bits, or past it. */
  readonly beforeEnds: readonly number[];
  /** The workspaces as they are after so many launches, by these counters. */
  after(launches: number): Contents;
}

/** Makes the first launches, on the inputs that are there, and follows the words that grow by as much in each. */
export async function followCounters(runs: CheckRuns): Promise<WorkspaceCounters | Refused> {
  const seen: Contents[] = [];
  for (let launch = 1; launch <= FOLLOWED; launch++) {
    const run = await runs.run({ ...NATURAL, forgetsEarlierRuns: launch === 1 });
    if (!run.ok) return run;
    seen.push(await runs.kept());
  }
  const counters = countersIn(seen);
  return {
    beforeEnds: launchesBeforeEnds(counters),
    after: (launches) => setForward(seen.at(-1)!, counters, launches - FOLLOWED),
  };
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

function launchesBeforeEnds(counters: readonly Counter[]): number[] {
  const distinct = new Map(counters.filter(({ step }) => step > 0).map((one) => [`${one.value} ${one.step}`, one]));
  const all = [...distinct.values()]
    .slice(0, COUNTERS.most)
    .flatMap(({ value, step }) =>
      ENDS.filter((end) => end > value).map((end) => FOLLOWED + Math.floor((end - 1 - value) / step)),
    );
  return [...new Set(all)].filter((launches) => launches > FOLLOWED).sort((a, b) => a - b);
}

/** What was kept, so many launches later. */
function setForward(kept: Contents, counters: readonly Counter[], launches: number): Contents {
  const later = new Map([...kept].map(([name, bytes]) => [name, bytes.slice()]));
  for (const { buffer, byte, value, step } of counters) {
    const bytes = later.get(buffer)!;
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(byte, (value + launches * step) >>> 0, true);
  }
  return later;
}
