import type { Dimensions } from '../../../core/problem.ts';

/** A run of a reference that takes noticeably long. */
export interface SlowRun {
  readonly problem: string;
  readonly dimensions: Dimensions;
  readonly elapsedMs: number;
}

type Listener = (run: SlowRun) => void;

const listeners = new Set<Listener>();

/** Calls the listener 5 s into every run of a reference, then each time that twice as long has passed. */
export function onSlowRun(listener: Listener): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

const FIRST_MS = 5_000;

/** What is computed now, by problem and dimensions: its runs and parts together are one for who waits. */
const watched = new Map<string, { runs: number; readonly unwatch: () => void }>();

/** Watches a run until it is disposed of. */
export function watchRun(run: Omit<SlowRun, 'elapsedMs'>, firstMs = FIRST_MS): Disposable {
  const key = JSON.stringify([run.problem, run.dimensions]);
  const together = watched.get(key) ?? { runs: 0, unwatch: tellAgainAndAgain(run, firstMs) };
  watched.set(key, together);
  together.runs += 1;
  return {
    [Symbol.dispose]() {
      together.runs -= 1;
      if (together.runs > 0) return;
      together.unwatch();
      watched.delete(key);
    },
  };
}

function tellAgainAndAgain(run: Omit<SlowRun, 'elapsedMs'>, firstMs: number): () => void {
  const startMs = performance.now();
  let timer: NodeJS.Timeout;
  const waitFor = (milliseconds: number): void => {
    timer = setTimeout(
      () => {
        const elapsedMs = performance.now() - startMs;
        for (const listener of listeners) listener({ ...run, elapsedMs });
        // A laptop may have slept, or a debugger stopped us: what is past by then is told once.
        waitFor(2 * Math.max(milliseconds, elapsedMs));
      },
      startMs + milliseconds - performance.now(),
    );
  };
  waitFor(firstMs);
  return () => clearTimeout(timer);
}
