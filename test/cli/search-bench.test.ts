import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { unwrapped } from '../support/printed.ts';
import { runCli, runJson, temporaryFolder } from './run-cli.ts';

/** A small space of our own: tiles and layouts, one shape in five of which fails. */
function t4(): string {
  const results = [8, 16, 32, 64, 128, 256].flatMap((block) =>
    [1, 2, 4, 8].flatMap((perThread) =>
      ['aos', 'soa'].map((layout) => {
        const isValid = block * perThread <= 1024;
        const time = (Math.abs(Math.log2(block) - 6) + 1) * (layout === 'soa' ? 1 : 1.5) * (1 + 1 / perThread);
        return {
          configuration: { block, per_thread: perThread, layout, fused: perThread > 2 },
          invalidity: isValid ? 'correct' : 'compile',
          measurements: [{ name: 'time', value: isValid ? time : 'CompilationFailedConfig', unit: 'ms' }],
          objectives: ['time'],
        };
      }),
    ),
  );
  return JSON.stringify({ schema_version: '1.0.0', metadata: { timeunit: 'ms' }, results });
}

const write = (name: string, contents: string | Uint8Array): string => {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, contents);
  return path;
};

describe('search-bench', () => {
  it('lets every strategy search a gzipped space', async () => {
    const file = write('tiles.t4.json.gz', gzipSync(t4()));
    const { code, json } = await runJson(['search-bench', file, '--seeds', '3', '--evaluations', '100']);
    expect(code).toBe(0);
    expect(json).toMatchObject({
      schemaVersion: 1,
      file: 'tiles.t4.json.gz',
      evaluations: 48,
      space: { configurations: 48, valid: 46, within: 5, good: 1, random: { meanEvaluations: 24.5 } },
    });
    expect(json.strategies.map(({ strategy }: { strategy: string }) => strategy)).toEqual([
      'exhaustive',
      'random',
      'tpe',
      'evolutionary',
      'bayesian',
    ]);
    for (const { reached, curve } of json.strategies) {
      expect(reached).toBe(1);
      expect(curve).toHaveLength(48);
      expect(curve.at(-1)).toEqual({ p10: 1, median: 1, p90: 1 });
    }
  });

  it('begins with what another device knows, in a cache file of Kernel Tuner', async () => {
    const asked = ['search-bench', write('tiles.t4.json', t4()), '--strategy', 'bayesian', '--seeds', '1'];
    const entries = [64, 128, 8].map((block) => `"${block},8,soa,True": {"time": ${Math.abs(block - 60)}}`);
    const cache = (last: string) =>
      write(
        'cache.json',
        `{"tune_params_keys": ["block", "per_thread", "layout", "${last}"], "cache": {${entries.join()},`,
      );
    const { json } = await runJson([...asked, '--prior', cache('fused')]);
    expect(json.strategies[0].evaluations.median).toBe(1);
    const other = await runJson([...asked, '--prior', cache('folded')]);
    expect([other.code, other.json.error.code]).toEqual([2, 'other-space']);
  });

  it('prints a line for each strategy asked for, and draws it', async () => {
    const file = write('tiles.json', t4());
    const svg = join(temporaryFolder(), 'plots', 'tiles.svg');
    const asked = ['--strategy', 'bayesian', '--strategy', 'random', '--seeds', '4', '--within', '10', '--svg', svg];
    const { code, stdout } = await runCli(['search-bench', file, ...asked]);
    expect(code).toBe(0);
    expect(unwrapped(stdout)).toContain('48 configurations, 46 of them valid');
    expect(unwrapped(stdout)).toContain('computed exactly: 24.5 evaluations');
    expect(stdout).toMatch(/^bayesian +4 +[\d.]+ +[\d.]+ +100 % +1\.000/m);
    expect(stdout).toMatch(/^random +4 /m);
    expect(stdout).not.toContain('tpe');
    const drawn = readFileSync(svg, 'utf8');
    expect(drawn).toMatch(/^<svg[\s\S]*<\/svg>\n$/);
    expect(drawn.match(/<polygon class="spread"/g)).toHaveLength(2);
    expect(drawn).toContain('bayesian');
    expect(drawn).not.toContain('NaN');
  });

  it.each([
    ['a missing file', () => join(temporaryFolder(), 'none.json'), 'missing-file'],
    ['a folder', () => temporaryFolder(), 'unreadable-file'],
    ['a file that is not JSON', () => write('a.json', 'results: 1'), 'not-json'],
    ['a cut-off archive', () => write('a.json.gz', gzipSync(t4()).subarray(0, 100)), 'not-json'],
    ['JSON of another kind', () => write('a.json', '{"results":[{"a":1}]}'), 'not-t4'],
    ['a space where nothing works', () => write('a.json', '{"results":[]}'), 'no-valid-configuration'],
  ])('refuses %s', async (_, make, code) => {
    const outcome = await runJson(['search-bench', make()]);
    expect([outcome.code, outcome.json.error.code]).toEqual([2, code]);
  });

  it('refuses strategies it does not know, guided among them', async () => {
    const outcome = await runJson(['search-bench', write('a.json', t4()), '--strategy', 'guided']);
    expect([outcome.code, outcome.json.error.code]).toEqual([2, 'bad-option-value']);
  });
});
