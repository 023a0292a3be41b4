import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProblem } from '../../../src/app/loading/load-problem.ts';
import { cheapestToRepeat, otherInputs, shapeChecks } from '../../../src/evaluation/oracle/checks.ts';

const PROBLEMS = join(import.meta.dirname, '../../../problems');

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
