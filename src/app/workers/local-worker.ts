import { serveWorker } from '../../process/serve-worker.ts';
import { createCommandHandler } from './commands.ts';

/* One of several processes that judge the candidates of a run on this machine. */
serveWorker(createCommandHandler());
