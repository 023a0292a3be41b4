import type { RandomSource } from '../stats/random.ts';
import { solveLower } from './cholesky.ts';
import { correlationOf, type Places } from './correlation.ts';
import { correlationFactor, fitCorrelation, typicalSettings } from './fit-correlation.ts';
import type { SearchSpace } from './strategy.ts';
import { traitsOf } from './traits.ts';

/** Only this many of the latest answers of each kind are used. */
const MOST_OF_A_KIND = 96;
/** Hyperparameters are fitted again when the number of answers has grown by this factor. */
const FIT_GROWTH = 1.3;
/** Standard deviations by which the estimate may be too low: the best often lie at the edge of what fits. */
const OPTIMISM = 1;
/** Lowest probability: no configuration is ever ruled out for certain. */
const LOWEST = 0.02;

/** Learns from the answers which configurations get a time. */
export interface Feasibility {
  add(index: number, isTimed: boolean, random: RandomSource): void;
  /** Probability of a time that a configuration may well have, above 0 and at most 1, by its places. */
  estimate(): (places: Places) => number;
}

/**
 * A Gaussian process on ones and zeros: the share of configurations with a time, shifted by similar configurations. It has
 * its own hyperparameters, because other parameters decide whether a configuration fits than how fast it is.
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
      const factor = correlationFactor(places, correlation, settings.noise);
      if (!factor) return () => share;
      const shifts = solveLower(
        factor,
        known.length,
        known.map(({ label }) => label - share),
      );
      return (asked) => {
        const whitened = solveLower(
          factor,
          known.length,
          places.map((other) => correlation(asked, other)),
        );
        let mean = share;
        let remaining = 1;
        for (let index = 0; index < whitened.length; index += 1) {
          mean += whitened[index]! * shifts[index]!;
          remaining -= whitened[index]! ** 2;
        }
        const deviation = Math.sqrt(share * (1 - share) * Math.max(remaining, 0));
        return Math.min(1, Math.max(LOWEST, mean + OPTIMISM * deviation));
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
