import { constants } from 'node:fs';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { NativeMemory } from './native-memory.ts';
import { openProcessLibrary } from './open-library.ts';

/** Source: fcntl.h and sys/file.h of Linux. A link that somebody laid in a folder for all is not followed. */
const O_CLOEXEC = 0o2000000;
const OPEN = constants.O_RDWR | constants.O_NOFOLLOW | O_CLOEXEC;
const LOCK_EXCLUSIVE_NOW = 2 | 4;
/** Every user of this machine may take the lock. */
const MODE = 0o666;
const MAXIMUM_TEXT_BYTES = 512;

/** A lock that the kernel releases when its holder ends, however it ends. */
export interface FileLock {
  release(): void;
}

interface LibC {
  open(path: string, flags: number, mode: number): number;
  close(fd: number): number;
  flock(fd: number, operation: number): number;
  fchmod(fd: number, mode: number): number;
  ftruncate(fd: number, bytes: number): number;
  pwrite(fd: number, bytes: Uint8Array, count: number, offset: number): unknown;
  pread(fd: number, bytes: Uint8Array, count: number, offset: number): bigint;
}

let libc: LibC | undefined;

function library(): LibC {
  if (libc) return libc;
  const c = openProcessLibrary();
  libc = {
    open: c.function('open', 'i32', ['text', 'i32', 'u32']),
    close: c.function('close', 'i32', ['i32']),
    flock: c.function('flock', 'i32', ['i32', 'i32']),
    fchmod: c.function('fchmod', 'i32', ['i32', 'u32']),
    ftruncate: c.function('ftruncate', 'i32', ['i32', 'u64']),
    pwrite: c.function('pwrite', 'u64', ['i32', 'bytes', 'u64', 'u64']),
    pread: c.function('pread', 'u64', ['i32', 'bytes', 'u64', 'u64']),
  };
  return libc;
}

/**
 * Takes an exclusive lock on a file, creating it, or returns what its holder wrote there. Child processes do not inherit
 * the lock.
 * @param holder text for processes that find the lock taken.
 * @throws WarpsmithError `lock-file` when the file cannot be opened.
 */
export function tryLockFile(path: string, holder: string): FileLock | { heldBy: string } {
  const c = library();
  // An existing file of another user must be opened without O_CREAT in folders such as /tmp.
  let fd = c.open(path, OPEN, MODE);
  if (fd < 0) fd = c.open(path, OPEN | constants.O_CREAT, MODE);
  if (fd < 0) throw notOpened(path);
  if (c.flock(fd, LOCK_EXCLUSIVE_NOW) !== 0) {
    const text = new NativeMemory(MAXIMUM_TEXT_BYTES);
    const count = Number(BigInt.asIntN(64, c.pread(fd, text.bytes, MAXIMUM_TEXT_BYTES, 0)));
    c.close(fd);
    return { heldBy: new TextDecoder().decode(text.bytes.subarray(0, Math.max(0, count))).trim() };
  }
  c.fchmod(fd, MODE);
  const bytes = new TextEncoder().encode(holder).subarray(0, MAXIMUM_TEXT_BYTES);
  c.ftruncate(fd, 0);
  c.pwrite(fd, bytes, bytes.length, 0);
  let isHeld = true;
  return {
    release: () => {
      if (isHeld) c.close(fd);
      isHeld = false;
    },
  };
}

const notOpened = (path: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'lock-file',
      message: `Cannot open the lock file ${path}.`,
      expected: 'a file, no link, that every user may write',
      hint: 'Remove it if nothing uses it, or set TMPDIR to a folder that you can write to.',
    },
    EXIT.deviceOrToolMissing,
  );
