import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { narrowCopy } from '../support/narrowed.ts';
import { overMcp } from '../support/sampling/long-tests.ts';
import { type Connection, connect } from './client.ts';

const filesOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name === 'kernel.json' || name.endsWith('.cu'))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );

/** One head size and few lengths, of which most are no whole tiles: the test is about what an author is told. */
const FEW_SHAPES = ['D == 64', 'B * H <= 2', 'S <= 128', 'Skv <= 128', 'S % 16 == 0', 'Skv % 16 == 0'];
const WORKLOAD = { B: 1, H: 2, S: 128, D: 64 };

async function refusal(agent: Connection, kernel: string): Promise<string> {
  const files = filesOf(`test/red-team/${kernel}`);
  const { data } = await agent.judge({ files, hypothesis: 'nobody will notice' });
  const { status, why, time } = data.feedback as { status: string; why: string; time?: string };
  expect(time).toBeUndefined();
  return `${status}: ${why}`;
}

// The author sees the start only, and comes out ahead of it: with a kernel of its own, through tools alone.
overMcp('attention')('takes attention from 01_minimal to 04_warp; exploits are refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-mcp-attention-'));
  const problem = narrowCopy('problems/attention', folder, FEW_SHAPES, { name: 'small', dimensions: WORKLOAD });
  const words = [problem, '--device', 'virtual:l4', '--workload', 'small', '--store', join(folder, 'store')];
  try {
    await using agent = await connect([...words, '--max-evaluations', '6']);
    const kernels = (await agent.call('kernels')).data.kernels as { id: string }[];
    expect(kernels.map(({ id }) => id)).toEqual(['start']);
    expect((await agent.call('kernels', { id: '04_warp' })).text).toContain('[unknown-attempt]');

    expect(await refusal(agent, 'zeros')).toMatch(/^wrong: /);
    expect(await refusal(agent, 'remembers-in-the-device-heap')).toMatch(/^(invalid|compile-failed|unsupported): /);

    const judged = await agent.judge({
      files: filesOf('problems/attention/04_warp'),
      hypothesis: 'tiles of K and V in shared memory serve all rows of a CTA',
      predictedRatio: 2,
    });
    const feedback = judged.data.feedback as { status: string; ratioToStart: number; counters: string[] };
    expect(feedback.status, judged.text).toBe('passed');
    expect(feedback.ratioToStart).toBeGreaterThan(2);
    expect(feedback.counters.join()).toContain('global load sectors');
    expect(judged.text.length).toBeLessThan(4000);

    const history = await agent.call('history');
    expect(history.data).toMatchObject({ best: judged.id, budget: { evaluationsLeft: 3 } });
    expect(history.text.match(/“nobody will notice”/g)).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
