import { runWorker } from '../../app/workers/run-worker.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { deviceOrDefault, type Run } from '../context.ts';
import { linesTo } from '../output.ts';
import { withLease } from '../with-lease.ts';

export const run: Run<RequestOf<'worker'>> = (request, context) =>
  withLease(request, context, async () => {
    const { streams, signal } = context;
    const device = await deviceOrDefault({ device: request.device }, context);
    return { exitCode: EXIT.ok, idleMs: await runWorker({ ...request, device, signal, onStep: linesTo(streams) }) };
  });
