import { buildInspectView, hottestFirst, type InspectedLine } from '../inspect-view.ts';
import type { Joined } from './progression.ts';
import type { ReadSource } from './source-diffs.ts';

/** As many as a reader looks at; `warpsmith inspect` has all of them, with their PTX. */
const MOST_LINES = 10;

/** The lines of a candidate's sources that cost most. */
export interface HotLines {
  evaluationId: string;
  /** Who counted, e.g. `counted on virtual:l4`. */
  countedBy: string;
  /** Of all instructions, those that carry a line of the source. */
  attributedShare: number;
  /** The costliest first. */
  lines: Omit<InspectedLine, 'ptx'>[];
}

/** Of an evaluation whose counters have lines, from what the run stored of its sources. */
export function hotLinesOf(joined: readonly Joined[], bestId: string | undefined, read: ReadSource): HotLines | null {
  const one = joined.find(({ finished: { evaluation } }) => evaluation.id === bestId) ?? joined[0];
  if (!one) return null;
  const { evaluation, sources: hashes } = one.finished;
  const texts = Object.entries(hashes).map(([file, hash]) => [file, read(hash) ?? ''] as const);
  const view = buildInspectView({ evaluation, label: '', sources: Object.fromEntries(texts), ptx: undefined });
  const lines = hottestFirst(view.lines).slice(0, MOST_LINES);
  if (!view.counters || lines.length === 0) return null;
  return {
    evaluationId: evaluation.id,
    countedBy: view.counters.detail,
    attributedShare: view.attributedShare ?? 0,
    lines: lines.map(({ ptx: _, ...line }) => line),
  };
}
