/**
 * A finite space of configurations, every valid one listed once. Strategies name a configuration by its place in the
 * list, so that what was evaluated is a set of numbers and nothing is evaluated twice.
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
  /** The configuration with these places, or undefined where it breaks a constraint. */
  find(places: ArrayLike<number>): number | undefined;
}

export interface SearchDimension {
  readonly name: string;
  /** `null` where the dimension does not apply: a parameter that another rung has. */
  readonly values: readonly (number | string | boolean | null)[];
  /** Whether neighbouring values are alike: numbers in ascending order, behind `null` where that is among them. */
  readonly ordered: boolean;
}

/** How an asked-for configuration did. One that fails to compile, run or verify costs an evaluation all the same. */
export type Outcome =
  | { readonly kind: 'timed'; readonly timeNs: number }
  /** Timed by the screen tier only, which found it too slow to be measured with care. */
  | { readonly kind: 'screened-out'; readonly timeNs: number }
  | { readonly kind: 'failed' };

/**
 * Chooses what to evaluate next from what it was told. Deterministic: the same space, seed and answers give the same
 * questions, so telling a new strategy an old run's answers in order resumes that run.
 */
export interface Strategy {
  /** A configuration that was never asked for or told before; undefined when none is left. */
  ask(): number | undefined;
  /** Also takes configurations it never asked for, such as the start. */
  tell(index: number, outcome: Outcome): void;
}

export interface StrategyOptions {
  readonly space: SearchSpace;
  /** Whole number; everything that is drawn follows from it. */
  readonly seed: number;
}
