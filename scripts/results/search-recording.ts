import { readFile } from 'node:fs/promises';
import type { BenchedSpace, BenchedStrategy, Spread } from '../../src/search/bench.ts';
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

export async function readSearchRecording(): Promise<SearchRecording | undefined> {
  try {
    return JSON.parse(await readFile(new URL('docs/results/search.json', ROOT), 'utf8')) as SearchRecording;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
