import type { Candidate } from '../../core/kernel.ts';
import { pick } from '../../core/pick.ts';
import type { Written } from '../../optimizer/authoring/author.ts';
import { fileDiff } from '../../reports/view/source-diffs.ts';
import { kernelTexts } from './kernel-texts.ts';

/** How many lines of which files differ. */
export function changedFiles(parent: Candidate, candidate: Candidate): Written['files'] {
  const [before, after] = [kernelTexts(parent.kernel), kernelTexts(candidate.kernel)];
  const names = Object.keys({ ...before, ...after }).sort();
  return names.flatMap((file) => {
    if (before[file] === after[file]) return [];
    return [pick(fileDiff(file, before[file], after[file]), 'file', 'addedLines', 'removedLines')];
  });
}
