import { limitWorkerProcess } from '../../../ffi/process-limits.ts';
import { serveWorker } from '../../../process/serve-worker.ts';
import { createCommandHandler } from './commands.ts';

/* The process that owns one GPU's context. */
limitWorkerProcess();
serveWorker(createCommandHandler());
