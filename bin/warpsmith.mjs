#!/usr/bin/env node
// Plain JavaScript without static imports, so that an old Node gets as far as the message below.
const MINIMUM_NODE_MAJOR = 24;

if (Number(process.versions.node.split('.')[0]) < MINIMUM_NODE_MAJOR) {
  process.stderr.write(
    `warpsmith needs Node ${MINIMUM_NODE_MAJOR} or newer; this is Node ${process.versions.node} (${process.execPath}).\n` +
      'In a checkout, `npm run warpsmith -- <arguments>` uses the pinned Node 24 from node_modules. ' +
      'Elsewhere, install Node 24 from https://nodejs.org.\n',
  );
  process.exitCode = 3;
} else {
  const { existsSync } = await import('node:fs');
  const { enableCompileCache } = await import('node:module');
  const { tmpdir } = await import('node:os');
  const { join } = await import('node:path');
  const { pathToFileURL } = await import('node:url');
  const { setFlagsFromString } = await import('node:v8');
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
}
