import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as library from '../../src/index.ts';
import { ROOT } from '../architecture/support/source-modules.ts';
import { narrowCopy } from '../support/narrowed.ts';
import { sampledOne } from '../support/sampling/matrix.ts';
import { apiExamples } from './support/api-examples.ts';

const page = await readFile(join(ROOT, 'docs/reference/api.md'), 'utf8');
const examples = apiExamples(page);

/** What each example prints, as its last lines. */
const PRINTED: Readonly<Record<string, RegExp>> = {
  evaluate: /^predicted [\d.]+ µs, [\d.]+ to [\d.]+ µs\n\d+ warp instructions\n/,
  optimize: /^(e\d+: (keep|revert)\n)+[a-z-]+ after 4 evaluations in .*store.*\n[\d.]+× the start: .*kernel\.cu\n$/,
  compare: /^r8n256: [\d.]+× predicted\n$/,
  inspect: /^(kernel\.cu:\d+ \d+ warp instructions: .+\n){3}$/,
  exportKernel: /exported: .*kernel\.cu/,
  'checkTarget and audit': /^(0\d_\w+: \d+ configurations\n)+0 right kernels refused\n$/,
  'Runs and reports': /^# /,
  Errors: /^parameter-not-allowed: Parameter `WARPS` .* Received 3, expected one of /,
};

/** Resolves the package's name to the source, as an installed package's name goes to what was built of it. */
const HOOK = `
import { registerHooks } from 'node:module';
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'warpsmith'
      ? { url: ${JSON.stringify(pathToFileURL(join(ROOT, 'src/index.ts')).href)}, shortCircuit: true }
      : next(specifier, context),
});
`;
/** Examples of one process, one after the other: what one stores, a later one looks at. */
const TOGETHER = [
  ['optimize', 'exportKernel', 'Runs and reports'],
  ['evaluate', 'compare', 'inspect'],
  ['checkTarget and audit', 'Errors'],
];
const MARK = '--- next example';

describe('docs/reference/api.md', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warpsmith-api-'));
    // A folder of this name is taken for the bundled problem: the examples are not about shapes.
    narrowCopy(join(ROOT, 'problems/softmax'), folder, ['R * N <= 2048', 'R % 4 == 0 || R == 5', 'N % 64 == 0'], {
      name: 'r8n256',
      dimensions: { R: 8, N: 256 },
    });
    await writeFile(join(folder, 'hook.mjs'), HOOK);
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    for (const [index, { code }] of examples.entries()) await writeFile(join(folder, `example-${index}.ts`), code);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('has an example for each use case', () => {
    expect(examples.map(({ heading }) => heading)).toEqual(Object.keys(PRINTED));
    expect(TOGETHER.flat().toSorted()).toEqual(Object.keys(PRINTED).toSorted());
    for (const { heading, code } of examples) expect(code, heading).toContain("from 'warpsmith'");
  });

  const groups = TOGETHER.map((headings) => headings.join(', '));
  // To check the types of the examples, the compiler checks all sources again.
  const partOf = sampledOne('the API page', [...groups, 'types'], {
    oneIn: groups.length + 1,
    placeOf: () => 'docs/reference/api.md',
  });
  for (const [group, headings] of TOGETHER.entries())
    partOf(groups[group]!)(`${groups[group]}: the examples run`, async () => {
      const indices = headings.map((heading) => Object.keys(PRINTED).indexOf(heading));
      const main = join(folder, `${indices.join('-')}.mjs`);
      const run = indices.map((index) => `await import('./example-${index}.ts');\nconsole.log('${MARK}');\n`);
      await writeFile(main, run.join(''));
      const { stdout } = await promisify(execFile)(process.execPath, ['--import', './hook.mjs', main], {
        cwd: folder,
        timeout: 110_000,
      });
      const printed = stdout.split(`${MARK}\n`);
      for (const [place, heading] of headings.entries()) expect(printed[place], heading).toMatch(PRINTED[heading]!);
    });

  partOf('types')('is what the types allow', async () => {
    const options = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        paths: { warpsmith: [join(ROOT, 'src/index.ts')] },
        typeRoots: [join(ROOT, 'node_modules/@types')],
        declaration: false,
      },
      include: ['example-*.ts'],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(options));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const checked = promisify(execFile)(process.execPath, [tsc, '--noEmit', '-p', folder], { cwd: folder });
    expect(
      await checked.then(
        () => '',
        ({ stdout }: { stdout: string }) => stdout,
      ),
    ).toBe('');
  });

  it('names only what the package exports', () => {
    const imported = examples.flatMap(({ code }) =>
      [...code.matchAll(/^import \{([^}]*)\} from 'warpsmith'/gm)].flatMap(([, names]) => names!.split(',')),
    );
    expect(imported.length).toBeGreaterThan(8);
    for (const name of imported) expect(library).toHaveProperty(name.trim());
  });
});
