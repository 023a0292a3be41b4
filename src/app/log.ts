import { completeRequest, type RequestOf } from '../core/requests/request.ts';
import { buildLogView, type LogView } from '../reports/documents/log.ts';
import { textsOf } from '../store/content-store.ts';
import { journalObjects, readJournal } from '../store/journal.ts';
import { attemptNamed } from './journal.ts';

/** Every problem's attempts. */
const ALL = 'all';
const ATTEMPT_ID = /^a\d+$/;

/**
 * What was tried by hand, as a tree: all of it, of one problem, or one attempt with its differences.
 *
 * @throws WarpsmithError `unknown-attempt`.
 */
export function readLog(request: RequestOf<'log'>): LogView {
  const { store, what, last } = completeRequest('log', request);
  const { attempts, unreadable } = readJournal(store);
  const attempt = ATTEMPT_ID.test(what) ? attemptNamed(store, what).id : null;
  const problem = attempt === null && what !== ALL ? what : null;
  return buildLogView({
    store,
    attempts,
    unreadable,
    attempt,
    problem,
    last,
    readSource: textsOf(journalObjects(store)),
  });
}
