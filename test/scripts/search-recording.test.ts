import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { searchBlocks, searchFigures } from '../../scripts/results/search-blocks.ts';
import { isGuidedWorthIt, mediansOf, readSearchRecordings, totalOf } from '../../scripts/results/search-recording.ts';

describe('what guided search promises', () => {
  it.each([
    [{ guided: 5, undirected: 6, random: 10 }, true],
    [{ guided: 6, undirected: 9, random: 10 }, false],
    [{ guided: 3, undirected: 4, random: 10 }, false],
    [{ guided: 3, undirected: Number.POSITIVE_INFINITY, random: 10 }, true],
    [{ guided: Number.POSITIVE_INFINITY, undirected: 9, random: 10 }, false],
  ])('%j: %s', (medians, holds) => expect(isGuidedWorthIt(medians)).toBe(holds));

  it('is summed over problems', () =>
    expect(
      totalOf([
        { guided: 1, undirected: 2, random: 3 },
        { guided: 4, undirected: 5, random: 6 },
      ]),
    ).toEqual({ guided: 5, undirected: 7, random: 9 }));
});

describe('the recorded comparisons', async () => {
  const { problems, spaces } = await readSearchRecordings();

  it('have every shipped problem', () =>
    expect(problems!.problems.map(({ problem }) => problem)).toEqual(readdirSync('problems').sort()));

  it('keep the promise over all of them', () =>
    expect(isGuidedWorthIt(totalOf(problems!.problems.map(mediansOf)))).toBe(true));

  it('have the default blind strategy within its bounds on the public spaces', () => {
    const medianOf = (file: string): number | null =>
      spaces!.spaces
        .find((view) => view.file.startsWith(file))!
        .strategies.find(({ strategy }) => strategy === 'bayesian')!.evaluations.median;
    expect(medianOf('convolution-a100')).toBeLessThanOrEqual(120);
    expect(medianOf('dedispersion-a4000')).toBeLessThanOrEqual(35);
  });
});

it('what was not recorded is said so', () => {
  const nothing = { problems: undefined, spaces: undefined };
  expect(searchBlocks(nothing).search).toContain('node bench/search/compare-strategies.ts');
  expect(searchFigures(nothing)).toEqual({});
});
