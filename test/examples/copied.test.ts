import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkTarget } from '../../src/app/check.ts';
import { evaluateKernel } from '../../src/app/evaluate.ts';
import { moduleOf } from '../architecture/support/source-modules.ts';

const EXAMPLES = await readdir('examples');

/** Paths that a file of an example names: of the problem and the schema, and of what it imports. */
function pathsIn(file: string, text: string): string[] {
  if (file.endsWith('.ts')) return moduleOf(file, text).imports.map(({ specifier }) => specifier);
  if (!file.endsWith('.json')) return [];
  const { $schema, problem } = JSON.parse(text) as { $schema?: string; problem?: string };
  return [$schema, problem].filter((path) => path !== undefined);
}

describe.each(EXAMPLES)('a copy of examples/%s', (example) => {
  let copy: string;
  beforeEach(async () => {
    copy = join(await mkdtemp(join(tmpdir(), 'warpsmith-copied-')), 'mine');
    await cp(join('examples', example), copy, { recursive: true });
  });
  afterEach(() => rm(dirname(copy), { recursive: true, force: true }));

  it('names no path that is not in it', async () => {
    const broken: string[] = [];
    for (const entry of await readdir(copy, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      for (const path of pathsIn(file, await readFile(file, 'utf8'))) {
        if (path !== 'warpsmith' && !existsSync(join(dirname(file), path))) broken.push(`${file}: ${path}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it.runIf(example === 'row-sum')(
    'runs with any value of a range that its kernel.json gives instead of a list',
    async () => {
      const file = join(copy, '02_warp_per_row/kernel.json');
      const written = JSON.parse(await readFile(file, 'utf8'));
      written.parameters.WARPS.values = { from: 1, to: 64, step: 1 };
      await writeFile(file, JSON.stringify(written));
      const { kernels } = await checkTarget({ target: dirname(file) });
      // The constraint leaves 32 warps at most.
      expect(kernels[0]!.validConfigurationCount).toBe(32);
      const request = {
        target: dirname(file),
        device: 'virtual:l4',
        workload: 'rows=21,columns=40',
        checks: 'usual',
        trust: true,
        seed: 1,
      } as const;
      const { status, candidate } = await evaluateKernel({ ...request, parameters: { WARPS: 5 } });
      expect([status, candidate.parameters]).toEqual(['passed', { WARPS: 5 }]);
    },
  );

  it('is valid', async () => {
    const { kernels } = await checkTarget({ target: copy });
    expect(kernels.length).toBeGreaterThan(0);
  });
});
