/**
 * A finite space that lists every valid configuration once. Strategies name a configuration by its index, so evaluated ones
 * are a set of numbers and none is evaluated twice.
 */
export interface SearchSpace {
  readonly dimensions: readonly SearchDimension[];
  /** Number of valid configurations. */
  readonly size: number;
  /**
   * The values of configuration `index`, as places in each dimension's `values`, in the order of `dimensions`.
   * Shared storage: callers must not change it.
   */
  at(index: number): Readonly<ArrayLike<number>>;
  /** The configuration with these places, or undefined if it breaks a constraint. */
  find(places: ArrayLike<number>): number | undefined;
}

export interface SearchDimension {
  readonly name: string;
  /** `null` where the dimension does not apply: a parameter that another rung has. */
  readonly values: readonly (number | string | boolean | null)[];
  /** Whether neighbouring values are similar: numbers in ascending order, after `null` if there is one. */
  readonly ordered: boolean;
}

/** How an asked-for configuration did. One that fails to compile, run or verify costs an evaluation all the same. */
export type Outcome =
  | { readonly kind: 'timed'; readonly timeNs: number }
  /** Timed by the screen tier only, which found it too slow to be measured with care. */
  | { readonly kind: 'screened-out'; readonly timeNs: number }
  | { readonly kind: 'failed' };

/** A configuration with its time. */
export interface Trial {
  readonly index: number;
  readonly timeNs: number;
}

/**
 * Chooses the next configuration from the answers so far, and from what it asked for and was not told yet: several may be
 * evaluated at a time. Deterministic: the same space, seed and calls give the same questions.
 */
export interface Strategy {
  /** A configuration that was never asked for or told before; undefined when none is left. */
  ask(): number | undefined;
  /**
   * What it would ask for next, at most so many, if nothing were told meanwhile; changes nothing. So that they compile ahead. Absent or
   * empty where that depends on the answers.
   */
  foresee?(count: number): readonly number[];
  /** Also takes configurations it never asked for, such as the start. */
  tell(index: number, outcome: Outcome): void;
}

/** What is known before the search: outcomes on another device or workload, in any unit of time. */
export interface SearchPrior {
  /** By configuration; those that nothing is known of are missing. */
  readonly outcomes: ReadonlyMap<number, Outcome>;
}

export interface StrategyOptions {
  readonly space: SearchSpace;
  /** Whole number; everything that is drawn follows from it. */
  readonly seed: number;
  /** Used by strategies that learn from it; the others search as without. */
  readonly prior?: SearchPrior | undefined;
}
