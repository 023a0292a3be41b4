// Builds the documentation as a site with search, from docs/, course/ and the READMEs: npm run site
//   --output <folder>   dist-site by default; replaced
// Open dist-site/index.html: it needs no server. The same checkout gives the same bytes.
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, writeWhole } from './build/compile.ts';
import { renderSite } from './site/render-site.ts';

const { values: options } = parseArgs({ options: { output: { type: 'string', default: join(ROOT, 'dist-site') } } });

const output = resolve(options.output);
const site = await renderSite();
await rm(output, { recursive: true, force: true });
for (const [file, contents] of site) await writeWhole(join(output, file), contents);
process.stdout.write(`${site.size} files in ${output}\n`);
