import type { LaunchCounters } from '../../core/counters.ts';
import type { DeviceFault } from '../../core/device.ts';
import type { BaselineMeasurement, Correctness, Coverage, Evaluation } from '../../core/evaluation.ts';
import type { Comparison } from '../../core/measurement.ts';
import type { LaunchTiming, Timing } from '../../core/timing.ts';
import { holm } from '../../stats/holm.ts';
import {
  bad,
  type ColumnOf,
  type Document,
  figures,
  flattened,
  good,
  type Inline,
  type Item,
  list,
  names,
  type Part,
  type Section,
  section,
  table,
  warn,
  words,
} from '../document.ts';
import {
  describeBounds,
  describeTiming,
  formatCount,
  formatFigure,
  formatMeasuredNs,
  formatNs,
  formatParameters,
  formatPercent,
  formatRatioInterval,
} from '../format.ts';
import { shortKernelNames } from '../kernel-names.ts';
import { findingsInShort, HIDDEN_TITLE, hiddenFindings } from '../sections/findings.ts';
import { measurementLines } from '../sections/measurement.ts';
import { profileLines, profilerRuleLines, sanitizerLines } from '../sections/outside-tools.ts';

/** Shown where nothing is known of any shape but the timed one. */
const ONE_SHAPE = 'VERIFIED AT THE TIMED SHAPE ONLY';

/** `03_rows (PAD=8), candidate 12ab…, b1h8s512d64 on NVIDIA L4`. */
export function evaluationTitle({ candidate, workload, device }: Evaluation): string {
  const parameters = formatParameters(candidate.parameters);
  return `${candidate.kernel}${parameters && ` (${parameters})`}, candidate ${candidate.id}, ${workload.name} on ${device.name}`;
}

/** `passed`, or what it was instead and why. */
export const statusText = ({ status, reason }: Pick<Evaluation, 'status' | 'reason'>): Inline => [
  status === 'passed' ? good(status) : bad(status),
  reason ? `: ${reason}` : '',
];

/** Where a launch was stopped, as one line. */
function describeFault({ functionName, cta, thread, address, buffer, source }: DeviceFault): string {
  return [
    `in ${functionName}`,
    ...(cta ? [`CTA (${cta.join(', ')})`] : []),
    ...(thread ? [`thread (${thread.join(', ')})`] : []),
    ...(address ? [`address ${address}`] : []),
    ...(buffer ? [`buffer ${buffer.name} + ${buffer.offsetBytes} of ${buffer.sizeBytes} B`] : []),
    ...(source ? [`at ${source.file}:${source.line}`] : []),
  ].join(', ');
}

/** Which problem's checks a verdict rests on; of a kernel's own choice where it does not lie in that problem's ladder. */
const judgeLines = ({ problem }: Evaluation): Inline[] => [
  ...(problem ? [`judged by problem ${problem.name} in ${problem.folder}`] : []),
  ...(problem?.elsewhere ? [warn('which kernel.json names; it is not that of the folder above the kernel')] : []),
];

const statusLines = (evaluation: Evaluation): Inline[] => [
  statusText(evaluation),
  ...(evaluation.coverage?.timedShapeOnly ? [warn(ONE_SHAPE)] : []),
  ...(evaluation.failedCheck ? [`found by: ${evaluation.failedCheck}`] : []),
  ...(evaluation.fault ? [describeFault(evaluation.fault)] : []),
];

const compilerLines = ({ diagnostics = [] }: Evaluation): string[] =>
  diagnostics.map(({ severity, message, location }) => {
    const place = location ? `${location.file}:${location.line}${location.column ? `:${location.column}` : ''}: ` : '';
    return `${place}${severity}: ${message}`;
  });

function correctnessLines({ maxAbsoluteError, checksRun, nearest, rmsErrorRatio, firstWrong }: Correctness): string[] {
  const at = ({ output, index }: { output: string; index: readonly number[] }) => `${output}[${index.join(', ')}]`;
  return [
    `${checksRun} checks; largest error ${maxAbsoluteError === null ? 'not a number' : formatFigure(maxAbsoluteError)}`,
    ...(nearest
      ? [
          `nearest its tolerance: ${at(nearest)}, error ${formatFigure(nearest.error)} of ${formatFigure(nearest.tolerance)} allowed`,
        ]
      : []),
    ...(rmsErrorRatio ? [`RMS error: ${formatFigure(rmsErrorRatio * 100)} % of its limit`] : []),
    ...(firstWrong
      ? [
          `first wrong: ${at(firstWrong)} is ${firstWrong.got}, should be ${firstWrong.want} ± ${formatFigure(firstWrong.tolerance)}; ` +
            `${formatFigure(firstWrong.wrongCount)} of ${formatFigure(firstWrong.elementCount)} elements are wrong`,
        ]
      : []),
  ];
}

/** What an evaluation was verified on, and what it was not. */
function coverageLines({ seed, coverage }: Evaluation): string[] {
  if (!coverage) return seed === undefined ? [] : [`seed ${seed}`];
  const { timedShapeOnly, drawnShapes, excludedShapes, fixedDimensions, generatorSets, leftOut }: Coverage = coverage;
  const shapes = (count: number) => formatCount(count, 'check shape');
  return [
    ...(timedShapeOnly ? ['no other shape than the timed one: the kernel takes none'] : []),
    `seed ${seed}: ${shapes(coverage.checkShapes)}, ${drawnShapes.length} drawn`,
    `the timed shape with ${['its own', ...generatorSets].join(', ')} inputs`,
    ...drawnShapes.map((shape) => `drawn: ${formatParameters(shape).replaceAll(',', '')}`),
    ...(excludedShapes.length > 0 ? [`${shapes(excludedShapes.length)} that the kernel does not take left out`] : []),
    ...(fixedDimensions.length > 0 && !timedShapeOnly
      ? [`not verified at any other value of ${fixedDimensions.join(', ')}: the kernel takes none`]
      : []),
    ...leftOut.map(({ check, reason }) => `left out: ${check}: ${reason}`),
  ];
}

function timingLines(timing: Timing): (string | Item)[] {
  const reached =
    timing.kind === 'measured' ? ` (${formatPercent(timing.attainableNs / timing.medianNs)} reached)` : '';
  return [
    describeTiming(timing),
    ...(timing.measurement ? measurementLines(timing.measurement) : []),
    `${describeBounds(timing)}${reached}`,
    ...(timing.bounds ?? []).map(({ resource, ns, arithmetic }) => ({
      term: resource,
      text: `${formatNs(ns)}: ${arithmetic}`,
    })),
  ];
}

/** A candidate against what it was measured beside; p-values also adjusted for how many there are. */
function comparisonTable(comparisons: readonly Comparison[]): Part {
  const adjusted = holm(comparisons.map(({ mannWhitney }) => mannWhitney.pValue));
  return table('Comparisons', comparisons, [
    words('beside', ({ baseline }) => baseline),
    words('this candidate is', ({ verdict }) => verdict),
    figures('ratio', ({ ratio }) => `${ratio.toFixed(3)}×`),
    words('95 % interval', ({ intervalRatio }) => formatRatioInterval(intervalRatio)),
    figures('blocks', ({ blockCount }) => String(blockCount), 1),
    figures('Mann–Whitney p', ({ mannWhitney }) => formatFigure(mannWhitney.pValue), 3),
    figures('p (Holm)', (one) => formatFigure(adjusted[comparisons.indexOf(one)]!), 2),
    figures('Cliff’s δ', ({ cliffsDelta }) => cliffsDelta.toFixed(2), 2),
  ]);
}

const describeVersions = ({ versions = {} }: BaselineMeasurement): string =>
  Object.entries(versions)
    .map((entry) => entry.join(' '))
    .join(', ') || '–';

const besideParts = ({ comparisons = [], baselines = [], missingBaselines = [] }: Evaluation): Part => [
  comparisonTable(comparisons),
  table('Baselines', baselines, [
    words('baseline', ({ name }) => name),
    words('kind', ({ kind }) => kind, 3),
    figures('measured time', ({ measurement: { summary } }) => formatMeasuredNs(summary.medianNs)),
    words(
      '95 % interval',
      ({ measurement: { summary } }) => `[${summary.intervalNs.map(formatMeasuredNs).join(' … ')}]`,
    ),
    words('versions', describeVersions, 1),
    words('GPU kernels', ({ gpuKernels }) => (gpuKernels ? shortKernelNames(gpuKernels) : '–'), 2),
  ]),
  list(missingBaselines.map(({ name, reason }) => `${name} was not measured: ${reason}`)),
];

interface Launch {
  readonly counters: LaunchCounters;
  /** What the time model says of it: there only where the time is predicted. */
  readonly model: LaunchTiming | undefined;
}

const MODEL_COLUMNS: readonly ColumnOf<Launch>[] = [
  words(
    'theoretical occupancy',
    ({ model }) => {
      if (!model) return '–';
      return `${(model.occupancy.ratio * 100).toFixed(0)} % (${model.occupancy.limiter})`;
    },
    1,
  ),
  figures('waves', ({ model }) => model?.waves.toFixed(2) ?? '–', 2),
  figures('predicted time', ({ model }) => (model ? formatNs(model.medianNs) : '–')),
];

function launchesTable({ counters, timing }: Evaluation): Part {
  const launches = (counters?.launches ?? []).map((launch, index) => ({
    counters: launch,
    model: timing?.launches?.[index],
  }));
  return table('Launches', launches, [
    words('launch', (launch) => launch.counters.functionName),
    figures('CTAs', ({ counters: { countedCtas, ctaCount } }) => {
      return `${formatFigure(ctaCount)}${countedCtas < ctaCount ? ` (${countedCtas} counted)` : ''}`;
    }),
    figures('block', (launch) => launch.counters.block.join('×')),
    figures('registers', ({ counters: { resources } }) => {
      return `${resources.registersPerThread}${resources.registersSource === 'estimated' ? ' est.' : ''}`;
    }),
    figures(
      'shared B',
      ({ counters: { resources } }) => formatFigure(resources.staticSharedBytes + resources.dynamicSharedBytes),
      3,
    ),
    ...(timing?.launches ? MODEL_COLUMNS : []),
  ]);
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

const countersTable = ({ counters }: Evaluation): Part =>
  counters &&
  table('Counters', COUNTER_NAMES, [
    names('counter', (name) => name),
    figures('in all', (name) => Math.round(counters.totals[name]).toLocaleString('en-US')),
  ]);

/** Counters of a real GPU never come without their source: `(counted on virtual:h200 …)`. */
const countersTitle = ({ countersSource }: Evaluation): string =>
  `Counters${countersSource ? ` (${countersSource.detail})` : ''}`;

/** Everything about one evaluation but what it is of. */
export const evaluationSections = (evaluation: Evaluation): Section[] => {
  const { correctness, timing, profile, sanitizer, findings } = evaluation;
  return [
    ...section('compiler', 'Compiler', [list(compilerLines(evaluation))]),
    ...section('correctness', 'Correctness', [correctness && list(correctnessLines(correctness))]),
    ...section('coverage', 'Verified on', [list(coverageLines(evaluation))]),
    ...section('time', 'Time', [timing && list(timingLines(timing))]),
    ...section('beside', 'Beside it, in the same blocks', [besideParts(evaluation)]),
    ...section('launches', 'Launches', [launchesTable(evaluation)]),
    ...section('counters', countersTitle(evaluation), [countersTable(evaluation)]),
    ...section('profile', 'Profile', [profile && list(profileLines(profile))]),
    ...section('sanitizer', 'Sanitizer', [sanitizer && list(sanitizerLines(sanitizer))]),
    ...section('findings', 'Findings', [findingsInShort(findings)]),
    ...section('hidden', HIDDEN_TITLE, [hiddenFindings(evaluation.hiddenFindings)]),
    ...section('rules', 'What the profiler itself says', [profile && list(profilerRuleLines(profile))]),
  ];
};

/** One evaluation: status, correctness, time, launches, counters, findings. */
export const evaluationDocument = (evaluation: Evaluation): Document => ({
  title: evaluationTitle(evaluation),
  lead: flattened([list([...judgeLines(evaluation), ...statusLines(evaluation)])]),
  sections: evaluationSections(evaluation),
});
