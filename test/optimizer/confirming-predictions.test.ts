import { describe, expect, it } from 'vitest';
import { ofType, pattern, runLoop, scriptedEvaluator, tile } from './fakes.ts';

const patterns = [pattern('tiles', 'bank-conflicts', [tile(16), tile(64)])];
const TIMES: Record<string, number> = { '01_first TILE=32': 1000, '01_first TILE=16': 500, '01_first TILE=64': 250 };

describe('a predicted winner', () => {
  it('is verified thoroughly with a seed that is drawn for it', async () => {
    const seeds: (readonly [number, boolean])[] = [];
    const evaluator = scriptedEvaluator((name, { seed, thorough = false }) => {
      seeds.push([seed, thorough]);
      return { ns: TIMES[name]! };
    });
    const { result } = await runLoop({ evaluator, patterns, seed: 7, drawSeed: () => 4711 });
    expect(result.confirmation).toMatchObject({ outcome: 'accepted', reason: expect.stringContaining('seed 4711') });
    expect(result.speedup).toBe(4);
    expect(seeds.filter(([, thorough]) => thorough)).toEqual([[4711, true]]);
    expect(seeds.filter(([, thorough]) => !thorough).every(([seed]) => seed === 7)).toBe(true);
  });

  it('with a given seed is confirmed with the next one', async () => {
    const seeds: number[] = [];
    const evaluator = scriptedEvaluator((name, { seed, thorough }) => {
      if (thorough) seeds.push(seed);
      return { ns: TIMES[name]! };
    });
    await runLoop({ evaluator, patterns, seed: 7 });
    expect(seeds).toEqual([8]);
  });

  it('that is wrong then is refused, and the best before it is confirmed in its place', async () => {
    const drawn = [11, 12];
    const evaluator = scriptedEvaluator((name, { thorough }) =>
      thorough && name.endsWith('TILE=64') ? { status: 'wrong', reason: 'row 3' } : { ns: TIMES[name]! },
    );
    const { result, events } = await runLoop({ evaluator, patterns, drawSeed: () => drawn.shift()! });
    expect(ofType(events, 'confirmation').map(({ outcome }) => outcome)).toEqual(['refused', 'accepted']);
    expect(ofType(events, 'confirmation')[0]!.reason).toMatch(/^wrong in e\d+: row 3$/);
    expect(result.best!.candidate.parameters).toMatchObject({ TILE: 16 });
    expect(result.speedup).toBe(2);
  });
});
