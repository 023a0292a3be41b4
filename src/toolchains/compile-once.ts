import type { CompileOutcome } from '../core/compiled-code.ts';
import { untilAborted } from '../core/until-aborted.ts';
import { openCodeCache } from './code-cache.ts';
import { screenModule } from './module-policy.ts';

/** A compile whose every input is in `key`. */
export interface KeyedCompile {
  readonly key: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs a compile unless its code is known. Requests for code that is being compiled for a request that can't be aborted
 * wait for that one; aborting them ends their wait, not the compile. What the code may not do is refused, known or new.
 *
 * @param cacheFolder - compiled code is kept here between runs; in memory only when absent.
 */
export function compileOnce<C extends KeyedCompile>(
  cacheFolder: string | undefined,
  compile: (request: C) => Promise<CompileOutcome>,
): (request: C) => Promise<CompileOutcome> {
  const cache = openCodeCache(cacheFolder);
  const inFlight = new Map<string, Promise<CompileOutcome>>();
  return async (request) => {
    const known = await cache.get(request.key);
    if (known !== undefined) return screenModule({ ok: true, code: known, cached: true, elapsedMs: 0 });
    const running = inFlight.get(request.key);
    if (running !== undefined) return screenModule(await untilAborted(running, request.signal));
    const started = compile(request).finally(() => inFlight.delete(request.key));
    if (request.signal === undefined) inFlight.set(request.key, started);
    const outcome = await started;
    if (outcome.ok) await cache.put(outcome.code);
    return screenModule(outcome);
  };
}
