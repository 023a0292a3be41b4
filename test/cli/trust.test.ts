import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { unwrapped } from '../support/printed.ts';
import { interrupted } from '../support/sampling/long-tests.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { runCli, runJson, scaleCopy, temporaryFolder } from './run-cli.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

const ON_L4 = ['--device', 'virtual:l4'];
/** Nobody has agreed to anything. */
const stranger = () => ({ env: { WARPSMITH_TRUST: '', XDG_CONFIG_HOME: temporaryFolder() } });
/** A problem whose reference never returns. It waits rather than loop: processor time is all that a loop would add. */
const hanging = () => {
  const { problem, kernel } = scaleCopy();
  const wait = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
  writeFileSync(join(problem, 'reference.ts'), `export const reference = () => ${wait};`);
  return { problem, kernel };
};

describe('a problem from outside the repository', () => {
  test('is refused where nobody can be asked, runs with --trust, and then without', async () => {
    const { kernel } = scaleCopy();
    const options = stranger();
    const refused = await runJson(['evaluate', kernel, ...ON_L4], options);
    expect(refused.code).toBe(2);
    expect(refused.json.error).toMatchObject({ code: 'problem-not-trusted', hint: expect.stringContaining('--trust') });
    expect((await runCli(['evaluate', kernel, ...ON_L4, '--trust'], options)).code).toBe(0);
    expect((await runCli(['evaluate', kernel, ...ON_L4], options)).code).toBe(0);
  });

  long('is checked and exported without being run', async () => {
    const { problem, kernel } = hanging();
    const options = stranger();
    expect((await runCli(['check', problem], options)).code).toBe(0);
    const output = join(temporaryFolder(), 'out');
    expect((await runCli(['export', kernel, '-o', output], options)).code).toBe(0);
    expect(readdirSync(output)).toContain('kernel.cu');
  });

  long('that the log of a run names is asked about, too', async () => {
    const { problem } = scaleCopy();
    const store = temporaryFolder();
    const search = ['--max-evaluations', '1', '--no-ablation', '--store', store];
    const trusting = await runCli(['optimize', problem, ...ON_L4, ...search]);
    expect(trusting.code).toBe(0);
    const [run] = readdirSync(join(store, 'runs'));
    const events = join(store, 'runs', run!, 'events.jsonl');
    expect(readFileSync(events, 'utf8')).toContain(problem);
    // What passed in the run is counted again, not judged again.
    const inspected = await runJson(['inspect', 'latest', '--store', store, ...ON_L4], stranger());
    expect({ code: inspected.code, status: inspected.json.status }).toEqual({ code: 0, status: 'passed' });
    expect(inspected.json.totals.instructions).toBeGreaterThan(0);
    const refused = await runJson(['compare', 'latest', 'latest', '--store', store, ...ON_L4], stranger());
    expect(refused.json.error).toMatchObject({
      code: 'problem-not-trusted',
      received: expect.stringContaining('named by the log of a run'),
    });
  });
});

interrupted('a reference')('Ctrl-C ends a reference at once', async () => {
  const { kernel } = hanging();
  const { code, stderr } = await runCli(['evaluate', kernel, ...ON_L4], { interruptAt: 's so far' });
  expect(code).toBe(130);
  expect(stderr).toContain('the reference of scale computes the right outputs for N=');
  expect(stderr).toContain('Interrupted before there was a result.');
});

long('evaluate names the problem that judged, and says when a kernel chose another than that above it', async () => {
  const { problem, kernel } = scaleCopy();
  const inLadder = await runJson(['evaluate', kernel, ...ON_L4]);
  expect(inLadder.json.problem).toEqual({ name: 'scale', folder: problem, elsewhere: false });
  const elsewhere = join(temporaryFolder(), '01_strided');
  cpSync(kernel, elsewhere, { recursive: true });
  const file = join(elsewhere, 'kernel.json');
  const text = readFileSync(file, 'utf8').replace(
    '"../problem.json"',
    JSON.stringify(relative(elsewhere, join(problem, 'problem.json'))),
  );
  writeFileSync(file, text);
  const { code, stdout } = await runCli(['evaluate', elsewhere, ...ON_L4]);
  expect(code).toBe(0);
  expect(unwrapped(stdout)).toContain(
    `judged by problem scale in ${problem} which kernel.json names; it is not that of the folder above`,
  );
});
