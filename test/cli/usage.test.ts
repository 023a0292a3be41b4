import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sampled } from '../support/sampling/matrix.ts';
import { repository, runCli, runJson, SCALE, temporaryFolder } from './run-cli.ts';

/** Every error has all of these, null where one does not apply. */
const ERROR_FIELDS = ['code', 'message', 'file', 'path', 'received', 'expected', 'hint'];

describe('a command line that makes no sense', () => {
  test.each([
    ['unknown-command', ['evaluat'], 'Did you mean `evaluate`?'],
    ['unknown-option', ['evaluate', SCALE, '--worklod', 'n65536'], 'Did you mean `--workload`?'],
    ['missing-argument', ['evaluate'], 'warpsmith evaluate --help'],
    ['missing-option-value', ['optimize', SCALE, '--goal'], 'warpsmith optimize --help'],
    ['too-many-arguments', ['check', SCALE, 'another'], 'warpsmith check --help'],
    ['bad-option-value', ['evaluate', SCALE, '--set', 'BLOCK'], '--set BLOCK_M=64'],
    ['bad-option-value', ['evaluate', SCALE, '--seed', '-1'], '--seed 1'],
    ['bad-option-value', ['evaluate', SCALE, '--threads', '0'], '--threads 1'],
    ['bad-option-value', ['optimize', SCALE, '--max-evaluations', '1.5'], '--max-evaluations 1'],
    ['bad-option-value', ['optimize', SCALE, '--max-minutes', 'ten'], '--max-minutes 5'],
    ['bad-goal', ['optimize', SCALE, '--goal', 'fast'], 'Leave --goal out'],
    ['bad-option-value', ['report', '--format', 'pdf'], '--format terminal'],
    ['bad-option-value', ['resume', '--max-evaluations', '0'], '--max-evaluations 1'],
    ['too-many-arguments', ['runs', 'latest'], 'warpsmith runs --help'],
    ['no-runs', ['resume', '--store', 'nowhere'], 'warpsmith optimize <problem>'],
    ['bad-option-value', ['evaluate', SCALE, '--tier', 'quick'], '--tier screen'],
    ['bad-option-value', ['evaluate', SCALE, '--profile', 'deep'], '--profile none'],
    ['bad-option-value', ['evaluate', SCALE, '--cache', 'warm'], '--cache hot'],
    ['bad-option-value', ['evaluate', SCALE, '--toolchain', 'gcc'], '--toolchain nvrtc'],
    ['bad-option-value', ['evaluate', SCALE, '--baseline', ''], '--baseline start'],
    ['bad-option-value', ['measure', SCALE, '--blocks', '0'], '--blocks 1'],
    ['unknown-option', ['optimize', SCALE, '--require-sanitiser'], 'Did you mean `--require-sanitizer`?'],
    ['conflicting-options', ['optimize', SCALE, '--strategy', 'random', '--no-diagnosis'], 'Leave --no-diagnosis out'],
    ['conflicting-options', ['optimize', SCALE, '--strategy', 'random', '--no-exploring'], 'Leave --no-exploring out'],
    ['conflicting-options', ['export', 'latest', '--commit', '--set', 'BLOCK_M=64'], 'Leave --set out'],
    ['conflicting-options', ['export', 'latest', '--commit', '--name', 'mine'], 'give --output as well'],
    ['no-such-folder', ['evaluate', 'problems/nope'], 'attention'],
    ['not-a-target', ['check', 'src'], 'attention'],
  ])('%s: %j', async (code, args, hint) => {
    const { code: exitCode, json, stderr } = await runJson(args);
    expect(exitCode).toBe(2);
    expect(json.schemaVersion).toBe(1);
    expect(Object.keys(json)).toEqual(['schemaVersion', 'kind', 'error']);
    expect(Object.keys(json.error)).toEqual(ERROR_FIELDS);
    expect(json.error.code).toBe(code);
    expect(json.error.hint).toContain(hint);
    expect(stderr).not.toMatch(/\bat .*\.ts:\d+/);
  });

  test('without --json the error goes to stderr, and stdout stays empty', async () => {
    const { code, stdout, stderr } = await runCli(['evaluate', 'problems/nope']);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('error [no-such-folder] There is no folder problems/nope.');
    expect(stderr).toContain('received: problems/nope');
  });
});

describe('help and version', () => {
  test.each([[[]], [['--help']]])('%j shows help on stdout and is fine', async (argv) => {
    const { code, stdout, stderr } = await runCli(argv);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const command of ['doctor', 'devices', 'check', 'evaluate', 'diagnose', 'audit', 'measure', 'optimize']) {
      expect(stdout).toContain(command);
    }
    expect(stdout).toContain('130 interrupted');
  });

  test('version', async () => {
    const { code, stdout } = await runCli(['--version']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('colours', () => {
  test('NO_COLOR is obeyed, FORCE_COLOR too', async () => {
    const escapeSequence = '\u001b[';
    expect((await runCli(['evaluat'])).stderr).not.toContain(escapeSequence);
    expect((await runCli(['evaluat'], { env: { NO_COLOR: '', FORCE_COLOR: '1' } })).stderr).toContain(escapeSequence);
  });
});

test('an old Node is told what is needed instead of failing on syntax', async () => {
  const pretend = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.1' } });";
  const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
  const { code, stdout, stderr } = await runCli(['--version'], { nodeOptions });
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(stderr).toContain('warpsmith needs Node 24 or newer; this is Node 20.19.1');
  expect(stderr).toContain('npm run warpsmith');
  // Node 12 and 14 read the whole file first, and do not know these.
  const bin = readFileSync(join(repository, 'bin/warpsmith.mjs'), 'utf8');
  expect(bin).not.toMatch(/^import\s|\bawait\b|\?\?|\?\./m);
});

describe('what a command loads', () => {
  /** In a build, modules are parts of larger files. */
  const FROM_SOURCES = { WARPSMITH_BUILD: '' };
  const TELL = `
    import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, next) {
        if (url.includes('/src/virtual-gpu/')) process.stderr.write(\`loads \${url}\\n\`);
        return next(url, context);
      },
    });`;
  const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(TELL)}`];

  const LOADING: [string, string[], boolean][] = [
    ['check', [SCALE], false],
    ['export', [join(SCALE, '01_strided'), '-o', join(temporaryFolder(), 'out')], false],
    ['evaluate', [join(SCALE, '01_strided'), '--device', 'virtual:l4', '--quick'], true],
  ];
  sampled('what commands load', LOADING, { oneIn: 3 })(
    '%s: the virtual GPU only where a kernel runs',
    async (command, args, runs) => {
      const { stderr } = await runCli([command, ...args], { nodeOptions, env: FROM_SOURCES });
      expect(stderr.includes('loads file://')).toBe(runs);
    },
  );
});
