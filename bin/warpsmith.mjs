#!/usr/bin/env node
// Without static imports and in words that Node 12 reads, so that an old Node gets as far as the message below.
const MINIMUM_NODE_MAJOR = 24;

if (Number(process.versions.node.split('.')[0]) < MINIMUM_NODE_MAJOR) {
  process.stderr.write(
    `warpsmith needs Node ${MINIMUM_NODE_MAJOR} or newer; this is Node ${process.versions.node} (${process.execPath}).\n` +
      'In a checkout, `npm run warpsmith -- <arguments>` uses the pinned Node 24 from node_modules. ' +
      'Elsewhere, install Node 24 from https://nodejs.org.\n',
  );
  process.exitCode = 3;
} else {
  import('./start.mjs');
}
