import type { RandomSource } from '../stats/random.ts';
import { factorise, solveLower, solveUpper } from './cholesky.ts';
import { correlationOf } from './correlation.ts';
import { correlationMatrix, fitCorrelation, typicalSettings } from './fit-correlation.ts';
import type { SearchSpace } from './strategy.ts';
import { traitsOf } from './traits.ts';

type Places = Readonly<ArrayLike<number>>;

/** The latest of either kind count. */
const MOST_OF_A_KIND = 96;
/** Settings are fitted anew when there are this many times as many answers. */
const FIT_GROWTH = 1.3;
/** Never ruled out for certain. */
const LOWEST = 0.02;

/** Which configurations get a time, learnt from which did. */
export interface Feasibility {
  add(index: number, isTimed: boolean, random: RandomSource): void;
  /** Estimated probability of a time, above 0 and at most 1, by a configuration's places. */
  estimate(): (places: Places) => number;
}

/**
 * A Gaussian process on ones and zeros: the share of those that got a time, shifted by what is known of configurations
 * alike. It has settings of its own, since other parameters decide whether a configuration fits than how fast it is.
 */
export function createFeasibility(space: SearchSpace): Feasibility {
  const traits = traitsOf(space);
  const timed: number[] = [];
  const failed: number[] = [];
  const dueFits: { chosen: Labelled[]; random: RandomSource }[] = [];
  let settings = typicalSettings(traits);
  let nextFit = 1;
  const labelled = (): Labelled[] => [
    ...timed.slice(-MOST_OF_A_KIND).map((index) => ({ index, label: 1 })),
    ...failed.slice(-MOST_OF_A_KIND).map((index) => ({ index, label: 0 })),
  ];
  return {
    add(index, isTimed, random) {
      (isTimed ? timed : failed).push(index);
      const count = timed.length + failed.length;
      if (timed.length === 0 || failed.length === 0 || count < nextFit) return;
      nextFit = Math.ceil(count * FIT_GROWTH);
      dueFits.push({ chosen: labelled(), random });
    },
    estimate() {
      if (failed.length === 0) return () => 1;
      for (const { chosen, random } of dueFits.splice(0)) {
        const places = chosen.map(({ index }) => space.at(index));
        settings = fitCorrelation(traits, places, standardised(chosen), settings, random);
      }
      const share = (timed.length + 1) / (timed.length + failed.length + 2);
      const known = labelled();
      const places = known.map(({ index }) => space.at(index));
      const correlation = correlationOf(traits, settings.traits);
      const factor = factorise(correlationMatrix(places, correlation, settings.noise), known.length);
      if (!factor) return () => share;
      const shifts = known.map(({ label }) => label - share);
      const weights = solveUpper(factor, known.length, solveLower(factor, known.length, shifts));
      return (asked) => {
        let estimate = share;
        for (let index = 0; index < places.length; index += 1) {
          estimate += weights[index]! * correlation(asked, places[index]!);
        }
        return Math.min(1, Math.max(LOWEST, estimate));
      };
    },
  };
}

interface Labelled {
  readonly index: number;
  /** 1 for a time. */
  readonly label: number;
}

/** Labels with mean 0 and variance 1. */
function standardised(known: readonly Labelled[]): number[] {
  const mean = known.reduce((sum, { label }) => sum + label, 0) / known.length;
  const deviation = Math.sqrt(mean * (1 - mean)) || 1;
  return known.map(({ label }) => (label - mean) / deviation);
}
