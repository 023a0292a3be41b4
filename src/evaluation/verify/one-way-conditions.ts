import type { DependsOn, ObservedDecision, ObservedDecisions, ObservedResult } from '../../core/decisions.ts';
import type { ConditionCoverage, ConstantResult, OneWayCondition } from '../../core/evaluation.ts';

/**
 * The conditions of a kernel's source, and those that went one way only. Decisions of one place count as one condition: unrolled and
 * specialised copies, a loop's test before its first round and after each.
 *
 * @param sources the kernel's files by their names. @param inputsAreFinite - no generator set of the problem has infinities or NaN.
 */
export function conditionCoverage(
  { decisions, leftOut }: ObservedDecisions,
  sources: Readonly<Record<string, string>>,
  { inputsAreFinite = false } = {},
): ConditionCoverage {
  const conditions = groupByCondition(decisions, sources);
  const oneWay = conditions.flatMap((copies) => conditionOf(copies, inputsAreFinite) ?? []);
  return { count: conditions.length, libraryDecisions: leftOut, oneWay: oneWay.sort(byPlace) };
}

/** Results that never varied, as they are told: of each line one. */
export function describeResults(
  results: readonly ObservedResult[],
  sources: Readonly<Record<string, string>>,
): ConstantResult[] {
  const byLine = new Map<string, ConstantResult>();
  for (const { place, result } of results) {
    if (typeof result !== 'object') continue;
    const line = sources[place.file]?.split('\n')[place.line - 1] ?? '';
    const text = excerpt(line, place.column);
    byLine.set(`${place.file}:${place.line}`, { place, text, always: `0x${result.always.toString(16)}` });
  }
  return [...byLine.values()].sort(byPlace);
}

function groupByCondition(
  decisions: readonly ObservedDecision[],
  sources: Readonly<Record<string, string>>,
): PlacedDecision[][] {
  const lines = Object.fromEntries(Object.entries(sources).map(([file, text]) => [file, text.split('\n')]));
  const own = decisions
    .filter(({ isSettled, isPart }) => !isSettled && !isPart)
    .map((decision) => placed(decision, lines[decision.place.file]?.[decision.place.line - 1] ?? ''))
    .filter(
      ({ decision, written }) =>
        !isCompilers(written) || (decision.isInherited && ['values', 'chance'].includes(decision.dependsOn)),
    );
  return [...Map.groupBy(own, conditionKey).values()];
}

/** A decision beside what its source says. */
interface PlacedDecision {
  readonly decision: ObservedDecision;
  readonly line: string;
  readonly written: Written | undefined;
  /** Whether the compiled decision is the opposite of the written one; `undefined` if that can't be told. */
  readonly isNegated: boolean | undefined;
}

function placed(decision: ObservedDecision, line: string): PlacedDecision {
  const { kind, place, isInherited } = decision;
  const found = kind === 'bound' ? undefined : operatorAt(line, place.column);
  const written = isInherited && !isCompilers(found) ? undefined : found;
  const isNegated = ORIENT[kind](decision, written, line);
  return { decision, line, written, isNegated };
}

/** About how often an unrolled copy runs, or whether 32 bits suffice for a division. What has no line of its own inherits such a place, and may be anything. */
const isCompilers = (written: Written | undefined): boolean =>
  written?.operator === 'loop' || written?.operator === 'division';

const ORIENT = {
  bound: () => false,
  comparison: isNegation,
  combination: isNegatedCombination,
} satisfies Record<
  ObservedDecision['kind'],
  (decision: ObservedDecision, written: Written | undefined, line: string) => boolean | undefined
>;

/** Compilers turn `!(a && b)` into `!a || !b`. If the line has only one of the two operators, it is that one. */
function isNegatedCombination(
  { comparison, isOfSelections }: ObservedDecision,
  written: Written | undefined,
  line: string,
): boolean | undefined {
  if (isOfSelections) return false;
  const inLine = ['&&', '||'].filter((operator) => line.includes(operator));
  const operator =
    written && inLine.includes(written.operator) ? written.operator : inLine.length === 1 ? inLine[0] : undefined;
  return operator === undefined ? undefined : (operator === '&&') !== (comparison === 'and');
}

/**
 * An operator of the source is one condition. Where none is found, in macros and in code to which the compiler gave no line,
 * decisions of the same kind at one place are.
 */
function conditionKey({ decision, written }: PlacedDecision): string {
  const { kind, comparison, constant, place, calledFrom, isInherited } = decision;
  const isTold = written !== undefined && written.operator !== 'truth';
  return JSON.stringify([place, calledFrom, kind, isTold ? written.operator : [comparison, constant, isInherited]]);
}

const byPlace = (a: Pick<OneWayCondition, 'place'>, b: Pick<OneWayCondition, 'place'>): number =>
  a.place.file.localeCompare(b.place.file) ||
  a.place.line - b.place.line ||
  (a.place.column ?? 0) - (b.place.column ?? 0);

/** What all copies of a condition have in common; `undefined` if it went both ways. */
function conditionOf(copies: readonly PlacedDecision[], inputsAreFinite: boolean): OneWayCondition | undefined {
  const [{ decision, line }] = copies as readonly [PlacedDecision];
  const { kind, place, constant } = decision;
  const went = copies.map(({ decision: copy, isNegated }): Way => wayOf(copy, isNegated));
  if (went.includes('both') || (went.includes('never-true') && went.includes('never-false'))) return undefined;
  const was = ORDER.find((way) => went.includes(way))!;
  if (isLoopTest(line, place.column, decision) && (was === 'one-way' || was === 'never-false')) return undefined;
  const isNear = decision.isInherited || undefined;
  const isOf = (what: DependsOn): boolean => copies.some((copy) => copy.decision.dependsOn === what);
  const isOfValues = isOf('values') || undefined;
  const isOfChance = (!isOfValues && isOf('chance')) || undefined;
  const isOfLaunch = (!isOfValues && !isOfChance && !isOf('other threads')) || undefined;
  const isOfInfinity = (inputsAreFinite && copies.every(comparesInfinity)) || undefined;
  const asksForMore = copies.every((copy) => copy.decision.isLoopTest) || undefined;
  return {
    ...{ place, text: excerpt(line, place.column), isNear, kind, constant: finite(constant), isOfValues },
    ...{ isOfChance, isOfLaunch, isOfInfinity, isLoopTest: asksForMore, was },
  };
}

const comparesInfinity = ({ decision: { constant } }: PlacedDecision): boolean =>
  Math.abs(constant ?? 0) === Number.POSITIVE_INFINITY;

/** What is told of several copies: the first of these that any of them did. */
const ORDER = ['one-way', 'never-true', 'never-false', 'never-reached'] as const satisfies OneWayCondition['was'][];

/**
 * Whether a condition is the test of a loop. Every loop that ends is left; what a compiler tests once, before the first round, says
 * only that it is always entered.
 */
function isLoopTest(line: string, column: number | undefined, { kind, isInherited }: ObservedDecision): boolean {
  return (
    kind === 'comparison' &&
    !isInherited &&
    column !== undefined &&
    isInParentheses(line, column, /\b(?:for|while)\s*$/)
  );
}

/** Whether a place lies in parentheses behind such a word. */
function isInParentheses(line: string, column: number, behind: RegExp): boolean {
  let depth = 0;
  for (let at = column - 2; at >= 0; at--) {
    if (line[at] === ')') depth += 1;
    else if (line[at] === '(' && depth > 0) depth -= 1;
    else if (line[at] === '(' && behind.test(line.slice(0, at))) return true;
  }
  return false;
}

type Way = OneWayCondition['was'] | 'both';

function wayOf({ wasTrue, wasFalse }: ObservedDecision, isNegated: boolean | undefined): Way {
  if (wasTrue && wasFalse) return 'both';
  if (!wasTrue && !wasFalse) return 'never-reached';
  if (isNegated === undefined) return 'one-way';
  return wasTrue === isNegated ? 'never-true' : 'never-false';
}

/** Longest line that is quoted whole, and how much of a longer one before and after the condition. */
const EXCERPT = { whole: 80, before: 30, after: 40 } as const;
/** The same for an operation. */
export const SHORT_EXCERPT = { whole: 24, before: 10, after: 10 } as const;

/** A source line without its indentation, or the part around a column. */
export function excerpt(line: string, column = 1, most: typeof EXCERPT | typeof SHORT_EXCERPT = EXCERPT): string {
  const trimmed = line.trim();
  if (trimmed.length <= most.whole) return trimmed;
  const at = Math.min(Math.max(0, column - 1 - (line.length - line.trimStart().length)), trimmed.length - 1);
  const [from, to] = [Math.max(0, at - most.before), Math.min(trimmed.length, at + most.after)];
  return `${from > 0 ? '…' : ''}${trimmed.slice(from, to)}${to < trimmed.length ? '…' : ''}`;
}

const finite = (value: number | undefined): number | undefined =>
  value !== undefined && Number.isFinite(value) ? value : undefined;

/** A comparison as C++ writes it, or how it may stand for one. */
interface Written {
  readonly operator: string;
  /** The operand that is a number, which a compiler puts on the right. */
  readonly number?: 'left' | 'right' | undefined;
}

const OPERATOR = /^(<=|>=|==|!=|&&|\|\||<(?!<)|>(?!>)|!)/;
const LOOP = /^(for|while|do)\b/;
const DIVISION = /^[/%]/;
const NUMBER_AFTER = /^\s*[-+(]*(?:\d|\.\d)/;
const NUMBER_BEFORE = /(?:^|[^\w.])[-+]?(?:\d[\w.]*|\.\d[\w.]*)\s*$/;

/**
 * The operator at a column, where clang places a comparison; `!= 0` where there is none, as in `if (causal)`. At the word that
 * begins a loop lie decisions about how often its unrolled copies run; at a division of 64-bit numbers, whether 32 bits suffice.
 */
function operatorAt(line: string, column: number | undefined): Written | undefined {
  if (column === undefined) return undefined;
  const [, operator] = OPERATOR.exec(line.slice(column - 1)) ?? [];
  if (LOOP.test(line.slice(column - 1))) return { operator: 'loop' };
  if (DIVISION.test(line.slice(column - 1))) return { operator: 'division' };
  if (operator === undefined) return asksForTruth(line, column) ? { operator: 'truth' } : undefined;
  return { operator, number: numberBeside(line, column - 1, column - 1 + operator.length) };
}

/** A name, or a call, that is all of a condition or of a part of one. */
const TRUTH = /^[\w.:>-]+(?:\([^()]*\))?\s*(?:[);,?]|&&|\|\||$)/;

/** What is compared with something. clang places the comparison at its operator: at the operand lie decisions about copies of a loop, say. */
const COMPARED = /^[^?;&|]*?(?:[=!<>]=|(?<!<)<(?!<)|(?<![->])>(?!>))/;

/** `if (causal)`, `causal ? a : b`, `if (n & 16)`. A compiler's own comparisons have the places of arithmetic: `a + b`, `a = b`. */
function asksForTruth(line: string, column: number): boolean {
  const rest = line.slice(column - 1);
  if (COMPARED.test(rest)) return false;
  return TRUTH.test(rest) || rest.includes('?') || isInParentheses(line, column, /\bif\s*(?:constexpr\s*)?$/);
}

function numberBeside(line: string, from: number, to: number): Written['number'] {
  if (NUMBER_BEFORE.test(line.slice(0, from))) return 'left';
  return NUMBER_AFTER.test(line.slice(to)) ? 'right' : undefined;
}

type Direction = 'less' | 'greater' | 'equal' | 'unequal';

const WRITTEN: Readonly<Record<string, Direction>> = {
  '<': 'less',
  '<=': 'less',
  '>': 'greater',
  '>=': 'greater',
  '==': 'equal',
  '!=': 'unequal',
  '!': 'equal',
  truth: 'unequal',
};

const COMPILED: Readonly<Record<string, Direction>> = {
  ...{ lt: 'less', le: 'less', lo: 'less', ls: 'less', gt: 'greater', ge: 'greater', hi: 'greater', hs: 'greater' },
  ...{ eq: 'equal', ne: 'unequal' },
};

const isStrict = (comparison: string): boolean => /^(?:[<>]|lt|gt|lo|hi)$/.test(comparison);

/**
 * Whether a compiled comparison is the opposite of the written one; `undefined` if that can't be told. Compilers turn both
 * round, mirror operands, and change `<= 7` into `< 8`. A loop that ends below a bound may be compiled to end at it.
 */
function isNegation(
  { comparison, constant, isFloat }: ObservedDecision,
  written: Written | undefined,
): boolean | undefined {
  const base = comparison.length === 3 && comparison.endsWith('u') ? comparison.slice(0, 2) : comparison;
  const [is, was] = [COMPILED[base], written && WRITTEN[written.operator]];
  if (is === undefined || was === undefined) return undefined;
  const [isEquality, wasEquality] = [is === 'equal' || is === 'unequal', was === 'equal' || was === 'unequal'];
  if (isEquality && wasEquality) return is !== was;
  if (isEquality) return is === 'equal';
  // Whether a remainder is a constant is a comparison of a product; `== 0` may become `< 1`.
  if (wasEquality) return (is === 'less') !== (was === 'equal');
  if (constant === undefined || isFloat) return isStrict(base) !== isStrict(written!.operator);
  if (written!.number === undefined) return undefined;
  return (is === was) !== (written!.number === 'right');
}
