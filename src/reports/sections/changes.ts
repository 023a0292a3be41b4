import { FILE_HEADERS_ONLY, formatPatch } from 'diff';
import { codeBlock, fold, type Inline, list, type Part } from '../document.ts';
import type { BestChanges } from '../view/outcome.ts';
import type { FileDiff, SourceDiff } from '../view/source-diffs.ts';

/** What one candidate changed against another, in lines and diffs. */

/** `kernel.cu +12 −3`, or that sources are the same. */
function diffSummary({ files, missing }: SourceDiff): string {
  const parts = files.map(({ file, status, addedLines, removedLines }) => {
    const word = status === 'changed' ? '' : ` (${status})`;
    return `${file}${word} +${addedLines} −${removedLines}`;
  });
  const gone = missing.map((file) => `${file}: no longer in the run’s folder`);
  return [...parts, ...gone].join(', ') || 'the same sources: only parameters differ';
}

/** A diff as `diff -u` prints it, between the folders `from` and `to`. */
export const unifiedDiff = (from: string, to: string, files: readonly FileDiff[]): string =>
  files
    .map(({ file, hunks }) => ({ oldFileName: `${from}/${file}`, newFileName: `${to}/${file}`, hunks }))
    .map((patch) => formatPatch({ ...patch, oldHeader: undefined, newHeader: undefined }, FILE_HEADERS_ONLY))
    .join('')
    .slice(0, -1);

/** A line for each diff, then the diffs, folded. */
export const diffParts = (diffs: readonly (readonly [title: Inline, diff: SourceDiff])[]): Part => [
  list(diffs.map(([title, diff]) => [title, `: ${diffSummary(diff)}`])),
  diffs.map(
    ([title, { from, to, files }]) =>
      files.length > 0 &&
      fold(title, [codeBlock('diff', unifiedDiff(from.candidate.kernel, to.candidate.kernel, files))]),
  ),
];

/** Kernel and parameters, one line each; `none` where nothing was changed. */
export function changeLines(
  { kernel, parameters }: Pick<BestChanges, 'kernel' | 'parameters'>,
  none: string,
): string[] {
  const lines = [
    ...(kernel ? [`kernel: ${kernel.from} → ${kernel.to}`] : []),
    ...parameters.map(({ name, from, to }) => `${name}: ${from ?? '(none)'} → ${to ?? '(none)'}`),
  ];
  return lines.length > 0 ? lines : [none];
}
