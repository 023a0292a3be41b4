import { useEffect, useState } from 'preact/hooks';
import type { Draft, DraftTrace, Look } from '../src/server/wire.ts';
import { postJson } from './api.ts';

/** The last look at a draft, and whether it is of the draft as it is now. */
export interface Looked {
  readonly look?: Look;
  readonly error?: Error;
  readonly isCurrent: boolean;
}

/** Somebody who types pauses less than this between keys, ms. */
const PAUSE_MS = 350;

/** Has a draft judged once nobody has changed it for a moment. A change aborts what was asked before. */
export function useLook(draft: Draft): Looked {
  const [looked, setLooked] = useState<Looked>({ isCurrent: false });
  useSettled(
    draft,
    async (signal) => {
      setLooked((before) => ({ ...before, isCurrent: false }));
      await pause(PAUSE_MS, signal);
      const look = await postJson<Look>('/playground/look', draft, signal);
      setLooked({ look, isCurrent: true });
    },
    (error) => setLooked((before) => ({ ...before, error, isCurrent: true })),
  );
  return looked;
}

export interface Traced {
  readonly traced?: DraftTrace;
  readonly error?: Error;
}

/** Follows a warp of a draft, likewise. */
export function useTrace(
  draft: Draft,
  place: { readonly step: number; readonly cta: number; readonly warp: number },
): Traced {
  const [traced, setTraced] = useState<Traced>({});
  useSettled(
    { draft, place },
    async (signal) => {
      await pause(PAUSE_MS, signal);
      setTraced({ traced: await postJson<DraftTrace>('/playground/trace', { draft, place }, signal) });
    },
    (error) => setTraced({ error }),
  );
  return traced;
}

/** Begins anew whenever `what` is another one, by its contents. */
export function useSettled(
  what: unknown,
  work: (signal: AbortSignal) => Promise<void>,
  onError: (error: Error) => void,
): void {
  useEffect(() => {
    const leaving = new AbortController();
    work(leaving.signal).catch((error: Error) => !leaving.signal.aborted && onError(error));
    return () => leaving.abort();
  }, [JSON.stringify(what)]);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
