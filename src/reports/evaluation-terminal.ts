import type { LaunchCounters } from '../core/counters.ts';
import type { DeviceFault } from '../core/device.ts';
import type { Correctness, Evaluation } from '../core/evaluation.ts';
import type { LaunchTiming, Timing } from '../core/timing.ts';
import { formatFigure, formatNs, formatParameters, formatTiming } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';
import { describeFinding } from './run-text.ts';
import { textTable } from './table.ts';

const indent = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join('\n');

function correctnessLines({ maxAbsoluteError, tolerance, checksRun, firstWrong }: Correctness): string[] {
  const lines = [
    `${checksRun} checks; largest error ${maxAbsoluteError === null ? 'not a number' : formatFigure(maxAbsoluteError)}, tolerance ${formatFigure(tolerance)}`,
  ];
  if (firstWrong) {
    const { output, index, got, want, wrongCount, elementCount } = firstWrong;
    lines.push(
      `first wrong: ${output}[${index.join(', ')}] is ${got}, should be ${want}; ${formatFigure(wrongCount)} of ${formatFigure(elementCount)} elements are wrong`,
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
  return [
    `${formatTiming(timing)}, bound by ${timing.bindingResource}`,
    `no kernel can be faster than ${formatNs(timing.vetoNs)}; attainable ${formatNs(timing.attainableNs)}`,
    ...(timing.bounds ?? []).map(
      ({ resource, ns, arithmetic }) => `${resource.padEnd(10)} ${formatNs(ns).padStart(9)}  ${arithmetic}`,
    ),
  ];
}

function launchCells(counters: LaunchCounters, timing: LaunchTiming | undefined): string[] {
  const coverage = counters.countedCtas < counters.ctaCount ? ` (${counters.countedCtas} counted)` : '';
  const { occupancy } = timing ?? {};
  const estimated = counters.resources.registersSource === 'estimated' ? ' est.' : '';
  return [
    counters.functionName,
    `${formatFigure(counters.ctaCount)}${coverage}`,
    counters.block.join('×'),
    `${counters.resources.registersPerThread}${estimated}`,
    formatFigure(counters.resources.staticSharedBytes + counters.resources.dynamicSharedBytes),
    occupancy ? `${(occupancy.ratio * 100).toFixed(0)} % (${occupancy.limiter})` : '–',
    timing ? timing.waves.toFixed(2) : '–',
    timing ? formatNs(timing.medianNs) : '–',
  ];
}

function launchesTable(evaluation: Evaluation): string {
  const launches = evaluation.counters?.launches ?? [];
  return textTable(
    [
      { title: 'launch' },
      { title: 'CTAs', align: 'right' },
      { title: 'block', align: 'right' },
      { title: 'registers', align: 'right' },
      { title: 'shared B', align: 'right' },
      { title: 'theoretical occupancy' },
      { title: 'waves', align: 'right' },
      { title: `${evaluation.timing?.kind ?? ''} time`.trim(), align: 'right' },
    ],
    launches.map((launch, index) => launchCells(launch, evaluation.timing?.launches?.[index])),
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

function compilerLines(evaluation: Evaluation): string[] {
  return (evaluation.diagnostics ?? []).map(({ severity, message, location }) => {
    const place = location ? `${location.file}:${location.line}${location.column ? `:${location.column}` : ''}: ` : '';
    return `${place}${severity}: ${message}`;
  });
}

/** One evaluation for a terminal: status, correctness, time, launches, counters, findings. */
export function evaluationTerminal(evaluation: Evaluation, paint: Paint = plainPaint): string {
  const { candidate, device, workload, status } = evaluation;
  const parameters = formatParameters(candidate.parameters);
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? '' : `${paint('bold', title)}\n${indent(lines)}`;
  const sections = [
    `${paint('bold', candidate.kernel)}${parameters ? ` (${parameters})` : ''}, candidate ${candidate.id}, ${workload.name} on ${device.name}`,
    `${paint(status === 'passed' ? 'green' : 'red', status)}${evaluation.reason ? `: ${evaluation.reason}` : ''}` +
      (evaluation.failedCheck ? `\nfound by: ${evaluation.failedCheck}` : '') +
      (evaluation.fault ? `\n${describeFault(evaluation.fault)}` : ''),
    section('Compiler', compilerLines(evaluation)),
    section('Correctness', evaluation.correctness ? correctnessLines(evaluation.correctness) : []),
    section('Time', evaluation.timing ? timingLines(evaluation.timing) : []),
    evaluation.counters ? `${paint('bold', 'Launches')}\n${indent(launchesTable(evaluation).split('\n'))}` : '',
    section('Counters', counterLines(evaluation)),
    section('Findings', evaluation.findings.map(describeFinding)),
  ];
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`;
}
