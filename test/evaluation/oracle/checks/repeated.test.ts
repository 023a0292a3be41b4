import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProblem } from '../../../../src/app/loading/load-problem.ts';
import { completeDimensions } from '../../../../src/core/plan/dimensions.ts';
import { checksFor } from '../../../../src/evaluation/oracle/checks/choose.ts';
import { shapeChecks } from '../../../../src/evaluation/oracle/checks/listed.ts';
import { cheapestToRepeat, checksOfMemory, otherInputs } from '../../../../src/evaluation/oracle/checks/repeated.ts';

const PROBLEMS = join(import.meta.dirname, '../../../../problems');

describe('the check whose launches are repeated, and its other inputs', () => {
  // An infinity of X makes a row of NaNs in Y, in which no stale weight shows.
  it.each(['layernorm', 'softmax', 'attention', 'gemm', 'reduction', 'transpose'])(
    'are of no special value: %s',
    async (name) => {
      const { file } = await loadProblem(join(PROBLEMS, name));
      const checks = shapeChecks(file);
      const check = cheapestToRepeat(file, checks);
      const other = otherInputs(file, check, { checks, seed: 7 });
      expect([check.generatorSet, other.generatorSet].filter((set) => set.includes(':'))).toEqual([]);
      expect(other).not.toEqual({ generatorSet: check.generatorSet, seed: 7 });
    },
  );

  it('are of a special value where a problem lists nothing else', async () => {
    const { file } = await loadProblem(join(PROBLEMS, 'layernorm'));
    const checks = shapeChecks({
      ...file,
      checkShapes: [{ dimensions: { R: 5, N: 64 }, generators: ['infinity:X', 'subnormal:X'] }],
    });
    const check = cheapestToRepeat(file, checks);
    expect(check.generatorSet).toBe('infinity:X');
    expect(otherInputs(file, check, { checks, seed: 7 })).toEqual({ generatorSet: 'infinity:X', seed: 8 });
  });
});

describe('the checks of a kernel that may remember', () => {
  const request = async (problem: string, dimensions: Record<string, number>) => {
    const { file } = await loadProblem(join(PROBLEMS, problem));
    return { problem: file, kernel: { limits: [] } as never, parameters: {}, dimensions, seed: 1, isEmulated: true };
  };

  it('are of the largest listed shape, and of the timed one', async () => {
    const dimensions = { R: 32, N: 2048 };
    const shapes = checksOfMemory(await request('softmax', dimensions), []).map((check) => check.dimensions);
    expect(shapes).toEqual([{ R: 2, N: 9220 }, dimensions]);
  });

  it('are of the largest drawn shape where the timed one takes long', async () => {
    const drawn = [
      { R: 3, N: 40_000 },
      { R: 9, N: 5 },
    ];
    const shapes = checksOfMemory(await request('softmax', { R: 8192, N: 4096 }), drawn).map(
      (check) => check.dimensions,
    );
    expect(shapes).toEqual([{ R: 2, N: 9220 }, drawn[0]]);
  });
});

describe('the shapes beyond all others', () => {
  it('meet each two flags in every way where rows are longest: a lone query behind a mask at the last key, too', async () => {
    const { file } = await loadProblem(join(PROBLEMS, 'attention'));
    const attention = { problem: file, kernel: { limits: [] } as never, parameters: {} };
    const dimensions = completeDimensions(file.dimensions, { B: 1, H: 8, S: 512, D: 64, causal: 0 });
    for (const seed of [1, 2, 3]) {
      const { checks } = checksFor({ ...attention, dimensions, seed, thorough: true });
      const long = checks.filter(({ isExtreme, dimensions: { Skv } }) => isExtreme && Skv! > 65_536);
      const flagsOf = (names: readonly string[]): Set<string> =>
        new Set(long.map(({ dimensions: shape }) => names.map((name) => shape[name]).join()));
      const all = new Set(['0,0', '0,1', '1,0', '1,1']);
      for (const pair of [
        ['causal', 'lse'],
        ['causal', 'bshd'],
        ['bshd', 'lse'],
      ])
        expect(flagsOf(pair)).toEqual(all);
      // The problem has no mask at the last key without a mask.
      expect(flagsOf(['causal', 'bottomRight'])).toEqual(new Set(['0,0', '1,0', '1,1']));
    }
  });

  it('have arranged rows where they are longest, and in a thorough verification further sets there, too', async () => {
    const { file } = await loadProblem(join(PROBLEMS, 'softmax'));
    const setsOf = (thorough: boolean) => {
      const request = {
        problem: file,
        kernel: { limits: [] } as never,
        parameters: {},
        dimensions: { R: 32, N: 2048 },
      };
      const { checks } = checksFor({ ...request, seed: 1, thorough });
      return checks.filter(({ isExtreme, dimensions }) => isExtreme && dimensions.N! > 65_536);
    };
    const namesOf = (thorough: boolean) => new Set(setsOf(thorough).map(({ generatorSet }) => generatorSet));
    expect(namesOf(false)).toEqual(new Set(['declared', 'secret:rows']));
    expect(namesOf(true)).toEqual(
      new Set([
        ...['declared', '-infinity:X', ...[1, 2, 3].map((index) => `secret:masks (${index})`), 'secret:rows'],
        ...[1, 2, 3].map((index) => `secret:depths (${index})`),
      ]),
    );
    // Of longer rows, tolerances do not bear sorted ones.
    const arranged = setsOf(true).filter(({ generatorSet }) => generatorSet === 'secret:rows');
    expect(arranged.every(({ dimensions }) => dimensions.N! <= 2 ** 17)).toBe(true);
    expect(setsOf(true).some(({ dimensions }) => dimensions.N! > 2 ** 17)).toBe(true);
  });
});
