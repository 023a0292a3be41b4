import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { processTree } from '../../src/process/process-tree.ts';

it.skipIf(process.platform !== 'linux')('the process, its children and theirs; not its parent', async () => {
  const shell = spawn('/bin/sh', ['-c', 'sleep 30 & echo $!; wait'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const [chunk] = (await once(shell.stdout!, 'data')) as [Buffer];
  const grandchild = Number(chunk.toString());
  try {
    const tree = processTree(process.pid);
    expect([process.pid, shell.pid!, grandchild].map((pid) => tree.has(pid))).toEqual([true, true, true]);
    expect(tree.has(process.ppid)).toBe(false);
    expect([...processTree(shell.pid!)].sort()).toEqual([shell.pid!, grandchild].sort());
  } finally {
    process.kill(-shell.pid!, 'SIGKILL');
  }
});
