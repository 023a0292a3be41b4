import { bundlePage } from '../../../scripts/build-page.ts';
import { pageFile } from '../../../src/server/page-files.ts';
import { servePage } from '../../../src/server/page-server.ts';

export interface ServedPage {
  /** With the token, as `warpsmith ui` prints it. */
  readonly address: string;
  close(): Promise<void>;
}

/** Serves the page of the sources, for the runs of a store. */
export async function openServedPage(store: string, token: string): Promise<ServedPage> {
  const files = new Map([...(await bundlePage())].map(([name, text]) => pageFile(name, text)));
  const ending = new AbortController();
  const listening = Promise.withResolvers<string>();
  const served = servePage(
    { store, port: 0, token, files },
    { signal: ending.signal, onListening: (url) => listening.resolve(url) },
  );
  return {
    address: await Promise.race([listening.promise, served.then(() => '')]),
    async close() {
      ending.abort();
      await served;
    },
  };
}
