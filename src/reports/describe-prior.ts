import { basename } from 'node:path';
import { sum } from '../core/values.ts';
import type { KnownTimes } from '../store/events.ts';
import { formatCount } from './format.ts';

const KINDS: Readonly<Record<KnownTimes['kind'], (source: string) => string>> = {
  run: (source) => `run ${source}`,
  recording: (source) => `recording ${basename(source)}`,
  'tuning-results': (source) => `results ${basename(source)}`,
  predictions: (source) => `predictions of ${source}`,
};

/** What a search begins with and where that comes from, in one line. */
export function describePrior({ source, kind, device, workload, kernels }: KnownTimes): string {
  const settings = formatCount(sum(kernels.map(({ rows }) => rows.length)), 'setting');
  const where = [kind === 'predictions' ? null : device, workload].filter((part) => part !== null).join(', ');
  return `Prior of the search: ${settings}, ${KINDS[kind](source)}${where === '' ? '' : ` (${where})`}`;
}
