import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { COALESCED, gateRepository, slowerBy } from '../cli/gate-repository.ts';
import { repository as ROOT } from '../cli/run-cli.ts';
import { longTests } from '../support/sampling/matrix.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

/* The steps of action.yml as a runner of GitHub makes them, with its variables and files, and no network. */

const action = readFileSync(join(ROOT, 'action.yml'), 'utf8');

/** What `run:` says in each step, in order. */
const steps = [...action.matchAll(/^ {6}run: (.+)$/gm)].map(([, command]) => command!);
/** Input → the variable that hands it to the script. */
const handed = new Map(
  [...action.matchAll(/^ {8}(INPUT_\w+): \$\{\{ inputs\.([\w-]+) \}\}$/gm)].map(([, v, i]) => [i!, v!]),
);
const inputs = [...action.split('\noutputs:')[0]!.matchAll(/^ {2}([\w-]+):$/gm)].map(([, name]) => name!);

let runner: string;
beforeAll(() => {
  runner = mkdtempSync(join(tmpdir(), 'warpsmith-runner-'));
});
afterAll(() => rmSync(runner, { recursive: true, force: true }));

interface Made {
  readonly code: number | null;
  readonly stderr: string;
  readonly summary: string;
  readonly outputs: Readonly<Record<string, string>>;
}

/** Makes the steps in a checkout, until one fails. */
function make(checkout: string, given: Readonly<Record<string, string>>): Made {
  const [summary, output] = ['summary', 'output'].map((name) => join(runner, name));
  for (const file of [summary!, output!]) writeFileSync(file, '');
  const values = Object.entries({ device: 'virtual:l4', ...given }).map(([name, value]) => [handed.get(name)!, value]);
  const env = {
    ...process.env,
    ...Object.fromEntries(values),
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    GITHUB_ACTION_PATH: ROOT,
    GITHUB_STEP_SUMMARY: summary,
    GITHUB_OUTPUT: output,
    RUNNER_TEMP: runner,
    WARPSMITH_CACHE: join(runner, 'cache'),
    CUDA_VISIBLE_DEVICES: '',
    // No registry is there: a step that asked for one would fail.
    npm_config_registry: 'http://127.0.0.1:9',
  };
  let ended = { status: null as number | null, stderr: '' };
  for (const step of steps) {
    ended = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step], {
      ...{ cwd: checkout, env, encoding: 'utf8' },
    });
    if (ended.status !== 0) break;
  }
  const lines = readFileSync(output!, 'utf8').split('\n').filter(Boolean);
  const outputs = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2) as [string, string]));
  return { code: ended.status, stderr: ended.stderr, summary: readFileSync(summary!, 'utf8'), outputs };
}

describe.skipIf(!findExecutable('git') || !findExecutable('bash'))('the action (needs git and bash)', () => {
  it('hands every input to the script by a variable that this reads, and puts none into a command', () => {
    expect(inputs.length).toBeGreaterThan(5);
    expect([...handed.keys()]).toEqual(inputs);
    const script = readFileSync(join(ROOT, 'scripts/action/gate.sh'), 'utf8');
    for (const variable of handed.values()) expect(script).toContain(`\${${variable}:-`);
    expect(steps).toHaveLength(2);
    for (const step of steps) expect(step).not.toContain('${{');
  });

  long('refuses a slower rung, and tells so in the summary, in Markdown and in SARIF', () => {
    const { folder, git, edit, commit } = gateRepository();
    git('switch', '-q', '-c', 'change');
    edit(COALESCED, slowerBy(2));
    commit();
    const base = git('rev-parse', 'main');
    const refused = make(folder, { base, workloads: 'n65536\n' });
    expect(refused.stderr).toContain('judging it');
    expect(refused.code).toBe(1);
    expect(refused.outputs['exit-code']).toBe('1');
    expect(refused.summary).toMatch(/^# Kernels of this change\n\nrefused: 1 refusal/);
    expect(refused.summary).toContain(`base ${base.slice(0, 12)}, head `);
    expect(readFileSync(refused.outputs.markdown!, 'utf8')).toBe(refused.summary);
    expect(JSON.parse(readFileSync(refused.outputs.sarif!, 'utf8')).version).toBe('2.1.0');
    const passed = make(folder, { base, 'max-slowdown': '8%' });
    expect(passed).toMatchObject({ code: 0, outputs: { 'exit-code': '0' } });
  });

  long(
    'takes an input for one word, whatever it holds, and leaves nothing of an earlier run',
    {
      timeout: 60_000,
    },
    () => {
      const { folder } = gateRepository();
      const mark = join(runner, 'ran');
      const { code, summary, outputs } = make(folder, { base: `main"; touch ${mark}; $(touch ${mark}) #` });
      expect(code).toBe(2);
      expect([summary, outputs]).toEqual(['', { 'exit-code': '2' }]);
      expect(make(folder, { base: 'main', folder: '--help' }).code).toBe(2);
      expect(existsSync(mark)).toBe(false);
    },
  );
});
