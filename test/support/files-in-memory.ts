import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Where Linux has a file system in memory. */
const IN_MEMORY = '/dev/shm';

/** At most 61 MB lay there at once while a third of all files ran. */
const LEAST_FREE_BYTES = 1024 ** 3;

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Temporary files of a run lie in memory where the system has room for them. Tests make and remove thousands: on ext4 a new file looks for an
 * inode that has not just been freed, which took 3 % of the processor time of a run, and the rest of making and removing files as much.
 */
export default function keepFilesInMemory(): (() => void) | undefined {
  if (process.env.TMPDIR !== undefined || !hasRoom()) return undefined;
  removeAbandoned();
  // Sockets have short paths.
  const folder = mkdtempSync(join(IN_MEMORY, 'ws-'));
  // As /tmp is: some tests run programs as another user.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  return () => {
    delete process.env.TMPDIR;
    rmSync(folder, { recursive: true, force: true });
  };
}

/** What runs left that were killed: no run takes a day. */
function removeAbandoned(): void {
  for (const name of globSync('ws-??????', { cwd: IN_MEMORY })) {
    const folder = join(IN_MEMORY, name);
    const state = statSync(folder, { throwIfNoEntry: false });
    if (state && state.uid === process.getuid?.() && Date.now() - state.mtimeMs > DAY_MS)
      rmSync(folder, { recursive: true, force: true });
  }
}

/** Containers often have little room there, or let no program there run. */
function hasRoom(): boolean {
  if (process.platform !== 'linux' || !existsSync(IN_MEMORY)) return false;
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const [, , type, options = ''] = mounts.find((line) => line.split(' ')[1] === IN_MEMORY)?.split(' ') ?? [];
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return type === 'tmpfs' && !options.split(',').includes('noexec') && bavail * bsize >= LEAST_FREE_BYTES;
}
