import type { Generator, GeneratorSet, ProblemFile } from '../problem.ts';
import type { SpecialValue } from '../vocabulary.ts';

/** Subnormals fill a whole input, because beside ordinary values they lie below every tolerance. */
const RATIO: { readonly [V in SpecialValue]?: number } = { subnormal: 1 };

/** Generator sets by name: those of problem.json, and one for each special value of an input's domain. */
export const generatorSetsOf = (problem: ProblemFile): Readonly<Record<string, GeneratorSet>> => ({
  ...domainSets(problem),
  ...problem.generatorSets,
});

/** `-infinity:X`: X with its declared generator, in which some values are replaced by −∞. */
const domainSets = ({ inputs, outputs }: ProblemFile): Record<string, GeneratorSet> =>
  Object.fromEntries(
    Object.entries({ ...inputs, ...outputs }).flatMap(([input, { domain = [], generator: of }]) =>
      domain.map((value) => {
        const generator: Generator = { kind: 'special', value, ratio: RATIO[value], of };
        return [`${value}:${input}`, { [input]: generator }];
      }),
    ),
  );

/** Whether a set is there only because an input's domain names a special value. */
export const isDomainSet = (problem: ProblemFile, name: string): boolean =>
  !Object.hasOwn(problem.generatorSets ?? {}, name) && Object.hasOwn(domainSets(problem), name);
