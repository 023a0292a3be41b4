import { spawnSync } from 'node:child_process';
import { existsSync, readlinkSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { readFully, SharedScratch, writeFully } from '../../src/process/shared-scratch.ts';

describe.skipIf(!existsSync('/dev/shm'))('what processes share', () => {
  const opened: SharedScratch[] = [];
  const open = (): SharedScratch => {
    opened.push(SharedScratch.open()!);
    return opened.at(-1)!;
  };
  afterEach(() => {
    for (const scratch of opened.splice(0)) scratch.close();
  });

  it('has no name, and holds what was written', () => {
    const scratch = open();
    const at = scratch.reserve(8)!;
    expect(scratch.write(Uint8Array.of(1, 2, 3), at + 5)).toBe(true);
    const into = new Uint8Array(3);
    scratch.read(into, at + 5);
    expect([...into]).toEqual([1, 2, 3]);
    expect(readlinkSync(`/proc/self/fd/${scratch.descriptor}`)).toMatch(/^\/dev\/shm\/warpsmith-.* \(deleted\)$/);
    expect(() => scratch.read(new Uint8Array(4), at + 5)).toThrow('a shared file ends at 8');
  });

  it('is a child’s, too', () => {
    const scratch = open();
    scratch.write(Uint8Array.of(0x61, 0x62), 0);
    const program = 'const b = Buffer.alloc(2); fs.readSync(4, b, 0, 2, 0); fs.writeSync(4, b.reverse(), 0, 2, 0)';
    const stdio = ['ignore', 'ignore', 'ignore', 'ignore', scratch.descriptor] as const;
    expect(spawnSync(process.execPath, ['-e', program], { stdio: [...stdio] }).status).toBe(0);
    const into = new Uint8Array(2);
    scratch.read(into, 0);
    expect([...into]).toEqual([0x62, 0x61]);
  });

  it('gives regions beside each other until all are released, and no more than there may be', () => {
    const scratch = open();
    expect([scratch.reserve(10), scratch.reserve(20), scratch.reserve(2 ** 29)]).toEqual([0, 10, undefined]);
    scratch.release();
    expect(scratch.reserve(5)).toBe(30);
    scratch.release();
    scratch.release();
    expect(scratch.reserve(5)).toBe(0);
  });

  it('says what it could not take, and is left alone then', () => {
    const scratch = open();
    const closed = open();
    opened.pop();
    closed.close();
    expect(writeFully(closed.descriptor, Uint8Array.of(1), 0)).toBe(false);
    expect(closed.write(Uint8Array.of(1), 0)).toBe(false);
    expect(closed.reserve(1)).toBeUndefined();
    expect(() => readFully(closed.descriptor, new Uint8Array(1), 0)).toThrow('EBADF');
    expect(scratch.reserve(1)).toBe(0);
  });

  it('touches no file any more once it is closed, though somebody still releases a region', () => {
    const closed = open();
    expect(closed.reserve(2 ** 28)).toBe(0);
    closed.close();
    const other = open();
    expect(other.descriptor).toBe(closed.descriptor);
    other.write(Uint8Array.of(7), 2 ** 28);
    closed.release();
    closed.close();
    const into = new Uint8Array(1);
    other.read(into, 2 ** 28);
    expect([into[0], closed.reserve(1)]).toEqual([7, undefined]);
  });
});
