import { type StructuredPatchHunk, structuredPatch } from 'diff';
import type { CandidateReference } from '../../store/events.ts';
import { candidateOf, type Joined, type ProgressionRow } from './progression.ts';

/** Gives the text of a stored source by its SHA-256, or undefined when it is no longer there. */
export type ReadSource = (hash: string) => string | undefined;

/** Lines around a change that are shown. */
const CONTEXT_LINES = 3;

export interface FileDiff {
  file: string;
  status: 'added' | 'removed' | 'changed';
  addedLines: number;
  removedLines: number;
  /** The changed places. */
  hunks: StructuredPatchHunk[];
}

/** What the sources of one evaluation changed against another's. */
export interface SourceDiff {
  from: { evaluationId: string; candidate: CandidateReference };
  to: { evaluationId: string; candidate: CandidateReference };
  /** What was changed, in words: a move, or everything from the start to the best. */
  change: string;
  /** Empty when only parameters differ. */
  files: FileDiff[];
  /** Sources that are no longer in the run's folder; nothing is said of them. */
  missing: string[];
}

type Sources = Readonly<Record<string, string>>;

export function fileDiff(file: string, before: string | undefined, after: string | undefined): FileDiff {
  const { hunks } = structuredPatch(file, file, before ?? '', after ?? '', undefined, undefined, {
    context: CONTEXT_LINES,
  });
  const lines = hunks.flatMap((hunk) => hunk.lines);
  return {
    file,
    status: before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
    addedLines: lines.filter((line) => line.startsWith('+')).length,
    removedLines: lines.filter((line) => line.startsWith('-')).length,
    hunks,
  };
}

/** Files whose contents differ; of those whose text is gone, only the names. */
export function compareSources(
  before: Sources,
  after: Sources,
  read: ReadSource,
): Pick<SourceDiff, 'files' | 'missing'> {
  const files: FileDiff[] = [];
  const missing: string[] = [];
  for (const file of Object.keys({ ...before, ...after }).sort()) {
    const [old, now] = [before[file], after[file]];
    if (old === now) continue;
    const [oldText, newText] = [old && read(old), now && read(now)];
    if ((old && oldText === undefined) || (now && newText === undefined)) missing.push(file);
    else files.push(fileDiff(file, oldText, newText));
  }
  return { files, missing };
}

/** What `after`'s sources changed against `before`'s. */
export function diffBetween(before: Joined, after: Joined, change: string, read: ReadSource): SourceDiff {
  const side = ({ finished: { evaluation } }: Joined) => ({
    evaluationId: evaluation.id,
    candidate: candidateOf(evaluation),
  });
  return {
    from: side(before),
    to: side(after),
    change,
    ...compareSources(before.finished.sources, after.finished.sources, read),
  };
}

/** Diffs of a run's sources: from the start to the best, and of every kept change. */
export interface SourceDiffs {
  startToBest: SourceDiff | null;
  /** In the order they were kept. */
  kept: SourceDiff[];
}

/** @param keptRows what was kept and stands, the start first, the best last. */
export function sourceDiffs(
  joined: readonly Joined[],
  keptRows: readonly ProgressionRow[],
  read: ReadSource,
): SourceDiffs {
  const byId = new Map(joined.map((one) => [one.finished.evaluation.id, one]));
  const start = keptRows[0] && byId.get(keptRows[0].evaluationId);
  const last = keptRows.at(-1);
  const best = last && byId.get(last.evaluationId);
  const kept = keptRows.slice(1).map((row, index) => {
    const before = byId.get(keptRows[index]!.evaluationId)!;
    return diffBetween(before, byId.get(row.evaluationId)!, row.change, read);
  });
  const startToBest = start && best && start !== best ? diffBetween(start, best, 'start to best', read) : null;
  return { startToBest, kept };
}
