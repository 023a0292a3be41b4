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
  /** Of a combination: a longer one of the same place goes on with it, as `a && b && c` does with `a && b`. */
  readonly isPart: boolean;
  /** It asks whether a loop has another round. */
  readonly isLoopTest: boolean;
  /** Of a combination: two nested selections make it, so that it is true where both conditions of the source hold. */
  readonly isOfSelections: boolean;
}

/** Whether a comparison of this PTX name asks if two values are equal, or unequal. */
export const isEquality = (comparison: string): boolean => /^(?:eq|ne)u?$/.test(comparison);

/** Which ways a decision went for any thread so far. A bound that limited a value was true. */
export interface ObservedDecision extends DecisionSite, Ways {
  /** It follows from the place of a thread in its CTA, whose extents were the same in all launches: no shape and no input changes it. */
  readonly isSettled: boolean;
  /** What it depends on beside numbers of the code. */
  readonly dependsOn: DependsOn;
}

/**
 * Values that the kernel loads; or else chance, as a clock and the number of an SM are; or else what other threads have done so far; or else sizes, other arguments
 * and the thread's place alone.
 */
export type DependsOn = 'values' | 'chance' | 'other threads' | 'launch';

/** Which ways a decision went, or would go, for some thread. */
export interface Ways {
  readonly wasTrue: boolean;
  readonly wasFalse: boolean;
}

/** The ways that went in one of two observations, or in both. */
export const eitherWay = (a: Ways | undefined, b: Ways): Ways => ({
  wasTrue: b.wasTrue || (a?.wasTrue ?? false),
  wasFalse: b.wasFalse || (a?.wasFalse ?? false),
});

/** Of differences, the one that is closest to 0. */
export const closestToZero = (first: number, ...others: readonly number[]): number =>
  others.reduce((best, one) => (Math.abs(one) < Math.abs(best) ? one : best), first);

/** Which ways a decision would go in a launch, as far as that follows from the launch alone. */
export interface ForeseenWays extends Ways {
  /** Of a comparison of a size with a constant, such as `N < 32`, and of a bound of a size: how far the two are apart. */
  readonly distance?: number | undefined;
  /** Of a comparison that asks whether two sizes are equal, or a size and a constant, such as `N / 3 == M`: by how much the first exceeds the second. */
  readonly gap?: number | undefined;
  /**
   * Of a comparison of whole numbers that are sums and products of what the launch and the thread say: works out by how much the first exceeds the
   * second in the thread, among a few, where they are closest.
   */
  readonly margin?: (() => number) | undefined;
}

/** What two operands of a comparison held for some thread, as bit patterns of its type. */
export interface OperandPair {
  readonly a: bigint;
  readonly b: bigint;
}

/** Which operands are kept. */
export type LoggedPairs = 'all' | 'unequal';

/** What a decision compared. */
export interface LoggedOperands {
  /** The decision's place among those of its module. */
  readonly place: number;
  /** PTX type of the operands, e.g. `f32`. */
  readonly type: string;
  /** Of its first threads; each pair once. */
  readonly pairs: readonly OperandPair[];
}

/** What a result was in all runs that were logged. */
export type LoggedResult = 'never computed' | 'several' | { readonly always: bigint };

/** A result of arithmetic on loaded values. */
export interface ObservedResult {
  /** Its number among those of the module. */
  readonly site: number;
  readonly result: LoggedResult;
  readonly place: SourceLocation;
  /** Its place and what it computes, without registers: the same for all copies that a compiler makes of it. */
  readonly operation: string;
  /** Results among its operands. */
  readonly of: readonly number[];
}

/** Numbers in a module's own code that a size or a value may be compared with. */
export interface CodeConstants {
  /** Whole numbers that bear on sizes: bounds, tiles, strides, masks. */
  readonly sizes: readonly number[];
  /** Floating-point numbers that values are compared with or bounded by. */
  readonly values: readonly number[];
  /** Floating-point numbers that are added to values: so far apart may two be before another way is taken. */
  readonly gaps: readonly number[];
}

/** The decisions of every function that was launched. */
export interface ObservedDecisions {
  readonly decisions: readonly ObservedDecision[];
  /** Decisions inside of library functions, and those without a place in the author's files. */
  readonly leftOut: number;
}
