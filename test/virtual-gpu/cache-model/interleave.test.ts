import { describe, expect, it } from 'vitest';
import { type AccessSamples, MAXIMUM_ENTRIES } from '../../../src/virtual-gpu/cache-model/access-sampler.ts';
import { commonLevel, ctaStarts, interleave } from '../../../src/virtual-gpu/cache-model/interleave.ts';
import { sampleLevel } from '../../../src/virtual-gpu/cache-model/line-hash.ts';
import { LinePlaces, lineOfSector } from '../../../src/virtual-gpu/cache-model/line-places.ts';

type Row = [cta: number, sector: number, time: number];

const samplesOf = (rows: readonly Row[], lengths: Record<number, number>, level = 0): AccessSamples => ({
  level,
  entries: Int32Array.from(rows, ([, sector]) => sector * 4 + 1),
  ctas: Int32Array.from(rows, ([cta]) => cta),
  times: Float64Array.from(rows, ([, , time]) => time),
  ctaNumbers: Int32Array.from(Object.keys(lengths), Number),
  ctaLengths: Float64Array.from(Object.values(lengths)),
});

const places = new LinePlaces([{ name: 'a', start: 0, bytes: 1 << 23 }]);
const sectors = (entries: Int32Array): number[] => Array.from(entries, (entry) => entry >>> 2);

describe('CTAs', () => {
  it('start in the order of their numbers, when one of those that run ends', () => {
    const lengths = new Map([
      [3, 1],
      [0, 10],
      [1, 4],
      [2, 4],
    ]);
    expect([...ctaStarts(lengths, 2)].sort()).toEqual([
      [0, 0],
      [1, 0],
      [2, 4],
      [3, 8],
    ]);
    expect([...ctaStarts(lengths, 4).values()]).toEqual([0, 0, 0, 0]);
  });
});

describe('the order that L2 sees', () => {
  const rows: Row[] = [
    [0, 10, 1],
    [0, 11, 5],
    [1, 20, 2],
    [1, 21, 6],
    [2, 30, 1],
  ];
  const lengths = { 0: 8, 1: 8, 2: 8 };

  it('mixes the CTAs that are resident at once by their clocks', () => {
    expect(sectors(interleave([samplesOf(rows, lengths)], places, 0, 3).entries)).toEqual([10, 30, 20, 11, 21]);
    expect(sectors(interleave([samplesOf(rows, lengths)], places, 0, 2).entries)).toEqual([10, 20, 11, 21, 30]);
    expect(sectors(interleave([samplesOf(rows, lengths)], places, 0, 1).entries)).toEqual([10, 11, 20, 21, 30]);
  });

  it('is the same however CTAs were spread over workers', () => {
    const first = samplesOf(rows.slice(2), { 1: 8, 2: 8 });
    const second = samplesOf(rows.slice(0, 2), { 0: 8 });
    expect(interleave([first, second], places, 0, 3)).toEqual(interleave([samplesOf(rows, lengths)], places, 0, 3));
  });

  it('leaves out lines that are not in a smaller sample, and repetitions of what remains', () => {
    const inSample = [...Array(4096).keys()].find((line) => sampleLevel(places.hashOf(line)) >= 3)!;
    const notInSample = [...Array(4096).keys()].find((line) => sampleLevel(places.hashOf(line)) === 0)!;
    const mixed: Row[] = [
      [0, inSample * 4, 1],
      [0, notInSample * 4, 2],
      [0, inSample * 4, 3],
    ];
    const stream = interleave([samplesOf(mixed, { 0: 4 })], places, 3, 1);
    expect(Array.from(stream.entries, (entry) => lineOfSector(entry >>> 2))).toEqual([inSample]);
    expect(stream.hashes[0]).toBe(places.hashOf(inSample));
  });
});

describe('the level of several workers', () => {
  it('is as coarse as one worker’s would be that had all of their accesses', () => {
    const count = (3 * MAXIMUM_ENTRIES) / 4;
    const rows = (from: number): Row[] => Array.from({ length: count }, (_, i) => [from, (from * count + i) * 2, i]);
    const alone = samplesOf(rows(0), { 0: count });
    expect(commonLevel([alone], places)).toBe(0);
    expect(commonLevel([alone, samplesOf(rows(1), { 1: count })], places)).toBe(1);
  });
});
