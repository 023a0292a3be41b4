import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { type AgentProcess, startAgent } from '../../src/process/agent-process.ts';
import { eventually, isRunning } from './processes.ts';

/** Starts a child in a group of its own, says both numbers, and works. */
const WORKS = `
const { spawn } = require('node:child_process');
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 20)'], { detached: true, stdio: 'ignore' });
require('node:fs').writeFileSync(process.argv[1], process.pid + ' ' + child.pid);
setInterval(() => {}, 20);
`;

const folder = mkdtempSync(join(tmpdir(), 'warpsmith-agent-process-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

/** As /proc has it: T where it is stopped; undefined where it has gone. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2)[0];
  } catch {
    return undefined;
  }
}

async function agentAtWork(timeoutMs = 60_000): Promise<{ agent: AgentProcess; pids: readonly number[] }> {
  const place = join(folder, `pids${count++}`);
  const args = ['-e', WORKS, place];
  const agent = startAgent({ command: process.execPath, args, cwd: '/', env: {}, stdin: '', timeoutMs });
  let pids: number[] = [];
  await eventually(() => {
    try {
      pids = readFileSync(place, 'utf8').split(' ').map(Number);
    } catch {
      pids = [];
    }
    return pids.length === 2;
  });
  return { agent, pids };
}

const areAll = (pids: readonly number[], isSo: (state: string | undefined) => boolean): boolean =>
  pids.every((pid) => isSo(stateOf(pid)));

it('stops an agent with all that it started, in other groups, too, and lets it go on', async () => {
  const { agent, pids } = await agentAtWork();
  agent.pause();
  await eventually(() => areAll(pids, (state) => state === 'T'));
  // A second pause before the first has ended changes nothing.
  agent.pause();
  agent.resume();
  await eventually(() => areAll(pids, (state) => state === 'S' || state === 'R'));
  await agent.end();
  await eventually(() => !pids.some(isRunning));
});

it.each([
  ['it is ended', 60_000, (agent: AgentProcess) => agent.end()],
  ['its time is up', 1500, (agent: AgentProcess) => agent.ended],
])('leaves none stopped when %s', async (_, timeoutMs, end) => {
  const { agent, pids } = await agentAtWork(timeoutMs);
  agent.pause();
  await eventually(() => areAll(pids, (state) => state === 'T' || state === undefined));
  await end(agent);
  await eventually(() => !pids.some(isRunning));
  // Nothing is left to pause.
  agent.pause();
  agent.resume();
  await sleep(0);
  expect(pids.some(isRunning)).toBe(false);
});
