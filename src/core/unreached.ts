import type { ConstantResult, Evaluation, OneWayCondition } from './evaluation.ts';

/** What becomes of a kernel with a condition on loaded values that went one way in every check. */
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

/**
 * A kernel that passed is `unverified` if a condition on values that it loads went one way in every check, or a whole number that it computes of them was always the same: what that guards may be anything. For kernels of authors, who have a reason to
 * plant such a condition and can do without. Other evaluations stay as they are; a real GPU sees no conditions.
 */
export function refusingUnreached(evaluation: Evaluation): Evaluation {
  const { oneWay = [], constantResults = [] } = evaluation.coverage?.conditions ?? {};
  const planted = [
    ...oneWay
      .filter(isUnreached)
      .map(
        (one) =>
          `a condition on loaded values went one way in every check, so what it guards was not verified: ${describeOneWay(one)}`,
      ),
    ...constantResults.map(
      (one) =>
        `a number computed of loaded values never varied, so what depends on it was not verified: ${describeConstant(one)}`,
    ),
  ];
  if (evaluation.status !== 'passed' || planted.length === 0) return evaluation;
  const others = planted.length === 1 ? '' : ` (and ${planted.length - 1} more)`;
  return {
    ...evaluation,
    status: 'unverified',
    reason: `${planted[0]}${others}; do without it, or add a generator set that meets it to problem.json`,
  };
}

/** What lies behind another condition that was never true counts with that one. */
const isUnreached = ({ isOfValues, was }: OneWayCondition): boolean => isOfValues === true && was !== 'never-reached';
