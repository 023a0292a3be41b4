import type { DimensionDeclaration, Dimensions, ProblemFile } from '../../../src/core/problem.ts';
import { randomSource } from '../../../src/stats/random.ts';

const LARGEST = 50_000;

/** Mostly allowed, often at an edge, small more often than large; now and then just outside. */
const draw = (declaration: DimensionDeclaration, uniform: () => number): number => {
  const outside = uniform() < 0.03;
  if (declaration.values) {
    const value = declaration.values[Math.floor(uniform() * declaration.values.length)]!;
    return outside ? Math.max(...declaration.values) + 1 : value;
  }
  const least = declaration.minimum ?? 1;
  const most = Math.min(declaration.maximum ?? LARGEST, least + LARGEST);
  if (outside) return least - 1;
  const edge = uniform();
  if (edge < 0.1) return least;
  return Math.min(most, least + Math.floor(Math.exp(uniform() * Math.log(most - least + 1))));
};

/** Bindings of a problem's dimensions; the same ones for the same seed. */
export const randomDimensions = (
  { dimensions }: Pick<ProblemFile, 'dimensions'>,
  seed: number,
  count: number,
): Dimensions[] => {
  const source = randomSource(seed);
  const uniform = (): number => source.next() / 2 ** 32;
  return Array.from({ length: count }, () =>
    Object.fromEntries(Object.entries(dimensions).map(([name, declaration]) => [name, draw(declaration, uniform)])),
  );
};
