import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeWhere } from '../../../src/evaluation/oracle/describe-where.ts';

/** Marks the elements for whose index the predicate holds. */
function marksOf(shape: readonly number[], holds: (...index: number[]) => boolean): Uint8Array {
  const count = shape.reduce((product, extent) => product * extent, 1);
  return Uint8Array.from({ length: count }, (_, element) => {
    let rest = element;
    const index = shape.toReversed().map((extent) => {
      const own = rest % extent;
      rest = Math.floor(rest / extent);
      return own;
    });
    return holds(...index.toReversed()) ? 1 : 0;
  });
}

const M = [64, 48] as const;
const HEADS = [2, 3, 130, 64] as const;

describe('where elements lie', () => {
  it.each<[words: string | undefined, shape: readonly number[], holds: (...index: number[]) => boolean]>([
    [undefined, M, () => false],
    [undefined, M, (row, column) => row === 3 && column === 4],
    [undefined, M, () => true],
    ['all at columns ≥ 16', M, (_, column) => column! >= 16],
    ['all at columns ≥ 32, the last tile of 32', M, (_, column) => column! >= 32],
    ['all at columns < 16', M, (_, column) => column! < 16],
    ['all at columns 8 to 15', M, (_, column) => column! >= 8 && column! < 16],
    ['all at every second row from row 1', M, (row) => row! % 2 === 1],
    ['all at every third column from column 0', M, (_, column) => column! % 3 === 0],
    ['all at columns 4 to 7 of every 8', M, (_, column) => column! % 8 >= 4],
    ['all at row 63 (the last)', M, (row) => row === 63],
    ['all at row 5, columns ≥ 40, the last tile of 8', M, (row, column) => row === 5 && column! >= 40],
    ['all at columns 1, 5, 6', M, (_, column) => [1, 5, 6].includes(column!)],
    ['all above the diagonal (column > row)', M, (row, column) => column! > row!],
    ['all on the diagonal (column = row)', M, (row, column) => column === row],
    ['all at rows ≥ 128, the last tile of 128', HEADS, (_b, _h, row) => row! >= 128],
    ['all at axis 1 indices ≥ 1', HEADS, (_b, head) => head! > 0],
    ['all at axis 0 index 1 (the last), axis 1 index 0, row 7', HEADS, (b, h, row) => b === 1 && h === 0 && row === 7],
    ['all at indices ≥ 992, the last tile of 32', [1001], (index) => index! >= 992],
    ['all from [40, 17] to the end, in row-major order', M, (row, column) => row! * 48 + column! >= 40 * 48 + 17],
    ['93 % of those at columns ≥ 16', M, (row, column) => column! >= 16 && (row! * 7 + column! * 3) % 15 !== 0],
  ])('%s', (words, shape, holds) => {
    expect(describeWhere(shape, marksOf(shape, holds))).toBe(words);
  });

  it('a random set is scattered', () => {
    let state = 1;
    const random = (): number => {
      state = (state * 48271) % 2147483647;
      return state / 2147483647;
    };
    expect(
      describeWhere(
        M,
        marksOf(M, () => random() < 0.3),
      ),
    ).toMatch(/^\d+ % of all elements, scattered$/);
  });

  it('takes no longer for places that nearly repeat: a kernel chooses where it is wrong', () => {
    const count = 2 ** 20;
    const marks = new Uint8Array(count).fill(1);
    marks[count / 2] = 0;
    const began = performance.now();
    expect(describeWhere([count], marks)).toBe('all at 1048575 of 1048576 indices, from 0 to 1048575');
    expect(performance.now() - began).toBeLessThan(3000);
    const late = Uint8Array.from({ length: 3 * count }, (_, i) => (i % 12_288 < 5 && i !== 2 * count + 7 ? 1 : 0));
    expect(describeWhere([3 * count], late)).toBe('all at indices 0 to 4 of every 12288');
  });

  it('never fails, whatever the set', () =>
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.boolean()),
        (shape, bits) =>
          describeWhere(
            shape,
            marksOf(shape, () => bits.next().value),
          ) !== '',
      ),
    ));
});
