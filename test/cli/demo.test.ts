import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NARROWEST, narrowAttention } from '../support/attention-problem.ts';
import { onlyInAll } from '../support/sampling/matrix.ts';
import { repository, runJson, temporaryFolder } from './run-cli.ts';

/** Draws small shapes. Those of some seeds take longer to verify than all the rest of the demo. */
const SEED = '14';

/** The arguments of `npm run demo`, from package.json itself. */
function demoArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    scripts: { demo: string };
  };
  const [node, bin, ...args] = scripts.demo.split(' ');
  expect([node, bin]).toEqual(['node', 'bin/warpsmith.mjs']);
  return args;
}

/** `--option value`, with another value. */
function withOption(args: readonly string[], option: string, value: string): string[] {
  const index = args.indexOf(option);
  expect(index).toBeGreaterThan(0);
  return args.with(index + 1, value);
}

test('the demo in small ends faster than its start, by a move that a finding explains', async () => {
  const evaluations = withOption(demoArguments(), '--max-evaluations', '2');
  const workload = withOption(evaluations, '--workload', 'b1h1s32d64');
  const args = workload.with(workload.indexOf('problems/attention'), narrowAttention(temporaryFolder(), NARROWEST));
  const { code, json } = await runJson([...args, '--no-ablation', '--seed', SEED, '--store', temporaryFolder()]);
  expect(code).toBe(0);
  expect(json).toMatchObject({
    problem: { name: 'attention' },
    start: { kind: 'predicted', candidate: { kernel: '01_minimal' } },
    best: { kind: 'predicted' },
  });
  expect(json.progression[1].why).toMatchObject({ finding: expect.any(String) });
});

onlyInAll(
  'the demo ends at least 3 times faster than its start, by moves that its findings explain',
  {
    timeout: 240_000,
  },
  async () => {
    const { code, json } = await runJson([...demoArguments(), '--seed', SEED, '--store', temporaryFolder()]);
    expect(code).toBe(0);
    expect(json).toMatchObject({
      problem: { name: 'attention' },
      workload: { name: 'b1h8s512d64' },
      start: { kind: 'predicted', candidate: { kernel: '01_minimal' } },
      best: { kind: 'predicted' },
    });
    expect(json.speedup).toBeGreaterThanOrEqual(3);
    // What was tried after the findings had no more to say was not kept.
    const kept = json.progression.slice(1).filter(({ decision }: { decision: string }) => decision === 'keep');
    expect(kept.length).toBeGreaterThanOrEqual(2);
    for (const row of kept) {
      expect(row.why).toMatchObject({ finding: expect.any(String), evidence: expect.stringMatching(/above|below/) });
      const cited = json.progression.find(
        ({ evaluationId }: { evaluationId: string }) => evaluationId === row.why.evaluationId,
      );
      expect(cited).toMatchObject({ decision: 'keep' });
    }
  },
);
