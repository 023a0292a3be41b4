import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { sampled } from '../support/sampling/matrix.ts';
import { repository, runCli, runJson, SCALE, temporaryFolder } from './run-cli.ts';

const BIN = join(repository, 'bin/warpsmith.mjs');
const ON_L4 = ['--device', 'virtual:l4', '--threads', '1'];
/** Compiled anew, whatever another test compiled. */
const noCache = () => ({ WARPSMITH_CACHE: temporaryFolder() });

describe('a temporary folder that', () => {
  test.each([
    ['is not there', '/nowhere/tmp', 'ENOENT'],
    ['is no folder', '/dev/null', 'ENOTDIR'],
  ])('%s stops what needs one, and says what to set', async (_, TMPDIR, received) => {
    const { code, json } = await runJson(['evaluate', join(SCALE, '01_strided'), ...ON_L4], {
      env: { ...noCache(), TMPDIR },
    });
    expect({ code, error: json.error }).toMatchObject({
      code: 3,
      error: { code: 'no-temporary-folder', file: TMPDIR, received, hint: 'Set TMPDIR to one.' },
    });
  });

  test('is not there is seen by the doctor, and stops nothing that needs none', async () => {
    const env = { TMPDIR: '/nowhere/tmp' };
    const doctor = await runJson(['doctor'], { env });
    expect(doctor.code).toBe(3);
    expect(doctor.json.checks).toContainEqual(
      expect.objectContaining({ id: 'temporary-folder', verdict: 'failed', hint: 'Set TMPDIR to one.' }),
    );
    expect((await runCli(['check', SCALE], { env })).code).toBe(0);
  });
});

const setpriv = findExecutable('setpriv');
const isRoot = process.getuid?.() === 0;
const NOBODY = 65534;

/** Compiled modules of somebody who owns nothing, who can't read those of the other tests: a start takes half as long with them. */
const compiled = join(temporaryFolder(), 'modules');

/** The command line as somebody who owns nothing. */
const asNobody = <Output = unknown>(args: readonly string[], env: Record<string, string> = {}) => {
  const drop = isRoot ? [setpriv!, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
  const [command, ...rest] = [...drop, process.execPath, BIN, args[0]!, '--json', ...args.slice(1)];
  const environment = {
    ...process.env,
    ...{ HOME: '/nonexistent', NO_COLOR: '1', WARPSMITH_TRUST: 'all', NODE_COMPILE_CACHE: compiled },
    ...env,
  };
  const { status, stdout, stderr } = spawnSync(command!, rest, { env: environment, encoding: 'utf8' });
  const output = JSON.parse(stdout) as Output & { error: { code: string; file: string; received: string } };
  return { status, stderr, output, error: output.error };
};

/** Somebody who owns nothing must be able to read warpsmith itself. */
const canDrop =
  !isRoot ||
  (setpriv !== undefined &&
    spawnSync(setpriv, [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', process.execPath, BIN, '--version'])
      .status === 0);

describe.skipIf(!canDrop)('what may not be read or written (needs setpriv where root runs the tests)', () => {
  const place = temporaryFolder();
  const at = (name: string) => join(place, name);

  beforeAll(() => {
    for (const folder of [place, dirname(compiled)]) chmodSync(folder, 0o755);
    mkdirSync(compiled);
    chmodSync(compiled, 0o777);
    for (const name of ['folder', 'rung', 'reference', 'file']) cpSync(SCALE, at(name), { recursive: true });
    mkdirSync(at('store/runs/r1'), { recursive: true });
    writeFileSync(at('store/runs/r1/events.jsonl'), '');
    mkdirSync(at('read-only'));
    const closed = ['folder', 'rung/01_strided', 'reference/reference.ts', 'file/problem.json', 'store'];
    for (const name of closed) chmodSync(at(name), 0o000);
    chmodSync(at('read-only'), 0o555);
  });

  const closed: [what: string, file: string, received: string, args: () => string[]][] = [
    ['a problem folder', 'folder', 'EACCES', () => ['check', at('folder')]],
    ['a rung', 'rung/01_strided/kernel.json', 'EACCES', () => ['check', at('rung')]],
    ['problem.json', 'file/problem.json', 'EACCES', () => ['check', at('file')]],
    ['reference.ts', 'reference/reference.ts', 'EACCES', () => ['evaluate', at('reference/01_strided'), ...ON_L4]],
    ['a store', 'store/runs', 'EACCES', () => ['runs', '--store', at('store')]],
    ['a store', 'store/runs', 'EACCES', () => ['report', '--store', at('store')]],
    ['a store', 'store/runs', 'EACCES', () => ['export', 'latest', '--store', at('store'), '-o', at('out')]],
    [
      'where to export',
      'read-only',
      'EACCES',
      () => ['export', join(SCALE, '02_coalesced'), '-o', at('read-only/out')],
    ],
    ['a store', 'store', 'EACCES', () => ['optimize', SCALE, ...ON_L4, '--store', at('store')]],
  ];
  sampled('what may not be read or written', closed, { oneIn: 8 })('%s (%s): %s', (_, file, received, args) => {
    const { status, error, stderr } = asNobody(args());
    expect({ status, error }).toMatchObject({
      status: 2,
      error: { file: expect.stringContaining(at(file)), received: expect.stringContaining(received) },
    });
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  test('one run of several: the others are listed, and that one is named, until it may be read', () => {
    const store = at('mixed');
    for (const name of ['closed', 'sealed', 'open']) {
      mkdirSync(join(store, 'runs', name), { recursive: true });
      writeFileSync(join(store, 'runs', name, 'events.jsonl'), '');
    }
    chmodSync(join(store, 'runs/closed'), 0o000);
    chmodSync(join(store, 'runs/sealed/events.jsonl'), 0o000);
    const listed = () => asNobody<{ runs: { id: string; error: string }[] }>(['runs', '--store', store]).output.runs;
    const errors = Object.fromEntries(listed().map(({ id, error }) => [id, error]));
    expect(errors).toEqual({
      closed: expect.stringContaining(`no readable event log at ${join(store, 'runs/closed')}`),
      sealed: expect.stringContaining(`no readable event log at ${join(store, 'runs/sealed')}`),
      open: expect.not.stringContaining('readable'),
    });
    chmodSync(join(store, 'runs/sealed/events.jsonl'), 0o644);
    expect(listed().find(({ id }) => id === 'sealed')?.error).toBe(errors.open);
  });

  test('a temporary folder: the compiler can’t work there', () => {
    const env = { TMPDIR: at('read-only'), XDG_CACHE_HOME: at('read-only') };
    const { status, error } = asNobody(['evaluate', join(SCALE, '01_strided'), ...ON_L4], env);
    expect({ status, error }).toMatchObject({ status: 3, error: { code: 'no-temporary-folder', received: 'EACCES' } });
  });
});
