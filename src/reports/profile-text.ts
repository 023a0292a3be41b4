import type { ProfileReport, ProfilerRule } from '../core/profile.ts';
import type { SanitizerReport } from '../core/sanitizer-report.ts';
import { formatFigure } from './format.ts';

/** What outside tools said, in lines. */

function describeRule({ title, message, estimatedSpeedupPercent, functionName }: ProfilerRule): string {
  const estimate =
    estimatedSpeedupPercent === undefined ? '' : `, its own estimate ${formatFigure(estimatedSpeedupPercent)} % faster`;
  return `${title} (${functionName}${estimate}): ${message.replaceAll(/\s+/g, ' ').trim()}`;
}

/** The profiler's own rules, largest estimate first. */
export const profilerRuleLines = ({ rules }: ProfileReport): string[] =>
  rules.toSorted((a, b) => (b.estimatedSpeedupPercent ?? 0) - (a.estimatedSpeedupPercent ?? 0)).map(describeRule);

/** How the profile was taken; its times are left out on purpose. */
export function profileLines(profile: ProfileReport): string[] {
  const { tool, version, level, clockControl, cacheControl, launches, reportObject } = profile;
  const metrics = launches.reduce((sum, launch) => sum + Object.keys(launch.metrics).length, 0);
  return [
    `${tool} ${version}, level ${level}, clock control ${clockControl}, cache control ${cacheControl}; ${metrics} metrics of ${launches.length} ${launches.length === 1 ? 'launch' : 'launches'}`,
    'times under a profiler are not results and are not shown',
    ...(reportObject === undefined ? [] : [`the profiler's own report: object ${reportObject}`]),
  ];
}

const OUTCOMES: Readonly<Record<SanitizerReport['outcome'], string>> = {
  clean: 'clean: every tool ran and found nothing',
  errors: 'errors were found',
  unsanitized: 'unsanitized: a tool showed nothing, so the kernel is not known to be clean',
};

export const sanitizerLines = ({ outcome, version, tools }: SanitizerReport): string[] => [
  `compute-sanitizer ${version ?? '(absent)'}: ${OUTCOMES[outcome]}`,
  ...tools.map(({ tool, outcome: found, errorCount, detail }) => {
    const count = errorCount > 0 ? `, ${errorCount} errors` : '';
    return `${tool}: ${found}${count}${detail === '' ? '' : `: ${detail}`}`;
  }),
];
