import { describe, expect, it } from 'vitest';
import { inProcess } from '../../src/core/call-reference.ts';
import type { ReferenceFunction, ReferenceRowsFunction, ReferenceRun } from '../../src/core/problem.ts';
import { bytesOfPieces, lazilyMapped, unmap } from '../../src/core/sparse-tensor.ts';

const X = {
  length: 9,
  pieces: [
    { at: 1, values: Float64Array.of(1, 2) },
    { at: 7, values: Float64Array.of(3, -0) },
  ],
};

describe('a sparse tensor', () => {
  it('is zero between its pieces', () => {
    expect(lazilyMapped(X)).toEqual(Float64Array.of(0, 1, 2, 0, 0, 0, 0, 3, -0));
    expect(bytesOfPieces({ X, Y: X })).toBe(64);
  });

  it('is empty for all who have it once it is unmapped', () => {
    const elements = lazilyMapped(X);
    const part = elements.subarray(1, 3);
    unmap(elements);
    expect([elements.length, part.length]).toEqual([0, 0]);
  });

  it('holds no piece that ends beyond it', () => {
    expect(() => lazilyMapped({ ...X, length: 8 })).toThrow(RangeError);
  });
});

describe('a reference in this process', () => {
  const whole: ReferenceFunction = ({ X, W }) => ({ Y: X!.map((x) => x * W![0]!) });
  const ofRows: ReferenceRowsFunction = ({ X, W }) => ({ Y: Float64Array.of(X![7]! * W![0]!) });
  const run: ReferenceRun = {
    inputs: { W: Float64Array.of(5) },
    sparse: { X },
    rows: { Y: Uint32Array.of(7) },
    dimensions: { N: 9 },
    rounding: 'exact',
  };

  it('takes sparse inputs if it computes rows, for whatever these are used', async () => {
    for (const name of ['referenceRows', 'referenceRowsOfSparse']) {
      const reference = inProcess(whole, { [name]: ofRows });
      expect(await reference.takesSparse!()).toBe(true);
      expect(await reference(run)).toEqual({ Y: Float64Array.of(15) });
    }
  });

  it('computes rows for sparse inputs only, if it says so', async () => {
    const reference = inProcess(whole, { referenceRowsOfSparse: ofRows });
    const { Y } = await reference({ ...run, sparse: undefined, inputs: { ...run.inputs, X: lazilyMapped(X) } });
    expect(Y).toHaveLength(9);
  });

  it('is never asked for the whole on sparse inputs', async () => {
    const [unable, able] = [inProcess(whole), inProcess(whole, { referenceRows: ofRows, mistakes: { wrong: whole } })];
    expect(await unable.takesSparse!()).toBe(false);
    for (const refused of [unable(run), able({ ...run, rows: undefined }), able({ ...run, mistake: 'wrong' })])
      await expect(refused).rejects.toThrow('the reference computes no rows of results on sparse inputs');
  });

  it('may return what it was given, and has it no longer otherwise', async () => {
    let had: Float64Array | undefined;
    const returns = inProcess(whole, { referenceRows: ({ X }) => ({ Y: X! }) });
    const keeps = inProcess(whole, {
      referenceRows: ({ X }) => {
        had = X;
        return { Y: X!.slice(1, 3) };
      },
    });
    expect(await returns(run)).toEqual({ Y: lazilyMapped(X) });
    expect(await keeps(run)).toEqual({ Y: Float64Array.of(1, 2) });
    expect(had).toHaveLength(0);
  });

  it('is not blamed if the machine does not map so many elements', async () => {
    const reference = inProcess(whole, { referenceRows: ofRows });
    const sparse = { X, Z: { length: 2 ** 50, pieces: [] } };
    await expect(reference({ ...run, sparse })).rejects.toMatchObject({
      details: { code: 'reference-memory', message: expect.stringContaining('Z of 1125899906842624 elements') },
    });
  });

  it('is told of changes to the other inputs', async () => {
    const reference = inProcess(whole, { referenceRows: ({ W }) => ({ Y: W!.fill(0) }) });
    await expect(reference(run)).rejects.toThrow("changes its input 'W'");
  });
});
