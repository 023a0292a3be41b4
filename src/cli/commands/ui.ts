import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { drawToken } from '../../process/loopback.ts';
import { openInBrowser } from '../../process/open-in-browser.ts';
import { openTemporaryFolder } from '../../process/temporary-folder.ts';
import { readPageFiles } from '../../server/page-files.ts';
import { servePage } from '../../server/page-server.ts';
import type { Run } from '../context.ts';

/** Serves until Ctrl-C, which is how it is meant to end: there is no result. */
export const run: Run<RequestOf<'ui'>> = async (request, { streams, signal, json }) => {
  const { store, port, open } = completeRequest('ui', request);
  const files = await readPageFiles();
  await using folder = openTemporaryFolder();
  const onListening = (url: string): void => {
    (json ? streams.err : streams.out).write(`${url}\n`);
    streams.err.write(
      'Serving this machine alone. Ctrl-C ends it, and the runs that it began; `resume` continues them.\n',
    );
    if (open) openInBrowser(url, folder.path);
  };
  await servePage({ store, port, token: drawToken(), files }, { signal, onListening });
  return EXIT.ok;
};
