import { WarpsmithError } from '../core/errors.ts';
import type { Evaluation, JournalMark } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import type { Workload } from '../core/problem.ts';
import { storeCandidateSources } from '../store/candidate-sources.ts';
import { type Attempt, addToJournal, type NewAttempt, readJournal } from '../store/journal.ts';
import { nearestAttempt } from './nearest-attempt.ts';

/** What a request says of its attempt. */
export interface AttemptOptions {
  readonly store: string;
  readonly journal: boolean;
  readonly note?: string;
  readonly parent?: string;
  readonly replay?: string;
}

/** No parent, as `--parent` names it. */
const NO_PARENT = 'none';

/** `WARPSMITH_JOURNAL=off`: nothing is kept of any attempt, as with `--no-journal`. */
const isKept = ({ journal, replay }: AttemptOptions): boolean =>
  journal && replay === undefined && process.env.WARPSMITH_JOURNAL !== 'off';

const LONGEST_NOTE = 1000;
/** Of a reason: the first lines say it. */
const LONGEST_REASON = 400;

/**
 * Looks at what a request says of its attempt before anything is judged.
 *
 * @throws WarpsmithError `note-too-long`, `unknown-attempt` or `attempt-of-another-problem`.
 */
export function requireAttemptOptions(options: AttemptOptions, problem: string): void {
  const { note = '', parent, store } = options;
  if (note.length > LONGEST_NOTE) {
    throw new WarpsmithError({
      code: 'note-too-long',
      message: 'The note is too long.',
      path: '--note',
      received: `${note.length} characters`,
      expected: `at most ${LONGEST_NOTE}`,
      hint: 'Say in a sentence what you tried.',
    });
  }
  if (parent === undefined || parent === NO_PARENT || !isKept(options)) return;
  const found = attemptNamed(store, parent, '--parent');
  if (found.problem === problem) return;
  throw new WarpsmithError({
    code: 'attempt-of-another-problem',
    message: `Attempt ${parent} solves another problem.`,
    path: '--parent',
    received: `${parent}, of ${found.problem}`,
    expected: `an attempt of ${problem}`,
    hint: `See \`warpsmith log ${problem}\`.`,
  });
}

/** @throws WarpsmithError `unknown-attempt`. */
export function attemptNamed(store: string, id: string, path?: string): Attempt {
  const { attempts } = readJournal(store);
  const found = attempts.find((attempt) => attempt.id === id);
  if (found) return found;
  const [first, last] = [attempts[0], attempts.at(-1)];
  throw new WarpsmithError({
    code: 'unknown-attempt',
    message: `There is no attempt ${id}.`,
    file: store,
    path,
    received: id,
    expected: first && last ? `one of ${first.id} to ${last.id}` : 'a store with attempts',
    hint: 'See `warpsmith log`, or give --store.',
  });
}

/** What was judged, as the journal keeps it; `parent` is told when it is written. */
export type Judgement = Omit<NewAttempt, 'parent' | 'sources'> & { readonly of: Candidate };

/** An evaluation in short. */
export function attemptResult(evaluation: Evaluation, { cache }: Workload): NewAttempt['results'][number] {
  const { workload, status, reason, coverage, timing, findings } = evaluation;
  return {
    workload: workload.name,
    dimensions: workload.dimensions,
    cache,
    status,
    reason: reason?.slice(0, LONGEST_REASON),
    compared: status === 'passed' ? coverage?.compared : undefined,
    timing: timing && { kind: timing.kind, medianNs: timing.medianNs, intervalNs: [...timing.intervalNs] },
    finding: findings[0]?.id,
  };
}

/** The candidate of an attempt, without its sources. */
export const attemptCandidate = ({ id, kernel, parameters }: Candidate): NewAttempt['candidate'] => ({
  id,
  kernel: kernel.file.name,
  folder: kernel.folder,
  parameters,
});

/**
 * Keeps what was judged in the journal of the store, a comparison's baseline before its candidate. What can't be kept costs no
 * result; the mark says why.
 *
 * @param baseline what the attempt is compared with; the journal holds it already if it was judged before.
 */
export function keepAttempt(
  options: AttemptOptions,
  judgement: Judgement,
  baseline?: Judgement,
): JournalMark | undefined {
  if (!isKept(options)) return undefined;
  const waiting = [...(baseline ? [baseline] : []), judgement];
  try {
    const added = addToJournal(options.store, (earlier, objects) => {
      const known = waiting[0] === baseline && baseline ? sameCandidate(earlier, baseline) : undefined;
      if (known) waiting.shift();
      const next = waiting.shift();
      if (!next) return undefined;
      const isCompared = baseline !== undefined && next === judgement;
      const { of: candidate, ...rest } = next;
      const sources = storeCandidateSources(objects, candidate);
      const parent = isCompared
        ? sameCandidate(earlier, baseline)!.id
        : parentOf(options, { ...rest, sources }, earlier, objects);
      return { ...rest, sources, parent };
    });
    const { id, parent } = added.at(-1)!;
    return { attempt: id, parent };
  } catch (error) {
    if (!(error instanceof WarpsmithError)) throw error;
    return { notKept: error.message };
  }
}

const sameCandidate = (earlier: readonly Attempt[], { problem, candidate }: Judgement): Attempt | undefined =>
  earlier.findLast((attempt) => attempt.problem === problem && attempt.candidate.id === candidate.id);

function parentOf(
  { parent }: AttemptOptions,
  attempt: Omit<NewAttempt, 'parent'>,
  earlier: readonly Attempt[],
  objects: Parameters<typeof nearestAttempt>[2],
): string | null {
  if (parent === NO_PARENT) return null;
  return parent ?? nearestAttempt(attempt, earlier, objects)?.id ?? null;
}
