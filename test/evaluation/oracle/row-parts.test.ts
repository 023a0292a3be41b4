import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inProcess } from '../../../src/core/call-reference.ts';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import type { Problem, ProblemFile, ReferenceRowsFunction, ReferenceRun } from '../../../src/core/problem.ts';
import { outputsOf, runReference } from '../../../src/evaluation/oracle/reference-runs.ts';
import { rowParts } from '../../../src/evaluation/oracle/row-parts.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const OUTPUTS: ProblemFile['outputs'] = {
  Y: { dtype: 'f16', shape: ['R', 'C'], access: 'out' },
  SUM: { dtype: 'f32', shape: ['C'], access: 'out' },
};

/** Element i of row r is 1000 r + i; the sum has one row. */
const rowsOf: ReferenceRowsFunction = (_, { C }, round, rows) => ({
  Y: Float64Array.from({ length: rows.Y!.length * C! }, (_, i) =>
    round(1000 * rows.Y![Math.floor(i / C!)]! + (i % C!)),
  ),
  SUM: Float64Array.from({ length: rows.SUM!.length * C! }, (_, i) => round(i)),
});

const dimensions = { R: 101, C: 7 };

/** Takes long, and goes on in so many parts. */
function dividedProblem(parts: number, change: (run: ReferenceRun) => Promise<unknown> = async () => undefined) {
  const runs: ReferenceRun[] = [];
  const whole = (count: number) => Uint32Array.from({ length: count }, (_, i) => i);
  const own = inProcess(
    (inputs, sizes, round) => rowsOf(inputs, sizes, round, { Y: whole(dimensions.R), SUM: whole(1) }),
    {
      referenceRows: rowsOf,
    },
  );
  const reference = async (run: ReferenceRun) => {
    runs.push(run);
    await change(run);
    return own(run);
  };
  const base = toyProblem({ outputs: OUTPUTS, flop: '1e9', comparison: { kind: 'exact' } });
  const problem: Problem = { ...base, reference: Object.assign(reference, { sideBySide: async () => parts }) };
  return { problem, runs, buffers: expandBuffers(problem.file, dimensions) };
}

const request = { inputs: {}, dimensions, rounding: 'exact' } as const;

describe('a reference that takes long', () => {
  it('is computed in parts, with the same result', async () => {
    const [one, three] = [dividedProblem(1), dividedProblem(3)];
    const whole = await runReference(one.problem, one.buffers, request);
    expect(await runReference(three.problem, three.buffers, request)).toEqual(whole);
    expect(one.runs.map(({ rows }) => rows)).toEqual([undefined]);
    expect(three.runs).toHaveLength(3);
    const computed = three.runs.flatMap(({ rows }) => [...rows!.Y!]);
    expect(computed.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 101 }, (_, row) => row));
  });

  it('deals out stretches from everywhere, to no more parts than there are', () => {
    const { buffers } = dividedProblem(1);
    const parts = rowParts(outputsOf(buffers), 8).map(({ Y }) => [Y![0], Y!.length]);
    expect(parts).toEqual([
      [0, 32],
      [32, 32],
      [64, 32],
      [96, 5],
    ]);
    const two = rowParts(outputsOf(buffers), 2).map(({ Y, SUM }) => [[...Y!].includes(64), Y!.length, SUM!.length]);
    expect(two).toEqual([
      [true, 64, 1],
      [false, 37, 0],
    ]);
  });

  it('ends the other parts if one fails, and tells it once they have ended', async () => {
    let hasEnded = false;
    const { problem, runs, buffers } = dividedProblem(2, ({ rows, signal }) =>
      rows!.Y![0] === 0
        ? Promise.reject(new Error('no such row'))
        : new Promise((_, reject) => {
            signal!.addEventListener('abort', async () => {
              await setImmediate();
              hasEnded = true;
              reject(signal!.reason);
            });
          }),
    );
    await expect(runReference(problem, buffers, request)).rejects.toThrow('no such row');
    expect(runs.map(({ signal }) => signal!.aborted)).toEqual([true, true]);
    expect(hasEnded).toBe(true);
  });

  it('is computed at once where little is to be done', async () => {
    const { problem, runs, buffers } = dividedProblem(3);
    await runReference({ ...problem, file: { ...problem.file, flop: '1e9 - 1' } }, buffers, request);
    expect(runs).toHaveLength(1);
  });
});
