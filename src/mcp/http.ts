import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import type { Turn } from '../app/author/turn.ts';
import { WarpsmithError } from '../core/errors.ts';
import { createServer, LONGEST_MESSAGE_BYTES } from './server.ts';

/** Environment variable with the token that clients must send; without it one is drawn. */
export const TOKEN_VARIABLE = 'WARPSMITH_MCP_TOKEN';

const LOOPBACK = '127.0.0.1';
const PATH = '/mcp';
/** A token that can be guessed would be none. */
const SHORTEST_TOKEN = 16;
const DRAWN_TOKEN_BYTES = 24;

/** The token that clients must send. @throws WarpsmithError `weak-token`. */
export function tokenOf(environment: NodeJS.ProcessEnv): { readonly token: string; readonly isDrawn: boolean } {
  const given = environment[TOKEN_VARIABLE];
  if (given === undefined || given === '') {
    return { token: randomBytes(DRAWN_TOKEN_BYTES).toString('base64url'), isDrawn: true };
  }
  if (given.length >= SHORTEST_TOKEN) return { token: given, isDrawn: false };
  throw new WarpsmithError({
    code: 'weak-token',
    message: `The token in ${TOKEN_VARIABLE} is too short.`,
    received: `${given.length} characters`,
    expected: `at least ${SHORTEST_TOKEN}`,
    hint: 'Leave the variable out, and a token is drawn and printed.',
  });
}

/**
 * Serves a turn on this machine until the signal fires. All clients share the turn and its budget.
 *
 * @param port 0 for any that is free.
 * @param onListening told the address that clients need.
 * @throws WarpsmithError `port-taken`.
 */
export async function serveTurnOverHttp(
  turn: Turn,
  { port, token }: { readonly port: number; readonly token: string },
  told: { signal: AbortSignal; onError: (error: Error) => void; onListening: (url: string) => void },
): Promise<void> {
  const { signal, onError, onListening } = told;
  const handler = createMcpHandler(() => createServer(turn), {
    onerror: onError,
    maxRequestBodySize: LONGEST_MESSAGE_BYTES,
  });
  const server = createAdaptorServer({
    fetch: async (request: Request) => refusalOf(request, token) ?? (await handler.fetch(request)),
  });
  try {
    server.listen(port, LOOPBACK);
    await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EADDRINUSE' || error.code === 'EACCES' ? portTaken(port, error.code) : error;
    });
    onListening(`http://${LOOPBACK}:${(server.address() as AddressInfo).port}${PATH}`);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await handler.close();
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  }
}

/** What a page of another site, another user or a mistyped address gets; undefined for a client with the token. */
function refusalOf(request: Request, token: string): Response | undefined {
  const elsewhere =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins());
  if (elsewhere) return elsewhere;
  if (!isSame(request.headers.get('authorization') ?? '', `Bearer ${token}`)) {
    return new Response('A token is needed: Authorization: Bearer …', {
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
    });
  }
  return new URL(request.url).pathname === PATH ? undefined : new Response(`Only ${PATH} is here.`, { status: 404 });
}

/** Takes equally long wherever two texts differ. */
const isSame = (a: string, b: string): boolean => timingSafeEqual(digestOf(a), digestOf(b));
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

const portTaken = (port: number, code: string): WarpsmithError =>
  new WarpsmithError({
    code: 'port-taken',
    message: `Port ${port} of ${LOOPBACK} can't be listened on (${code}).`,
    received: `--http ${port}`,
    expected: 'a port that is free',
    hint: 'Take another one; 0 takes any that is free.',
  });
