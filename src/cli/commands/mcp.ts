import { openTurn } from '../../app/author/journal-turn.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { serveTurn } from '../../mcp/server.ts';
import type { Run } from '../context.ts';
import { onDevice } from '../judging-request.ts';
import { linesTo } from '../output.ts';

/** Over stdio, stdout carries the protocol; everything else goes to stderr. */
export const run: Run<RequestOf<'mcp'>> = async (request, context) => {
  const log = linesTo(context.streams);
  const asked = await onDevice('mcp', request, context);
  const turn = await openTurn({ ...asked, askTrust: undefined, onStep: log });
  try {
    const told = { signal: context.signal, onError: ({ message }: Error) => log(message) };
    const what = `Serving ${turn.problem.file.name} (${turn.workload.name}) on ${turn.device}`;
    if (request.http === undefined) {
      log(`${what} over stdio.`);
      await serveTurn(turn, { input: process.stdin, output: process.stdout }, told);
    } else {
      const { serveTurnOverHttp, tokenOf } = await import('../../mcp/http.ts');
      const { token, isDrawn } = tokenOf(process.env);
      const onListening = (url: string): void => {
        log(`${what} at ${url}.`);
        if (isDrawn) log(`Clients must send: Authorization: Bearer ${token}`);
      };
      await serveTurnOverHttp(turn, { port: request.http, token }, { ...told, onListening });
    }
    return EXIT.ok;
  } finally {
    await turn.close();
    process.stdin.destroy();
  }
};
