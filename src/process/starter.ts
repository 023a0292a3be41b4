import { entryFile } from './entry-file.ts';
import { minimalEnvironment } from './minimal-environment.ts';
import type { ProcessOutcome, ProcessRequest } from './run-here.ts';
import type { StarterRequest } from './starter-main.ts';
import { startWorkerProcess, type WorkerProcess, WorkerProcessEnded } from './worker-process.ts';

/*
 * To start a program, the system copies the page tables of the process that starts it, and the program's first act is to drop
 * them: 30 ms of processor time for 850 MB, twice. A process of 50 MB starts it in 2.4 ms.
 */

const ENTRY = entryFile(new URL('./starter-main.ts', import.meta.url));

/** Resident bytes from which a small process, which takes 50 ms to start, pays with the third program. */
const LEAST_BYTES = 256 * 1024 ** 2;
/** Between two candidates of a search there are seconds. */
const IDLE_MS = 10_000;

let starter: WorkerProcess | undefined;
let idle: NodeJS.Timeout | undefined;
let running = 0;
let nextRun = 1;

/** Whether a small process had better start a program than this one. macOS starts programs without copying page tables. */
export const isStarterWorthwhile = (residentBytes = process.memoryUsage.rss(), platform = process.platform): boolean =>
  platform === 'linux' && residentBytes >= LEAST_BYTES;

/**
 * Runs a program, started by the small process. Aborting and limits do what they do here.
 *
 * @returns undefined if the small process has ended: then nobody knows how the program went.
 */
export async function runByStarter({ signal, ...request }: ProcessRequest): Promise<ProcessOutcome | undefined> {
  if (!starter?.isRunning) {
    const environment = minimalEnvironment(['NODE_COMPILE_CACHE']);
    starter = startWorkerProcess({ entry: ENTRY, environment });
  }
  const own = starter;
  const run = nextRun++;
  const ask = <T>(asked: StarterRequest): Promise<T> => own.request<T>(asked);
  const onAbort = () => void ask({ kind: 'abort', run }).catch(() => {}); // Its end is told below.
  signal?.addEventListener('abort', onAbort, { once: true });
  clearTimeout(idle);
  running++;
  try {
    return await ask({ kind: 'run', run, request: { ...request, env: request.env ?? minimalEnvironment() } });
  } catch (error) {
    if (error instanceof WorkerProcessEnded) return undefined;
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    if (--running === 0) idle = setTimeout(end, IDLE_MS).unref();
  }
}

function end(): void {
  const ended = starter;
  starter = undefined;
  void ended?.close();
}
