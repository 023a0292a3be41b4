import { describe, expect, it } from 'vitest';
import { AccessSampler, MAXIMUM_ENTRIES } from '../../../src/virtual-gpu/cache-model/access-sampler.ts';
import { sampleLevel } from '../../../src/virtual-gpu/cache-model/line-hash.ts';
import { LinePlaces } from '../../../src/virtual-gpu/cache-model/line-places.ts';
import { LAUNCH } from '../../../src/virtual-gpu/layout.ts';
import { PrivateMemory } from '../../../src/virtual-gpu/runtime/memories.ts';

const MAP = 8192;
const BUFFER = 16384;
const SECTORS_PER_LINE = 4;
const READ = 1;
const MARK = 0x5a;
const ranges = [{ name: 'flags', start: 0, bytes: 64 * 128 }];

/** A line of `ranges` that the first halving of the sample keeps. */
function keptLine(): number {
  const lines: number[] = [];
  new LinePlaces(ranges).forEach((line, hash) => {
    if (sampleLevel(hash) > 0) lines.push(line);
  });
  return lines[0]!;
}

describe('the sample of accesses', () => {
  it('stays in its buffer while a warp goes to and fro between two sectors of a line that halving keeps', () => {
    const memory = new PrivateMemory();
    memory.reserve(BUFFER + AccessSampler.bufferBytes + 65536);
    memory.u8.fill(MARK, BUFFER + AccessSampler.bufferBytes);
    const sampler = new AccessSampler(memory, MAP, BUFFER, ranges, 1);
    const sector = keptLine() * SECTORS_PER_LINE;
    for (let i = 0; i < 3 * MAXIMUM_ENTRIES; i++) {
      sampler.record(sector + (i % 2), READ);
      expect(memory.i32[LAUNCH.sampleCursor >> 2]).toBeLessThan(memory.i32[LAUNCH.sampleEnd >> 2]!);
    }
    expect(memory.u8.subarray(BUFFER + AccessSampler.bufferBytes).every((byte) => byte === MARK)).toBe(true);
    sampler.endSlice(0, 0, 0);
    const { level, entries } = sampler.samples();
    expect(level).toBeGreaterThan(0);
    expect(entries.length).toBeLessThanOrEqual(MAXIMUM_ENTRIES);
  });
});
