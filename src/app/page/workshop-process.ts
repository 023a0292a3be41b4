import { WarpsmithError } from '../../core/errors.ts';
import type { TracedPlace } from '../../core/warp-trace.ts';
import { entryFile } from '../../process/entry-file.ts';
import { minimalEnvironment } from '../../process/minimal-environment.ts';
import { startWorkerProcess, type WorkerProcess, WorkerProcessEnded } from '../../process/worker-process.ts';
import type { InspectView } from '../../reports/inspect-view.ts';
import type { Draft, DraftOfLesson, DraftTrace, JudgedDraft, Look, NamedCandidate } from './workshop.ts';
import type { WorkshopAnswer, WorkshopRequest } from './workshop-worker.ts';

const ENTRY = entryFile(new URL('./workshop-worker.ts', import.meta.url));

/** The child interrupts its work between steps; a kernel that takes longer is ended with its process. */
const PATIENCE_MS = 2_000;
const TIMEOUT_MS = 120_000;

/** The workshop in a process of its own, so that the server answers while kernels run. It starts when it is first needed. */
export interface WorkshopProcess extends AsyncDisposable {
  look(draft: Draft, signal: AbortSignal): Promise<Look>;
  code(candidate: NamedCandidate, signal: AbortSignal): Promise<InspectView | null>;
  check(draft: DraftOfLesson, signal: AbortSignal): Promise<JudgedDraft>;
  trace(draft: Draft, place: TracedPlace, signal: AbortSignal): Promise<DraftTrace>;
}

export function openWorkshop(): WorkshopProcess {
  let worker: WorkerProcess | undefined;
  const askOnce = (request: WorkshopRequest, signal: AbortSignal): Promise<WorkshopAnswer> => {
    if (!worker?.isRunning) worker = startWorkerProcess({ entry: ENTRY, environment: passedOn() });
    return worker.request(request, { signal, patienceMs: PATIENCE_MS, timeoutMs: TIMEOUT_MS });
  };
  const ask = async <T>(request: WorkshopRequest, signal: AbortSignal): Promise<T> => {
    const answer = await askOnce(request, signal).catch((error: unknown) => {
      // It was ended for what nobody waits for any longer, which stood before this.
      const wasEnded = error instanceof WorkerProcessEnded && error.reason === 'signaled';
      if (signal.aborted || !wasEnded) throw error;
      return askOnce(request, signal);
    });
    if (answer.ok) return answer.value as T;
    throw new WarpsmithError(answer.details);
  };
  return {
    look: (draft, signal) => ask({ kind: 'look', draft }, signal),
    code: (candidate, signal) => ask({ kind: 'code', ...candidate }, signal),
    check: (draft, signal) => ask({ kind: 'check', ...draft }, signal),
    trace: (draft, place, signal) => ask({ kind: 'trace', draft, place }, signal),
    async [Symbol.asyncDispose]() {
      await worker?.close();
    },
  };
}

const PLACES = ['HOME', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'NODE_COMPILE_CACHE'];

/** Where caches and consents lie, and what warpsmith itself is told. No keys. */
function passedOn(): Record<string, string> {
  const own = Object.keys(process.env).filter((name) => name.startsWith('WARPSMITH_') && !/KEY|TOKEN/.test(name));
  return minimalEnvironment([...PLACES, ...own]);
}
