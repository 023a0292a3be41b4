import { makeCandidate } from '../../core/candidate.ts';
import { WarpsmithError } from '../../core/errors.ts';
import { type Evaluation, evaluationSchema, isWrongWhenTimed } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import { valuesKey } from '../../core/values.ts';
import { readCandidateSources, storeCandidateSources } from '../../store/candidate-sources.ts';
import { textsOf } from '../../store/content-store.ts';
import { type Attempt, type Authored, addToJournal, journalObjects, readJournal } from '../../store/journal.ts';
import { attemptCandidate, attemptResult } from '../journal.ts';

/** What an author and others tried on one workload and device: the journal's attempts that were submitted. */
export interface Place {
  readonly store: string;
  readonly problem: Problem;
  readonly workload: Workload;
  /** Id, e.g. `virtual:l4`. */
  readonly device: string;
}

/** An attempt that was submitted. */
export type Submitted = Attempt & { readonly authored: Authored };

/** Oldest first. Attempts of earlier connections, and of other authors, are among them. */
export function readLineage({ store, problem, workload, device }: Place): Submitted[] {
  return readJournal(store).attempts.filter((attempt): attempt is Submitted => {
    const [result] = attempt.results;
    return (
      attempt.authored !== undefined &&
      attempt.problem === problem.file.name &&
      attempt.device.id === device &&
      result !== undefined &&
      result.cache === workload.cache &&
      valuesKey(result.dimensions) === valuesKey(workload.dimensions)
    );
  });
}

/** The newest attempt of a candidate, by its id. */
export function attemptOf(lineage: readonly Submitted[], id: string): Submitted | undefined {
  return lineage.findLast(({ candidate }) => candidate.id === id);
}

/** How often an author was right when verified and wrong when timed, ever, on any workload of the problem. */
export const timesCaught = (store: string, problem: string, author: string): number =>
  readJournal(store).attempts.filter(
    ({ authored, problem: of }) => of === problem && authored?.author === author && authored.wrongWhenTimed,
  ).length;

/** The candidate of an attempt, with the sources that were judged. @throws WarpsmithError if the store lost them. */
export function candidateOf({ store }: Pick<Place, 'store'>, attempt: Submitted): Candidate {
  const { sources, file } = readCandidateSources(journalObjects(store), attempt.sources);
  if (!file) throw lostSources(attempt.candidate.id, store);
  return makeCandidate({ folder: attempt.candidate.folder, file, sources }, attempt.candidate.parameters);
}

/** The whole evaluation of an attempt, or undefined if it was deleted or written by another version. */
export function evaluationOf({ store }: Pick<Place, 'store'>, { authored }: Submitted): Evaluation | undefined {
  const text = textsOf(journalObjects(store))(authored.evaluation);
  return text === undefined ? undefined : evaluationSchema.safeParse(JSON.parse(text)).data;
}

/** What was judged, and what its author said of it. */
export interface Judged {
  readonly candidate: Candidate;
  readonly evaluation: Evaluation;
  readonly said: Pick<Authored, 'author' | 'parent' | 'hypothesis' | 'predictedRatio'>;
  readonly ratios: Pick<Authored, 'ratioToParent' | 'ratioToStart'>;
}

/** Keeps an attempt. @throws WarpsmithError if the store can't be written. */
export function addToLineage(place: Place, { candidate, evaluation, said, ratios }: Judged): void {
  let isWritten = false;
  addToJournal(place.store, (earlier, objects) => {
    if (isWritten) return undefined;
    isWritten = true;
    const parent = earlier.findLast(({ candidate: { id } }) => id === said.parent);
    return {
      command: 'submit',
      note: said.hypothesis === '' ? undefined : said.hypothesis,
      parent: parent?.id ?? null,
      problem: place.problem.file.name,
      device: { id: evaluation.device.id, name: evaluation.device.name },
      seed: evaluation.seed,
      candidate: attemptCandidate(candidate),
      sources: storeCandidateSources(objects, candidate),
      results: [attemptResult(evaluation, place.workload)],
      authored: {
        ...said,
        ...ratios,
        wrongWhenTimed: isWrongWhenTimed(evaluation),
        evaluation: objects.put(JSON.stringify(evaluation)),
      },
    };
  });
}

const lostSources = (id: string, store: string): WarpsmithError =>
  new WarpsmithError({
    code: 'lost-sources',
    message: `The sources of attempt ${id} are not in the store.`,
    file: store,
    received: id,
    expected: 'an attempt whose sources are kept',
    hint: 'Submit the kernel with all its files.',
  });
