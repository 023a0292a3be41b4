import { describeSizes } from '../../core/compared-sizes.ts';
import { type CounterName, type CounterTotals, type LaunchCounters, sharedBytes } from '../../core/counters.ts';
import type { DeviceFault, PlacedWrite } from '../../core/device-values.ts';
import type { ConditionCoverage, Correctness, Coverage, Evaluation, Writer } from '../../core/evaluation.ts';
import type { Comparison } from '../../core/measurement.ts';
import type { LaunchTiming, Timing } from '../../core/timing.ts';
import { holm } from '../../stats/holm.ts';
import * as doc from '../document.ts';
import {
  describeBounds,
  describeDiagnostic,
  describeTiming,
  formatCount,
  formatFigure,
  formatInstant,
  formatMeasuredNs,
  formatNs,
  formatParameters,
  formatPercent,
  formatRatioInterval,
  formatSeconds,
  formatVersions,
  shortKernelNames,
} from '../format.ts';
import { oneWaySentences, widthSentences } from '../sections/conditions.ts';
import { energySection } from '../sections/energy.ts';
import { findingsInShort, HIDDEN_TITLE, hiddenFindings } from '../sections/findings.ts';
import { measurementLines } from '../sections/measurement.ts';
import { profileLines, profilerRuleLines, sanitizerLines } from '../sections/outside-tools.ts';
import { journalLine, SAME } from '../sections/run-words.ts';

/** Warns that no other shape was verified. */
const ONE_SHAPE = 'VERIFIED AT THE TIMED SHAPE ONLY';

/** `03_rows (PAD=8), candidate 12ab…, b1h8s512d64 on NVIDIA L4`. */
export function evaluationTitle({ candidate, workload, device }: Evaluation): string {
  const parameters = formatParameters(candidate.parameters);
  return `${candidate.kernel}${parameters && ` (${parameters})`}, candidate ${candidate.id}, ${workload.name} on ${device.name}`;
}

/** `passed`, or what it was instead and why. */
export const statusText = ({ status, reason }: Pick<Evaluation, 'status' | 'reason'>): doc.Inline => [
  status === 'passed' ? doc.good(status) : status === 'unverified' ? doc.warn(status) : doc.bad(status),
  reason ? `: ${reason}` : '',
];

const present = (parts: readonly (string | null | undefined | false)[]): string[] =>
  parts.filter((part): part is string => typeof part === 'string');

/** Where a launch was stopped, as one line. */
const describeFault = ({ functionName, cta, thread, address, buffer, source }: DeviceFault): string =>
  present([
    `in ${functionName}`,
    cta && `CTA (${cta.join(', ')})`,
    thread && `thread (${thread.join(', ')})`,
    address && `address ${address}`,
    buffer && `buffer ${buffer.name} + ${buffer.offsetBytes} of ${buffer.sizeBytes} B`,
    source && `at ${source.file}:${source.line}`,
  ]).join(', ');

/** `thread (1, 0, 0) of CTA (2, 0, 0) of row_sum at kernel.cu:8`, or `the memset of step 1`. */
const describeWrite = ({ step, functionName, isCopy, cta, thread, source }: PlacedWrite): string =>
  functionName === undefined
    ? `the ${isCopy ? 'copy' : 'memset'} of step ${step}`
    : `thread (${thread!.join(', ')}) of CTA (${cta!.join(', ')}) of ${functionName}${source ? ` at ${source.file}:${source.line}` : ''}`;

/** Who wrote the first wrong element: `y[5] was last written by thread …, before that by thread …; 2 writes`. */
export function describeWriter({ output, index, count, last, earlier }: Writer): string {
  const element = `${output}[${index.join(', ')}]`;
  if (!last) return `${element} was never written`;
  const before = earlier ? `, before that by ${describeWrite(earlier)}` : '';
  return `${element} was last written by ${describeWrite(last)}${before}; ${formatCount(count, 'write')}`;
}

/** Which check found it, where it was stopped, and who wrote the first wrong element. */
export const troubleLines = ({ failedCheck, fault, writer }: Evaluation): string[] =>
  present([failedCheck && `found by: ${failedCheck}`, fault && describeFault(fault), writer && describeWriter(writer)]);

/** When the result was found, and why it was not evaluated again. */
const describeRepeat = ({ evaluatedAt, elapsedMs }: NonNullable<Evaluation['repeated']>): string =>
  `repeated: found at ${formatInstant(evaluatedAt)} in ${formatSeconds(elapsedMs)}; ${SAME}; --fresh evaluates again`;

/**
 * The problem whose checks judged (with a warning if kernel.json names one outside its ladder), the status, and the details
 * that belong to it.
 */
function statusList(evaluation: Evaluation): doc.Part {
  const { problem, coverage, repeated, journal, otherDtypes = [] } = evaluation;
  return doc.list([
    problem && `judged by problem ${problem.name} in ${problem.folder}`,
    problem?.elsewhere && doc.warn('which kernel.json names; it is not that of the folder above the kernel'),
    statusText(evaluation),
    otherDtypes.length > 0 &&
      `in other dtypes: ${otherDtypes.map(({ dtype, status }) => `${dtype} ${status}`).join(', ')}`,
    coverage?.timedShapeOnly && doc.warn(ONE_SHAPE),
    ...oneWaySentences(coverage?.conditions).map((sentence, i) => (i === 0 ? doc.warn(sentence) : sentence)),
    ...troubleLines(evaluation),
    repeated && describeRepeat(repeated),
    journal && journalLine(journal),
  ]);
}

/** What the kernels printed: `(1, 0, 0) (31, 0, 0) text`. */
function printedParts({ printed, counters }: Evaluation): doc.Part {
  if (!printed) return null;
  const { lines, moreCalls = 0 } = printed;
  const isOneLaunch = new Set(lines.map(({ step }) => step)).size < 2 && (counters?.launches.length ?? 1) === 1;
  const texts = lines.map(
    ({ functionName, cta, thread, text }) =>
      `${isOneLaunch ? '' : `${functionName} `}(${cta.join(', ')}) (${thread.join(', ')}) ${text}`,
  );
  return [
    doc.codeBlock('text', texts.join('\n')),
    moreCalls > 0 && doc.text(`and ${formatCount(moreCalls, 'more call')} of printf`),
  ];
}

function correctnessList({ maxAbsoluteError, checksRun, nearest, rmsErrorRatio, firstWrong }: Correctness): doc.Part {
  const at = ({ output, index }: { output: string; index: readonly number[] }) => `${output}[${index.join(', ')}]`;
  return doc.list([
    `${checksRun} checks; largest error ${maxAbsoluteError === null ? 'not a number' : formatFigure(maxAbsoluteError)}`,
    nearest &&
      `nearest its tolerance: ${at(nearest)}, error ${formatFigure(nearest.error)} of ${formatFigure(nearest.tolerance)} allowed`,
    rmsErrorRatio ? `RMS error: ${formatFigure(rmsErrorRatio * 100)} % of its limit` : null,
    firstWrong &&
      `first wrong: ${at(firstWrong)} is ${firstWrong.got}, should be ${firstWrong.want} ± ${formatFigure(firstWrong.tolerance)}; ` +
        `${formatFigure(firstWrong.wrongCount)} of ${formatFigure(firstWrong.elementCount)} elements are wrong`,
  ]);
}

const conditionsInShort = ({ count, oneWay, libraryDecisions }: ConditionCoverage): string =>
  `${count - oneWay.length} of ${formatCount(count, 'condition')} went both ways` +
  (libraryDecisions > 0 ? `; ${libraryDecisions} in library functions not looked at` : '');

/** `128 of 4,096 CTAs`. */
const describeSampled = ({ run, of }: NonNullable<Coverage['sampledCtas']>): string =>
  `${[run, of].map((count) => count.toLocaleString('en-US')).join(' of ')} CTAs`;

const sampleInShort = (sampled: NonNullable<Coverage['sampledCtas']>): string =>
  `not at the timed shape: ${describeSampled(sampled)} ran; of what they wrote, ` +
  `${formatCount(sampled.comparedElements, 'element')} compared`;

/** Of verdicts without a reference. */
const SAME_AS_ORIGINAL = 'compared with the original kernel, not with a reference: the same as it, right or wrong';

/** Most drawn shapes that a screen names; the first ones are ragged, those that bring options together follow. */
const NAMED_SHAPES = 5;

/** The shapes and inputs of the verification, and those left out. */
function coverageList({ seed, coverage }: Evaluation): doc.Part {
  if (!coverage) return doc.list([seed !== undefined && `seed ${seed}`]);
  const { timedShapeOnly, compared, drawnShapes, excludedShapes, fixedDimensions, generatorSets } = coverage;
  const { leftOut, suites = [], conditions, reference, sampledCtas, sampledShapes = [] } = coverage;
  const shapes = (count: number) => formatCount(count, 'check shape');
  return doc.list([
    reference === 'original' && SAME_AS_ORIGINAL,
    timedShapeOnly && 'no other shape than the timed one: the kernel takes none',
    compared && `compared for ${describeSizes(compared)}`,
    `seed ${seed}: ${shapes(coverage.checkShapes)}, ${drawnShapes.length} drawn`,
    sampledCtas
      ? sampleInShort(sampledCtas)
      : `the timed shape with ${['its own', ...generatorSets].join(', ')} inputs`,
    ...suites.map(({ name, shapes: taken }) => `suite ${name}: ${formatCount(taken, 'shape')}`),
    ...drawnShapes.slice(0, NAMED_SHAPES).map((shape) => `drawn: ${formatParameters(shape).replaceAll(',', '')}`),
    ...(drawnShapes.length > NAMED_SHAPES ? [`and ${drawnShapes.length - NAMED_SHAPES} more; --json names them`] : []),
    ...sampledShapes.map((shape) => `some CTAs only: ${formatParameters(shape).replaceAll(',', '')}`),
    excludedShapes.length > 0 && `${shapes(excludedShapes.length)} that the kernel does not take left out`,
    fixedDimensions.length > 0 &&
      !timedShapeOnly &&
      `not verified at any other value of ${fixedDimensions.join(', ')}: the kernel takes none`,
    ...widthSentences(coverage),
    ...leftOut.map(({ check, reason }) => `left out: ${check}: ${reason}`),
    conditions && conditionsInShort(conditions),
  ]);
}

function timingList(timing: Timing): doc.Part {
  const reached =
    timing.kind === 'measured' ? ` (${formatPercent(timing.attainableNs / timing.medianNs)} reached)` : '';
  const [binding, ...others] = (timing.bounds ?? []).map(
    ({ resource, ns, arithmetic }) => `${resource}: ${formatNs(ns)}: ${arithmetic}`,
  );
  return [
    doc.list([
      describeTiming(timing),
      ...(timing.measurement ? measurementLines(timing.measurement) : []),
      `${describeBounds(timing)}${reached}`,
      binding,
    ]),
    doc.fold('Every other resource', [doc.list(others)]),
  ];
}

/** The candidate against each baseline, with raw p-values and p-values adjusted for their number. */
function comparisonTable(comparisons: readonly Comparison[]): doc.Part {
  const adjusted = holm(comparisons.map(({ mannWhitney }) => mannWhitney.pValue));
  return doc.table('Comparisons', comparisons, [
    doc.words('beside', ({ baseline }) => baseline),
    doc.words('this candidate is', ({ verdict }) => verdict),
    doc.figures('ratio', ({ ratio }) => `${ratio.toFixed(3)}×`),
    doc.words('95 % interval', ({ intervalRatio }) => formatRatioInterval(intervalRatio)),
    doc.figures('blocks', ({ blockCount }) => blockCount, 1),
    doc.figures('Mann–Whitney p', ({ mannWhitney }) => mannWhitney.pValue, 3),
    doc.figures('p (Holm)', (_, index) => adjusted[index], 2),
    doc.figures('Cliff’s δ', ({ cliffsDelta }) => cliffsDelta.toFixed(2), 2),
  ]);
}

const besideParts = ({ comparisons = [], baselines = [], missingBaselines = [] }: Evaluation): doc.Part => [
  comparisonTable(comparisons),
  doc.table('Baselines', baselines, [
    doc.words('baseline', ({ name }) => name),
    doc.words('kind', ({ kind }) => kind, 3),
    doc.figures('measured time', ({ measurement: { summary } }) => formatMeasuredNs(summary.medianNs)),
    doc.words(
      '95 % interval',
      ({ measurement: { summary } }) => `[${summary.intervalNs.map(formatMeasuredNs).join(' … ')}]`,
    ),
    doc.words('versions', ({ versions = {} }) => formatVersions(versions) || '–', 1),
    doc.words('GPU kernels', ({ gpuKernels }) => gpuKernels && shortKernelNames(gpuKernels), 2),
  ]),
  doc.list(missingBaselines.map(({ name, reason }) => `${name} was not measured: ${reason}`)),
];

/** Columns of the time model appear only if the time is predicted. */
function launchesTable({ counters, timing }: Evaluation): doc.Part {
  const models = timing?.launches;
  return doc.table('Launches', counters?.launches ?? [], [
    doc.words('launch', ({ functionName }) => functionName),
    doc.figures('CTAs', ({ countedCtas, ctaCount }) => {
      return `${formatFigure(ctaCount)}${countedCtas < ctaCount ? ` (${countedCtas} counted)` : ''}`;
    }),
    doc.figures('block', ({ block }) => block.join('×')),
    doc.figures('registers', ({ resources: { registersPerThread, registersSource } }) => {
      return `${registersPerThread}${registersSource === 'estimated' ? ' est.' : ''}`;
    }),
    doc.figures('shared B', ({ resources }) => sharedBytes(resources), 3),
    ...(models ? modelColumns(models) : []),
  ]);
}

const modelColumns = (models: readonly LaunchTiming[]): doc.ColumnOf<LaunchCounters>[] => [
  doc.words('occupancy (theor.)', (_, index) => models[index] && occupancyOf(models[index]), 1),
  doc.figures('waves', (_, index) => models[index]?.waves.toFixed(2), 2),
  doc.figures('predicted time', (_, index) => models[index] && formatNs(models[index].medianNs)),
];

const occupancyOf = ({ occupancy: { ratio, limiter } }: LaunchTiming): string =>
  `${(ratio * 100).toFixed(0)} % (${limiter})`;

/** What makes a count telling: `2 per request`. */
type Relation = (totals: CounterTotals, counter: CounterName) => string | false;

const perRequest =
  (requests: CounterName): Relation =>
  (totals, counter) =>
    totals[counter] > 0 && totals[requests] > 0 && `${formatFigure(totals[counter] / totals[requests])} per request`;

const shareOf =
  (whole: CounterName, nouns: string): Relation =>
  (totals, counter) =>
    totals[whole] > 0 && `${formatPercent(totals[counter] / totals[whole])} of ${nouns}`;

const lanes: Relation = ({ instructions, threadInstructions }) =>
  threadInstructions > 0 && `${formatFigure(threadInstructions / instructions)} of 32 lanes active`;

/** Counters as they are printed; documents for programs have the names of `counters.totals`. */
const COUNTERS: readonly (readonly [name: string, counter: CounterName, relation?: Relation])[] = [
  ['warp instructions', 'instructions', lanes],
  ['global load requests', 'globalLoadRequests'],
  ['global load sectors', 'globalLoadSectors', perRequest('globalLoadRequests')],
  ['global store requests', 'globalStoreRequests'],
  ['global store sectors', 'globalStoreSectors', perRequest('globalStoreRequests')],
  ['shared load wavefronts', 'sharedLoadWavefronts', perRequest('sharedLoadRequests')],
  ['shared load bank conflicts', 'sharedLoadBankConflicts', shareOf('sharedLoadWavefronts', 'wavefronts')],
  ['shared store wavefronts', 'sharedStoreWavefronts', perRequest('sharedStoreRequests')],
  ['shared store bank conflicts', 'sharedStoreBankConflicts', shareOf('sharedStoreWavefronts', 'wavefronts')],
  ['barriers', 'barriers'],
  ['divergent branches', 'divergentBranches', shareOf('branches', 'branches')],
];

const countersTable = ({ counters }: Evaluation): doc.Part =>
  counters &&
  doc.table('Counters', COUNTERS, [
    doc.names('counter', ([name]) => name),
    doc.figures('in all', ([, counter]) => Math.round(counters.totals[counter]).toLocaleString('en-US')),
    doc.words('', ([, counter, relation]) => relation?.(counters.totals, counter) || ''),
  ]);

/** Everything about one evaluation but what it is of. Counters of a real GPU never come without their source. */
function evaluationSections(evaluation: Evaluation): doc.Section[] {
  const { correctness, timing, profile, sanitizer, findings, countersSource, energy, diagnostics = [] } = evaluation;
  const sampled = evaluation.coverage?.sampledCtas;
  const source = countersSource
    ? ` (${countersSource.detail})`
    : sampled
      ? ` (scaled up from ${describeSampled(sampled)})`
      : '';
  const timed = sampled ? `Time, from ${describeSampled(sampled)}` : 'Time';
  return [
    doc.section('compiler', 'Compiler', [doc.list(diagnostics.map(describeDiagnostic))]),
    doc.section('printed', 'Printed, by CTA and thread', [printedParts(evaluation)]),
    doc.section('correctness', 'Correctness', [correctness && correctnessList(correctness)]),
    doc.section('coverage', 'Verified on', [coverageList(evaluation)]),
    doc.section('time', timed, [timing && timingList(timing)]),
    doc.section('beside', 'Baselines, measured in the same blocks', [besideParts(evaluation)]),
    energySection([{ energy }]),
    doc.section('launches', 'Launches', [launchesTable(evaluation)]),
    doc.section('counters', `Counters${source}`, [countersTable(evaluation)]),
    doc.section('profile', 'Profile', [profile && doc.list(profileLines(profile))]),
    doc.section('sanitizer', 'Sanitizer', [sanitizer && doc.list(sanitizerLines(sanitizer))]),
    doc.section('findings', 'Findings', [findingsInShort(findings)]),
    doc.section('hidden', HIDDEN_TITLE, [hiddenFindings(evaluation.hiddenFindings)]),
    doc.section('rules', "The profiler's own findings", [profile && doc.list(profilerRuleLines(profile))]),
  ].flat();
}

/** One evaluation: status, correctness, time, launches, counters, findings. */
export const evaluationDocument = (evaluation: Evaluation): doc.Document =>
  doc.documentOf(evaluationTitle(evaluation), [statusList(evaluation)], [evaluationSections(evaluation)]);
