import { openTurn } from '../../app/author/turn.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { serveTurn } from '../../mcp/server.ts';
import type { Run } from '../context.ts';
import { onDevice } from '../judging-request.ts';

/** stdout carries the protocol; everything else goes to stderr. */
export const run: Run<RequestOf<'mcp'>> = async (request, context) => {
  const log = (text: string): void => void context.streams.err.write(`${text}\n`);
  const asked = await onDevice('mcp', request, context);
  const turn = await openTurn({ ...asked, askTrust: undefined, onStep: log });
  try {
    log(`Serving ${turn.problem.file.name} (${turn.workload.name}) on ${turn.device} over stdio.`);
    const streams = { input: process.stdin, output: process.stdout };
    await serveTurn(turn, streams, { signal: context.signal, onError: ({ message }) => log(message) });
    return EXIT.ok;
  } finally {
    await turn.close();
    process.stdin.destroy();
  }
};
