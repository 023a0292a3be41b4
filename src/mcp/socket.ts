import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Turn } from '../app/author/turn.ts';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { serveTurn } from './server.ts';

/**
 * Serves a turn at a Unix socket, in a folder that only this user may enter. All clients share the turn and its budget. Closing it
 * ends all connections.
 *
 * @throws WarpsmithError `no-socket`.
 */
export async function serveTurnAtSocket(
  turn: Turn,
  path: string,
  onError: (error: Error) => void,
): Promise<AsyncDisposable> {
  const ending = new AbortController();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', onError);
    serveTurn(turn, { input: socket, output: socket }, { signal: ending.signal, onError })
      .catch(onError)
      .finally(() => socket.destroy());
  });
  server.listen(path);
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw noSocket(path, error.code ?? error.message);
  });
  // What an agent is up to must not keep this process from ending.
  server.unref();
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const noSocket = (path: string, received: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'no-socket',
      message: 'The MCP server of an agent has no place to listen.',
      file: path,
      received,
      expected: 'a path that a Unix socket may have, about 100 characters at most',
      hint: 'Set TMPDIR to a folder with a short path.',
    },
    EXIT.deviceOrToolMissing,
  );
