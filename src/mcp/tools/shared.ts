import { z } from 'zod';
import { namedCandidate } from '../../app/author/list-kernels.ts';
import { readSubmission } from '../../app/author/submission.ts';
import type { Turn } from '../../app/author/turn.ts';
import type { Candidate } from '../../core/kernel.ts';

/** A kernel as an author hands it in, to check or to judge. */
export const submissionFields = {
  parent: z
    .string()
    .optional()
    .describe('What it was made from: "start" or the id of an attempt. Needed with edits; "start" if absent.'),
  files: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      'Name → text. With kernel.json: the whole folder. Without: files of the parent that are new or replaced.',
    ),
  edits: z
    .array(z.object({ file: z.string(), search: z.string(), replace: z.string() }))
    .max(64)
    .optional()
    .describe('Changes of the parent’s files. `search` must occur exactly once in the file as it stands then.'),
  parameters: z
    .record(z.string(), z.number())
    .optional()
    .describe('Values of the kernel’s parameters; else the defaults.'),
};

const submission = z.object(submissionFields);

/** The candidate that a submission makes, and the id of what it was made from. */
export function submittedCandidate(
  turn: Turn,
  { parent = 'start', files, edits, parameters }: z.infer<typeof submission>,
): { candidate: Candidate; parent: Candidate } {
  const from = namedCandidate(turn, parent);
  return { candidate: readSubmission({ files, edits, parameters, parent: from }, turn.problem), parent: from };
}

export const lines = (...parts: readonly (string | readonly string[] | null | undefined | false)[]): string =>
  parts.flatMap((part) => (part ? part : [])).join('\n');

export const titled = (title: string, entries: readonly string[]): string[] =>
  entries.length === 0 ? [] : [`${title}:`, ...entries.map((entry) => `- ${entry}`)];
