// Starts the command line with whatever its sources need of Node.
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Until there is an outcome: a promise that never settles must not look like success.
process.exitCode = 1;
// Otherwise V8 marks its whole heap again for every 64 MB of arrays outside of it, which large inputs are.
setFlagsFromString('--external-memory-accounted-in-global-limit');
// It would make a folder that TMPDIR names and that is not there, so that a slip in the name goes unseen.
if (existsSync(tmpdir())) {
  enableCompileCache();
  // Worker threads look here only.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');
}
// A checkout runs its sources, or a build of them that its tests name; the published package has only the build.
const source = new URL('../src/cli/main.ts', import.meta.url);
const built = new URL('../dist/src/cli/main.js', import.meta.url);
const { WARPSMITH_BUILD: build } = process.env;
const checkout = build ? pathToFileURL(`${build}/src/cli/main.js`) : source;
const { runCli } = await import(existsSync(source) ? checkout.href : built.href);
process.exitCode = await runCli(process.argv.slice(2));
