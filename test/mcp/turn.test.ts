import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { overMcp } from '../support/sampling/long-tests.ts';
import { smallRowSum } from '../support/small-row-sum.ts';
import { connect } from './client.ts';

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-mcp-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const STORE = join(folder, 'store');
const serve = [smallRowSum(folder), '--device', 'virtual:l4', '--workload', 'rows=256,columns=64', '--store', STORE];

/** One warp for a row: right, and faster than the start. Its limits keep the drawn shapes small, and the test quick. */
const WARP = readFileSync('examples/row-sum/02_warp_per_row/kernel.cu', 'utf8');
const JSON_EDITS = [
  { file: 'kernel.json', search: '"ceilDiv(rows, 128)"', replace: '"ceilDiv(rows, 4)"' },
  { file: 'kernel.json', search: '"steps"', replace: '"limits": ["rows <= 512", "columns <= 512"], "steps"' },
  { file: 'kernel.json', search: '"kind": "cuda"', replace: '"kind": "cuda", "flags": ["-DWARPS=4"]' },
];

const descendants = (pid: number): number[] => {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid)
    .map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
};

function parentOf(pid: string): number | undefined {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

async function allEnd(pids: readonly number[]): Promise<number[]> {
  for (let tries = 0; tries < 100 && pids.some(isAlive); tries++) await sleep(100);
  return pids.filter(isAlive);
}

describe('an author over stdio', () => {
  let best = '';

  it('learns the problem, has a kernel judged, and is told what is left', async () => {
    await using agent = await connect([...serve, '--max-evaluations', '4']);
    const { tools } = await agent.client.listTools();
    expect(tools.length).toBeLessThanOrEqual(12);
    expect(tools.every(({ outputSchema }) => outputSchema !== undefined)).toBe(true);

    const problem = await agent.call('problem');
    expect(problem.text).toContain('y[r] = sum of x[r, :].');
    expect(problem.data.buffers).toContain('x (in): f32 [rows, columns] = [256, 64]; row-major; aligned to 16 bytes');

    const checked = await agent.call('check', {
      edits: [{ file: 'kernel.cu', search: 'y[row] = sum;', replace: 'y[row] = summ;' }],
      // The same arguments serve `submit`.
      hypothesis: 'a typing error',
      predictedRatio: 1.1,
    });
    expect(checked.data.compiles).toBe(false);
    expect(checked.text).toMatch(/kernel\.cu:\d+:\d+: error: .*summ/);
    expect(checked.data.budget).toMatchObject({ evaluationsLeft: 4 });

    const judged = await agent.judge({
      files: { 'kernel.cu': WARP },
      edits: JSON_EDITS,
      hypothesis: 'one warp per row reads whole sectors',
      predictedRatio: 2,
    });
    expect(judged.data).toMatchObject({ state: 'judged', budget: { evaluationsLeft: 3 } });
    expect(judged.data.feedback).toMatchObject({ status: 'passed' });
    expect((judged.data.feedback as { ratioToStart: number }).ratioToStart).toBeGreaterThan(1.2);
    expect(judged.text).toMatch(/prediction: hoped 2\.00×, got/);
    best = judged.id;

    const wrong = await agent.judge({
      parent: best,
      edits: [{ file: 'kernel.cu', search: 'y[row] = sum;', replace: 'if (row % 2 == 0) y[row] = sum;' }],
      hypothesis: 'half the stores',
    });
    expect(wrong.data.feedback).toMatchObject({ status: 'wrong' });
    const again = await agent.call('submit', { parent: best, hypothesis: 'the same again' });
    expect(again.data).toMatchObject({ id: best, isNew: false, budget: { evaluationsLeft: 2 } });
  });

  overMcp('a restart')('finds its attempts again after a restart, and can’t spend more than it is given', async () => {
    await using agent = await connect([...serve, '--max-evaluations', '1']);
    const history = await agent.call('history');
    expect(history.data).toMatchObject({ best });
    expect(history.text).toContain('“one warp per row reads whole sectors”, hoped 2.00×; passed');
    expect((await agent.call('result', { id: best })).data.feedback).toMatchObject({ status: 'passed' });
    const files = (await agent.call('kernels', { id: best })).data.files as Record<string, string>;
    expect(files['kernel.cu']).toBe(WARP);

    const block = (threads: number) => ({
      parent: best,
      edits: [{ file: 'kernel.json', search: '"block": [128]', replace: `"block": [${threads}]` }],
      hypothesis: 'other blocks',
    });
    expect((await agent.call('submit', block(64))).isError).toBe(false);
    const refused = await agent.call('submit', block(256));
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toContain('[budget-spent]');
    expect((await agent.call('cancel', { id: 'start' })).data).toMatchObject({ cancelled: false });
  });

  overMcp('a search that would end at once')(
    'is spared a search that would end at once, because the kernel is as fast as the bound',
    async () => {
      const problem = smallRowSum(join(folder, 'large'), 140_000);
      // As if it were bound by arithmetic: what is predicted then is the bound.
      const file = join(problem, 'problem.json');
      const { flop, ...others } = JSON.parse(readFileSync(file, 'utf8'));
      writeFileSync(file, JSON.stringify({ ...others, flop: `4000 * (${flop})` }));
      const words = [problem, '--device', 'virtual:l4', '--workload', 'rows=1024,columns=128', '--store', STORE];
      await using agent = await connect([...words, '--max-evaluations', '5']);
      // Its limits leave the check shape whose rows are no whole CTAs: the problem has few such sizes, and not every draw meets them.
      const declared =
        '"limits": ["rows <= 1024", "columns <= 259"], "parameters": { "T": { "values": [1, 2], "default": 1 } }';
      const edits = JSON_EDITS.with(1, { file: 'kernel.json', search: '"steps"', replace: `${declared}, "steps"` });
      const { id, text } = await agent.judge({ files: { 'kernel.cu': WARP }, edits, hypothesis: 'a parameter' });
      expect(text).toContain('passed');
      const refused = await agent.call('start', { id, evaluations: 4 });
      expect(refused).toMatchObject({ isError: true });
      expect(refused.text).toMatch(/\[near-attainable\] A search from \w+ would end at once and cost evaluations/);
      expect((await agent.call('history')).text).toContain('left: 4 evaluations');
    },
  );

  overMcp('an older revision')('is served by an older revision of the protocol, too', async () => {
    await using agent = await connect(serve, { options: { versionNegotiation: { mode: 'legacy' } } });
    expect(agent.client.getNegotiatedProtocolVersion()).toMatch(/^2025-/);
    expect((await agent.call('history')).data).toMatchObject({ best });
  });

  const submission = (how: string) => ({
    files: { 'kernel.cu': `${WARP}// ${how}\n` },
    edits: JSON_EDITS,
    hypothesis: how,
  });

  overMcp('told to end')('ends with its processes when it is told to', async () => {
    const agent = await connect(serve);
    await agent.call('submit', submission('SIGTERM'));
    const all = [agent.pid, ...descendants(agent.pid)];
    process.kill(agent.pid, 'SIGTERM');
    expect(await allEnd(all)).toEqual([]);
  });

  overMcp('killed')('ends with its processes when its client is killed', async () => {
    const script = fileURLToPath(new URL('client-to-kill.ts', import.meta.url));
    const client = spawn(process.execPath, [script, JSON.stringify(serve), JSON.stringify(submission('SIGKILL'))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [text] = (await once(client.stdout, 'data')) as [Buffer];
    const server = Number(text.toString());
    const all = [server, ...descendants(server)];
    client.kill('SIGKILL');
    expect(await allEnd(all)).toEqual([]);
  });
});
