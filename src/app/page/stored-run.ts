import { WarpsmithError } from '../../core/errors.ts';
import type { ListedRun } from '../../reports/documents/runs.ts';
import type { EvaluationRow } from '../../store/index/rows.ts';
import { withRunIndex } from '../../store/index/run-index.ts';
import { listed } from '../runs.ts';

/** A run as the index has it: without its counters, which are most of its log. */
export interface StoredRun {
  readonly run: ListedRun;
  readonly evaluations: readonly EvaluationRow[];
}

/** @throws WarpsmithError `unknown-run`. */
export function storedRun(store: string, id: string): StoredRun {
  const found = withRunIndex(store, (index) => index.run(id));
  if (found) return { run: listed(store, found.run), evaluations: found.evaluations };
  throw new WarpsmithError({
    code: 'unknown-run',
    message: `No run is called ${id}.`,
    received: id,
    expected: 'the id of a run of this store',
    hint: 'The list of runs has all of them.',
  });
}
