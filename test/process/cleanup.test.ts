import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { contentOf, eventually, fixture, isRunning } from './processes.ts';

/** Starts the fixture that holds a temporary folder and a hanging child; resolves once both are there. */
async function startParent(how?: string): Promise<{ parent: ChildProcess; folder: string; childId: number }> {
  const parent = spawn(process.execPath, [fixture('parent.ts'), ...(how === undefined ? [] : [how])], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [firstChunk] = await once(parent.stdout!, 'data');
  const folder = String(firstChunk).trim();
  const childId = Number(await contentOf(join(folder, 'pid')));
  expect(isRunning(childId)).toBe(true);
  return { parent, folder, childId };
}

describe('when the parent ends, its children and temporary folders go with it', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('by %s, still dying of that signal', async (signal) => {
    const { parent, folder, childId } = await startParent();
    parent.kill(signal);
    const [, endedBy] = await once(parent, 'exit');
    expect(endedBy).toBe(signal);
    await eventually(() => !isRunning(childId));
    expect(existsSync(folder)).toBe(false);
  });

  it.each([
    ['process.exit', 'exit', 7],
    ['an uncaught error', 'throw', 1],
  ])('by %s', async (_name, how, code) => {
    const { parent, folder, childId } = await startParent(how);
    const [exitCode] = await once(parent, 'exit');
    expect(exitCode).toBe(code);
    await eventually(() => !isRunning(childId));
    expect(existsSync(folder)).toBe(false);
  });
});

describe('when the parent is killed outright, the guard ends and removes what it had', () => {
  it('a child and a temporary folder', async () => {
    const { parent, folder, childId } = await startParent();
    parent.kill('SIGKILL');
    await eventually(() => !isRunning(childId) && !existsSync(folder));
  });

  it('a program that another process started for it, also where it ends in order', async () => {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const { parent, folder, childId } = await startParent('by a starter');
      parent.kill(signal);
      await eventually(() => !isRunning(childId) && !existsSync(folder));
    }
  });

  it('a grandchild that has left the process group of the child', async () => {
    const { parent, folder, childId } = await startParent('away');
    const grandchildId = Number(await contentOf(join(folder, 'grandchild')));
    expect(isRunning(grandchildId)).toBe(true);
    parent.kill('SIGKILL');
    await eventually(() => !isRunning(childId) && !isRunning(grandchildId) && !existsSync(folder));
  });

  it('when the guard itself had been killed before, too', async () => {
    const { parent, folder, childId } = await startParent('unguarded');
    const secondId = Number(await contentOf(join(folder, 'second')));
    parent.kill('SIGKILL');
    await eventually(() => !isRunning(childId) && !isRunning(secondId) && !existsSync(folder));
  });
});

describe('withTemporaryFolder', () => {
  it('removes the folder after use and after an error', async () => {
    const used = await withTemporaryFolder(async (folder) => {
      expect(existsSync(folder)).toBe(true);
      return folder;
    });
    expect(existsSync(used)).toBe(false);
    let failed = '';
    const failing = withTemporaryFolder(async (folder) => {
      failed = folder;
      throw new Error('in use');
    });
    await expect(failing).rejects.toThrow('in use');
    expect(existsSync(failed)).toBe(false);
  });
});
