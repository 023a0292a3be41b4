// A scripted coding agent: node agent.mjs <what it does> [more…]. It speaks MCP as its .mcp.json says.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [what, ...rest] = process.argv.slice(2);
const note = (text) => writeFileSync('NOTES.md', text);

async function connect() {
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const { command, args } = JSON.parse(readFileSync('.mcp.json', 'utf8')).mcpServers.warpsmith;
  const client = new Client({ name: 'scripted', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
  return async (name, given = {}) => {
    const result = await client.callTool({ name, arguments: given });
    return { isError: result.isError === true, text: result.content[0].text, data: result.structuredContent ?? {} };
  };
}

const WARP = `__global__ void row_sum(const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * WARPS + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int column = lane; column < columns; column += 32) sum += x[row * columns + column];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (lane == 0) y[row] = sum;
}
`;
const JSON_TEXT = JSON.stringify({
  schemaVersion: 1,
  name: 'warp_row',
  description: 'One warp sums one row.',
  source: { kind: 'cuda', files: ['kernel.cu'], flags: ['-DWARPS=4'] },
  limits: ['rows <= 128', 'columns <= 300'],
  steps: [
    {
      function: 'row_sum',
      grid: ['ceilDiv(rows, 4)'],
      block: [128],
      arguments: [
        { buffer: 'x' },
        { buffer: 'y' },
        { scalar: 'rows', dtype: 'i32' },
        { scalar: 'columns', dtype: 'i32' },
      ],
    },
  ],
});
const files = (source) => ({ 'kernel.json': JSON_TEXT, 'kernel.cu': source });

async function submit(call, source, said = {}) {
  const submitted = await call('submit', { files: files(source), hypothesis: 'one warp per row', ...said });
  if (submitted.isError) return submitted;
  return call('wait', { id: submitted.data.id });
}

const AGENTS = {
  async climbs() {
    if (existsSync('NOTES.md')) return;
    const call = await connect();
    const problem = await call('problem');
    const start = await call('wait', { id: 'start' });
    const checked = await call('check', { files: files(WARP) });
    const broken = await submit(call, WARP.replace('sum;', 'summ;'));
    const wrong = await submit(call, WARP.replace('offset > 0', 'offset > 1'));
    const right = await submit(call, WARP, { hypothesis: 'whole sectors', predictedRatio: 3 });
    const same = await call('submit', { files: files(WARP), hypothesis: 'again' });
    const seen = {
      about: problem.text.slice(0, 40),
      start: start.text,
      checked: checked.data.compiles,
      broken: broken.text,
      wrong: wrong.text,
      right: right.text,
      same: same.data.isNew,
      brief: existsSync('BRIEF.md'),
    };
    note(`KEY=${process.env.AGENT_TEST_KEY ?? 'none'}\n${JSON.stringify(seen)}`);
  },
  /** Says what the earlier session left. */
  async reads() {
    const call = await connect();
    const history = await call('history');
    note(
      `before: ${existsSync('NOTES.md') ? readFileSync('NOTES.md', 'utf8').slice(0, 200) : 'nothing'}\n${history.text}`,
    );
  },
  async hangs() {
    spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
    await sleep(600_000);
  },
  async fails() {
    process.stderr.write('no credit left\n');
    process.exit(3);
  },
  async cheats() {
    const done = {};
    for (const path of rest) {
      try {
        writeFileSync(path, '{}');
        done[path] = 'written';
      } catch (error) {
        done[path] = error.code;
      }
    }
    for (const path of ['/dev/nvidia0', '/dev/nvidiactl', '/run/docker.sock']) done[path] = existsSync(path);
    note(JSON.stringify(done));
    const call = await connect();
    await submit(call, WARP);
  },
  async floods() {
    const line = 'x'.repeat(1 << 16);
    for (let count = 0; count < 600; count += 1) {
      if (!process.stdout.write(line)) await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
    await AGENTS.climbs();
  },
  async forks() {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
    child.unref();
    note(`child ${child.pid}`);
  },
  /** Hands in a kernel and thinks on, unless a file says that it is done. */
  async lingers() {
    const [pids, done] = rest;
    if (existsSync(done)) return;
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
    child.unref();
    writeFileSync(pids, `${process.pid} ${child.pid}`);
    const call = await connect();
    await submit(call, WARP);
    await sleep(600_000);
  },
  async silent() {},
  async greedy() {
    const call = await connect();
    const answers = [];
    for (const count of [1, 2, 3, 4])
      answers.push(await submit(call, WARP.replace('float sum = 0', `float sum = 0; ${'sum += 0; '.repeat(count)}`)));
    note(JSON.stringify(answers.map(({ text, isError }) => [isError, text])));
  },
};

await AGENTS[what]();
process.exit(0);
