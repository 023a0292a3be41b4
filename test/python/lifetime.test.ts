import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { eventually, isRunning } from '../process/processes.ts';

const python = findExecutable('python3');
const PYTHON_FOLDER = resolve(import.meta.dirname, '../../python');

it.skipIf(!python || process.platform !== 'linux')(
  'ends with a parent that is killed, even in a call that does not end',
  async () => {
    const worker = `
import os, time
from warpsmith_worker.lifetime import end_with_parent
end_with_parent()
os.write(1, str(os.getpid()).encode())
time.sleep(60)`;
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `require('node:child_process').spawn(${JSON.stringify(python)}, ['-c', ${JSON.stringify(worker)}], ` +
          `{ cwd: ${JSON.stringify(PYTHON_FOLDER)}, detached: true, stdio: ['ignore', 'inherit', 'ignore'] })`,
      ],
      { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } },
    );
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(chunk.toString());
    expect(isRunning(pid)).toBe(true);
    parent.kill('SIGKILL');
    await eventually(() => !isRunning(pid));
  },
);
