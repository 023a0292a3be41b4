import { serveWorker } from '../../process/serve-worker.ts';
import { createCommandHandler } from './commands.ts';

/* One of several processes that judge the candidates of a run on this machine. */
// Side by side: what comes next is compiled while a candidate is judged.
serveWorker(createCommandHandler(), { sideBySide: true });
