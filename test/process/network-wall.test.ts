import { chmodSync, mkdtempSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findExecutable } from '../../src/process/find-executable.ts';
import { findNetworkWall, networkWall } from '../../src/process/network-wall.ts';
import { runProcess } from '../../src/process/run-process.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A search path with `readlink` and these programs, each a shell script. */
const searchPath = (programs: Readonly<Record<string, string>>): string => {
  const folder = mkdtempSync(join(tmpdir(), 'warpsmith-wall-'));
  folders.push(folder);
  symlinkSync(findExecutable('readlink')!, join(folder, 'readlink'));
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
};

/** Runs what follows the first `--`, behind no wall at all. */
const LIES = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"';

describe('a network wall', () => {
  it.each([
    ['no program for it is there', {}],
    [
      'the programs are refused',
      { bwrap: 'echo "No permissions to create new namespace" >&2; exit 1', unshare: 'exit 1' },
    ],
    ['the programs make none', { bwrap: LIES, unshare: LIES }],
    ['the programs hang', { bwrap: 'sleep 60', unshare: 'exit 1' }],
    ['the programs print something else', { bwrap: 'echo "net:[1] and more"', unshare: 'echo' }],
  ])('is none where %s', async (_, programs) => {
    const wall = await findNetworkWall(searchPath(programs), 500);
    expect(wall).toMatchObject({ name: 'none', keepsOut: [] });
    expect(wall.around('/bin/true', ['x'])).toEqual({ command: '/bin/true', args: ['x'] });
  });

  it('is the next one where the first does not work', async () => {
    const other = 'echo "net:[1]"';
    expect(await findNetworkWall(searchPath({ bwrap: 'exit 1', unshare: other }))).toMatchObject({ name: 'unshare' });
    expect(await findNetworkWall(searchPath({ bwrap: other, unshare: other }))).toMatchObject({ name: 'bubblewrap' });
  });

  it('that this system offers has no interface but an unused loopback behind it', async (context) => {
    const wall = await networkWall();
    if (wall.name === 'none') context.skip('neither bubblewrap nor unshare makes a network namespace here');
    const cat = findExecutable('cat')!;
    const run = (path: string) =>
      runProcess({ ...wall.around(cat, [path]), cwd: '/', timeoutMs: 10_000, maximumOutputBytes: 1 << 16 });
    const routes = (await run('/proc/self/net/route')).stdout.trim().split('\n');
    expect(routes, 'a header and no route').toHaveLength(1);
    const link = await runProcess({
      ...wall.around(findExecutable('readlink')!, ['/proc/self/ns/net']),
      ...{ cwd: '/', timeoutMs: 10_000, maximumOutputBytes: 1 << 16 },
    });
    expect(link.stdout.trim()).not.toBe(readlinkSync('/proc/self/ns/net'));
  });
});
