import type { SourceLocation } from './compiled-code.ts';

/** An instruction with which a kernel decides between two ways. */
export interface DecisionSite {
  /** bound: a minimum or maximum with a constant; combination: of two conditions, by `and` or `or`. */
  readonly kind: 'comparison' | 'bound' | 'combination';
  /** PTX name of the comparison, e.g. `lt` or `geu`; else of the instruction. */
  readonly comparison: string;
  /** The operand that is a constant, if one is. */
  readonly constant: number | undefined;
  readonly isFloat: boolean;
  /** In the author's files. */
  readonly place: SourceLocation;
  /** Where the author's function was inlined, innermost first. */
  readonly calledFrom: readonly SourceLocation[];
  /** The compiler gave the instruction no line: the place is that of the code before. */
  readonly isInherited: boolean;
}

/** Which ways a decision went for any thread so far. A bound that limited a value was true. */
export interface ObservedDecision extends DecisionSite {
  readonly wasTrue: boolean;
  readonly wasFalse: boolean;
}

/** The decisions of every function that was launched. */
export interface ObservedDecisions {
  readonly decisions: readonly ObservedDecision[];
  /** Decisions inside of library functions, and those without a place in the author's files. */
  readonly leftOut: number;
}
