import { EXIT } from '../../core/errors.ts';
import { completeRequest, type RequestOf } from '../../core/requests/request.ts';
import { drawToken } from '../../process/loopback.ts';
import { openInBrowser } from '../../process/open-in-browser.ts';
import { readPageFiles } from '../../server/page-files.ts';
import { servePage } from '../../server/page-server.ts';
import type { Run } from '../context.ts';
import { printJson } from '../output.ts';

/** Serves until Ctrl-C, which is how it is meant to end. */
export const run: Run<RequestOf<'ui'>> = async (request, { streams, signal, json }) => {
  const { store, port, open } = completeRequest('ui', request);
  const files = await readPageFiles();
  const onListening = (url: string): void => {
    if (json) printJson(streams, { schemaVersion: 1, kind: 'ui', url });
    else streams.out.write(`${url}\n`);
    streams.err.write(
      'Serving this machine alone. Ctrl-C ends it, and the runs that it began; `resume` continues them.\n',
    );
    if (open) void openInBrowser(url);
  };
  await servePage({ store, port, token: drawToken(), files }, { signal, onListening });
  return EXIT.ok;
};
