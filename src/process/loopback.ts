import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { WarpsmithError } from '../core/errors.ts';

export const LOOPBACK = '127.0.0.1';

const DRAWN_TOKEN_BYTES = 24;

/** A token that nobody can guess, of characters that a URL may have. */
export const drawToken = (): string => randomBytes(DRAWN_TOKEN_BYTES).toString('base64url');

/** Whether a request carries the token. Takes equally long wherever two texts differ. */
export const carriesToken = ({ headers }: Request, token: string): boolean =>
  timingSafeEqual(digestOf(headers.get('authorization') ?? ''), digestOf(`Bearer ${token}`));

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** What a client without the token gets. */
export const tokenNeeded = (): Response =>
  new Response('A token is needed: Authorization: Bearer …', {
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
  });

/**
 * Answers requests on this machine until the signal fires.
 *
 * @param port 0 for any that is free. @param option that named it, for messages.
 * @param onListening told the port.
 * @throws WarpsmithError `port-taken`.
 */
export async function listenOnLoopback(
  answer: (request: Request) => Response | Promise<Response>,
  { port, option }: { readonly port: number; readonly option: string },
  { signal, onListening }: { signal: AbortSignal; onListening: (port: number) => void },
): Promise<void> {
  const server = createAdaptorServer({ fetch: answer });
  try {
    server.listen(port, LOOPBACK);
    await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EADDRINUSE' || error.code === 'EACCES' ? portTaken(port, option, error.code) : error;
    });
    onListening((server.address() as AddressInfo).port);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  }
}

const portTaken = (port: number, option: string, code: string): WarpsmithError =>
  new WarpsmithError({
    code: 'port-taken',
    message: `Port ${port} of ${LOOPBACK} can't be listened on (${code}).`,
    received: `${option} ${port}`,
    expected: 'a port that is free',
    hint: 'Take another one; 0 takes any that is free.',
  });
