import type { BenchedSpace, BenchedStrategy, Spread } from '../search/bench.ts';

/** What search-bench reports: a space whose every configuration is known, and how strategies find the best of it. */
export interface SearchBenchView {
  readonly schemaVersion: 1;
  readonly kind: 'search-bench';
  /** Name of the file, without its folder. */
  readonly file: string;
  /** Evaluations each run was allowed; never more than there are configurations. */
  readonly evaluations: number;
  readonly space: BenchedSpace & {
    /** Entries of the file that a later one of the same configuration replaces. */
    readonly repeated: number;
    readonly dimensions: readonly { readonly name: string; readonly values: number }[];
    /** Random search's best so far after each evaluation, computed exactly. */
    readonly randomCurve: readonly Spread[];
  };
  readonly strategies: readonly BenchedStrategy[];
}
