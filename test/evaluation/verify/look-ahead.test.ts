import { describe, expect, it } from 'vitest';
import type { Dimensions } from '../../../src/core/problem.ts';
import { type Check, DECLARED } from '../../../src/evaluation/oracle/check.ts';
import type { PreparedCheck } from '../../../src/evaluation/oracle/expectation-cache.ts';
import { LookAhead } from '../../../src/evaluation/verify/look-ahead.ts';
import type { VerifyRequest } from '../../../src/evaluation/verify/verify-request.ts';
import { toyProblem } from '../../support/toy-problem.ts';

/** Inputs that are being drawn, in the order in which that began, and what ends the first of them; a virtual device measures nothing. */
function looking(checksAhead: number, device: { measuring?: object } = { measuring: {} }) {
  const drawing: { rows: number; end: () => void; fail: (error: unknown) => void }[] = [];
  const expected: number[] = [];
  const rowsOf = ({ R }: Dimensions): number => R!;
  const request: Pick<VerifyRequest, 'problem' | 'seed' | 'checksAhead' | 'device' | 'oracle'> = {
    ...{ problem: toyProblem(), seed: 1, checksAhead, device: device as VerifyRequest['device'] },
    oracle: {
      ahead: ({ dimensions }) =>
        new Promise((end, fail) => drawing.push({ rows: rowsOf(dimensions), end, fail })) as Promise<void>,
      check: ({ dimensions }) => {
        const note = async () => {
          expected.push(rowsOf(dimensions));
          return { expectations: new Map() };
        };
        return { buffers: [], expectations: note, sample: note } as unknown as PreparedCheck;
      },
      disagree: () => Promise.reject(new Error('nobody asks for it')),
    },
  };
  const ahead = new LookAhead(request as VerifyRequest, 32 * 2 ** 20);
  return { ahead, drawing, expected, rows: () => drawing.map(({ rows }) => rows) };
}

/** 4 bytes for each element, of X and Y together, and 2 for each row: 8 MiB for 1,024 rows. */
const checkOf = (R: number): Check => ({
  ...{ dimensions: { R, C: 2048 }, generatorSet: DECLARED },
  ...{ isMain: false, isOnce: false, isDrawn: false },
});

it('draws as many checks ahead as it is told to, each once', async () => {
  const { ahead, drawing, expected, rows } = looking(2);
  const [one, other, third] = [checkOf(1), checkOf(2), checkOf(3)];
  ahead.begin([one, other, third]);
  ahead.begin([one, other, third]);
  expect(rows()).toEqual([1, 2]);
  let isDrawn = false;
  const drawn = ahead.ready(one).then(() => {
    isDrawn = true;
  });
  await new Promise(setImmediate);
  expect(isDrawn).toBe(false);
  drawing[0]!.end();
  await drawn;
  expect(expected).toEqual([1]);
  // Nobody has begun with it: it is drawn when it is asked for.
  await ahead.ready(third);
});

it('draws no more at once than 32 MiB of them, and goes on when some are drawn', async () => {
  const { ahead, drawing, rows } = looking(8);
  const checks = [1024, 1025, 1026, 1027, 1028].map(checkOf);
  ahead.begin(checks);
  expect(rows()).toEqual([1024, 1025, 1026]);
  ahead.begin(checks.slice(1));
  expect(rows()).toHaveLength(3);
  drawing[1]!.end();
  await ahead.ready(checks[1]!);
  ahead.begin(checks.slice(1));
  expect(rows().slice(3)).toEqual([1027]);
  // One that failed takes no room either, and whoever waits for it is told.
  drawing[0]!.fail(new Error('a mistake of ours'));
  await expect(ahead.ready(checks[0]!)).rejects.toThrow('a mistake of ours');
  ahead.begin(checks.slice(1));
  expect(rows().slice(4)).toEqual([1028]);
});

it('makes them ready ahead, too: what is asked of the reference for a check is asked before its turn', async () => {
  const { ahead, drawing, expected } = looking(1);
  const next: Check = { ...checkOf(7), isOnce: true, isDrawn: true, isExtreme: true };
  ahead.begin([next]);
  drawing[0]!.end();
  await new Promise(setImmediate);
  expect(expected).toEqual([7, 7]);
  expect(await ahead.ready(next)).toEqual({ check: next, trouble: undefined });
  expect(expected).toEqual([7, 7]);
});

it('leaves out those that are too large by themselves', () => {
  const { ahead, rows } = looking(8);
  ahead.begin([checkOf(2 ** 13), checkOf(5)]);
  expect(rows()).toEqual([5]);
});

describe('while a virtual device runs', () => {
  const extremeOf = (R: number): Check => ({ ...checkOf(R), isOnce: true, isDrawn: true, isExtreme: true });

  it('makes the next check ready, once', async () => {
    const { ahead, expected } = looking(1, {});
    const next = extremeOf(7);
    ahead.prepare(next);
    ahead.prepare(next);
    expect(expected).toEqual([]);
    expect(await ahead.ready(next)).toEqual({ check: next, trouble: undefined });
    expect(expected).toEqual([7]);
    // Nobody has begun with this one.
    await ahead.ready(extremeOf(8));
    expect(expected).toEqual([7, 8]);
  });

  it('does not where that takes gigabytes, or where a GPU runs', async () => {
    const virtual = looking(1, {});
    virtual.ahead.prepare(extremeOf(2 ** 15));
    virtual.ahead.prepare(undefined);
    const gpu = looking(0);
    gpu.ahead.prepare(extremeOf(7));
    await new Promise(setImmediate);
    expect([virtual.expected, gpu.expected]).toEqual([[], []]);
  });
});
