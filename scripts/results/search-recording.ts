import { readFile } from 'node:fs/promises';
import type { SearchBenchView } from '../../src/reports/documents/search-bench.ts';
import type { BenchedSpace, BenchedStrategy, Spread } from '../../src/search/bench.ts';
import type { PriorsRecording } from './priors-recording.ts';
import { ROOT } from './recordings.ts';

/** How strategies searched one problem's recorded space. */
export interface ProblemSearch {
  readonly problem: string;
  readonly workload: string;
  readonly space: BenchedSpace;
  readonly randomCurve: readonly Spread[];
  readonly strategies: readonly BenchedStrategy[];
}

/** docs/results/search.json, by bench/search/compare-strategies.ts. */
export interface SearchRecording {
  readonly schemaVersion: 1;
  readonly device: string;
  /** Day of the comparison, UTC. */
  readonly date: string;
  readonly warpsmith: string;
  readonly seeds: number;
  /** Percent above the best that counts as found. */
  readonly within: number;
  readonly problems: readonly ProblemSearch[];
}

/** Strategies of the optimizer's loop besides those of search/: with findings, and the same without asking them. */
export const GUIDED = 'guided';
export const UNDIRECTED = 'guided without diagnosis';

/** Median evaluations to within the percentage; Infinity where most seeds did not get there. */
export interface SearchMedians {
  readonly guided: number;
  readonly undirected: number;
  readonly random: number;
}

export function mediansOf({ strategies }: ProblemSearch): SearchMedians {
  const medianOf = (name: string): number =>
    strategies.find(({ strategy }) => strategy === name)?.evaluations.median ?? Number.POSITIVE_INFINITY;
  return { guided: medianOf(GUIDED), undirected: medianOf(UNDIRECTED), random: medianOf('random') };
}

/** Evaluations that guided search needs, with findings and without, ÷ those of random search. */
export interface SearchShares {
  readonly guided: number;
  readonly undirected: number;
}

/** Geometric means over the problems, so that each counts the same, however large its space. */
export function sharesOf(medians: readonly SearchMedians[]): SearchShares {
  const mean = (of: 'guided' | 'undirected'): number =>
    Math.exp(medians.reduce((sum, median) => sum + Math.log(median[of] / median.random), 0) / medians.length);
  return { guided: mean('guided'), undirected: mean('undirected') };
}

/** What guided search promises: half of random search's evaluations at most, owed to the findings. */
export const isGuidedWorthIt = ({ guided, undirected }: SearchShares): boolean => guided <= 0.5 && !(undirected <= 0.5);

/** docs/results/search-spaces.json, by bench/search/public-spaces.ts: spaces measured by others. */
export interface PublicSpaces {
  readonly schemaVersion: 1;
  readonly date: string;
  readonly warpsmith: string;
  readonly spaces: readonly SearchBenchView[];
}

async function readResult<T>(name: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(new URL(`docs/results/${name}.json`, ROOT), 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Each may be absent until it has been made. */
export interface SearchRecordings {
  readonly problems: SearchRecording | undefined;
  readonly spaces: PublicSpaces | undefined;
  readonly priors: PriorsRecording | undefined;
}

export const readSearchRecordings = async (): Promise<SearchRecordings> => ({
  problems: await readResult<SearchRecording>('search'),
  spaces: await readResult<PublicSpaces>('search-spaces'),
  priors: await readResult<PriorsRecording>('search-priors'),
});
