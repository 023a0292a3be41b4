import type { ProfileReport, ProfilerRule, SanitizerReport } from '../../core/profile.ts';
import { sum } from '../../core/values.ts';
import { formatCount, formatFigure } from '../format.ts';

/** What outside tools said, in lines. */

function describeRule({ title, message, estimatedSpeedupPercent, estimateScope, functionName }: ProfilerRule): string {
  const whole = estimateScope === 'unit' ? 'of one unit’s work, not of the time' : 'of the launch’s time';
  const estimate =
    estimatedSpeedupPercent === undefined
      ? ''
      : `, its own estimate: ${formatFigure(estimatedSpeedupPercent)} % ${whole}`;
  return `${title} (${functionName}${estimate}): ${message.replaceAll(/\s+/g, ' ').trim()}`;
}

/** Estimates for one unit come after those of the time, and rules without any last. */
const shareOf = ({ estimatedSpeedupPercent, estimateScope }: ProfilerRule): number =>
  estimatedSpeedupPercent === undefined ? -101 : estimatedSpeedupPercent - (estimateScope === 'unit' ? 100 : 0);

/** The profiler's own rules, those that estimate a share of the time first, largest estimate first. */
export const profilerRuleLines = ({ rules }: ProfileReport): string[] =>
  rules.toSorted((a, b) => shareOf(b) - shareOf(a)).map(describeRule);

/** How the profile was taken; its times are left out on purpose. */
export function profileLines({ tool, version, level, launches, reportObject, ...controls }: ProfileReport): string[] {
  const { clockControl, cacheControl } = controls;
  const metrics = sum(launches.map((launch) => Object.keys(launch.metrics).length));
  const of = launches.length === 1 ? 'launch' : 'launches';
  return [
    `${tool} ${version}, level ${level}, clock control ${clockControl}, cache control ${cacheControl}; ${metrics} metrics of ${launches.length} ${of}`,
    'times under a profiler are not results and are not shown',
    ...(reportObject === undefined ? [] : [`the profiler's own report: object ${reportObject}`]),
  ];
}

const OUTCOMES: Readonly<Record<SanitizerReport['outcome'], string>> = {
  clean: 'clean: every tool ran and found nothing',
  errors: 'errors were found',
  unsanitized: 'unsanitized: a tool showed nothing, so the kernel is not known to be clean',
};

const LOSES_TRACK = 'racecheck is known to lose track of barriers of some of a CTA’s threads, which this kernel has';

const doubtLine = ({ clearedBy, uncleared }: NonNullable<SanitizerReport['doubt']>): string =>
  clearedBy === undefined
    ? `${LOSES_TRACK}; no race checker followed it: ${uncleared ?? 'none was asked'}`
    : `${LOSES_TRACK}; the race checker of ${clearedBy} found no race`;

export const sanitizerLines = ({ outcome, version, tools, doubt }: SanitizerReport): string[] => [
  `compute-sanitizer ${version ?? '(absent)'}: ${OUTCOMES[outcome]}`,
  ...(doubt === undefined ? [] : [doubtLine(doubt)]),
  ...tools.map(({ tool, outcome: found, errorCount, detail }) => {
    const count = errorCount > 0 ? `, ${formatCount(errorCount, 'error')}` : '';
    return `${tool}: ${found}${count}${detail === '' ? '' : `: ${detail}`}`;
  }),
];
