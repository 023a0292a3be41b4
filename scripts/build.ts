// Builds what the package ships: npm run build
//   dist/src/**              src/ as JavaScript and declarations, with the files that lie beside the code
//   dist/page/**             the page of `warpsmith ui`, as one build of web/
//   {problems,course}/*/reference.js  beside each reference.ts, because Node strips no types under node_modules
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compile, compiledReferences, PROBLEM_FOLDERS, ROOT, writeWhole } from './build/compile.ts';
import { buildPage } from './build-page.ts';

const output = join(ROOT, 'dist');

if (await compile({ output })) {
  await buildPage(output);
  for (const [problem, javascript] of await compiledReferences(output)) {
    await writeWhole(join(ROOT, problem, 'reference.js'), javascript);
  }
  for (const folder of PROBLEM_FOLDERS) await rm(join(output, folder), { recursive: true, force: true });
} else {
  process.exitCode = 1;
}
