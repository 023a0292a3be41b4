import type { ParameterValues } from '../../src/core/kernel.ts';
import { flattened } from '../../src/reports/document.ts';
import type { LadderView } from '../../src/reports/documents/ladder.ts';
import { LADDER_LEGEND, ladderDetail, ladderNotes, ladderVersions } from '../../src/reports/documents/ladder.ts';
import { formatMeasuredNs, formatRatioInterval } from '../../src/reports/format.ts';
import { markdownBlocks, markdownTable } from '../../src/reports/print/markdown.ts';
import { comparisonPlot, countVerdicts } from './comparison-plot.ts';
import { dispatchRows } from './dispatch-rows.ts';
import {
  againstLibraries,
  againstLibrariesPlot,
  aheadOfLibraries,
  fastestContenders,
  ladderSummary,
  rungPlots,
  rungTable,
} from './ladder-summary.ts';
import { loneAndInARow } from './lone-and-in-a-row.ts';
import {
  type Climbs,
  HOW_TO_RECORD,
  type KnownRatioComparisons,
  type MeasuredRecordingName,
  type MeasuredRecordings,
  type OptimizeRecording,
  type SelfComparisons,
} from './measuring-recordings.ts';
import { optimisedProblems } from './optimised-problems.ts';
import { recordedWith, recordingBlock } from './recording-block.ts';
import { sdpaAgreement } from './sdpa-agreement.ts';

/** Blocks and figures made from what was measured on real hardware; what has not been recorded says so instead. */

const verdicts = ({ comparisons }: SelfComparisons): string =>
  countVerdicts(comparisons)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ');

const blocksUsed = ({ comparisons, discardedBlockCount }: SelfComparisons): string => {
  const blocks = comparisons.reduce((sum, { blockCount }) => sum + blockCount, 0);
  return `${blocks} blocks counted, ${discardedBlockCount} discarded`;
};

const failureNote = ({ failures }: SelfComparisons): string =>
  failures.length === 0 ? '' : ` ${failures.length} ended without a result: ${failures.join('; ')}.`;

const selfComparisons = (recording: SelfComparisons): string =>
  `**${recording.comparisons.length} comparisons of \`${recording.kernel}\` with itself** at ${recording.workload}: ` +
  `${verdicts(recording)} (${blocksUsed(recording)}).${failureNote(recording)} ${recordedWith(recording)}.\n\n` +
  '![Measured: every comparison of a kernel with itself](figures/h200-a-a.svg)';

const knownRatio = (recording: KnownRatioComparisons): string => {
  const { stepRatio, longRatio, longIntervalRatio, shortNs, fixedNs, trueRatio } = recording.calibration;
  return (
    `**${recording.comparisons.length} comparisons with a kernel that is ${trueRatio.toFixed(4)} times as slow**: ` +
    `${verdicts(recording)} (${blocksUsed(recording)}).${failureNote(recording)} ${recordedWith(recording)}.\n\n` +
    `Calibration: ${stepRatio} times the steps; at 16 times the size ${longRatio.toFixed(4)} times the time ` +
    `${formatRatioInterval(longIntervalRatio)}; of ${formatMeasuredNs(shortNs)}, ${formatMeasuredNs(fixedNs)} are fixed.\n\n` +
    '![Measured: every comparison with a kernel of known ratio](figures/h200-sensitivity.svg)'
  );
};

const detailBlock = (view: LadderView): string => {
  const fastest = fastestContenders(view);
  return [
    markdownBlocks(flattened([ladderDetail(fastest)])),
    LADDER_LEGEND,
    markdownBlocks(flattened([ladderNotes(fastest), ladderVersions(view)])),
  ].join('\n\n');
};

const parametersText = (parameters: ParameterValues): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');

const optimisedHeadline = (recording: OptimizeRecording): string => {
  const { workload, start, best, confirmation, evaluationsUsed, device } = recording;
  return (
    `**measured ${confirmation.ratio!.toFixed(2)}× faster on an ${device}**, 95 % interval ` +
    `${formatRatioInterval(confirmation.intervalRatio!)}, at \`${workload}\` with a hot cache. The loop went from ` +
    `\`${start.kernel}\` (${formatMeasuredNs(start.medianNs)}) to \`${best.kernel}\` with ${parametersText(best.parameters)} ` +
    `(${formatMeasuredNs(best.medianNs)}) in ${evaluationsUsed} evaluations. Confirmation on 20 fresh blocks: ` +
    `${confirmation.outcome}. compute-sanitizer: ${confirmation.sanitizer}. ${recordedWith(recording)}.`
  );
};

/** What each unattended run was given and reached, with the ratio of every step it kept. */
function climbTable(recording: Climbs): string {
  const rows = recording.runs.map(
    ({ startedAt, finishedAt, workload, evaluationsUsed, start, confirmations, changes }) => {
      const accepted = confirmations.find(({ outcome }) => outcome === 'accepted')!;
      const minutes = (Date.parse(finishedAt) - Date.parse(startedAt)) / 60e3;
      const steps = changes.steps.map(({ change, ratio }) => `${change} (${ratio.toFixed(2)}×)`).join('; ');
      return [
        workload.name,
        `\`${start.candidate.kernel}\`, ${formatMeasuredNs(start.medianNs)}`,
        `\`${accepted.candidate.kernel}\` (${parametersText(accepted.candidate.parameters)}), ${formatMeasuredNs(accepted.medianNs!)}`,
        `${accepted.ratio!.toFixed(1)} ${formatRatioInterval(accepted.intervalRatio!)}`,
        accepted.sanitizer ?? 'not asked',
        `${evaluationsUsed} in ${minutes.toFixed(1)} min, ${startedAt.slice(0, 10)}`,
        steps,
      ];
    },
  );
  const titles = [
    'Workload',
    'From',
    'To, confirmed with another seed',
    'Ratio',
    'compute-sanitizer',
    'Evaluations',
    'Kept',
  ];
  return `${markdownTable(
    titles.map((title) => ({ title })),
    rows,
  )}\n\n${recordedWith(recording)}.`;
}

export const measuredBlocks = (recordings: MeasuredRecordings): Record<string, string> => ({
  'h200-attention-optimize': recordingBlock(recordings, 'h200-attention-optimize', optimisedHeadline),
  'h200-attention-climbs': recordingBlock(recordings, 'h200-attention-climbs', climbTable),
  'h200-sdpa-agreement': recordingBlock(recordings, 'h200-sdpa-by-pytorch', (plain) =>
    recordingBlock(recordings, 'h200-attention-ladder', (view) => sdpaAgreement(view, plain)),
  ),
  'h200-lone-and-in-a-row': recordingBlock(recordings, 'h200-lone-and-in-a-row', loneAndInARow),
  'problems-virtual-l4': recordingBlock(recordings, 'problems-virtual-l4', optimisedProblems),
  'problems-virtual-h200': recordingBlock(recordings, 'problems-virtual-h200', optimisedProblems),
  'h200-problems': recordingBlock(recordings, 'h200-problems', optimisedProblems),
  'h200-a-a': recordingBlock(recordings, 'h200-a-a', selfComparisons),
  'h200-sensitivity': recordingBlock(recordings, 'h200-sensitivity', knownRatio),
  'h200-attention-ladder': recordingBlock(recordings, 'h200-attention-ladder', ladderSummary),
  'h200-attention-libraries': recordingBlock(recordings, 'h200-attention-libraries', againstLibraries),
  'h200-attention-ahead': recordingBlock(recordings, 'h200-attention-libraries', aheadOfLibraries),
  'h200-attention-whole-domain': recordingBlock(recordings, 'h200-attention-whole-domain', againstLibraries),
  'h200-attention-dispatch': recordingBlock(recordings, 'h200-attention-dispatch', dispatchRows),
  'h200-attention-dispatch-domain': recordingBlock(recordings, 'h200-attention-dispatch-domain', dispatchRows),
  'h200-attention-rungs': recordingBlock(recordings, 'h200-attention-rungs', rungTable),
  'h200-attention-ladder-detail': recordingBlock(recordings, 'h200-attention-ladder', detailBlock),
});

export const measuredFigures = (recordings: MeasuredRecordings): Record<string, string> => {
  const self = recordings['h200-a-a'];
  const known = recordings['h200-sensitivity'];
  const rungs = recordings['h200-attention-rungs'];
  const libraries = recordings['h200-attention-libraries'];
  return {
    ...(rungs && rungPlots(rungs)),
    ...(libraries && { 'docs/figures/h200-against-libraries.svg': againstLibrariesPlot(libraries) }),
    ...(self && {
      'docs/figures/h200-a-a.svg': comparisonPlot({
        title: `A kernel against itself on ${self.device}, measured`,
        comparisons: self.comparisons,
        trueRatio: 1,
      }),
    }),
    ...(known && {
      'docs/figures/h200-sensitivity.svg': comparisonPlot({
        title: `A true ratio of ${known.calibration.trueRatio.toFixed(4)} on ${known.device}, measured`,
        comparisons: known.comparisons,
        trueRatio: 1 / known.calibration.trueRatio,
      }),
    }),
  };
};

/** Recordings that figures would be made from, were they there. */
export const missingRecordings = (recordings: MeasuredRecordings): string[] =>
  (Object.keys(HOW_TO_RECORD) as MeasuredRecordingName[])
    .filter((name) => recordings[name] === undefined)
    .map((name) => `docs/results/${name}.json: ${HOW_TO_RECORD[name]}`);
