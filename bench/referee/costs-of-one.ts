import type { ScreenRun } from '../../scripts/results/referee-recordings.ts';
import type { TallyEntry } from '../../src/core/device-tally.ts';
import { median } from '../../src/stats/quantile.ts';

const PARTS = ['compile', 'verify', 'time', 'total'] as const;

/** What one evaluation of a run is made of on average, a line each, the longest first; within 80 columns. */
export const costsOfOne = ({ evaluations, tally }: Pick<ScreenRun, 'evaluations' | 'tally'>): string => {
  const parts = PARTS.map(
    (part) => `${part} ${median(evaluations.map(({ elapsedMs }) => elapsedMs[part])).toFixed(0)}`,
  );
  const lines = [`  medians in ms: ${parts.join(', ')}`];
  for (const [title, entries] of Object.entries(tally ?? {})) {
    const sum = (of: (entry: TallyEntry) => number) =>
      Object.values<TallyEntry>(entries).reduce((total, entry) => total + of(entry), 0) / evaluations.length;
    lines.push(
      `  ${title}, on average: ${sum(({ count }) => count).toFixed(1)} in ${sum(({ ms }) => ms).toFixed(1)} ms`,
    );
    const byTime = Object.entries<TallyEntry>(entries).sort(([, a], [, b]) => b.ms - a.ms);
    for (const [name, { count, ms, bytes }] of byTime) lines.push(line(name, count, ms, bytes, evaluations.length));
  }
  return `${lines.join('\n')}\n`;
};

const line = (name: string, count: number, ms: number, bytes: number | undefined, times: number): string => {
  const moved = bytes === undefined ? '' : `${(bytes / times / 2 ** 20).toFixed(2)} MiB`;
  const [counted, took] = [(count / times).toFixed(1), (ms / times).toFixed(2)];
  return `    ${name.padEnd(30)}${counted.padStart(8)}${took.padStart(10)} ms ${moved.padStart(12)}`;
};
