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
 * Runs a compile unless its code is cached. A request for code that is already being compiled waits for that compile, which
 * can't be aborted; aborting the request ends only its wait. Refuses forbidden code, cached or new.
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
