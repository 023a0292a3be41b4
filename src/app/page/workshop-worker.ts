import { WarpsmithError } from '../../core/errors.ts';
import type { TracedPlace } from '../../core/warp-trace.ts';
import { serveWorker } from '../../process/serve-worker.ts';
import { type Draft, type DraftOfLesson, type NamedCandidate, Workshop } from './workshop.ts';

/** What the workshop's process is asked. */
export type WorkshopRequest =
  | { readonly kind: 'look'; readonly draft: Draft }
  | { readonly kind: 'trace'; readonly draft: Draft; readonly place: TracedPlace }
  | ({ readonly kind: 'code' } & NamedCandidate)
  | ({ readonly kind: 'check' } & DraftOfLesson);

/** What it answers: a value, or a mistake of whoever asked. */
export type WorkshopAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly details: WarpsmithError['details'] };

const workshop = new Workshop();

const ANSWER: { [K in WorkshopRequest['kind']]: (request: never, signal: AbortSignal) => Promise<unknown> } = {
  look: ({ draft }: WorkshopRequest & { kind: 'look' }, signal) => workshop.look(draft, signal),
  code: (request: WorkshopRequest & { kind: 'code' }, signal) => workshop.code(request, signal),
  check: (request: WorkshopRequest & { kind: 'check' }, signal) => workshop.check(request, signal),
  trace: (request: WorkshopRequest & { kind: 'trace' }, signal) => workshop.trace(request, signal),
};

serveWorker(async (request: WorkshopRequest, signal): Promise<WorkshopAnswer> => {
  try {
    return { ok: true, value: await ANSWER[request.kind](request as never, signal) };
  } catch (error) {
    if (error instanceof WarpsmithError) return { ok: false, details: error.details };
    throw error;
  }
});
