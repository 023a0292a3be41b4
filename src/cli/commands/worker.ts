import { runWorker } from '../../app/workers/run-worker.ts';
import { EXIT } from '../../core/errors.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { deviceOrDefault, type Run } from '../context.ts';

export const run: Run<RequestOf<'worker'>> = async (request, context) => {
  const { streams, signal } = context;
  const device = await deviceOrDefault({ device: request.device }, context);
  await runWorker({ ...request, device, signal, onStep: (text) => void streams.err.write(`${text}\n`) });
  return EXIT.ok;
};
