import { describe, expect, it } from 'vitest';
import {
  belowOf,
  createStream,
  mulberry32,
  randomSource,
  scrambledWeyl,
  seededOrder,
  shuffle,
} from '../../src/stats/random.ts';

// Recordings, resumed runs and the device code that draws inputs depend on these: none may change.
describe('what a seed gives', () => {
  it.each([
    [0, [1789933344, 44971166, 2521387044, 3848737593]],
    [7, [210494603, 711084892, 3993689120, 4089369890]],
    [2 ** 32 + 7, [100409556, 763976161, 204691279, 1943671766]],
  ])('one after another, seed %d', (seed, expected) => {
    const source = randomSource(seed);
    expect(expected.map(() => source.next())).toEqual(expected);
  });

  it('by number, of a stream', () => {
    const stream = createStream(7, 'main', 'X');
    expect([0, 1, 2, 1000].map(stream.bits)).toEqual([2398102598, 1957653073, 3807570073, 24679945]);
    expect(stream.uniform(0)).toBe(0.5583517715567723);
    expect([0, 1].map(stream.normal)).toEqual([-1.038235208610386, 0.2959727218966392]);
    expect(createStream('ab').bits(0)).toBe(3006059882);
    expect(createStream('a', 'b').bits(0)).toBe(1899652009);
  });

  it('for orders, rubbish and places', () => {
    const [small, placed] = [mulberry32(7), scrambledWeyl(7)];
    expect([small(), small(), small()]).toEqual([0.011704753153026104, 0.06195825757458806, 0.97690763277933]);
    expect([placed(), placed(), placed()]).toEqual([0.13706416846252978, 0.45108226174488664, 0.9981013059150428]);
    expect([...seededOrder(8, 7)]).toEqual([4, 6, 1, 2, 3, 5, 7, 0]);
    expect([...seededOrder(8, 0)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(shuffle([...'abcdef'], belowOf(createStream(7))).join('')).toBe('cadbef');
  });
});
