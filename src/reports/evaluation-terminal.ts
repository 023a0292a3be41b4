import type { LaunchCounters } from '../core/counters.ts';
import type { DeviceFault } from '../core/device.ts';
import type { Correctness, Evaluation } from '../core/evaluation.ts';
import type { LaunchTiming, Timing } from '../core/timing.ts';
import {
  BASELINE_COLUMNS,
  baselineCells,
  COMPARISON_COLUMNS,
  comparisonCells,
  missingBaselineLines,
} from './comparison-text.ts';
import { coverageLines, ONE_SHAPE } from './coverage-text.ts';
import { describeBounds, describeTiming, formatFigure, formatNs, formatParameters } from './format.ts';
import { formatPercent, measurementLines } from './measurement-text.ts';
import { type Paint, plainPaint } from './paint.ts';
import { profileLines, profilerRuleLines, sanitizerLines } from './profile-text.ts';
import { describeFinding, describeHidden, HIDDEN_TITLE } from './run-text.ts';
import { type Column, textTable } from './table.ts';

const indent = (lines: readonly string[]): string => lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n');

function correctnessLines(correctness: Correctness): string[] {
  const { maxAbsoluteError, checksRun, nearest, rmsErrorRatio, firstWrong } = correctness;
  const largest = maxAbsoluteError === null ? 'not a number' : formatFigure(maxAbsoluteError);
  const lines = [`${checksRun} checks; largest error ${largest}`];
  if (nearest) {
    const { output, index, error, tolerance } = nearest;
    lines.push(
      `nearest its tolerance: ${output}[${index.join(', ')}], error ${formatFigure(error)} of ${formatFigure(tolerance)} allowed`,
    );
  }
  if (rmsErrorRatio) lines.push(`RMS error: ${formatFigure(rmsErrorRatio * 100)} % of its limit`);
  if (firstWrong) {
    const { output, index, got, want, tolerance, wrongCount, elementCount } = firstWrong;
    lines.push(
      `first wrong: ${output}[${index.join(', ')}] is ${got}, should be ${want} ± ${formatFigure(tolerance)}; ${formatFigure(wrongCount)} of ${formatFigure(elementCount)} elements are wrong`,
    );
  }
  return lines;
}

/** Where a launch was stopped, as one line. */
export function describeFault(fault: DeviceFault): string {
  const parts = [`in ${fault.functionName}`];
  if (fault.cta) parts.push(`CTA (${fault.cta.join(', ')})`);
  if (fault.thread) parts.push(`thread (${fault.thread.join(', ')})`);
  if (fault.address) parts.push(`address ${fault.address}`);
  if (fault.buffer)
    parts.push(`buffer ${fault.buffer.name} + ${fault.buffer.offsetBytes} of ${fault.buffer.sizeBytes} B`);
  if (fault.source) parts.push(`at ${fault.source.file}:${fault.source.line}`);
  return parts.join(', ');
}

function timingLines(timing: Timing): string[] {
  const reached =
    timing.kind === 'measured' ? ` (${formatPercent(timing.attainableNs / timing.medianNs)} reached)` : '';
  return [
    describeTiming(timing),
    ...(timing.measurement ? measurementLines(timing.measurement) : []),
    `${describeBounds(timing)}${reached}`,
    ...(timing.bounds ?? []).map(
      ({ resource, ns, arithmetic }) => `${resource.padEnd(10)} ${formatNs(ns).padStart(9)}  ${arithmetic}`,
    ),
  ];
}

function launchCells(counters: LaunchCounters): string[] {
  const coverage = counters.countedCtas < counters.ctaCount ? ` (${counters.countedCtas} counted)` : '';
  const estimated = counters.resources.registersSource === 'estimated' ? ' est.' : '';
  return [
    counters.functionName,
    `${formatFigure(counters.ctaCount)}${coverage}`,
    counters.block.join('×'),
    `${counters.resources.registersPerThread}${estimated}`,
    formatFigure(counters.resources.staticSharedBytes + counters.resources.dynamicSharedBytes),
  ];
}

/** What the time model says of one launch: there only where the time is predicted. */
function modelCells(timing: LaunchTiming): string[] {
  const { occupancy } = timing;
  return [
    `${(occupancy.ratio * 100).toFixed(0)} % (${occupancy.limiter})`,
    timing.waves.toFixed(2),
    formatNs(timing.medianNs),
  ];
}

const LAUNCH_COLUMNS: readonly Column[] = [
  { title: 'launch' },
  { title: 'CTAs', align: 'right' },
  { title: 'block', align: 'right' },
  { title: 'registers', align: 'right' },
  { title: 'shared B', align: 'right' },
];

const MODEL_COLUMNS: readonly Column[] = [
  { title: 'theoretical occupancy' },
  { title: 'waves', align: 'right' },
  { title: 'predicted time', align: 'right' },
];

function launchesTable({ counters, timing }: Evaluation): string {
  const launches = counters?.launches ?? [];
  const modelled = timing?.launches;
  if (!modelled) return textTable(LAUNCH_COLUMNS, launches.map(launchCells));
  return textTable(
    [...LAUNCH_COLUMNS, ...MODEL_COLUMNS],
    launches.map((launch, index) => {
      const model = modelled[index];
      return [...launchCells(launch), ...(model ? modelCells(model) : MODEL_COLUMNS.map(() => '–'))];
    }),
  );
}

const COUNTER_NAMES = [
  'instructions',
  'globalLoadRequests',
  'globalLoadSectors',
  'globalStoreRequests',
  'globalStoreSectors',
  'sharedLoadWavefronts',
  'sharedLoadBankConflicts',
  'sharedStoreWavefronts',
  'sharedStoreBankConflicts',
  'barriers',
  'divergentBranches',
] as const;

function counterLines(evaluation: Evaluation): string[] {
  const { counters } = evaluation;
  if (!counters) return [];
  const width = Math.max(...COUNTER_NAMES.map((name) => name.length));
  return COUNTER_NAMES.map(
    (name) => `${name.padEnd(width)}  ${Math.round(counters.totals[name]).toLocaleString('en-US')}`,
  );
}

/** ` (counted on virtual:h200 …)`: counters of a real GPU never come without their source. */
export const countersNote = ({ countersSource }: Evaluation): string =>
  countersSource ? ` (${countersSource.detail})` : '';

function besideLines(evaluation: Evaluation): string[] {
  const { comparisons = [], baselines = [] } = evaluation;
  const tables = [
    comparisons.length > 0 ? textTable(COMPARISON_COLUMNS, comparisonCells(comparisons)) : '',
    baselines.length > 0 ? textTable(BASELINE_COLUMNS, baselineCells(baselines)) : '',
    missingBaselineLines(evaluation).join('\n'),
  ];
  const text = tables.filter((table) => table !== '').join('\n\n');
  return text === '' ? [] : text.split('\n');
}

function compilerLines(evaluation: Evaluation): string[] {
  return (evaluation.diagnostics ?? []).map(({ severity, message, location }) => {
    const place = location ? `${location.file}:${location.line}${location.column ? `:${location.column}` : ''}: ` : '';
    return `${place}${severity}: ${message}`;
  });
}

/** Which problem's checks a verdict rests on; of a kernel's own choice where it does not lie in that problem's ladder. */
function judgeLine({ problem }: Evaluation, paint: Paint): string {
  if (!problem) return '';
  const { name, folder, elsewhere } = problem;
  const where = elsewhere
    ? `\n${paint('yellow', 'which kernel.json names; it is not that of the folder above the kernel')}`
    : '';
  return `\njudged by problem ${name} in ${folder}${where}`;
}

/** One evaluation for a terminal: status, correctness, time, launches, counters, findings. */
export function evaluationTerminal(evaluation: Evaluation, paint: Paint = plainPaint): string {
  const { candidate, device, workload, status } = evaluation;
  const parameters = formatParameters(candidate.parameters);
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? '' : `${paint('bold', title)}\n${indent(lines)}`;
  const sections = [
    `${paint('bold', candidate.kernel)}${parameters ? ` (${parameters})` : ''}, candidate ${candidate.id}, ${workload.name} on ${device.name}` +
      judgeLine(evaluation, paint),
    `${paint(status === 'passed' ? 'green' : 'red', status)}${evaluation.reason ? `: ${evaluation.reason}` : ''}` +
      (evaluation.coverage?.timedShapeOnly ? `\n${paint('yellow', ONE_SHAPE)}` : '') +
      (evaluation.failedCheck ? `\nfound by: ${evaluation.failedCheck}` : '') +
      (evaluation.fault ? `\n${describeFault(evaluation.fault)}` : ''),
    section('Compiler', compilerLines(evaluation)),
    section('Correctness', evaluation.correctness ? correctnessLines(evaluation.correctness) : []),
    section('Verified on', coverageLines(evaluation)),
    section('Time', evaluation.timing ? timingLines(evaluation.timing) : []),
    section('Beside it, in the same blocks', besideLines(evaluation)),
    evaluation.counters ? `${paint('bold', 'Launches')}\n${indent(launchesTable(evaluation).split('\n'))}` : '',
    section(`Counters${countersNote(evaluation)}`, counterLines(evaluation)),
    section('Profile', evaluation.profile ? profileLines(evaluation.profile) : []),
    section('Sanitizer', evaluation.sanitizer ? sanitizerLines(evaluation.sanitizer) : []),
    section('Findings', evaluation.findings.map(describeFinding)),
    section(HIDDEN_TITLE, (evaluation.hiddenFindings ?? []).map(describeHidden)),
    section('What the profiler itself says', evaluation.profile ? profilerRuleLines(evaluation.profile) : []),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}
