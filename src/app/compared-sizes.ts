import { type ComparedSizes, unionOfSizes } from '../core/compared-sizes.ts';
import { unlessRefused } from '../core/errors.ts';
import type { Evaluation } from '../core/evaluation.ts';
import type { Candidate } from '../core/kernel.ts';
import { withRunIndex } from '../store/index/run-index.ts';
import { readJournal } from '../store/journal.ts';
import { runFolderPath } from '../store/run-folder.ts';
import { evaluationsOf, type LoadedRun, loadRun } from './candidate-target.ts';

/**
 * Sizes at which a candidate's results were compared, in all verifications that it passed on devices of one name: in its own
 * run, in the other runs of the store, and by hand, as the journal has it. `undefined` if nothing says it.
 */
export function comparedSizesOf(candidate: Candidate, ofRun: LoadedRun, store: string): ComparedSizes | undefined {
  const { name } = ofRun.started.device;
  const others = runsThatJudged(candidate.id, store).filter(
    ({ id, started }) => id !== ofRun.id && started.device.name === name,
  );
  const inRuns = [ofRun, ...others].flatMap((run) => evaluationsIn(run, candidate.id));
  const byHand = readJournal(store)
    .attempts.filter((attempt) => attempt.candidate.id === candidate.id && attempt.device.name === name)
    .flatMap(({ results }) => results.map(({ status, compared }) => (status === 'passed' ? compared : undefined)));
  return unionOfAll([...inRuns.map(passedSizes), ...byHand]);
}

/** Of an evaluation that passed. */
export const passedSizes = ({
  status,
  coverage,
}: Pick<Evaluation, 'status' | 'coverage'>): ComparedSizes | undefined =>
  status === 'passed' ? coverage?.compared : undefined;

/** Of all that are known. */
export function unionOfAll(all: readonly (ComparedSizes | undefined)[]): ComparedSizes | undefined {
  const [first, ...rest] = all.filter((sizes) => sizes !== undefined);
  return first && rest.reduce(unionOfSizes, first);
}

const evaluationsIn = (run: LoadedRun, candidateId: string): Evaluation[] =>
  evaluationsOf(run).flatMap(({ evaluation }) => (evaluation.candidate.id === candidateId ? [evaluation] : []));

/** A run whose log can't be read says nothing. */
function runsThatJudged(candidateId: string, store: string): LoadedRun[] {
  const rows = withRunIndex(store, (index) => index.evaluationsOf(candidateId));
  const ids = new Set(rows.filter(({ status }) => status === 'passed').map(({ run }) => run));
  return [...ids].flatMap((id) => unlessRefused(() => loadRun(runFolderPath(store, id))) ?? []);
}
