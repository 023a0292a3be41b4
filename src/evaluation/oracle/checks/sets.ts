import { evaluateExpression } from '../../../core/expressions/evaluate.ts';
import { generatorSetsOf, isDomainSet } from '../../../core/plan/generator-sets.ts';
import type { Dimensions, ProblemFile } from '../../../core/problem.ts';
import { byLot } from '../../../stats/random.ts';
import { NORMAL } from '../generators/generator.ts';
import { isPlacement, type SecretKind } from '../secret/secret-set.ts';
import { secretSetsOf, variantSetsOf } from '../secret/sets-of-problem.ts';
import { elementsIn } from '../shapes/cost.ts';
import type { ChecksRequest } from './request.ts';

/** Generator sets beside the declared inputs, each group in a secret order. */
export interface ChosenSets {
  /** The problem's own: all, those with special values of a domain, and the rest. */
  readonly others: readonly string[];
  readonly special: readonly string[];
  readonly ordinary: readonly string[];
  /** Secret ones, that place values, and that are of another size. */
  readonly placements: readonly SecretKind[];
  readonly sizes: readonly SecretKind[];
  /** Secret ones that come in variants. */
  readonly variants: readonly string[];
}

export function chooseSets({ problem, seed, thorough = false }: ChecksRequest): ChosenSets {
  const others = furtherGeneratorSets(problem, seed);
  const secrets = secretSetsInTurn(problem, seed);
  return {
    others,
    special: others.filter((set) => isDomainSet(problem, set)),
    ordinary: others.filter((set) => !isDomainSet(problem, set)),
    placements: secrets.filter(isPlacement),
    sizes: secrets.filter((kind) => !isPlacement(kind)),
    variants: thorough ? variantSetsOf(problem) : [],
  };
}

/** Generator sets that change some declared input, in a secret order that follows from the seed. */
export const furtherGeneratorSets = (problem: ProblemFile, seed: number): string[] =>
  byLot(otherGeneratorSets(problem), seed, 'generator sets of the main workload');

/** Generator sets that fill some input otherwise than it declares. */
function otherGeneratorSets(problem: ProblemFile): string[] {
  const inputs = { ...problem.outputs, ...problem.inputs };
  return Object.entries(generatorSetsOf(problem))
    .filter(([, set]) =>
      Object.entries(set).some(
        ([input, generator]) => JSON.stringify(generator) !== JSON.stringify(inputs[input]?.generator ?? NORMAL),
      ),
    )
    .map(([name]) => name);
}

export const secretSetsInTurn = (problem: ProblemFile, seed: number): SecretKind[] =>
  byLot(secretSetsOf(problem), seed, 'secret sets');

/**
 * Up to this many input elements, the timed workload runs with every generator set. Above, drawing each further set takes a
 * host seconds, so only as many sets run as fit, at least one; a thorough verification runs all.
 */
const MOST_DRAWN_ELEMENTS = 2 ** 25;

/** On a virtual GPU, most FLOP of all runs of further generator sets: 10 s of tensor-core instructions. */
const MOST_EMULATED_FLOP = 2 ** 29;

export function setsThatFit(problem: ProblemFile, dimensions: Dimensions, isEmulated: boolean): number {
  const elements = elementsIn(problem, dimensions);
  const flop = isEmulated ? evaluateExpression(problem.flop, dimensions) : 0;
  return Math.max(
    1,
    Math.floor(
      Math.min(MOST_DRAWN_ELEMENTS / elements, flop > 0 ? MOST_EMULATED_FLOP / flop : Number.POSITIVE_INFINITY),
    ),
  );
}

/** By lot; of several that fit, up to half are values in secret places. */
export function setsOfMain(
  others: readonly string[],
  { placements, most, seed }: { placements: readonly string[]; most: number; seed: number },
): string[] {
  const inLot = (sets: readonly string[]): string[] => byLot(sets, seed, 'sets of the main workload');
  if (most === 1) return inLot([...others, ...placements]).slice(0, 1);
  const placed = placements.slice(0, Math.floor(most / 2));
  return [...placed, ...inLot(others)].slice(0, most);
}
