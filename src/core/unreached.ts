import type { ConditionCoverage, ConstantResult, Evaluation, LaunchChoice, OneWayCondition } from './evaluation.ts';

/** What becomes of a kernel of which something was never seen that may change its results. */
export const UNREACHED = ['name', 'refuse'] as const;
export type Unreached = (typeof UNREACHED)[number];

const COMPARED: Readonly<Record<OneWayCondition['was'], string>> = {
  'never-true': 'was never true',
  'never-false': 'was never false',
  'never-reached': 'was never reached',
  'one-way': 'went one way only',
};

const BOUNDED: Readonly<Record<OneWayCondition['was'], string>> = {
  ...COMPARED,
  'never-true': 'never applied',
  'never-false': 'always applied',
};

/** ``kernel.cu:31 `if (v > 1e6f)` was never true``. */
export function describeOneWay({ place, text, isNear, kind, constant, was }: OneWayCondition): string {
  const at = `${place.file}:${place.line} \`${text}\``;
  if (kind === 'bound') return `${at}: the bound ${Number((constant ?? Number.NaN).toPrecision(4))} ${BOUNDED[was]}`;
  return isNear ? `a condition near ${at} ${COMPARED[was]}` : `${at} ${COMPARED[was]}`;
}

/** ``kernel.cu:19 `y[i] += __clz(h) >> 5;` gave 0x0 of all inputs``. */
export const describeConstant = ({ place, text, always }: ConstantResult): string =>
  `${place.file}:${place.line} \`${text}\` gave ${always} for all inputs`;

/** ``kernel.json steps[0].grid[0]: `min(N, 4096)` was never 4096``. */
export const describeChoice = ({ path, text, never }: LaunchChoice): string =>
  `kernel.json ${path}: \`${text}\` was never ${never}`;

/** Code of a step that ran in no check. */
export const NEVER_RAN = 'never-ran';

/** Name and code of what is left out if a virtual GPU does not run a kernel that a real one does: nobody saw its conditions. */
export const CONDITIONS = "which ways the source's conditions go";
export const NOT_WATCHED = 'not-watched';

/**
 * A kernel that passed is `unverified` if something was never seen that may change its results: a condition on loaded values, a clock, or sizes and other arguments, that went one way in every check; an expression of
 * kernel.json that came out one way; a whole number computed of loaded
 * values that was always the same; a step that never ran; all of these, if a virtual GPU does not run the kernel. Whatever lies behind it may be wrong. Conditions that the compiler moved, of another round of a loop, about how far other threads are, and on infinities that inputs do not have do not count: honest kernels
 * have such.
 *
 * @param orElse what else may be done about it.
 */
export function refusingUnreached(evaluation: Evaluation, orElse?: string): Evaluation {
  const { leftOut = [], conditions = NOTHING } = evaluation.coverage ?? {};
  const { oneWay, ofLaunches = [], constantResults = [] } = conditions;
  const unseen = [
    ...oneWay.filter(isUnreached).map((one) => `${whichOf(one)} went one way in every check: ${describeOneWay(one)}`),
    ...ofLaunches.map((one) => `a launch came out one way in every check: ${describeChoice(one)}`),
    ...constantResults.map((one) => `a number computed of loaded values never varied: ${describeConstant(one)}`),
    ...leftOut.filter(({ code = '' }) => UNSEEN.includes(code)).map(({ check, reason }) => `${check}: ${reason}`),
  ];
  if (evaluation.status !== 'passed' || unseen.length === 0) return evaluation;
  const others = unseen.length === 1 ? '' : ` (and ${unseen.length - 1} more)`;
  return {
    ...evaluation,
    status: 'unverified',
    reason: `${unseen[0]}${others}, so what depends on it was not verified; ${NEXT_STEPS.concat(orElse ?? []).join(', or ')}`,
  };
}

const NOTHING: ConditionCoverage = { count: 0, libraryDecisions: 0, oneWay: [] };

const UNSEEN: readonly string[] = [NEVER_RAN, NOT_WATCHED];

const NEXT_STEPS = ['do without it', 'let problem.json have a check shape or a generator set that meets it'];

function whichOf({ isOfValues, isOfChance }: OneWayCondition): string {
  if (isOfValues) return 'a condition on loaded values';
  return isOfChance ? 'a condition on a clock, or on where a thread runs,' : 'a condition on sizes or other arguments';
}

/** What lies behind another condition that was never true counts with that one. */
function isUnreached(condition: OneWayCondition): boolean {
  const { isOfValues, isOfChance, isOfLaunch, isOfInfinity, isNear, isLoopTest, was } = condition;
  if (was === 'never-reached' || isOfInfinity) return false;
  if (isOfChance && isLoopTest) return false;
  return (
    isOfValues === true || isOfChance === true || (isOfLaunch === true && was !== 'one-way' && !isNear && !isLoopTest)
  );
}
