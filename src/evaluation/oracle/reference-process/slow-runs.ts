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

/** Watches a run until the returned function is called. */
export function watchRun(run: Omit<SlowRun, 'elapsedMs'>, firstMs = FIRST_MS): () => void {
  const startMs = performance.now();
  let timer: NodeJS.Timeout;
  const waitFor = (milliseconds: number): void => {
    timer = setTimeout(
      () => {
        for (const listener of listeners) listener({ ...run, elapsedMs: performance.now() - startMs });
        waitFor(2 * milliseconds);
      },
      startMs + milliseconds - performance.now(),
    );
  };
  waitFor(firstMs);
  return () => clearTimeout(timer);
}
