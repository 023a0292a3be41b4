import type { Generator, GeneratorSet, ProblemFile, SpecialValue } from '../problem.ts';

/** Subnormals show only among their like: beside ordinary values they are below every tolerance. */
const RATIO: { readonly [V in SpecialValue]?: number } = { subnormal: 1 };

/** Generator sets by name: those that the problem writes down, and one for each special value of an input's domain. */
export const generatorSetsOf = (problem: ProblemFile): Readonly<Record<string, GeneratorSet>> => ({
  ...domainSets(problem),
  ...problem.generatorSets,
});

/** `-infinity:X`: X as it declares itself, with some of these values in it. */
const domainSets = ({ inputs, outputs }: ProblemFile): Record<string, GeneratorSet> =>
  Object.fromEntries(
    [...Object.entries(inputs), ...Object.entries(outputs)].flatMap(([input, { domain = [], generator: of }]) =>
      domain.map((value) => {
        const ratio = RATIO[value];
        const generator: Generator = {
          kind: 'special',
          value,
          ratio,
          of,
        };
        return [`${value}:${input}`, { [input]: generator }];
      }),
    ),
  );
