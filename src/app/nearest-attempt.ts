import { type ContentStore, textsOf } from '../store/content-store.ts';
import type { Attempt, NewAttempt } from '../store/journal.ts';

/** Attempts that are looked at, newest first: nobody goes back further without saying so. */
const MOST_COMPARED = 200;

/** What weighs less than any difference of sources or parameters, and so decides between equals. */
const TIES = { otherDevice: 0.5, otherWorkload: 0.25, otherKernel: 0.125 } as const;

type Described = Omit<NewAttempt, 'parent'>;

/** The earlier attempt of the same problem that differs least: in lines of sources and in parameters; the newest of equals. */
export function nearestAttempt(
  attempt: Described,
  earlier: readonly Attempt[],
  objects: Pick<ContentStore, 'get'>,
): Attempt | undefined {
  const lines = lineReader(objects);
  let nearest: { attempt: Attempt; distance: number } | undefined;
  const candidates = earlier.filter(({ problem }) => problem === attempt.problem).slice(-MOST_COMPARED);
  for (const other of candidates.reverse()) {
    const distance = distanceBetween(attempt, other, lines);
    if (distance !== undefined && (!nearest || distance < nearest.distance)) nearest = { attempt: other, distance };
  }
  return nearest?.attempt;
}

type ReadLines = (hash: string) => ReadonlyMap<string, number> | undefined;

/** `undefined` if a source is no longer there. */
function distanceBetween(a: Described, b: Attempt, read: ReadLines): number | undefined {
  let distance = differingParameters(a, b) + tieOf(a, b);
  for (const file of new Set([...Object.keys(a.sources), ...Object.keys(b.sources)])) {
    const [left, right] = [a.sources[file], b.sources[file]];
    if (left === right) continue;
    const [before, after] = [left === undefined ? NO_LINES : read(left), right === undefined ? NO_LINES : read(right)];
    if (!before || !after) return undefined;
    distance += differingLines(before, after);
  }
  return distance;
}

function differingParameters({ candidate: a }: Described, { candidate: b }: Attempt): number {
  const names = new Set([...Object.keys(a.parameters), ...Object.keys(b.parameters)]);
  return [...names].filter((name) => a.parameters[name] !== b.parameters[name]).length;
}

const tieOf = (a: Described, b: Attempt): number =>
  (a.device.id === b.device.id ? 0 : TIES.otherDevice) +
  (a.results[0]?.workload === b.results[0]?.workload ? 0 : TIES.otherWorkload) +
  (a.candidate.kernel === b.candidate.kernel ? 0 : TIES.otherKernel);

/** Line → how often it occurs. */
const NO_LINES: ReadonlyMap<string, number> = new Map();

/** Lines that only one of two texts has, wherever they stand. */
function differingLines(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  let count = 0;
  for (const line of new Set([...a.keys(), ...b.keys()])) count += Math.abs((a.get(line) ?? 0) - (b.get(line) ?? 0));
  return count;
}

function lineReader(objects: Pick<ContentStore, 'get'>): ReadLines {
  const known = new Map<string, ReadonlyMap<string, number> | undefined>();
  return (hash) => {
    if (!known.has(hash)) known.set(hash, linesOf(hash, objects));
    return known.get(hash);
  };
}

function linesOf(hash: string, objects: Pick<ContentStore, 'get'>): ReadonlyMap<string, number> | undefined {
  const text = textsOf(objects)(hash);
  if (text === undefined) return undefined;
  const counts = new Map<string, number>();
  for (const line of text.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}
