import { sharedBytes } from '../../core/counters.ts';
import { formatFigure, formatPercent } from '../../reports/format.ts';
import { buildInspectView, hottestFirst, type InspectedLine } from '../../reports/inspect-view.ts';
import { judgedCandidate } from './list-kernels.ts';
import type { Turn } from './turn.ts';

/** What the lines of an attempt cost. */
export interface AttemptLines {
  id: string;
  /** Who counted, or why nobody did. */
  counted: string;
  launches: string[];
  /** The costliest lines first. */
  hot: string[];
}

/** The costliest lines of an attempt, from the counters of its evaluation. Runs nothing. @throws WarpsmithError `not-judged`. */
export function inspectAttempt(turn: Turn, id: string, count: number): AttemptLines {
  const { candidate, evaluation } = judgedCandidate(turn, id);
  const { sources } = candidate.kernel;
  const view = buildInspectView({ evaluation, label: id, sources, ptx: undefined });
  return {
    id: candidate.id,
    counted: view.counters?.detail ?? `nothing was counted: ${evaluation.status}`,
    launches: (evaluation.counters?.launches ?? []).map(
      ({ functionName, grid, block, instructions, resources }) =>
        `${functionName} grid (${grid.join(', ')}) block (${block.join(', ')}): ${formatFigure(instructions)} warp instructions, ` +
        `${resources.registersPerThread} registers per thread, ${sharedBytes(resources)} B shared`,
    ),
    hot: hottestFirst(view.lines).slice(0, count).map(describeLine),
  };
}

function describeLine(line: InspectedLine): string {
  const { file, text, instructions, instructionShare, globalLoad, globalStore, sharedLoad, sharedStore, flags } = line;
  const accesses = Object.entries({ globalLoad, globalStore, sharedLoad, sharedStore }).flatMap(([kind, access]) =>
    access
      ? [
          `${ACCESSES[kind as keyof typeof ACCESSES]} ${formatFigure(access.requests)} requests × ${formatFigure(access.unitsPerRequest)}`,
        ]
      : [],
  );
  const share = instructionShare === null ? '' : ` (${formatPercent(instructionShare)})`;
  const costs = [`${formatFigure(instructions)} instructions${share}`, ...accesses, ...flags];
  return `${file}:${line.line}: ${text.trim().slice(0, 120)} — ${costs.join('; ')}`;
}

const ACCESSES = {
  globalLoad: 'global loads, sectors:',
  globalStore: 'global stores, sectors:',
  sharedLoad: 'shared loads, wavefronts:',
  sharedStore: 'shared stores, wavefronts:',
} as const;
