import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { longTests } from '../support/sampling/matrix.ts';
import { fewSizes, runCli, runJson, scaleCopy, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

const before = { ...process.env };
let cache: string;
beforeAll(() => {
  cache = temporaryFolder();
  process.env.WARPSMITH_REPEATS = 'on';
  process.env.XDG_CACHE_HOME = cache;
});
afterAll(() => {
  process.env.WARPSMITH_REPEATS = before.WARPSMITH_REPEATS;
  process.env.XDG_CACHE_HOME = before.XDG_CACHE_HOME;
});

const DEVICE = ['--device', 'virtual:l4'];

test('a kernel is evaluated once, and says so the second time', async () => {
  const { problem, kernel } = scaleCopy();
  const evaluate = async (...more: string[]) => (await runJson(['evaluate', kernel, ...DEVICE, ...more])).json;
  const first = await evaluate();
  const second = await evaluate();
  expect(first.repeated).toBeUndefined();
  expect(second.repeated).toMatchObject({
    evaluatedAt: expect.stringMatching(/^\d{4}-/),
    elapsedMs: expect.any(Number),
  });
  const found = ({ repeated: _, elapsedMs: __, ...rest }: typeof first) => rest;
  expect(found(second)).toEqual(found(first));
  const { stdout } = await runCli(['evaluate', kernel, ...DEVICE]);
  expect(stdout).toContain('repeated: found at 20');
  expect(stdout).toContain('--fresh');

  const fresh = await evaluate('--fresh');
  expect(fresh.repeated).toBeUndefined();
  expect(fresh.seed).not.toBe(first.seed);
  expect((await evaluate()).seed).toBe(fresh.seed);

  // The problem's own files, and what they import, decide as much as the kernel does.
  appendFileSync(join(problem, 'reference.ts'), '\n// Another text.\n');
  const changed = await evaluate();
  expect(changed.repeated).toBeUndefined();
  expect(changed.seed).not.toBe(fresh.seed);
  appendFileSync(join(kernel, 'kernel.cu'), '\n// Another text.\n');
  expect((await evaluate()).repeated).toBeUndefined();
});

test('a recording holds what was evaluated, so nothing in it is repeated', async () => {
  const { kernel } = scaleCopy();
  const recorded = join(temporaryFolder(), 'run.jsonl.gz');
  const given = ['evaluate', kernel, ...DEVICE, '--seed', '7'];
  await runCli(given);
  expect((await runJson([...given, '--record', recorded])).json.repeated).toBeUndefined();
  expect((await runJson(given)).json.repeated).toBeDefined();
});

long('nothing is repeated or kept where repeats are off', async () => {
  const { kernel } = scaleCopy();
  process.env.WARPSMITH_REPEATS = 'off';
  const given = ['evaluate', kernel, ...DEVICE, '--seed', '8'];
  await runCli(given);
  process.env.WARPSMITH_REPEATS = 'on';
  expect((await runJson(given)).json.repeated).toBeUndefined();
});

long(
  'the second run of the same files takes the evaluations of the first, whatever the store has learned',
  async () => {
    const { problem } = scaleCopy({ problem: fewSizes });
    const store = temporaryFolder();
    const optimize = async (...more: string[]) =>
      (await runJson(['optimize', problem, ...DEVICE, '--store', store, '--max-evaluations', '5', ...more])).json;
    const first = await optimize();
    const second = await optimize();
    expect(first.repeats).toBeNull();
    expect(second.repeats.count).toBe(second.evaluationsUsed);
    expect(second.seed).toBe(first.seed);
    const tried = ({ progression }: typeof first) =>
      progression.map(({ candidate, time, decision }: typeof first) => ({ candidate, time, decision }));
    expect(tried(second)).toEqual(tried(first));
    const { stdout } = await runCli(['report', '--store', store]);
    expect(stdout).toMatch(/Repeats: 5 of 5|Repeats: \d of \d evaluations were made before/);
    rmSync(join(store, 'runs'), { recursive: true });
    expect((await optimize('--fresh')).repeats).toBeNull();
  },
);
