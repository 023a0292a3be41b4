import { describe, expect, it } from 'vitest';
import { loadProblem } from '../../src/app/loading/load-problem.ts';
import { loadSuites } from '../../src/app/loading/load-suites.ts';
import { parseSuitesFile } from '../../src/core/schemas/parse-files.ts';
import { combinationsOf } from '../../src/core/suites.ts';
import { checksFor } from '../../src/evaluation/oracle/checks/choose.ts';
import { toyCandidate, toyProblem } from '../support/toy-problem.ts';

const file = (suite: object) => JSON.stringify({ schemaVersion: 1, suites: { mine: { description: 'x', ...suite } } });

describe('suites.json', () => {
  it('combines lists of sizes, the last dimension fastest', () => {
    expect(combinationsOf({ A: 1, B: [2, 3], C: [4, 5] })).toEqual([
      { A: 1, B: 2, C: 4 },
      { A: 1, B: 2, C: 5 },
      { A: 1, B: 3, C: 4 },
      { A: 1, B: 3, C: 5 },
    ]);
  });

  it('of attention holds the seven shapes and the twenty-seven cases', async () => {
    const suites = await loadSuites(await loadProblem('problems/attention'), ['twenty-seven-cases', 'seven-shapes']);
    expect(suites.map(({ name, shapes }) => [name, shapes.length])).toEqual([
      ['twenty-seven-cases', 27],
      ['seven-shapes', 7],
    ]);
    expect(suites[0]!.shapes.at(-1)).toMatchObject({ B: 48, H: 16, Hkv: 16, S: 640, Skv: 640, D: 64, causal: 0 });
  });

  it.each([
    ['a dimension that the problem lacks', { shapes: [{ Z: 1 }] }, 'unknown-dimension', 'suites.mine.shapes[0].Z'],
    [
      'a generator set that it lacks',
      { shapes: [{ R: 1, C: 1 }], generators: ['no'] },
      'unknown-name',
      'suites.mine.generators[0]',
    ],
    ['no shape', { shapes: [] }, 'invalid-value', 'suites.mine.shapes'],
  ])('names the place of %s', (_, suite, code, path) => {
    const parse = () => parseSuitesFile(file(suite), 'suites.json', toyProblem().file);
    expect(parse).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ code, path, file: 'suites.json' }) }),
    );
  });

  it('names the suites there are where one is not', async () => {
    await expect(loadSuites(await loadProblem('problems/attention'), ['seven-shape'])).rejects.toThrow(/has no suite/);
  });
});

describe('checks of a suite', () => {
  it('are run once each, with each generator set, at shapes that the kernel takes', () => {
    const { kernel, parameters } = toyCandidate();
    const { checks, coverage } = checksFor({
      problem: toyProblem().file,
      kernel: { ...kernel.file, limits: ['C < 1000'] },
      parameters,
      dimensions: { R: 16, C: 64 },
      seed: 1,
      suites: [{ name: 'mine', shapes: [40, 4000].map((C) => ({ R: 2, C })), generators: ['normal', 'large'] }],
    });
    expect(checks.slice(-2)).toMatchObject(
      ['normal', 'large'].map((generatorSet) => ({ dimensions: { R: 2, C: 40 }, generatorSet, isOnce: true })),
    );
    expect(checks.some(({ dimensions }) => dimensions.C === 4000)).toBe(false);
    expect(coverage.suites).toEqual([{ name: 'mine', shapes: 1 }]);
    expect(coverage.excludedShapes).toContainEqual({ R: 2, C: 4000 });
  });
});
