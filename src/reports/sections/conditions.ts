import type { ConditionCoverage, Coverage, OneWayCondition } from '../../core/evaluation.ts';
import { describeChoice, describeConstant, describeOneWay } from '../../core/unreached.ts';
import { formatCount } from '../format.ts';

/** How many conditions a verdict names. */
const NAMED = 4;

/**
 * A verdict's sentences about conditions that went one way only; nothing if all went both ways.
 *
 * @param shown so many lines at most; @param others - where the others are named.
 */
export function oneWaySentences(
  conditions: ConditionCoverage | undefined,
  { shown = NAMED, others = '; --json names them' } = {},
): string[] {
  if (!conditions) return [];
  const how = { shown, others };
  return [...oneWayLines(conditions, how), ...choiceLines(conditions, how), ...resultLines(conditions, how)];
}

interface Shown {
  readonly shown: number;
  readonly others: string;
}

function oneWayLines({ count, oneWay }: ConditionCoverage, { shown, others }: Shown): string[] {
  if (oneWay.length === 0) return [];
  const reached = byLine(oneWay.filter(({ was }) => was !== 'never-reached'));
  const unreached = byLine(oneWay.filter(({ was }) => was === 'never-reached'));
  const named = reached.slice(0, shown);
  const rest = reached.length + unreached.length - named.length;
  const what = oneWay.length === 1 ? 'What it guards was' : 'What they guard was';
  return [
    `${oneWay.length} of ${formatCount(count, 'condition')} went one way in every check. ${what} not verified:`,
    ...named.map(describeOneWay),
    ...(rest > 0 ? [`${moreLines(rest)}${others}`] : []),
  ];
}

function choiceLines({ ofLaunches = [] }: ConditionCoverage, how: Shown): string[] {
  const title =
    'Expressions of kernel.json came out one way in every check. Launches of the other way were not verified:';
  return namedLines(title, ofLaunches.map(describeChoice), how, (rest) => `and ${formatCount(rest, 'more')}`);
}

function resultLines({ constantResults = [] }: ConditionCoverage, how: Shown): string[] {
  const title = `${formatCount(constantResults.length, 'number')} computed of loaded values never varied. What depends on that was not verified:`;
  return namedLines(title, constantResults.map(describeConstant), how, moreLines);
}

const moreLines = (rest: number): string => `and on ${formatCount(rest, 'more line')}`;

/** A title and the first lines; nothing without any. */
function namedLines(
  title: string,
  lines: readonly string[],
  { shown, others }: Shown,
  more: (rest: number) => string,
): string[] {
  if (lines.length === 0) return [];
  const rest = lines.length - shown;
  return [title, ...lines.slice(0, shown), ...(rest > 0 ? [`${more(rest)}${others}`] : [])];
}

/** One condition of each line: copies and parts of one usually share their fate. What is told exactly comes first. */
function byLine(conditions: readonly OneWayCondition[]): OneWayCondition[] {
  const lines = Map.groupBy(conditions, ({ place }) => `${place.file}:${place.line}`);
  return [...lines.values()].map((all) => all.find(({ was }) => was.startsWith('never')) ?? all[0]!);
}

/** How many ends of whole numbers a verdict names. */
const NAMED_WIDTHS = 3;

/** Where whole numbers end at sizes that no check reached. */
export const widthSentences = ({ unreachedWidths = [] }: Coverage): string[] =>
  unreachedWidths
    .slice(0, NAMED_WIDTHS)
    .map(
      ({ place, text, holds, product, from }) =>
        `${holds} end at ${place.file}:${place.line} \`${text}\` from about ${product} = ${aboutPower(from)} on; no check reached that`,
    );

const NEAR_POWER = 0.05;

function aboutPower(value: number): string {
  const power = Math.log2(value);
  if (Math.abs(power - Math.round(power)) < NEAR_POWER) return `2^${Math.round(power)}`;
  return Number(value.toPrecision(2)).toLocaleString('en-US');
}
