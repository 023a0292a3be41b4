import type { Column } from '../../src/reports/document.ts';
import { formatFigure, formatInterval, formatNs, formatRatio, formatTiming } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import type { ProgressionRow } from '../../src/reports/run-view.ts';
import { expectedOf, lieOf } from '../../test/red-team/expected.ts';
import { intervalPlot, type PlotRow } from './interval-plot.ts';
import { errorFactor, geometricMean, isWithinInterval, kendallTau } from './model-accuracy.ts';
import { countNames, shorten } from './recording-block.ts';
import type {
  HardwareRecording,
  HardwareRecordings,
  ModelComparison,
  RecordedEvaluation,
  RecordedRun,
  RecordedWith,
  Recording,
  Recordings,
} from './recordings.ts';
import { redTeamSource } from './referee-blocks.ts';
import { scatterPlot } from './scatter-plot.ts';

const only = <T>({ entries }: Recording<T>): { command: string; result: T } => entries[0]!;
const right = (title: string): Column => ({ title, align: 'right' });
const code = (text: string): string => `\`${text}\``;

const versions = ({ date, warpsmith, node, compiler }: RecordedWith): string =>
  `Recorded on ${date} with warpsmith ${warpsmith}, Node ${node}, ${compiler}.`;

/** The run in three sentences. */
const runHeadline = ({ start, best, speedup, evaluationsUsed, device, workload, stop }: RecordedRun): string =>
  `**${best!.kind} ${formatRatio(speedup)} faster on a ${device.kind} ${device.name.replace(/ \(virtual\)$/, '')}** at ` +
  `${code(workload.name)}. The ${best!.kind} time fell from ${formatNs(start!.medianNs)} ` +
  `${formatInterval(start!.kind, start!.intervalNs)} to ${formatNs(best!.medianNs)} ` +
  `${formatInterval(best!.kind, best!.intervalNs)} in ${evaluationsUsed} evaluations. ` +
  `Stop reason: ${code(stop!.reason)}.`;

/** Blind strategies use no findings; a run logs their reason under the finding `none`. */
const reasonOf = ({ finding, evaluationId, evidence }: NonNullable<ProgressionRow['why']>): string =>
  finding === 'none' ? 'no finding: chosen by a blind strategy' : `${code(finding)} of ${evaluationId}: ${evidence}`;

const progressionCells = (row: ProgressionRow): string[] => [
  row.evaluationId,
  row.change,
  row.why ? reasonOf(row.why) : '',
  row.time ? formatNs(row.time.medianNs) : row.status,
  formatRatio(row.ratioToStart),
  row.decision ?? '–',
];

const progression = (run: RecordedRun): string =>
  markdownTable(
    [
      { title: '' },
      { title: 'Change' },
      { title: 'Because of' },
      right(`${run.best!.kind} time`),
      right('× start'),
      { title: '' },
    ],
    run.progression.map(progressionCells),
  );

const plotRow = (row: ProgressionRow): PlotRow[] =>
  row.time
    ? [
        {
          label: row.change === 'start' ? `start: ${row.candidate.kernel}` : row.change,
          note: `${formatNs(row.time.medianNs)}, ${formatRatio(row.ratioToStart)}${row.decision === 'revert' ? ', reverted' : ''}`,
          low: row.time.intervalNs[0],
          median: row.time.medianNs,
          high: row.time.intervalNs[1],
          style: row.decision === 'revert' ? 'reverted' : 'kept',
        },
      ]
    : [];

const demoPlot = (run: RecordedRun): string =>
  intervalPlot({
    title: `${run.problem.name} ${run.workload.name}, one change per row`,
    axis: `${run.best!.kind} time on a ${run.device.kind} ${run.device.name.replace(/ \(virtual\)$/, '')} with its model interval, log scale; filled: kept`,
    rows: run.progression.flatMap(plotRow),
    bounds: run.bounds
      ? [{ at: run.bounds.attainableNs, label: `attainable ${formatNs(run.bounds.attainableNs)}` }]
      : [],
    format: formatNs,
  });

const ladderRows = (evaluations: readonly RecordedEvaluation[]): string[][] =>
  evaluations.map(({ candidate, timing, counters, findings, status }) => [
    code(candidate.kernel),
    timing ? formatNs(timing.medianNs) : status,
    timing ? formatInterval(timing.kind, timing.intervalNs) : '–',
    timing?.bindingResource ?? '–',
    formatFigure(counters?.totals.instructions ?? Number.NaN),
    formatFigure(counters?.totals.globalLoadSectors ?? Number.NaN),
    formatFigure(counters?.totals.sharedLoadWavefronts ?? Number.NaN),
    findings.map(({ id }) => code(id)).join(', '),
  ]);

const LADDER_COLUMNS: readonly Column[] = [
  { title: 'Rung' },
  right('predicted'),
  { title: 'interval' },
  { title: 'bound by' },
  right('warp instructions'),
  right('global load sectors'),
  right('shared load wavefronts'),
  { title: 'findings, in order' },
];

const ladder = ({ entries }: Recordings['attention-ladder'], device: string): string =>
  markdownTable(
    LADDER_COLUMNS,
    ladderRows(entries.map(({ result }) => result).filter((result) => result.device.id === device)),
  );

const ladderPlot = ({ entries }: Recordings['attention-ladder']): string => {
  const timed = entries.map(({ result }) => result).filter(({ timing }) => timing);
  return intervalPlot({
    title: 'The attention ladder, every rung with its default parameters',
    axis: 'predicted time with its model interval, log scale',
    rows: timed.map(({ candidate, device, timing }) => ({
      label: `${candidate.kernel}, ${device.id}`,
      note: formatNs(timing!.medianNs),
      low: timing!.intervalNs[0],
      median: timing!.medianNs,
      high: timing!.intervalNs[1],
      style: 'kept' as const,
    })),
    bounds: [],
    format: formatNs,
  });
};

const commands = <T>({ entries }: Recording<T>): string => entries.map(({ command }) => `    ${command}`).join('\n');

const shortReason = (reason: string): string => shorten(reason.replace(/; the others have exited.*/, ''));

const redTeam = ({ entries }: Recordings['red-team']): string =>
  markdownTable(
    [{ title: 'Kernel' }, { title: 'Verdict' }, { title: 'Reason given' }, { title: 'Failed on' }],
    entries.map(({ result: { candidate, status, reason, failedCheck } }) => [
      `[${candidate.kernel}](../../${redTeamSource(candidate.kernel)})`,
      code(status),
      shortReason(reason ?? '–'),
      failedCheck?.split(' · ')[0] ?? '–',
    ]),
  );

const largestRatio = (
  results: Recordings['attention-audit']['entries'][number]['result']['mutants'][number]['results'],
) => {
  const caught = results.filter(({ outcome }) => outcome === 'caught');
  const ratios = caught.map(({ worstErrorRatio, rmsErrorRatio }) =>
    worstErrorRatio === null || rmsErrorRatio === null
      ? Number.POSITIVE_INFINITY
      : Math.max(worstErrorRatio, rmsErrorRatio),
  );
  const largest = Math.max(...ratios);
  return ratios.length === 0 ? '–' : Number.isFinite(largest) ? formatFigure(largest) : 'not finite';
};

const audit = (recording: Recordings['attention-audit']): string => {
  const { mutants } = only(recording).result;
  return markdownTable(
    [
      { title: 'Wrong kernel' },
      { title: 'What it does' },
      { title: 'Verdict' },
      right('caught by'),
      right('largest error ÷ tolerance'),
    ],
    mutants.map(({ id, title, verdict, results }) => [
      code(id),
      title,
      verdict,
      `${results.filter(({ outcome }) => outcome === 'caught').length} of ${results.length} checks`,
      largestRatio(results),
    ]),
  );
};

const auditSummary = (recording: Recordings['attention-audit']): string => {
  const { mutants, checks, letThrough, falseAlarms } = only(recording).result;
  return (
    `${mutants.length} generic wrong kernels on ${checks.length} checks: ` +
    `${letThrough.length === 0 ? 'none let through' : `${letThrough.length} let through`}, ` +
    `${falseAlarms.length === 0 ? 'no false alarm' : `${falseAlarms.length} false alarms`}.`
  );
};

const redTeamSummary = ({ entries }: Recordings['red-team']): string => {
  const counts = countNames(entries.map(({ result }) => code(result.status)));
  const passed = entries.filter(({ result }) => result.status === 'passed').map(whyPassed);
  const summary = `${entries.length} wrong or dishonest kernels on a virtual GPU: ${counts}.`;
  return passed.length === 0 ? summary : [`${summary} Why ${passed.length} passed:\n`, ...passed].join('\n');
};

/** Who refuses a kernel that passed here, as its expected.json says; the tests hold the referee to it. */
const whyPassed = ({ result: { candidate, workload } }: Recordings['red-team']['entries'][number]): string => {
  const name = candidate.kernel;
  const [onVirtual, onGpu] = [expectedOf(name, 'virtual'), expectedOf(name, 'cuda')];
  const what = `- ${code(name)}: “${lieOf(name).replace(/\.$/, '')}.”`;
  if (onVirtual.statuses.includes('passed') && onVirtual.harmless !== undefined) return `${what} ${onVirtual.harmless}`;
  if (onVirtual.statuses.includes('passed'))
    return `${what} It cheats in timed launches only. A virtual GPU times none; on a GPU, ${onGpu.caughtBy.join(' or ')} refuses it.`;
  return `${what} It is right on ${workload.name}, where this was recorded. On ${onVirtual.workload} it is ${onVirtual.statuses.map(code).join(' or ')}.`;
};

const findings = ({ result }: { result: RecordedEvaluation }): string =>
  result.findings
    .map(
      ({ id, title, estimatedSpeedup, evidence, arithmetic, advice }, index) =>
        `${index + 1}. **${title}** (${code(id)}, estimated gain ${formatRatio(estimatedSpeedup)})\n` +
        evidence
          .map(
            ({ counter, value, unit, comparison, threshold, where }) =>
              `   - evidence: ${counter} = ${formatFigure(value)}${unit ? ` ${unit}` : ''}, ${comparison} ${formatFigure(threshold)}${where ? `; ${where}` : ''}\n`,
          )
          .join('') +
        `   - arithmetic: ${arithmetic}\n   - advice: ${advice}`,
    )
    .join('\n');

const timeLines = ({ result: { timing } }: { result: RecordedEvaluation }): string =>
  timing
    ? `    ${formatTiming(timing)}, bound by ${timing.bindingResource}\n` +
      `    lower bound ${formatNs(timing.vetoNs)}; attainable ${formatNs(timing.attainableNs)}`
    : '';

const bounds = ({ result }: { result: RecordedEvaluation }): string =>
  markdownTable(
    [{ title: 'Resource' }, right('alone'), { title: 'Arithmetic' }],
    (result.timing?.bounds ?? [])
      .slice(0, 6)
      .map(({ resource, ns, arithmetic }) => [resource, formatNs(ns), arithmetic]),
  );

const accuracyRow = ({ pairs, calibrated, device }: ModelComparison): string[] => {
  const factors = pairs.map(errorFactor);
  const within = pairs.filter(isWithinInterval).length;
  return [
    calibrated
      ? `${pairs.length} attention kernels, used to set the model's constants`
      : `${pairs.length} small kernels, not used to set any constant`,
    device,
    `${geometricMean(factors).toFixed(2)}×`,
    `${Math.max(...factors).toFixed(2)}×`,
    kendallTau(pairs).toFixed(2),
    `${within} of ${pairs.length}`,
  ];
};

const modelAccuracy = ({ entries }: Recordings['model-against-h200']): string =>
  markdownTable(
    [
      { title: 'Kernels' },
      { title: 'measured on' },
      right('error, geometric mean'),
      right('largest error'),
      right('rank correlation (Kendall’s τ)'),
      right('measured time within the interval'),
    ],
    entries.map(({ result }) => accuracyRow(result)),
  );

/** A series per attention kernel, one for all small kernels. */
const modelPlot = ({ entries }: Recordings['model-against-h200']): string => {
  const series = entries.flatMap(({ result: { pairs, calibrated } }) =>
    calibrated
      ? [...new Set(pairs.map(({ kernel }) => kernel))]
          .sort()
          .map((name) => ({ name, pairs: pairs.filter(({ kernel }) => kernel === name) }))
      : [{ name: 'small kernels, not used for calibration', pairs }],
  );
  const count = series.reduce((sum, { pairs }) => sum + pairs.length, 0);
  return scatterPlot({ title: `${count} kernels on an H200`, series });
};

const hardwareHeadline = ({ device, driver, date, tool }: HardwareRecording): string =>
  `on one ${device} (driver ${driver}, ${date}${tool === undefined ? '' : `, ${tool}`})`;

/** Blocks about what a real GPU said. */
export const hardwareBlocks = (recordings: HardwareRecordings): Record<string, string> => {
  const wavefronts = recordings['h200-shared-wavefronts'];
  const tensor = recordings['h200-tensor-accumulation'];
  const forms = [...new Set((tensor.cases ?? []).map(({ form }) => form))];
  return {
    'h200-wavefronts': `${wavefronts.patterns?.length} address patterns, ${hardwareHeadline(wavefronts)}.`,
    'h200-tensor': `${tensor.cases?.length} matrix products (${forms.map(code).join(', ')}), ${hardwareHeadline(tensor)}.`,
  };
};

/** Every block and figure that is made from recordings alone. */
export const resultBlocks = (recordings: Recordings): Record<string, string> => {
  const demo = only(recordings['attention-demo']);
  const rowSum = only(recordings['row-sum']);
  const small = only(recordings['attention-small']);
  return {
    'demo-headline': runHeadline(demo.result),
    'demo-progression': progression(demo.result),
    'demo-command': `    ${demo.command}`,
    'row-sum-headline': runHeadline(rowSum.result),
    'row-sum-progression': progression(rowSum.result),
    'ladder-l4': ladder(recordings['attention-ladder'], 'virtual:l4'),
    'ladder-h200': ladder(recordings['attention-ladder'], 'virtual:h200'),
    'ladder-commands': commands(recordings['attention-ladder']),
    'small-command': commands(recordings['attention-small']),
    'small-time': timeLines(small),
    'small-findings': findings(small),
    'small-bounds': bounds(small),
    'red-team': redTeam(recordings['red-team']),
    'red-team-summary': redTeamSummary(recordings['red-team']),
    'model-accuracy': modelAccuracy(recordings['model-against-h200']),
    'model-method': only(recordings['model-against-h200']).result.method,
    audit: audit(recordings['attention-audit']),
    'audit-summary': auditSummary(recordings['attention-audit']),
    'recorded-with': versions(recordings['attention-demo'].recordedWith),
  };
};

export const figures = (recordings: Recordings): Record<string, string> => ({
  'docs/figures/demo.svg': demoPlot(only(recordings['attention-demo']).result),
  'docs/figures/ladder.svg': ladderPlot(recordings['attention-ladder']),
  'docs/figures/model-against-h200.svg': modelPlot(recordings['model-against-h200']),
});
