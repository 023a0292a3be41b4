import { leaveToParentsGuard } from './guard.ts';
import { type ProcessRequest, runHere } from './run-here.ts';
import { serveWorker } from './serve-worker.ts';

/*
 * A small process that starts programs for a large one: see starter.ts.
 */

/** What the parent asks for: a program, or to abort one. */
export type StarterRequest =
  | { readonly kind: 'run'; readonly run: number; readonly request: Omit<ProcessRequest, 'signal'> }
  | { readonly kind: 'abort'; readonly run: number };

const running = new Map<number, AbortController>();

leaveToParentsGuard();
serveWorker(
  async (asked: StarterRequest) => {
    if (asked.kind === 'abort') return running.get(asked.run)?.abort();
    const controller = new AbortController();
    running.set(asked.run, controller);
    try {
      return await runHere({ ...asked.request, signal: controller.signal });
    } finally {
      running.delete(asked.run);
    }
  },
  { sideBySide: true },
);
