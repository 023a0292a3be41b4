import { describe, expect, it } from 'vitest';
import { RoomOfL2, SampledL2 } from '../../../src/virtual-gpu/cache-model/l2-cache.ts';

/** One set of 16 ways. */
const ONE_SET_BYTES = 16 * 128;
const ALL = 0b1111;

const read = (l2: SampledL2, line: number, sectors = 1, launch = 0): void => l2.access(launch, line, 0, sectors, 0);
const write = (l2: SampledL2, line: number, sectors = 1, launch = 0): void => l2.access(launch, line, 0, 0, sectors);

describe('room that caches take one after the other', () => {
  it('holds nothing of the one before', () => {
    const room = new RoomOfL2();
    const before = new SampledL2(4 * ONE_SET_BYTES, 0, 3, room);
    for (let line = 0; line < 64; line++) before.access(2, line, line, ALL, ALL);
    const l2 = new SampledL2(4 * ONE_SET_BYTES, 0, 1, room);
    for (let line = 0; line < 64; line++) l2.access(0, line, line, 1, 0);
    l2.flush();
    expect(l2.traffic).toEqual([{ read: 64, written: 0 }]);
  });
});

describe('a set of L2', () => {
  it('reads each sector of a line once', () => {
    const l2 = new SampledL2(ONE_SET_BYTES, 0, 1);
    read(l2, 7, 1);
    read(l2, 7, 1);
    read(l2, 7, 2);
    read(l2, 7, ALL);
    expect(l2.traffic).toEqual([{ read: 4, written: 0 }]);
  });

  it('keeps 16 lines and drops the least recently used one', () => {
    const l2 = new SampledL2(ONE_SET_BYTES, 0, 1);
    for (let line = 0; line < 16; line++) read(l2, line);
    read(l2, 0);
    expect(l2.traffic[0]!.read).toBe(16);
    read(l2, 16); // drops 1
    read(l2, 0);
    expect(l2.traffic[0]!.read).toBe(17);
    read(l2, 1);
    expect(l2.traffic[0]!.read).toBe(18);
  });

  it('misses on every access of a cycle one line longer than the set', () => {
    const l2 = new SampledL2(ONE_SET_BYTES, 0, 1);
    for (let i = 0; i < 17 * 5; i++) read(l2, i % 17);
    expect(l2.traffic[0]!.read).toBe(17 * 5);
  });

  it('writes dirty sectors back when the line goes, and does not fetch what is stored', () => {
    const l2 = new SampledL2(ONE_SET_BYTES, 0, 2);
    write(l2, 0, 0b0011, 0);
    write(l2, 0, 0b0001, 0);
    expect(l2.traffic[0]).toEqual({ read: 0, written: 0 });
    read(l2, 0, 0b0001, 1);
    expect(l2.traffic[1]).toEqual({ read: 0, written: 0 });
    for (let line = 1; line <= 16; line++) read(l2, line, 1, 1);
    expect(l2.traffic).toEqual([
      { read: 0, written: 0 },
      { read: 16, written: 2 },
    ]);
  });

  it('writes the rest back at the end, on the account of the last writer', () => {
    const l2 = new SampledL2(ONE_SET_BYTES, 0, 2);
    write(l2, 0, 0b0001, 0);
    write(l2, 0, 0b0010, 1);
    write(l2, 1, 0b1000, 0);
    l2.flush();
    l2.flush();
    expect(l2.traffic.map(({ written }) => written)).toEqual([1, 2]);
  });

  it('counts from zero after a warm-up, and keeps what it holds', () => {
    const l2 = new SampledL2(ONE_SET_BYTES, 0, 1);
    read(l2, 3);
    l2.restartCounting();
    read(l2, 3);
    read(l2, 4);
    expect(l2.traffic).toEqual([{ read: 1, written: 0 }]);
  });

  it('has fewer sets, as many ways, in a smaller sample', () => {
    // 64 sets; at level 3 eight of them: 8 × 16 lines fit, spread by the hash's higher bits.
    const l2 = new SampledL2(64 * ONE_SET_BYTES, 3, 1);
    for (let round = 0; round < 2; round++) for (let line = 0; line < 128; line++) l2.access(0, line, line * 8, 1, 0);
    expect(l2.traffic[0]!.read).toBe(128);
  });
});
