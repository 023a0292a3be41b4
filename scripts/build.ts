// Builds what the package ships: npm run build
//   dist/src/**              src/ as JavaScript and declarations, with the files that lie beside the code
//   dist/page/**             the page of `warpsmith ui`, as one build of web/
//   problems/*/reference.js  beside each reference.ts, because Node strips no types under node_modules
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compile, compiledReferences, ROOT, writeWhole } from './build/compile.ts';
import { buildPage } from './build-page.ts';

const output = join(ROOT, 'dist');

if (await compile({ output })) {
  await buildPage(output);
  for (const [problem, javascript] of await compiledReferences(output)) {
    await writeWhole(join(ROOT, 'problems', problem, 'reference.js'), javascript);
  }
  await rm(join(output, 'problems'), { recursive: true, force: true });
} else {
  process.exitCode = 1;
}
