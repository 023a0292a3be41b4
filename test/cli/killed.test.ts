import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { eventually, isRunning } from '../process/processes.ts';
import { repository, scaleCopy, temporaryFolder } from './run-cli.ts';

/** Running children of a process whose command line contains the text. */
function childrenOf(parent: number, text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const parentOfIt = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return parentOfIt === parent && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    });
}

/** Keeps the compiler busy for seconds. */
const LONG = Array.from({ length: 6000 }, (_, i) => `__device__ float f${i}(float x) { return sinf(x * ${i}); }`);

test('a compiler ends with a command that is killed while it compiles', async () => {
  const { kernel } = scaleCopy({ source: (text) => `${text}\n${LONG.join('\n')}\n` });
  const command = spawn(
    process.execPath,
    [join(repository, 'bin/warpsmith.mjs'), 'evaluate', kernel, '--device', 'virtual:l4'],
    { cwd: repository, stdio: 'ignore', env: { ...process.env, WARPSMITH_CACHE: temporaryFolder() } },
  );
  onTestFinished(() => void command.kill('SIGKILL'));
  let compilers: number[] = [];
  await eventually(() => {
    compilers = childrenOf(command.pid!, 'clang');
    return compilers.length > 0;
  });
  command.kill('SIGKILL');
  await once(command, 'exit');
  expect(compilers).not.toEqual([]);
  await eventually(() => !compilers.some(isRunning));
});
