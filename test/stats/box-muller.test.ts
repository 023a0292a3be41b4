import { describe, expect, it } from 'vitest';
import { boxMuller } from '../../src/stats/box-muller.ts';
import { createStream } from '../../src/stats/random.ts';

const toUnit = (bits: number): number => ((bits >>> 0) + 0.5) / 2 ** 32;

function farthest(radii: readonly number[], angles: readonly number[]): number {
  const pair = new Float64Array(2);
  let most = 0;
  for (const radius of radii)
    for (const angle of angles) {
      boxMuller(pair, 0, radius, angle, 0, 1);
      const length = Math.sqrt(-2 * Math.log(toUnit(radius)));
      const turn = 2 * Math.PI * toUnit(angle);
      // NaN is farther than anything.
      most = Math.max(most, ...[pair[0]! - length * Math.cos(turn), pair[1]! - length * Math.sin(turn)].map(Math.abs));
    }
  return most;
}

describe('Box–Muller by integers', () => {
  const around = (value: number): number[] => [-2, -1, 0, 1, 2].map((step) => (value + step) >>> 0);
  // Where the octave, its half at √2 or the piece of a number changes, and where the next quarter of a turn is the nearest.
  const octaves = Array.from({ length: 32 }, (_, power) => around(2 ** power)).flat();
  const pieces = Array.from({ length: 128 }, (_, piece) => around(2 ** 31 + piece * 2 ** 24)).flat();
  const halves = Array.from({ length: 26 }, (_, power) => around(Math.round(2 ** (power + 6.5)))).flat();
  const eighths = Array.from({ length: 8 }, (_, eighth) => around(eighth * 2 ** 29)).flat();

  it('gives what logarithm, cosine and sine give, at each border of its pieces', () => {
    expect(farthest([...octaves, ...pieces, ...halves, 0, 2 ** 32 - 1], eighths)).toBeLessThan(4e-15);
  });

  it('and in between', () => {
    const { bits } = createStream(20261129, 'box-muller');
    const some = (from: number): number[] => Array.from({ length: 600 }, (_, i) => bits(from + i));
    expect(farthest(some(0), some(1000))).toBeLessThan(4e-15);
  });

  it('leaves out the second one where a line has no place for it', () => {
    const line = new Float64Array(3);
    createStream(1).fillNormal(line, 0, 1);
    expect([...line]).toEqual([0, 1, 2].map(createStream(1).normal));
  });
});
