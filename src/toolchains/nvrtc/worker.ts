import { limitWorkerProcess } from '../../ffi/process-limits.ts';
import { serveWorker } from '../../process/serve-worker.ts';
import { type NvrtcLibrary, openNvrtc } from './nvrtc-library.ts';
import type { NvrtcRequest } from './protocol.ts';

/**
 * The process that holds NVRTC, named by its one argument. It stays in the root folder, so that the line tables of equal
 * sources are equal.
 */
const libraryPath = process.argv[2] ?? '';
let library: NvrtcLibrary | undefined;

limitWorkerProcess();
process.chdir('/');
serveWorker((request: NvrtcRequest) => {
  library ??= openNvrtc(libraryPath);
  return request.kind === 'describe' ? library.describe() : library.compile(request);
});
