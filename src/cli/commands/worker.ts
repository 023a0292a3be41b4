import { runWorker } from '../../app/workers/run-worker.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { deviceOrDefault, type Run } from '../context.ts';
import { withLease } from '../with-lease.ts';

export const run: Run<RequestOf<'worker'>> = (request, context) =>
  withLease(request, context, async () => {
    const { streams, signal } = context;
    const device = await deviceOrDefault({ device: request.device }, context);
    const onStep = (text: string): void => void streams.err.write(`${text}\n`);
    return { exitCode: EXIT.ok, idleMs: await runWorker({ ...request, device, signal, onStep }) };
  });
