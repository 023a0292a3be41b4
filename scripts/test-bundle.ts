// Makes the portable bundle and uses it as a bare machine would: npm run test:bundle [-- --with-clang]
//
// What only this finds: files the bundle lacks, a launcher that depends on where it is called from, tools of this
// machine that the bundle quietly needs. It runs with an empty environment and a search path of system folders only.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { evaluationSchema } from '../src/core/evaluation.ts';
import { ROOT } from './build/compile.ts';
import { archiveName, type BundleKind, MAXIMUM_MEGABYTES } from './bundle/formats.ts';

const BARE_PATH = '/usr/bin:/bin';

const { values } = parseArgs({
  options: { 'with-clang': { type: 'boolean', default: false }, unchecked: { type: 'boolean', default: false } },
});
const kind: BundleKind = values['with-clang'] ? 'with-clang' : 'plain';

const step = (what: string): void => {
  process.stdout.write(`${what}\n`);
};

interface Outcome {
  status: number | null;
  out: string;
  err: string;
}

const run = (command: string, args: readonly string[], options: { cwd?: string; bare?: boolean } = {}): Outcome => {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: options.cwd ?? '/',
    encoding: 'utf8',
    timeout: 600_000,
    maxBuffer: 256 * 1024 * 1024,
    ...(options.bare ? { env: { PATH: BARE_PATH } } : {}),
  });
  if (error) throw error;
  return { status, out: stdout, err: stderr };
};

const bundle = (file: string): void => {
  const flags = [...(kind === 'with-clang' ? ['--with-clang'] : []), ...(values.unchecked ? ['--unchecked'] : [])];
  const made = run(process.execPath, [join(ROOT, 'scripts', 'bundle.ts'), '--output', file, ...flags], { cwd: ROOT });
  assert.equal(made.status, 0, `the bundle was not made:\n${made.out}${made.err}`);
};

/** Unpacks it; the one folder in it. */
const unpack = async (archive: string, folder: string): Promise<string> => {
  const unpacked = run('tar', ['-xf', archive, '-C', folder], { bare: true });
  assert.equal(unpacked.status, 0, unpacked.err);
  const names = await readdir(folder);
  assert.equal(names.length, 1, `the archive holds ${names.join(', ')} instead of one folder`);
  return join(folder, names[0]!);
};

const checkContents = async (home: string): Promise<void> => {
  for (const needed of [
    'warpsmith',
    'node/bin/node',
    'LICENSE',
    'NOTICES.txt',
    'problems/attention/reference.js',
    'dist/src/devices/cuda/harness/harness.ptx',
    'dist/src/handover/templates/launch.hpp',
    'dist/page/index.html',
  ]) {
    assert.ok((await stat(join(home, needed))).isFile(), `the bundle lacks ${needed}`);
  }
  const files = (await readdir(home, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name).slice(home.length + 1);
    assert.ok(!/(^|\/)(test|\.git|\.warpsmith|__pycache__)\//.test(path), `the bundle should not hold ${path}`);
    if (/\.(js|mjs|json|py|cu|h|ptx)$/.test(name) && !path.startsWith('node_modules/')) {
      const text = await readFile(join(home, path), 'utf8');
      assert.ok(!text.includes(ROOT.slice(0, -1)), `${path} names a folder of this machine`);
    }
  }
};

/** What `ui` and `mcp` serve with; neither needs a GPU. */
const checkServers = async (home: string): Promise<void> => {
  step('warpsmith ui');
  const store = ['--store', join(home, 'no-runs')];
  const served = spawn(join(home, 'warpsmith'), ['ui', '--no-open', '--port', '0', ...store], {
    env: { PATH: BARE_PATH },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  });
  const ended = once(served, 'close');
  const [line] = await Promise.race([once(served.stdout, 'data'), ended]);
  const { origin, hash } = new URL(String(line).trim());
  const ask = (path: string, headers = {}): Promise<Response> => fetch(`${origin}${path}`, { headers });
  for (const file of ['/', '/main.js', '/style.css']) assert.equal((await ask(file)).status, 200, file);
  const listed = await ask('/api/runs', { authorization: `Bearer ${hash.slice('#token='.length)}` });
  assert.deepEqual(((await listed.json()) as { runs: unknown[] }).runs, []);
  served.kill('SIGINT');
  assert.deepEqual(await ended, [0, null]);

  step('what warpsmith mcp loads');
  const load = `await import(${JSON.stringify(join(home, 'dist/src/mcp/http.js'))})`;
  const loaded = run(join(home, 'node/bin/node'), ['--input-type=module', '--eval', load], { bare: true });
  assert.equal(loaded.status, 0, loaded.err);
};

/** Calls it through a symbolic link that lies elsewhere. */
const checkCommandLine = async (home: string, folder: string): Promise<void> => {
  const link = join(folder, 'elsewhere', 'warpsmith');
  await mkdir(join(folder, 'elsewhere'));
  await symlink(join('..', home.slice(folder.length + 1), 'warpsmith'), link);
  const succeed = (...args: string[]): string => {
    const { status, out, err } = run(link, args, { bare: true, cwd: folder });
    assert.equal(status, 0, `warpsmith ${args.join(' ')} exited with ${status}:\n${out}${err}`);
    return out;
  };
  const problem = join(home, 'problems', 'attention');
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { version: string };

  step('warpsmith --version');
  assert.equal(succeed('--version').trim(), version);

  step('warpsmith doctor');
  const { out } = run(link, ['doctor', '--json'], { bare: true });
  const { checks } = JSON.parse(out) as { checks: { id: string; verdict: string; detail: string }[] };
  const verdictOf = (id: string): string | undefined => checks.find((check) => check.id === id)?.verdict;
  for (const id of ['node', 'headers', 'virtual-device']) assert.equal(verdictOf(id), 'ok', JSON.stringify(checks));
  assert.match(checks.find(({ id }) => id === 'headers')!.detail, new RegExp(home));

  step('warpsmith check');
  succeed('check', problem);

  step('the driver is looked for, and missed where there is none');
  const missed = run(link, ['evaluate', problem, '--device', 'cuda:99', '--json'], { bare: true });
  assert.equal(missed.status, 3, missed.out + missed.err);
  const { error } = JSON.parse(missed.out) as { error: { code: string } };
  assert.ok(['missing-library', 'unknown-device'].includes(error.code), missed.out);

  if (kind === 'plain') return;
  step('warpsmith evaluate, with its own clang');
  assert.equal(verdictOf('compiler'), 'ok', JSON.stringify(checks));
  const workload = ['--workload', 'B=1,H=2,S=128,D=64,causal=0'];
  const printed = succeed('evaluate', join(problem, '01_minimal'), '--device', 'virtual:l4', ...workload, '--json');
  const evaluation = evaluationSchema.parse(JSON.parse(printed));
  assert.equal(evaluation.status, 'passed', evaluation.reason);
};

const folder = await mkdtemp(join(tmpdir(), 'warpsmith-bundle-test-'));
try {
  step('npm run bundle');
  const archive = join(folder, archiveName(kind, '0'));
  bundle(archive);
  const megabytes = (await stat(archive)).size / 1e6;
  assert.ok(megabytes <= MAXIMUM_MEGABYTES[kind], `the bundle has ${megabytes.toFixed(1)} MB`);
  if (kind === 'plain') {
    step('npm run bundle, once more: the same bytes');
    const again = join(folder, 'again.tar.gz');
    bundle(again);
    assert.ok((await readFile(again)).equals(await readFile(archive)), 'the same checkout gave two different archives');
  }
  const unpacked = join(folder, 'unpacked');
  await mkdir(unpacked);
  const home = await unpack(archive, unpacked);
  await checkContents(home);
  await checkServers(home);
  await checkCommandLine(home, folder);
  step(`the bundle works (${megabytes.toFixed(1)} MB)`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
