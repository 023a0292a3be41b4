import type { ExpectationCache } from '../evaluation/oracle/expectation-cache.ts';

/** What sessions on several GPUs of one machine have in common: the checks that a host works out. */
export interface SharedOracle extends AsyncDisposable {
  readonly cache: ExpectationCache;
  /** Bytes that the cache of each session may keep besides. */
  readonly limitBytes: number;
  /** Ends what references still compute, so that sessions close at once. */
  end(): void;
}

/** Where each session had its own, references of the same checks would run once for each GPU. @param sessions so many. */
export async function openSharedOracle(sessions: number): Promise<SharedOracle> {
  const [{ createExpectationCache, limitBytesOf }, { createOracleThreads }] = await Promise.all([
    import('../evaluation/oracle/expectation-cache.ts'),
    import('../evaluation/oracle/threads/oracle-threads.ts'),
  ]);
  const ending = new AbortController();
  const threads = createOracleThreads();
  const limitBytes = limitBytesOf(1 + sessions);
  return {
    cache: createExpectationCache({ signal: ending.signal, threads, limitBytes }),
    limitBytes,
    end: () => ending.abort(new Error('the sessions were closed')),
    async [Symbol.asyncDispose]() {
      await threads?.close();
    },
  };
}
