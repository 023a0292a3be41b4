import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.ts';
import { findExecutable } from '../../src/process/find-executable.ts';
import { interrupted } from '../support/sampling/long-tests.ts';
import { longTests, sampled } from '../support/sampling/matrix.ts';
import { COALESCED, type GateRepository, gateRepository, STRIDED, slowerBy, wrong } from './gate-repository.ts';
import { type CliOutcome, type Json, repository, runCli, runInProcess, runJson, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 5 });

const KERNEL = 'scale/02_coalesced';
const ON_L4 = ['--trust', '--device', 'virtual:l4', '--seed', '1'];

const gate = ({ folder }: Pick<GateRepository, 'folder'>, ...options: string[]): Promise<CliOutcome & { json: Json }> =>
  runJson(['gate', folder, '--base', 'main', ...ON_L4, ...options]);

/** The only kernel of a view, and its only workload. */
const only = ({ json }: { json: Json }): { kernel: Json; row: Json } => {
  expect(json.kernels).toHaveLength(1);
  const [kernel] = json.kernels;
  return { kernel, row: kernel.workloads[0] };
};

/** A repository on a branch, in which something was done to a kernel. */
function changed(file: string, change: (text: string) => string, isCommitted = true): GateRepository {
  const repository = gateRepository();
  repository.git('switch', '-q', '-c', 'change');
  repository.edit(file, change);
  if (isCommitted) repository.commit();
  return repository;
}

describe.skipIf(!findExecutable('git'))('a gate (needs git)', () => {
  describe('lets through', () => {
    test('what changes comments and layout, without a device, committed or not', async () => {
      const comment = (text: string): string => `// New.\n\n${text.replace('if (i', '/* here, too */ if (i')}`;
      for (const isCommitted of [true, false]) {
        const outcome = await gate(changed(COALESCED, comment, isCommitted));
        expect(outcome.code).toBe(EXIT.ok);
        expect(outcome.json).toMatchObject({ passes: true, device: null, head: { isDirty: !isCommitted } });
        expect(only(outcome).kernel).toMatchObject({ kernel: KERNEL, sameCode: 'tokens', workloads: [] });
      }
    });

    test('what compiles to the same instructions, without judging it', async () => {
      const outcome = await gate(changed(COALESCED, (text) => text.replaceAll(/\bi\b/g, 'index')));
      expect(outcome.code).toBe(EXIT.ok);
      expect(only(outcome).kernel).toMatchObject({ sameCode: 'ptx', workloads: [] });
    });

    test('nothing at all, and says so', async () => {
      const repository = gateRepository();
      writeFileSync(join(repository.folder, 'README.md'), 'new\n');
      repository.commit();
      const outcome = await gate(repository, '--base', 'main~1');
      expect(outcome).toMatchObject({ code: EXIT.ok, json: { kernels: [], fileCount: 1, passes: true } });
      const { stdout } = await runCli(['gate', repository.folder, '--base', 'main~1', ...ON_L4]);
      expect(stdout).toContain('passes: 1 file changed, no kernel among them');
    });

    long('what is slower by less than was allowed, and what is slower than a wrong kernel', async () => {
      const slower = await gate(changed(COALESCED, slowerBy(2)), '--max-slowdown', '8%');
      expect(slower.code).toBe(EXIT.ok);
      expect(only(slower).row.ratio).toBeLessThan(0.97);

      // The first is wrong at a glance, the second where only a verification looks.
      for (const base of [wrong, (text: string) => text.replace('i < n', 'i < n && n != 1')]) {
        const repository = gateRepository();
        repository.edit(COALESCED, base);
        repository.commit();
        repository.git('switch', '-q', '-c', 'change');
        repository.edit(COALESCED, (text) => slowerBy(1)(text.replace('2.5f', '2.0f').replace(' && n != 1', '')));
        const mended = await gate(repository);
        expect(mended.code).toBe(EXIT.ok);
        expect(only(mended).row).toMatchObject({ ratio: null, before: { status: 'wrong' }, outcome: 'passes' });
        expect(only(mended).row.why).toContain('the base is wrong');
      }
    });
  });

  describe('refuses', () => {
    test('a rung that became 5 % slower, with what the counters say', async () => {
      const outcome = await gate(changed(COALESCED, slowerBy(2)));
      expect(outcome.code).toBe(EXIT.judgedFailed);
      expect(outcome.json).toMatchObject({ passes: false, failing: [`${KERNEL} n65536`], maximumSlowdown: 3 });
      const { kernel, row } = only(outcome);
      expect(kernel).toMatchObject({ change: 'changed', seed: 1 });
      expect(row).toMatchObject({ outcome: 'slower', after: { status: 'passed', timing: { kind: 'predicted' } } });
      expect(1 / row.ratio).toBeGreaterThan(1.04);
      expect(1 / row.ratio).toBeLessThan(1.06);
      expect(row.why).toMatch(/^predicted [45]\.\d % slower; 3 % are allowed$/);
      expect(row.changes.join('\n')).toContain('global store sectors');
    });

    test('a wrong rung, in JSON, Markdown and SARIF', async () => {
      const repository = changed(COALESCED, wrong);
      const [markdown, sarif] = ['gate.md', 'gate.sarif'].map((name) => join(temporaryFolder(), name));
      const outcome = await gate(repository, '--markdown', markdown!, '--sarif', sarif!);
      expect(outcome.code).toBe(EXIT.judgedFailed);
      expect(only(outcome).row).toMatchObject({ outcome: 'wrong', ratio: null, after: { status: 'wrong' } });
      expect(readFileSync(markdown!, 'utf8')).toContain(`| ${KERNEL} | n65536 | wrong |`);
      const [run] = JSON.parse(readFileSync(sarif!, 'utf8')).runs;
      const [refusal] = run.results;
      expect(refusal).toMatchObject({ ruleId: 'gate/wrong', level: 'error' });
      const { artifactLocation, region } = refusal.locations[0].physicalLocation;
      expect(artifactLocation.uri).toBe(`${KERNEL}/kernel.cu`);
      expect(region.startLine).toBe(4);
    });

    long('a mistake in kernel.json, and one that does not compile, each in its place; others are judged', async () => {
      const repository = changed(STRIDED, (text) => text.replace('min(n,', 'minimum(n,'));
      repository.edit('02_coalesced/kernel.json', (text) => text.replace('"BLOCK"]', '"NO_SUCH"]'));
      const sarif = join(temporaryFolder(), 'gate.sarif');
      const { code, json } = await gate(repository, '--sarif', sarif);
      expect(code).toBe(EXIT.judgedFailed);
      expect(json.failing).toEqual(['scale/01_strided n65536', KERNEL]);
      expect(json.kernels[0].workloads[0].after.status).toBe('compile-failed');
      expect(json.kernels[1].error).toMatchObject({ status: 'invalid', file: `${KERNEL}/kernel.json` });
      expect(JSON.stringify(json)).not.toContain(repository.folder);
      const { results } = JSON.parse(readFileSync(sarif, 'utf8')).runs[0];
      const places = results.map((result: Json) => {
        const { artifactLocation, region } = result.locations[0].physicalLocation;
        return `${result.ruleId} ${artifactLocation.uri}:${region.startLine}`;
      });
      expect(places).toContain('gate/wrong scale/01_strided/kernel.cu:4');
      expect(places).toContain(`gate/invalid ${KERNEL}/kernel.json:1`);
    });

    test('a kernel that no longer takes a workload', async () => {
      const narrowed = changed('02_coalesced/kernel.json', (text) => text.replace('N <= 131072', 'N <= 1000'));
      const outcome = await gate(narrowed);
      expect(outcome.code).toBe(EXIT.judgedFailed);
      expect(only(outcome).row.why).toBe('it took this workload before, and now needs N <= 1000 (N = 65536)');
    });
  });

  describe('of rungs of this repository', () => {
    const CASES: readonly (readonly [what: string, outcome: string, change: readonly [string, string]])[] = [
      [
        'barriers that nobody needs',
        'slower',
        ['const Softmax whole = ', `${'__syncthreads();\n  '.repeat(8)}const Softmax whole = `],
      ],
      ['an output of which every element is a thousandth too large', 'wrong', ['= 1.0f / whole', '= 1.001f / whole']],
    ];

    sampled('refused rungs', CASES, { oneIn: 4 })('refuses %s: %s', async (_, outcome, [before, after]) => {
      const rungs = gateRepository(undefined, join(repository, 'problems/softmax'));
      rungs.edit('04_vectorised/kernel.cu', (text) => text.replace(before, after));
      const refused = await gate(rungs);
      expect(refused.code).toBe(EXIT.judgedFailed);
      expect(refused.json.failing).toEqual(['softmax/04_vectorised r32n2048']);
      expect(only(refused).row.outcome).toBe(outcome);
    });

    test('lets comments in every rung through in a few seconds', async () => {
      const rungs = gateRepository(undefined, join(repository, 'problems/softmax'));
      const names = readdirSync(join(rungs.folder, 'softmax')).filter((name) => /^\d\d_|^reference$/.test(name));
      for (const name of names) rungs.edit(`${name}/kernel.cu`, (text) => `// A comment.\n${text}`);
      const start = performance.now();
      const { code, json } = await gate(rungs);
      expect(performance.now() - start).toBeLessThan(20_000);
      expect(code).toBe(EXIT.ok);
      expect(json).toMatchObject({ device: null, problems: [] });
      expect(json.kernels.map(({ sameCode }: Json) => sameCode)).toEqual(names.slice(1).map(() => 'tokens'));
    });
  });

  describe('finds', () => {
    long('a new kernel, which is judged alone, and one that is gone', async () => {
      const repository = gateRepository();
      repository.git('switch', '-q', '-c', 'change');
      repository.git('mv', 'scale/02_coalesced', 'scale/03_new');
      repository.edit('problem.json', (text) => text.replaceAll('02_coalesced', '03_new'));
      repository.commit();
      const { code, json } = await gate(repository, '--most', '1');
      expect(code).toBe(EXIT.ok);
      expect(json.kernels[0]).toMatchObject({ kernel: 'scale/03_new', change: 'new' });
      expect(json.kernels[0].workloads[0]).toMatchObject({ before: null, ratio: null, outcome: 'passes' });
      expect(json).toMatchObject({ deleted: [KERNEL], problems: ['scale'], leftOut: ['scale/01_strided'] });
    });

    long('all kernels of a problem that changed; its description and comments do not matter', async () => {
      const described = changed('problem.json', (text) => text.replace('Y = 2 X for', 'Twice'));
      described.edit('reference.ts', (text) => `// Comment.\n${text}`);
      expect((await gate(described)).json).toMatchObject({ kernels: [], problems: [], fileCount: 2 });
      described.edit('problem.json', (text) => text.replace('"N": 1000', '"N": 1001'));
      const { code, json } = await gate(described);
      expect(code).toBe(EXIT.ok);
      expect(json.kernels.map(({ kernel, change }: Json) => `${kernel} ${change}`)).toEqual([
        'scale/01_strided problem',
        `${KERNEL} problem`,
      ]);
      for (const { workloads } of json.kernels) expect(workloads[0]).toMatchObject({ outcome: 'passes', before: null });
    });

    long('a kernel whose problem changed as well: as it was, by the problem as it is, if it fits', async () => {
      const repository = changed('problem.json', (text) => text.replace('"N": 1000', '"N": 1001'));
      repository.edit(COALESCED, (text) => `// Comment.\n${text}`);
      repository.edit(STRIDED, (text) => text.replace('int i = first', 'int i = 0 + first'));
      const [strided, coalesced] = (await gate(repository)).json.kernels;
      expect(strided).toMatchObject({ change: 'changed' });
      expect(strided.workloads[0]).toMatchObject({ outcome: 'passes', ratio: 1 });
      expect(coalesced).toMatchObject({ change: 'problem' });
      expect(coalesced.workloads[0]).toMatchObject({ outcome: 'passes', before: null });

      // What it was does not know the output by this name.
      for (const file of ['problem.json', 'reference.ts', '01_strided/kernel.json', '02_coalesced/kernel.json'])
        repository.edit(file, (text) => text.replaceAll(/\bY\b/g, 'Z'));
      const { code, json } = await gate(repository, '--most', '1');
      expect(code).toBe(EXIT.ok);
      expect(json.kernels[0].notCompared).toContain('`Y`');
      expect(json.kernels[0].workloads[0]).toMatchObject({ outcome: 'passes', before: null });
      expect(JSON.stringify(json)).not.toMatch(/warpsmith-\d+-/);
    });

    long('what the device does not run: not refused, and not passed', async () => {
      const file = '02_coalesced/kernel.json';
      const elsewhere = changed(file, (text) =>
        text.replace('["kernel.cu"]', '["kernel.cu"], "architectures": ["sm_90a"]'),
      );
      const outcome = await gate(elsewhere);
      expect(outcome.code).toBe(EXIT.deviceOrToolMissing);
      expect(outcome.json).toMatchObject({ passes: false, failing: [] });
      expect(only(outcome).row).toMatchObject({ outcome: 'not-judged', after: { status: 'unsupported' } });
    });

    long('workloads by their names, each for the problems that have it', async () => {
      const outcome = await gate(changed(COALESCED, slowerBy(8)), '--workload', 'N=256', '--workload', 'b1h8');
      expect(outcome.code).toBe(EXIT.ok);
      expect(only(outcome).kernel.workloads.map(({ workload }: Json) => workload)).toEqual(['n256']);
      expect(outcome.json.unknownWorkloads).toEqual(['b1h8']);
    });

    long('only kernels below the folder; what others did to the base meanwhile is no part of the change', async () => {
      const repository = changed(COALESCED, slowerBy(1));
      repository.git('switch', '-q', 'main');
      repository.edit(STRIDED, (text) => text.replace('2.0f', '3.0f'));
      repository.commit();
      repository.git('switch', '-q', 'change');
      const { json } = await gate({ folder: join(repository.folder, 'scale/01_strided') });
      expect(json).toMatchObject({ passes: true, kernels: [], fileCount: 0 });
    });

    long('the kernel as it was, without touching the work tree or the repository', async () => {
      const repository = changed(COALESCED, slowerBy(2), false);
      const state = (): string[] => [
        repository.git('status', '--porcelain', '--ignored'),
        repository.git('worktree', 'list'),
        repository.git('for-each-ref'),
        repository.git('diff'),
      ];
      const before = state();
      await gate(repository);
      expect(state()).toEqual(before);
    });
  });

  describe('holds kernels to the best so far', () => {
    const best = (file: string): Json[] => JSON.parse(readFileSync(file, 'utf8')).best;

    long('which it writes when asked, and only ever better', async () => {
      const repository = changed(COALESCED, slowerBy(8));
      const file = join(repository.folder, 'best.json');
      const held = (...options: string[]) => gate(repository, '--baseline', file, ...options);
      expect(await held()).toMatchObject({ code: EXIT.usage, json: { error: { code: 'missing-file' } } });
      expect((await held('--update')).json.baseline).toEqual({ file, written: 1 });
      const [first] = best(file);
      expect(first).toMatchObject({ kernel: KERNEL, workload: 'n65536', device: 'virtual:l4', kind: 'predicted' });
      expect(first.counters['global store sectors']).toBeGreaterThan(8192);

      // Each step is small, and what came of both is not.
      repository.commit();
      repository.git('branch', '-f', 'main');
      repository.edit(COALESCED, (text) => text.replace('% 8 == 0', '% 8 < 2'));
      const crept = await held('--update', '--max-slowdown', '2.8');
      expect(only(crept).row.ratio).toBeGreaterThan(1 / 1.028);
      expect(crept).toMatchObject({ code: EXIT.ok });
      expect(best(file)).toEqual([first]);
      writeFileSync(file, JSON.stringify({ schemaVersion: 1, best: [{ ...first, ns: first.ns / 1.02 }] }));
      const refused = await held('--update', '--max-slowdown', '2.8');
      expect(refused.code).toBe(EXIT.judgedFailed);
      expect(only(refused).row).toMatchObject({ outcome: 'worse-than-best' });
      expect(only(refused).row.why).toMatch(
        /slower than the best so far; 2\.8 % are allowed; since then: .*global store/,
      );
      expect(best(file)[0].ns).toBe(first.ns / 1.02);

      // What is better replaces it.
      repository.edit(COALESCED, (text) => text.replace(/^ *if \(i < n && .*\n/m, ''));
      expect((await held('--update')).code).toBe(EXIT.ok);
      expect(best(file)[0].ns).toBeLessThan(first.ns / 1.02);
    });

    long('but not to what another version predicted, and forgets kernels that are gone', async () => {
      const repository = changed(COALESCED, slowerBy(8));
      const file = join(repository.folder, 'best.json');
      await gate(repository, '--baseline', file, '--update');
      const [now] = best(file);
      const old = [
        { ...now, ns: 1, warpsmith: '0.0.1' },
        { ...now, kernel: 'scale/01_strided' },
      ];
      writeFileSync(file, JSON.stringify({ schemaVersion: 1, best: old }));
      repository.remove('01_strided');
      const { code, json } = await gate(repository, '--baseline', file, '--update');
      expect(code).toBe(EXIT.ok);
      expect(json.kernels[0].workloads[0].best).toMatchObject({ ns: 1, ratio: null });
      expect(json.kernels[0].workloads[0].best.note).toContain('of warpsmith 0.0.1');
      expect(best(file)).toEqual([now]);
    });

    test('and says what is wrong with the file', async () => {
      const repository = changed(COALESCED, slowerBy(8));
      const file = join(repository.folder, 'best.json');
      writeFileSync(file, '{ "schemaVersion": 1, "best": [{ "kernel": 3 }] }');
      const { code, json } = await gate(repository, '--baseline', file);
      expect(code).toBe(EXIT.usage);
      expect(json.error).toMatchObject({ file, path: 'best[0].kernel' });
    });
  });

  describe('says why it can’t', () => {
    const errorOf = async (...args: string[]): Promise<Json> => {
      const { code, json } = await runJson(['gate', ...args, ...ON_L4]);
      expect(code).toBe(EXIT.usage);
      return json.error;
    };

    test.each([
      ['no-base', []],
      ['unknown-ref', ['--base', 'nowhere']],
      ['unknown-ref', ['--base=--upload-pack=touch x']],
      ['conflicting-options', ['--base', 'main', '--update']],
      ['bad-option-value', ['--base', 'main', '--max-slowdown', '-5%']],
      ['bad-option-value', ['--base', 'main', '--max-slowdown', 'much']],
    ])('%s', async (code, options) => {
      expect((await errorOf(gateRepository().folder, ...options)).code).toBe(code);
    });

    test('a dtype that a problem does not take is no mistake of its kernels', async () => {
      const repository = changed(COALESCED, slowerBy(2));
      expect((await errorOf(repository.folder, '--base', 'main', '--dtype', 'bf16')).code).toBe('unknown-dtype');
    });

    test('outside a repository, without a folder, without commits', async () => {
      const folder = temporaryFolder();
      expect((await errorOf(folder, '--base', 'main')).code).toBe('not-a-repository');
      expect((await errorOf(join(folder, 'nowhere'), '--base', 'main')).code).toBe('no-such-folder');
      const { folder: unborn, git } = gateRepository();
      git('checkout', '-q', '--orphan', 'unborn');
      expect((await errorOf(unborn, '--base', 'main')).code).toBe('no-commits');
    });

    test('in a shallow clone that lacks the base, and beside an unrelated history', async () => {
      const origin = changed(COALESCED, slowerBy(2));
      const clone = join(temporaryFolder(), 'clone');
      origin.git('clone', '-q', '--depth', '1', `file://${origin.folder}`, clone);
      const error = await errorOf(clone, '--base', 'main');
      expect(error.code).toBe('shallow-clone');
      expect(error.hint).toContain('fetch-depth: 0');
      origin.git('checkout', '-q', '--orphan', 'unrelated');
      origin.commit();
      expect((await errorOf(origin.folder, '--base', 'main')).code).toBe('no-common-commit');
    });
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    interrupted(`a gate, by ${signal}`)(`leaves nothing behind when it gets ${signal}`, async () => {
      const repository = changed(COALESCED, slowerBy(2), false);
      const room = join(temporaryFolder(), 'tmp');
      mkdirSync(room);
      const before = [repository.git('status', '--porcelain'), repository.git('worktree', 'list')];
      const { code } = await runInProcess(['gate', '--base', 'main', ...ON_L4], {
        cwd: repository.folder,
        env: { TMPDIR: room, WARPSMITH_CACHE: temporaryFolder() },
        interruptAt: 'judging it',
        interruptSignals: [signal],
      });
      expect(code).toBe(EXIT.interrupted);
      expect(readdirSync(room).filter((name) => name.startsWith('warpsmith-'))).toEqual([]);
      expect([repository.git('status', '--porcelain'), repository.git('worktree', 'list')]).toEqual(before);
    });
});
