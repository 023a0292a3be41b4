import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import type { Turn } from '../app/author/turn.ts';
import { WarpsmithError } from '../core/errors.ts';
import { carriesToken, drawToken, LOOPBACK, listenOnLoopback, tokenNeeded } from '../process/loopback.ts';
import { createServer, LONGEST_MESSAGE_BYTES } from './server.ts';

/** Environment variable with the token that clients must send; without it one is drawn. */
export const TOKEN_VARIABLE = 'WARPSMITH_MCP_TOKEN';

const PATH = '/mcp';
/** A token that can be guessed would be none. */
const SHORTEST_TOKEN = 16;

/** The token that clients must send. @throws WarpsmithError `weak-token`. */
export function tokenOf(environment: NodeJS.ProcessEnv): { readonly token: string; readonly isDrawn: boolean } {
  const given = environment[TOKEN_VARIABLE];
  if (given === undefined || given === '') {
    return { token: drawToken(), isDrawn: true };
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
  try {
    await listenOnLoopback(
      async (request) => refusalOf(request, token) ?? (await handler.fetch(request)),
      { port, option: '--http' },
      { signal, onListening: (bound) => onListening(`http://${LOOPBACK}:${bound}${PATH}`) },
    );
  } finally {
    await handler.close();
  }
}

/** What a page of another site, another user or a mistyped address gets; undefined for a client with the token. */
function refusalOf(request: Request, token: string): Response | undefined {
  const elsewhere =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins());
  if (elsewhere) return elsewhere;
  if (!carriesToken(request, token)) return tokenNeeded();
  return new URL(request.url).pathname === PATH ? undefined : new Response(`Only ${PATH} is here.`, { status: 404 });
}
