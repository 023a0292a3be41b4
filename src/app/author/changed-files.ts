import { structuredPatch } from 'diff';
import type { Candidate } from '../../core/kernel.ts';
import type { Written } from '../../optimizer/authoring/author.ts';
import { kernelTexts } from './kernel-texts.ts';

/** How many lines of which files differ. */
export function changedFiles(parent: Candidate, candidate: Candidate): Written['files'] {
  const [before, after] = [kernelTexts(parent.kernel), kernelTexts(candidate.kernel)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((file) => {
    if (before[file] === after[file]) return [];
    const { hunks } = structuredPatch(file, file, before[file] ?? '', after[file] ?? '', undefined, undefined, {
      context: 0,
    });
    const lines = hunks.flatMap((hunk) => hunk.lines);
    const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length;
    return [{ file, addedLines: count('+'), removedLines: count('-') }];
  });
}
