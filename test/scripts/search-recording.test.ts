import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { priorShares } from '../../scripts/results/priors-recording.ts';
import { searchBlocks, searchFigures } from '../../scripts/results/search-blocks.ts';
import { isGuidedWorthIt, mediansOf, readSearchRecordings, sharesOf } from '../../scripts/results/search-recording.ts';

describe('what guided search promises', () => {
  it.each([
    [{ guided: 0.5, undirected: 0.6 }, true],
    [{ guided: 0.6, undirected: 0.9 }, false],
    [{ guided: 0.3, undirected: 0.4 }, false],
    [{ guided: 0.3, undirected: Number.POSITIVE_INFINITY }, true],
    [{ guided: Number.POSITIVE_INFINITY, undirected: 0.9 }, false],
    [{ guided: Number.NaN, undirected: 0.9 }, false],
  ])('%j: %s', (shares, holds) => expect(isGuidedWorthIt(shares)).toBe(holds));

  it('counts every problem the same', () =>
    expect(
      sharesOf([
        { guided: 1, undirected: 8, random: 8 },
        { guided: 200, undirected: 50, random: 400 },
      ]),
    ).toEqual({ guided: expect.closeTo(0.25, 12), undirected: expect.closeTo(Math.sqrt(1 / 8), 12) }));

  it('is not kept where a problem is not solved', () =>
    expect(sharesOf([{ guided: Number.POSITIVE_INFINITY, undirected: 3, random: 4 }]).guided).toBe(Infinity));
});

describe('the recorded comparisons', async () => {
  const { problems, spaces, priors } = await readSearchRecordings();

  it('have every shipped problem', () => {
    // A problem in a dtype that is not its first is named after both.
    const folders = problems!.problems.map(({ problem }) => problem.replace(/-f16$/, ''));
    expect([...new Set(folders)]).toEqual(readdirSync('problems').sort());
  });

  it('keep the promise over all of them', () =>
    expect(isGuidedWorthIt(sharesOf(problems!.problems.map(mediansOf)))).toBe(true));

  it('have a prior that halves the evaluations on spaces of others, and costs a tenth at most where it misleads', () => {
    const { rows } = priors!;
    expect(rows.length).toBeGreaterThan(20);
    expect(priorShares(rows.filter(({ kind }) => kind === 'public')).with).toBeLessThanOrEqual(0.5);
    expect(priorShares(rows).shuffled).toBeLessThanOrEqual(1.1);
  });

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
  const nothing = { problems: undefined, spaces: undefined, priors: undefined };
  expect(searchBlocks(nothing).search).toContain('node bench/search/compare-strategies.ts');
  expect(searchFigures(nothing)).toEqual({});
});
