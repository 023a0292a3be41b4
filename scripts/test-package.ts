// Packs warpsmith, installs the tarball into an empty project, and uses it there: npm run test:package
//
// What only this finds: files the tarball lacks, imports that resolve in a checkout only, worker scripts and
// references that Node refuses to run under node_modules. Needs no network: the tarball is unpacked as npm would, and
// its declared dependencies are linked from this checkout.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Evaluation } from '../src/core/evaluation.ts';
import { evaluationSchema } from '../src/core/evaluation.ts';
import { apiExamples } from '../test/docs/support/api-examples.ts';
import { DEVELOPERS_FILE, PACKAGE_BUDGET } from './build/package-budget.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Manifest {
  name: string;
  version: string;
  bin: Record<string, string>;
  dependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const readJson = async <T>(file: string): Promise<T> => JSON.parse(await readFile(file, 'utf8')) as T;

/** What commands note about this user goes there. */
const home = await mkdtemp(join(tmpdir(), 'warpsmith-home-'));

const run = (
  command: string,
  args: readonly string[],
  cwd: string,
): { status: number | null; out: string; err: string } => {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, XDG_CONFIG_HOME: join(home, 'config'), XDG_STATE_HOME: join(home, 'state') },
    encoding: 'utf8',
    // A thorough evaluation by one thread takes 40 s of processor time; machines of CI are shared.
    timeout: 600_000,
    maxBuffer: 256 * 1024 * 1024,
  });
  if (error) throw error;
  return { status, out: stdout, err: stderr };
};

const step = (what: string): void => {
  process.stdout.write(`${what}\n`);
};

/** Packs into `folder` (which builds first) and unpacks as `node_modules/warpsmith` there. */
const install = async (folder: string): Promise<{ package: string; manifest: Manifest; files: string[] }> => {
  const packed = run('npm', ['pack', '--json', '--pack-destination', folder], root);
  assert.equal(packed.status, 0, `npm pack failed:\n${packed.out}${packed.err}`);
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  assert.ok(tarball, 'npm pack wrote no tarball');
  const { size } = await stat(join(folder, tarball));
  assert.ok(size < PACKAGE_BUDGET.packed, `the tarball has ${size} bytes, more than ${PACKAGE_BUDGET.packed}`);
  const target = join(folder, 'node_modules', 'warpsmith');
  await mkdir(target, { recursive: true });
  assert.equal(run('tar', ['-xzf', join(folder, tarball), '-C', target, '--strip-components=1'], folder).status, 0);
  const manifest = await readJson<Manifest>(join(target, 'package.json'));
  for (const name of Object.keys(manifest.dependencies)) await link(name, folder);
  for (const name of Object.keys(manifest.optionalDependencies ?? {})) await link(name, folder).catch(() => undefined);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'smoke', private: true, type: 'module' }));
  const files = (await readdir(target, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(target.length + 1));
  return { package: target, manifest, files };
};

const link = async (dependency: string, folder: string): Promise<void> => {
  const source = join(root, 'node_modules', dependency);
  await stat(source);
  const target = join(folder, 'node_modules', dependency);
  await mkdir(dirname(target), { recursive: true });
  await symlink(source, target);
};

const checkContents = async (packageFolder: string, manifest: Manifest, files: readonly string[]): Promise<void> => {
  for (const needed of [
    'package.json',
    'LICENSE',
    'README.md',
    'bin/warpsmith.mjs',
    'dist/src/index.js',
    'dist/src/index.d.ts',
    'dist/src/devices/cuda/harness/harness.ptx',
    'dist/src/handover/templates/launch.hpp',
    'dist/src/reports/print/page.css',
    'dist/src/reports/print/page.js',
    'dist/src/reports/charts/chart.css',
    'dist/src/handover/templates/torch/_runtime.py',
    'headers/cuda_fp16.h',
    'problems/attention/problem.json',
    'problems/attention/reference.js',
    'problems/attention/01_minimal/kernel.cu',
    'course/01_coalescing/page.md',
    'course/01_coalescing/reference.js',
    'course/01_coalescing/kernel/kernel.cu',
    'examples/row-sum/problem.json',
    'examples/row-sum/reference.ts',
    'examples/row-sum/01_thread_per_row/kernel.cu',
    'schemas/problem.schema.json',
    'schemas/kernel.schema.json',
    'schemas/evaluation.schema.json',
    'schemas/output.schema.json',
    'schemas/requests.schema.json',
  ]) {
    assert.ok(files.includes(needed), `the tarball lacks ${needed}`);
  }
  let bytes = 0;
  for (const file of files) {
    assert.ok(!DEVELOPERS_FILE.test(file), `the tarball should not hold ${file}`);
    const text = await readFile(join(packageFolder, file), 'utf8');
    bytes += Buffer.byteLength(text);
    assert.ok(!text.includes(root.slice(0, -1)), `${file} names a folder of this machine`);
  }
  assert.ok(bytes < PACKAGE_BUDGET.unpacked, `the package has ${bytes} bytes, more than ${PACKAGE_BUDGET.unpacked}`);
  const executable = await stat(join(packageFolder, manifest.bin.warpsmith!));
  assert.ok((executable.mode & 0o111) !== 0, 'the bin is not executable');
};

const checkCommandLine = async (folder: string, installed: string, manifest: Manifest): Promise<void> => {
  const bin = join(installed, manifest.bin.warpsmith!);
  const warpsmith = (...args: string[]): { status: number | null; out: string; err: string } =>
    run(process.execPath, [bin, ...args], folder);
  const succeed = (...args: string[]): string => {
    const { status, out, err } = warpsmith(...args);
    assert.equal(status, 0, `warpsmith ${args.join(' ')} exited with ${status}:\n${out}${err}`);
    assert.ok(!err.includes('Warning:'), `warpsmith ${args.join(' ')} warned:\n${err}`);
    return out;
  };
  const problem = join(installed, 'problems', 'attention');

  step('warpsmith --version');
  assert.equal(succeed('--version').trim(), manifest.version);

  step('warpsmith devices');
  assert.match(succeed('devices'), /virtual:l4/);

  step('warpsmith check');
  succeed('check', problem);

  step('warpsmith new');
  succeed('new', 'my-problem');
  succeed('check', 'my-problem');
  succeed('evaluate', 'my-problem', '--device', 'virtual:l4', '--workload', 'rows=64,columns=64');

  step('warpsmith learn');
  assert.match(succeed('learn', '01'), /^# 1\. Coalescing/);
  const { status: unsolved, out: told } = warpsmith('learn', 'check', '01_coalescing');
  assert.equal(unsolved, 1, told);
  assert.match(told, /^sectors per global load request: at most 4\.5 +32 +not yet$/m);
  const missing = warpsmith('check', join(folder, 'nothing-here'), '--json');
  assert.equal(missing.status, 2, 'a missing folder is a usage error');
  assert.equal((JSON.parse(missing.out) as { error: { code: string } }).error.code, 'no-such-folder');

  const evaluate = (threads: string): Evaluation => {
    step(`warpsmith evaluate --threads ${threads}`);
    // 8 heads of 128 rows: enough CTAs that two workers both get some.
    const workload = ['--workload', 'B=1,H=8,S=128,D=64,causal=0'];
    // One seed, so that both draw the same inputs.
    const device = ['--device', 'virtual:l4', '--threads', threads, '--seed', '3'];
    const out = succeed('evaluate', join(problem, '01_minimal'), ...device, ...workload, '--json');
    const evaluation = evaluationSchema.parse(JSON.parse(out));
    assert.equal(evaluation.status, 'passed', evaluation.reason);
    assert.equal(evaluation.timing?.kind, 'predicted');
    assert.ok((evaluation.counters?.instructions ?? 0) > 0, 'nothing was counted');
    assert.ok((evaluation.correctness?.checksRun ?? 0) > 0, 'nothing was checked');
    return evaluation;
  };
  const [one, two] = [evaluate('1'), evaluate('2')];
  assert.deepEqual(two.counters, one.counters, 'counters depend on the number of threads');
  assert.deepEqual(two.timing, one.timing, 'the prediction depends on the number of threads');
};

/** The page that a newcomer follows, in an empty folder: from a published file to a verdict, and to a faster kernel. */
const checkFiveMinutes = async (folder: string, installed: string, manifest: Manifest): Promise<void> => {
  const place = join(folder, 'five-minutes');
  await mkdir(place);
  await cp(join(root, 'test/app/init/published/sgemm-shared.cu'), join(place, 'sgemm.cu'));
  const page = await readFile(join(root, 'docs/guides/five-minutes.md'), 'utf8');
  const commands = [...page.matchAll(/^ {4}npx warpsmith (.*)$/gm)].map(([, words]) => words!.split(' '));
  assert.deepEqual(
    commands.map(([name]) => name),
    ['init', 'evaluate', 'optimize', 'diagnose'],
  );
  const beganMs = performance.now();
  for (const words of commands) {
    step(`five minutes: warpsmith ${words.join(' ')}`);
    const { status, out, err } = run(process.execPath, [join(installed, manifest.bin.warpsmith!), ...words], place);
    assert.equal(status, 0, out + err);
    if (words[0] === 'init') assert.match(out, /TILE_WIDTH = 32 \(/);
    if (words[0] === 'evaluate') {
      assert.match(out, /^passed$/m);
      // Told and not judged: the page speaks of a quiet machine.
      step(`the first verdict came after ${Math.round((performance.now() - beganMs) / 1000)} s`);
    }
    if (words[0] === 'optimize') assert.match(out, /predicted \d+\.\d+× faster than the start, accepted/);
  }
};

/** The programming interface: importable, and typed for a consumer with a strict compiler and Node's types. */
const checkLibrary = async (folder: string): Promise<void> => {
  step("import 'warpsmith'");
  const script = `
    import { loadProblem, WarpsmithError } from 'warpsmith';
    const problem = await loadProblem('node_modules/warpsmith/problems/attention');
    if (problem.file.name === '' || typeof WarpsmithError !== 'function') throw new Error('not usable');
  `;
  const imported = run(process.execPath, ['--input-type=module', '--eval', script], folder);
  assert.equal(imported.status, 0, imported.err);

  const page = await readFile(join(root, 'docs/reference/api.md'), 'utf8');
  for (const [index, { heading, code }] of apiExamples(page).entries()) {
    step(`api.md: ${heading}`);
    await writeFile(join(folder, `example-${index}.ts`), code);
    const { status, err } = run(process.execPath, [`example-${index}.ts`], folder);
    assert.equal(status, 0, err);
  }

  step('types of warpsmith');
  await link('@types/node', folder);
  await writeFile(
    join(folder, 'consumer.ts'),
    `import { type Evaluation, loadProblem, type Problem } from 'warpsmith';
     export const problem: Promise<Problem> = loadProblem('x');
     export const time = (evaluation: Evaluation): number | undefined => evaluation.timing?.medianNs;
     // @ts-expect-error a folder is text
     void loadProblem(7);`,
  );
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const sources = (await readdir(folder)).filter((name) => name.endsWith('.ts'));
  const copied = 'my-problem/reference.ts';
  const typed = run(process.execPath, [tsc, ...options, ...sources, copied], folder);
  assert.equal(typed.status, 0, `a consumer's types fail:\n${typed.out}`);
};

const folder = await mkdtemp(join(tmpdir(), 'warpsmith-package-'));
try {
  step('npm pack, and install the tarball');
  const { package: installed, manifest, files } = await install(folder);
  await checkContents(installed, manifest, files);
  await checkCommandLine(folder, installed, manifest);
  await checkFiveMinutes(folder, installed, manifest);
  await checkLibrary(folder);
  step(`the package works (${files.length} files)`);
} finally {
  for (const made of [folder, home]) await rm(made, { recursive: true, force: true });
}
