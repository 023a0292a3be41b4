import { eitherWay, type Ways } from '../../core/decisions.ts';
import type { Check } from '../oracle/check.ts';

/** One check that passed, and how each decision went in it. */
export interface Met {
  readonly inputs: Pick<Check, 'dimensions' | 'generatorSet'>;
  readonly ways: readonly Ways[];
}

/** What checks with inputs that may be changed showed of the decisions about values. Further inputs follow from it. */
export class MetInputs {
  readonly all: Met[] = [];
  readonly #findPlaces: () => readonly number[];
  #places: readonly number[] | undefined;

  /** @param places of the decisions that do not follow from the launch; asked when the first inputs follow from them. */
  constructor(places: () => readonly number[]) {
    this.#findPlaces = places;
  }

  get places(): readonly number[] {
    this.#places ??= this.#findPlaces();
    return this.#places;
  }

  /** Takes in how decisions went in a check that passed. */
  learn({ dimensions, generatorSet }: Met['inputs'], ways: readonly Ways[]): void {
    this.all.push({ inputs: { dimensions, generatorSet }, ways });
  }

  /** The ways that a decision went in any of the checks. */
  waysOf(place: number): Ways {
    const never: Ways = { wasTrue: false, wasFalse: false };
    return this.all.reduce((ways, met) => eitherWay(ways, met.ways[place] ?? never), never);
  }
}

/** Whether a decision was made in a check at all. */
export const isReached = ({ ways }: Met, place: number): boolean =>
  (ways[place]?.wasTrue ?? false) || (ways[place]?.wasFalse ?? false);
