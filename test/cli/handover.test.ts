import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { unwrapped } from '../support/printed.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { smallRowSum } from '../support/small-row-sum.ts';
import { type Json, repository, runCli, runJson, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 5 });

const JUDGED = ['--threads', '1', '--seed', '1'];
const DEVICE = ['--device', 'virtual:l4', ...JUDGED];
const START = '01_thread_per_row';
const WINNER = '02_warp_per_row';

let place: string;
let problem: string;
let store: string[];

const git = (...args: string[]): string =>
  spawnSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', ...args], {
    cwd: problem,
    encoding: 'utf8',
  }).stdout.trim();

/** One run of the example, from the slow kernel to the fast one, that every test looks at. */
beforeAll(async () => {
  // What is tested is what becomes of verdicts: the same kernels are judged once for all tests.
  vi.stubEnv('WARPSMITH_REPEATS', 'on');
  place = temporaryFolder();
  // The smallest size is in what is exported, and a larger workload is the problem's largest: it has all sizes.
  problem = smallRowSum(place, 20_000, []);
  store = ['--store', join(place, 'store')];
  const outcome = await runCli(['optimize', problem, ...DEVICE, ...store, '--max-evaluations', '4']);
  expect(outcome).toMatchObject({ code: 0 });
});
afterAll(() => vi.unstubAllEnvs());

// First, because to start a process, the system copies the page tables of this one, which evaluations make large.
describe.skipIf(!findExecutable('git'))('export --commit (needs git)', () => {
  it('makes the kept changes a branch, with their evidence', async () => {
    git('init', '-q', '-b', 'trunk');
    git('add', '.');
    git('commit', '-q', '-m', 'start');
    git('config', 'user.name', 'Ann');
    git('config', 'user.email', 'ann@example.org');
    // A folder that is refused leaves no branch behind, which would refuse the next try.
    expect(await runJson(['export', 'latest', ...store, '-o', problem, '--commit'])).toMatchObject({ code: 2 });
    const { code, json } = await runJson(['export', 'latest', ...store, '--commit']);
    expect({ code, exported: json.exported }).toEqual({ code: 0, exported: null });
    expect(json.branch.subjects).toEqual([`${START} → ${WINNER}`]);
    const message = git('log', '-1', '--format=%B', json.branch.branch);
    expect(message).toMatch(
      /Predicted \d+\.\d\d× faster than e1\.\nFinding: .* of e1: .*\nPattern: .*\nTime: predicted /,
    );
    expect(message).toMatch(
      /Evaluation: e\d+ of warpsmith run .*\nCandidate: [0-9a-f]{12} .*\nWorkload: .*\nCompared: rows 1 to .*\nDevice: NVIDIA L4/,
    );
    expect(git('status', '--porcelain')).toBe('');
    // What is on the branch is what was exported, with its parameters still open.
    const committed = JSON.parse(git('show', `${json.branch.branch}:${START}/kernel.json`)) as Json;
    expect(committed.parameters.WARPS.values.length).toBeGreaterThan(1);
    // Its place in the ladder is the folder's: two rungs of one name would be one to a search.
    expect({ name: committed.name, remedies: committed.remedies }).toEqual({ name: START, remedies: undefined });
    git('checkout', '-q', json.branch.branch);
    const more = await runJson([
      ...['optimize', problem, ...DEVICE, '--store', join(place, 'on-branch')],
      ...['--max-evaluations', '2', '--no-ablation'],
    ]);
    expect({ code: more.code, start: more.json.start.candidate.kernel }).toEqual({ code: 0, start: START });
    git('checkout', '-q', 'trunk');
    const again = await runJson(['export', 'latest', ...store, '--commit']);
    expect(again).toMatchObject({ code: 2, json: { error: { code: 'branch-exists' } } });
    rmSync(join(problem, '.git'), { recursive: true });
  });

  it('refuses what has no repository, no run, or no kept change', async () => {
    const codeOf = async (target: string): Promise<string> =>
      (await runJson(['export', target, ...store, '--commit'])).json.error.code;
    expect(await codeOf('latest')).toBe('not-a-repository');
    expect(await codeOf(join(problem, WINNER))).toBe('commit-needs-a-run');
    expect(await codeOf('latest/e1')).toBe('no-kept-changes');
  });
});

describe('export', () => {
  it('writes a run’s best, with its evidence', async () => {
    const folder = join(place, 'out');
    const { code, json } = await runJson(['export', 'latest', ...store, '-o', folder]);
    expect(code).toBe(0);
    expect(json).toMatchObject({ schemaVersion: 1, kind: 'export', branch: null, exported: { folder } });
    expect(json.exported.candidate.kernel).toBe(WINNER);
    expect(json.exported.evidence.join(' ')).toMatch(
      /passed \d+ checks on NVIDIA L4 .*predicted \d.*Against the start: predicted \d+\.\d\d× faster/,
    );
    for (const file of json.exported.files) expect(existsSync(join(folder, file))).toBe(true);
    expect(json.exported.evidence.join(' ')).toMatch(
      /Results were compared for rows 1 to [\d,]+, .*Calls of other sizes are refused/,
    );
    const header = readFileSync(join(folder, `row_sum_${WINNER}_launch.hpp`), 'utf8');
    expect(header).toContain('results were compared for rows 1 to');
    const reproduce = JSON.parse(readFileSync(join(folder, 'reproduce.json'), 'utf8')) as Json;
    expect(reproduce).toMatchObject({
      schemaVersion: 1,
      kind: 'reproduction',
      kernel: { name: WINNER, candidate: json.exported.candidate.id },
      evidence: { seed: 1, device: { id: 'virtual:l4' }, comparedWithStart: { kind: 'predicted', confirmed: true } },
    });
    // The one command judges it again, with the same result.
    const here = process.cwd();
    process.chdir(folder);
    const words = [...reproduce.command.split(' ').slice(1), '--threads', '1', '--fresh'];
    const again = await runJson(words).finally(() => process.chdir(here));
    expect(again.json).toMatchObject({ status: 'passed' });
    expect(again.json.timing.medianNs).toBe(reproduce.evidence.evaluation.timing.medianNs);
  });

  it('refuses no size with --unverified-sizes, and more of them after a larger workload', async () => {
    const folder = join(place, 'sizes');
    const header = async (...options: string[]): Promise<string> => {
      const { json } = await runJson(['export', 'latest', ...store, '-o', folder, ...options]);
      return readFileSync(join(folder, `${json.exported.name}_launch.hpp`), 'utf8');
    };
    const most = (text: string): number => Number(/at most ([\d,]+) elements of x/.exec(text)![1]!.replaceAll(',', ''));
    expect(await header('--unverified-sizes')).not.toContain('"results were compared');
    const before = most(await header());
    const { json } = await runJson(['export', 'latest', ...store, '-o', folder]);
    const { parameters } = json.exported.candidate as { parameters: Record<string, number> };
    const setting = Object.entries(parameters).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
    // The largest that the problem has.
    const size = ['--workload', 'rows=100,columns=200'];
    const words = ['evaluate', join(problem, WINNER), ...setting, ...size, ...DEVICE, ...store, '--checks', 'usual'];
    vi.stubEnv('WARPSMITH_JOURNAL', 'on');
    const evaluated = await runJson(words).finally(() => vi.stubEnv('WARPSMITH_JOURNAL', 'off'));
    expect(evaluated.json).toMatchObject({ status: 'passed' });
    expect(before).toBeGreaterThanOrEqual(128 * 128);
    expect(before).toBeLessThan(20_000);
    expect(most(await header())).toBe(20_000);
  });

  it('replaces an earlier export, and nothing else', async () => {
    const folder = join(place, 'twice');
    expect(await runCli(['export', 'latest', ...store, '-o', folder])).toMatchObject({ code: 0 });
    const second = await runJson(['export', 'latest/e1', ...store, '-o', folder]);
    expect(second.json.exported.candidate.kernel).toBe(START);
    expect(existsSync(join(folder, `row_sum_${WINNER}_launch.hpp`))).toBe(false);
    const others = temporaryFolder();
    writeFileSync(join(others, 'thesis.txt'), 'mine');
    const refused = await runJson(['export', 'latest', ...store, '-o', others]);
    expect(refused).toMatchObject({ code: 2, json: { error: { code: 'folder-not-empty' } } });
  });

  it('takes a kernel folder, a candidate’s id, and says what it does not know', async () => {
    const kernel = await runJson([
      'export',
      join(problem, WINNER),
      '--set',
      'WARPS=8',
      '-o',
      join(place, 'kernel'),
      '--name',
      'mine',
    ]);
    expect(kernel.json.exported).toMatchObject({ name: 'mine', candidate: { parameters: { WARPS: 8 } } });
    expect(kernel.json.exported.evidence).toEqual([
      'No run evaluated it, so its correctness and its speed are unknown.',
    ]);
    expect(readFileSync(join(place, 'kernel/kernel.cu'), 'utf8')).toContain('#define WARPS 8\n');
    const run = await runJson(['export', 'latest', ...store, '-o', join(place, 'by-run')]);
    const byId = await runJson([
      'export',
      run.json.exported.candidate.id.slice(0, 6),
      ...store,
      '-o',
      join(place, 'by-id'),
    ]);
    expect(byId.json.exported.candidate).toEqual(run.json.exported.candidate);
  });

  it.each([
    ['latest/e99', [], 'unknown-evaluation'],
    ['abcdef', [], 'unknown-candidate'],
    ['no/such/folder', [], 'no-such-folder'],
    ['latest', ['--set', 'WARPS=8'], 'parameters-of-a-candidate'],
    ['latest', ['--name', '1st'], 'bad-option-value'],
  ])('refuses %s %j: %s', async (target, options, code) => {
    const { code: exit, json } = await runJson(['export', target, ...store, ...options, '-o', join(place, 'refused')]);
    expect({ exit, code: json.error.code }).toEqual({ exit: 2, code });
  });

  it('finds a candidate’s id beside a run whose log is damaged', async () => {
    const damaged = ['--store', join(place, 'damaged')];
    cpSync(store[1]!, damaged[1]!, { recursive: true });
    const [run] = readdirSync(join(damaged[1]!, 'runs'));
    cpSync(join(damaged[1]!, 'runs', run!), join(damaged[1]!, 'runs/2020-01-01-broken'), { recursive: true });
    writeFileSync(join(damaged[1]!, 'runs/2020-01-01-broken/events.jsonl'), '{"not": "an event"}\nmore\n');
    const { json } = await runJson(['export', 'latest', ...damaged, '-o', join(place, 'damaged-run')]);
    const { id } = json.exported.candidate;
    const byId = await runJson(['export', id.slice(0, 6), ...damaged, '-o', join(place, 'damaged-id')]);
    expect({ code: byId.code, id: byId.json.exported?.candidate.id }).toEqual({ code: 0, id });
    const unknown = await runJson(['export', 'abcdef', ...damaged, '-o', join(place, 'refused')]);
    expect(unknown.json.error).toMatchObject({
      code: 'unknown-candidate',
      hint: expect.stringContaining("can't be read: 2020-01-01-broken"),
    });
  });

  it('does not export a candidate whose kernel changed and was not kept', async () => {
    const kernelJson = join(problem, WINNER, 'kernel.json');
    const text = readFileSync(kernelJson, 'utf8');
    const source = join(problem, WINNER, 'kernel.cu');
    const code = readFileSync(source, 'utf8');
    try {
      // Sources come from the run, not from the folder.
      writeFileSync(source, '// changed\n');
      const { json } = await runJson(['export', 'latest', ...store, '-o', join(place, 'changed')]);
      expect(json.exported.candidate.kernel).toBe(WINNER);
      expect(readFileSync(join(place, 'changed/kernel.cu'), 'utf8')).toContain(code);
    } finally {
      writeFileSync(source, code);
      writeFileSync(kernelJson, text);
    }
  });
});

describe('compare', () => {
  const kernels = () => [join(problem, START), join(problem, WINNER)];

  long('compares predictions as predictions', async () => {
    const [start, winner] = kernels();
    const { code, stdout } = await runCli(['compare', start!, winner!, ...DEVICE, ...store]);
    expect(code).toBe(0);
    expect(stdout).toContain('Both are right on every check.');
    expect(stdout).toMatch(/square +predicted \d.* µs +predicted .* µs +predicted \d+\.\d{3}× faster/);
    expect(stdout).not.toContain('measured');
  });

  long('--fail-on slower tells a script', async () => {
    const [start, winner] = kernels();
    const options = [...DEVICE, ...store, '--workload', 'all', '--fail-on', 'slower'];
    const better = await runJson(['compare', start!, 'latest', ...options]);
    expect(better).toMatchObject({ code: 0, json: { kind: 'compare', failing: [], failOn: 'slower' } });
    expect(better.json.geometricMean).toMatchObject({ kind: 'predicted' });
    const ratios = better.json.workloads.map(({ ratio }: Json) => Math.log(ratio));
    const mean = ratios.reduce((sum: number, value: number) => sum + value, 0) / ratios.length;
    expect(better.json.geometricMean.ratio).toBeCloseTo(Math.exp(mean), 9);
    const worse = await runJson(['compare', 'latest', start!, ...options]);
    expect(worse.code).toBe(1);
    expect(worse.json.failing).toContain('square');
    const same = await runJson([
      'compare',
      winner!,
      winner!,
      ...DEVICE,
      ...store,
      '--fail-on',
      'not-faster',
      '--set-candidate',
      'WARPS=4',
    ]);
    expect({ code: same.code, ratio: same.json.workloads[0].ratio }).toEqual({ code: 1, ratio: 1 });
  });

  it('fails for a kernel that is wrong, whatever its time', async () => {
    const wrong = join(problem, '03_wrong');
    cpSync(join(problem, WINNER), wrong, { recursive: true });
    const source = join(wrong, 'kernel.cu');
    writeFileSync(source, readFileSync(source, 'utf8').replace('y[row] = sum', 'y[row] = 0.0f * sum'));
    const { code, json } = await runJson(['compare', join(problem, START), wrong, ...DEVICE, ...store]);
    expect({ code, status: json.workloads[0].candidate.status, ratio: json.workloads[0].ratio }).toEqual({
      code: 1,
      status: 'wrong',
      ratio: null,
    });
    expect(json.failing).toEqual(['square']);
  });

  it('refuses kernels of different problems', async () => {
    const other = join(repository, 'problems/attention/01_minimal');
    const { code, json } = await runJson(['compare', join(problem, START), other, ...DEVICE, ...store]);
    expect({ code, error: json.error.code }).toEqual({ code: 2, error: 'different-problems' });
  });
});

describe('inspect', () => {
  it('shows hot lines with their PTX, and flags what is scattered', async () => {
    const { code, stdout } = await runCli(['inspect', join(problem, START), ...DEVICE, ...store, '--lines', '1']);
    expect(code).toBe(0);
    expect(stdout).toContain('Counters: virtual (counted on virtual:l4)');
    expect(unwrapped(stdout)).toMatch(/kernel\.cu:\d+ \d+\.\d % of issued instructions/);
    expect(stdout).toMatch(/! scattered load: \d+(\.\d)? sectors per request, 4 would do/);
    expect(stdout).toMatch(/\d+ {2}ld\.global\S*b32 /);
    expect(stdout).toContain('kernel.cu, in source order');
  });

  it('holds every line with counters that add up, as JSON', async () => {
    const { code, json } = await runJson(['inspect', 'latest', ...DEVICE, ...store]);
    expect({ code, kind: json.kind, counters: json.counters.kind }).toEqual({
      code: 0,
      kind: 'inspect',
      counters: 'virtual',
    });
    expect(json.workload).toBe('square');
    const lines: Json[] = json.lines;
    const sum = (of: (line: Json) => number): number => lines.reduce((total, line) => total + of(line), 0);
    expect(sum(({ instructions }) => instructions)).toBe(Math.round(json.attributedShare * json.totals.instructions));
    expect(sum(({ globalLoad, globalStore }) => (globalLoad?.units ?? 0) + (globalStore?.units ?? 0))).toBe(
      json.totals.sectors,
    );
    expect(sum(({ ptx }) => ptx.length)).toBe(json.totals.ptxInstructions);
    expect(lines.map(({ text }) => text).join('\n')).toBe(
      readFileSync(join(problem, WINNER, 'kernel.cu'), 'utf8').trimEnd(),
    );
    const hot = json.hot.map(({ line }: Json) => lines.find((other) => other.line === line).instructions);
    expect(hot).toEqual([...hot].sort((a: number, b: number) => b - a));
    expect(json.attributedShare).toBeGreaterThan(0.95);
  });

  long('judges on the workload of the run, which need not be declared', async () => {
    const other = ['--store', join(place, 'undeclared')];
    const options = ['--workload', 'rows=32,columns=64', '--cache', 'cold', '--max-evaluations', '1'];
    await runCli(['optimize', problem, ...DEVICE, ...other, ...options]);
    const { code, json } = await runJson(['inspect', 'latest', ...DEVICE, ...other]);
    expect({ code, workload: json.workload }).toEqual({ code: 0, workload: 'rows32columns64' });
  });
});

describe('the device of a run', () => {
  const other = () => ['--store', join(place, 'other')];
  const cheap = ['--workload', 'rows=32,columns=64'];

  beforeAll(async () => {
    const options = ['--device', 'virtual:h200', ...JUDGED, ...cheap, '--max-evaluations', '1'];
    const [run] = readdirSync(join(store[1]!, 'runs'));
    expect(await runCli(['optimize', problem, ...options, ...other()])).toMatchObject({ code: 0 });
    cpSync(join(store[1]!, 'runs', run!), join(place, 'other/runs', `2020-${run}`), { recursive: true });
  });

  long('is where compare, inspect and dispatch judge, unless another one is asked for', async () => {
    const said = /^No --device given: using virtual:h200 \(that of run 2\S+\)\.$/m;
    const compared = await runJson(['compare', join(problem, START), 'latest', ...other(), ...cheap, ...JUDGED]);
    expect(compared).toMatchObject({ code: 0, json: { device: { id: 'virtual:h200' } } });
    expect(compared.stderr).toMatch(said);
    const inspected = await runJson(['inspect', 'latest', ...other(), ...JUDGED]);
    expect(inspected).toMatchObject({ code: 0, json: { device: { id: 'virtual:h200' } } });
    expect(inspected.stderr).toMatch(said);
    const table = await runJson(['dispatch', 'latest', ...other(), ...JUDGED, '-o', join(place, 'table')]);
    expect(table).toMatchObject({ code: 0, json: { device: { id: 'virtual:h200' } } });
    expect(table.stderr).toMatch(said);
  });

  long('has to be chosen where two runs differ', async () => {
    const pair = ['2020', 'latest', ...other(), ...cheap, ...JUDGED];
    const refused = await runJson(['compare', ...pair]);
    expect(refused).toMatchObject({ code: 2, json: { error: { code: 'different-devices', path: '--device' } } });
    expect(await runJson(['compare', ...pair, '--device', 'virtual:l4'])).toMatchObject({ code: 0 });
    const table = await runJson(['dispatch', '2020', 'latest', ...other(), '-o', join(place, 'refused')]);
    expect(table).toMatchObject({ code: 2, json: { error: { code: 'dispatch-needs-one-device' } } });
  });
});
