import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { openRunProcesses } from '../app/page/run-processes.ts';
import { openWorkshop } from '../app/page/workshop-process.ts';
import { WarpsmithError } from '../core/errors.ts';
import { LOOPBACK, listenOnLoopback } from '../process/loopback.ts';
import { drawNonce, refusalOfHost, refusalOfOthers, securityHeaders } from './guard.ts';
import type { PageFiles } from './page-files.ts';
import { candidateRoutes } from './routes/candidates.ts';
import { lookingRoutes } from './routes/looking.ts';
import { playgroundRoutes } from './routes/playground.ts';
import { runRoutes } from './routes/runs.ts';

export interface PageOptions {
  readonly store: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly token: string;
  readonly files: PageFiles;
}

/** Sources of a kernel are far smaller. */
const LONGEST_BODY_BYTES = 4 * 1024 * 1024;
/** Stands in index.html for the nonce of an answer. */
const NONCE = '{nonce}';

/**
 * Serves the page on this machine until the signal fires, then ends what it began.
 *
 * @param onListening told the address, with the token where only the browser sees it.
 * @throws WarpsmithError `port-taken`.
 */
export async function servePage(
  { store, port, token, files }: PageOptions,
  { signal, onListening }: { signal: AbortSignal; onListening: (url: string) => void },
): Promise<void> {
  await using processes = openRunProcesses(store);
  await using workshop = openWorkshop();
  const api = new Hono().basePath(API);
  api.use(bodyLimit({ maxSize: LONGEST_BODY_BYTES }));
  api.route('/', runRoutes(store, processes, signal));
  api.route('/', candidateRoutes(store, workshop));
  api.route('/', playgroundRoutes(workshop));
  api.route('/', lookingRoutes(store));
  api.notFound((context) => context.json({ error: { code: 'not-found', message: 'There is nothing here.' } }, 404));
  api.onError((error, context) => {
    const { details, status } = told(error);
    return context.json({ error: details }, status);
  });
  const listening = { port: 0 };
  const answer = async (request: Request): Promise<Response> => {
    const nonce = drawNonce();
    const response = refusalOfHost(request, listening.port) ?? (await answerOf(request, { api, files, token, nonce }));
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(securityHeaders(nonce))) headers.set(name, value);
    return new Response(response.body, { status: response.status, headers });
  };
  await listenOnLoopback(
    answer,
    { port, option: '--port' },
    {
      signal,
      onListening(bound) {
        listening.port = bound;
        onListening(`http://${LOOPBACK}:${bound}/#token=${token}`);
      },
    },
  );
}

/** Files hold nothing of the user's, and any page may lead to them; all else needs the token. */
async function answerOf(
  request: Request,
  { api, files, token, nonce }: { api: Hono; files: PageFiles; token: string; nonce: string },
): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith(`${API}/`)) return refusalOfOthers(request, token) ?? (await api.fetch(request));
  const name = pathname === '/' ? 'index.html' : pathname.slice(1);
  const file = files.get(name);
  if (!file || request.method !== 'GET') return new Response('There is nothing here.', { status: 404 });
  const body = name === 'index.html' ? Buffer.from(file.bytes).toString('utf8').replaceAll(NONCE, nonce) : file.bytes;
  return new Response(body, { headers: { 'content-type': file.type } });
}

const API = '/api';

/** A mistake of who asks, or one of ours. */
function told(error: Error): { details: { code: string; message: string }; status: 400 | 404 | 500 } {
  if (!(error instanceof WarpsmithError))
    return { details: { code: 'internal-error', message: error.message }, status: 500 };
  const { details } = error;
  return { details, status: details.code.startsWith('unknown-') ? 404 : 400 };
}
