import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRecording } from '../../src/store/recording.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { runCli, runJson, SCALE, scaleCopy, temporaryFolder } from './run-cli.ts';

const ON_L4 = ['--device', 'virtual:l4'];

describe('options for real GPUs where there is none', () => {
  test.each([
    ['measure-needs-a-gpu', 3, ['measure', SCALE, ...ON_L4]],
    ['baselines-need-a-gpu', 3, ['evaluate', SCALE, ...ON_L4, '--baseline', 'all']],
    ['baselines-need-a-gpu', 3, ['evaluate', SCALE, ...ON_L4, '--baseline', 'start', '--baseline', '02_coalesced']],
    ['unsuitable-toolchain', 2, ['evaluate', SCALE, ...ON_L4, '--toolchain', 'nvcc']],
    ['set-needs-one-kernel', 2, ['measure', SCALE, ...ON_L4, '--set', 'BLOCK=64']],
    ['conflicting-options', 2, ['evaluate', SCALE, ...ON_L4, '--replay', 'x.jsonl.gz']],
    ['conflicting-options', 2, ['optimize', SCALE, '--record', 'x.jsonl.gz', '--replay', 'x.jsonl.gz']],
    ['conflicting-options', 2, ['measure', SCALE, '--toolchain', 'nvcc', '--replay', 'x.jsonl.gz']],
    ['no-recording', 2, ['evaluate', SCALE, '--replay', 'no-such.jsonl.gz']],
  ])('%s', async (code, exitCode, args) => {
    const outcome = await runJson(args);
    expect(outcome.json.error).toMatchObject({ code, hint: expect.any(String) });
    expect(outcome.code).toBe(exitCode);
  });

  test('what makes no difference on a virtual GPU is said, and judged all the same', async () => {
    const args = ['evaluate', SCALE, ...ON_L4, '--tier', 'accept', '--profile', 'full', '--sanitize'];
    const { code, json, stderr } = await runJson(args);
    expect({ code, status: json.status }).toEqual({ code: 0, status: 'passed' });
    for (const flag of ['--tier', '--profile', '--sanitize']) {
      expect(stderr).toMatch(new RegExp(`^${flag} has no effect on virtual:l4: it `, 'm'));
    }
  });

  test('budgets in GPU time and money can never be spent on a virtual GPU: that is said', async () => {
    const budgets = ['--max-gpu-minutes', '1', '--gpu-price', '3', '--max-money', '2', '--max-evaluations', '1'];
    const { code, stderr } = await runJson(['optimize', SCALE, ...ON_L4, ...budgets, '--store', temporaryFolder()]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^--max-gpu-minutes has no effect on virtual:l4: it takes no GPU time/m);
    expect(stderr).toMatch(/^--max-money has no effect on virtual:l4: it takes no GPU time/m);
  });

  test('--cache overrides the workload: cold data must be read from memory, which bounds the time', async () => {
    const hot = await runJson(['evaluate', SCALE, ...ON_L4, '--cache', 'hot']);
    const cold = await runJson(['evaluate', SCALE, ...ON_L4, '--cache', 'cold']);
    expect(cold.json.timing.vetoNs).toBeGreaterThan(hot.json.timing.vetoNs);
  });

  test('the doctor misses nothing that is not needed, and says what each part is for', async () => {
    const { code, json } = await runJson(['doctor'], { env: { PATH: '/usr/bin:/bin' } });
    expect(code).toBe(0);
    const checks = new Map(json.checks.map((check: { id: string }) => [check.id, check]));
    for (const id of ['cuda', 'counters', 'python']) {
      expect(checks.get(id)).toMatchObject({ verdict: 'absent', detail: expect.stringMatching(/not needed/) });
    }
    for (const id of ['nvrtc', 'nvcc', 'cuobjdump', 'ncu', 'compute-sanitizer']) {
      expect(checks.get(id)).toMatchObject({ verdict: expect.stringMatching(/^(ok|absent)$/) });
    }
  });
});

describe('a recorded run', () => {
  longTestOf(import.meta.filename)(
    'optimize is replayed with no device: the same decisions and the same report',
    async () => {
      const [store, again, third] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
      const file = join(store, 'run.jsonl.gz');
      const optimize = ['optimize', SCALE, '--max-evaluations', '5', '--seed', '3'];
      const recorded = await runJson([...optimize, ...ON_L4, '--store', store, '--record', file]);
      expect(recorded.code).toBe(0);
      const finished = (events(store) as { type: string }[]).filter(({ type }) => type === 'evaluation-finished');
      expect(readRecording(file).evaluations).toHaveLength(finished.length);

      const noCompiler = { env: { PATH: '/nonexistent' } };
      const replayed = await runJson([...optimize, '--store', again, '--replay', file], noCompiler);
      expect(replayed).toMatchObject({ code: 0, stderr: expect.not.stringContaining('No --device') });
      expect(comparable(replayed.json)).toEqual(comparable(recorded.json));
      expect(events(again)).toEqual(events(store));
      const report = await runJson(['report', '--store', again]);
      expect(comparable(report.json)).toEqual(comparable(recorded.json));
      expect(existsSync(replayed.json.bestKernelPath)).toBe(true);

      // Asked for more than was recorded, it says so and blames no candidate.
      const other = await runJson(['optimize', SCALE, '--store', third, '--replay', file, '--seed', '4']);
      expect(other.code).toBe(3);
      expect(other.json.stop).toMatchObject({ reason: 'device-failed' });
      expect(other.json.stop.detail).toMatch(/was not recorded like this; the nearest .* with seed: 3 instead of 4/);
    },
  );

  test('an edited kernel is another candidate, which the recording knows nothing about', async () => {
    const file = join(temporaryFolder(), 'evaluations.jsonl.gz');
    const { kernel } = scaleCopy();
    const first = await runJson(['evaluate', kernel, ...ON_L4, '--record', file]);
    const second = await runJson(['evaluate', kernel, ...ON_L4, '--record', file, '--seed', '2']);
    expect(readRecording(file).sessions).toHaveLength(2);
    expect((await runJson(['evaluate', kernel, '--replay', file])).json).toEqual(first.json);
    expect((await runJson(['evaluate', kernel, '--replay', file, '--seed', '2'])).json).toEqual(second.json);

    const edited = scaleCopy({ source: (text) => `// edited\n${text}` });
    const missed = await runJson(['evaluate', edited.kernel, '--replay', file]);
    expect(missed).toMatchObject({ code: 3, json: { status: 'device-failed' } });
    expect(missed.json.reason).toContain('candidate: ');
  });

  test('a file that is no recording is refused', async () => {
    const { code, stderr } = await runCli(['evaluate', SCALE, '--replay', join(SCALE, 'problem.json')]);
    expect(code).toBe(2);
    expect(stderr).toContain('[damaged-recording]');
  });
});

/** A report without what differs between two runs of the same evaluations. */
const comparable = (report: Record<string, unknown>): unknown => {
  const isMoving = (key: string, value: unknown): boolean =>
    MOVING_KEYS.has(key) || (value as { name?: unknown } | null)?.name === 'wall time';
  const text = JSON.stringify(report, (key, value: unknown) => (isMoving(key, value) ? undefined : value));
  return JSON.parse(text);
};

const MOVING_KEYS: ReadonlySet<string> = new Set([
  // Where git is not on the search path, nobody can say.
  'repository',
  'runId',
  // Names the store.
  'reproduction',
  'startedAt',
  'finishedAt',
  'time',
  'minutesUsed',
  'elapsedMs',
  'elapsedMinutes',
  'wallMinutes',
  'environment',
  'runFolder',
  'reportPath',
  'bestFolder',
  'bestKernelPath',
  'record',
  'replay',
]);

const events = (store: string): unknown[] => {
  const [run] = readdirSync(join(store, 'runs'));
  return readFileSync(join(store, 'runs', run!, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => comparable(JSON.parse(line)));
};
