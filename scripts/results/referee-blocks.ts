import { existsSync } from 'node:fs';
import { formatMeasuredNs, formatParameters, formatRatioInterval } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import type { MeasuredRecordings } from './measuring-recordings.ts';
import { countNames, recordedWith, recordingBlock, shorten } from './recording-block.ts';
import { ROOT } from './recordings.ts';
import type {
  ExploitEntry,
  ExploitRecording,
  FaultEntry,
  FaultRecording,
  FreshEntry,
  FreshRecording,
  HonestAttentionRecording,
  HonestRecording,
  HonestRun,
  HonestRungsRecording,
  RedTeamEntry,
  RedTeamRecording,
  ThroughputRecording,
  TimedEvaluation,
  TwoProcessEntry,
  TwoProcessRecording,
} from './referee-recordings.ts';

/** Blocks on how the referee did on real hardware. */

const code = (text: string): string => `\`${text}\``;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const right = (title: string) => ({ title, align: 'right' as const });

/** A kernel that only the sanitizer sees through has passed everything before it. */
const refusedAs = ({ status, caughtBy }: RedTeamEntry): string =>
  status === 'passed' && caughtBy !== undefined ? caughtBy : code(status);

const notAsExpected = (disagreements: readonly string[]): string =>
  disagreements.length === 0 ? '' : ` **Not as expected**: ${disagreements.join('; ')}.`;

/** Passed without anyone's noticing; that this was expected of a GPU does not make it a refusal. */
const isUnnoticed = ({ status, caughtBy }: RedTeamEntry): boolean => status === 'passed' && caughtBy === undefined;

const redTeamSummary = (recording: RedTeamRecording): string => {
  const { kernels } = recording;
  const unnoticed = kernels.filter(isUnnoticed);
  const refused = kernels.filter((entry) => !isUnnoticed(entry));
  const others = kernels.filter(({ asExpected }) => !asExpected).map(({ name }) => code(name));
  const how = `${countNames(refused.map(refusedAs))}; caught by ${countNames(refused.map(({ caughtBy }) => caughtBy ?? 'nothing'))}`;
  return (
    `**${kernels.length} wrong or dishonest kernels, ${refused.length} refused**` +
    `${refused.length > 0 ? `: ${how}` : ''}.` +
    `${unnoticed.length > 0 ? ` Not noticed on this GPU: ${unnoticed.map(({ name }) => code(name)).join(', ')}.` : ''}` +
    `${others.length > 0 ? ` Not as expected: ${others.join(', ')}.` : ''} ${recordedWith(recording)}.`
  );
};

/** Most are CUDA C++. */
export const redTeamSource = (name: string): string => {
  const folder = `test/red-team/${name}`;
  return existsSync(new URL(`${folder}/kernel.ptx`, ROOT)) ? `${folder}/kernel.ptx` : `${folder}/kernel.cu`;
};

const redTeamReason = ({ reason, sanitizerErrors = [], disagreements }: RedTeamEntry): string =>
  `${shorten(reason ?? sanitizerErrors.join('; '))}${notAsExpected(disagreements)}`;

const redTeamTable = ({ kernels }: RedTeamRecording): string =>
  markdownTable(
    ['Kernel', 'What it does', 'Refused as', 'Caught by', 'Reason given'].map((title) => ({ title })),
    [...kernels]
      .sort((a, b) => a.name.localeCompare(b.name, 'en'))
      .map((entry) => [
        `[${entry.name}](../../${redTeamSource(entry.name)})`,
        entry.lie,
        refusedAs(entry),
        entry.caughtBy ?? 'nothing',
        redTeamReason(entry),
      ]),
  );

const honest = (recording: HonestRecording): string => {
  const { evaluations, workload } = recording;
  const alarms = evaluations.filter(({ status }) => status !== 'passed');
  const candidates = new Set(evaluations.map(({ title }) => title)).size;
  const seeds = new Set(evaluations.map(({ seed }) => seed)).size;
  const details = alarms.map(({ title, seed, status, reason }) => `${title}, seed ${seed}: ${status}: ${reason}`);
  return (
    `**${alarms.length === 0 ? 'No alarm' : `${alarms.length} ${alarms.length === 1 ? 'alarm' : 'alarms'}`} in ${evaluations.length} evaluations** of ` +
    `${candidates} honest candidates at ${workload}, with ${seeds} seeds.` +
    `${details.length > 0 ? ` ${details.join('; ')}.` : ''} ${recordedWith(recording)}.`
  );
};

const honestAttention = ({ seeds, shapes, checks, atFirst, inTheEnd }: HonestAttentionRecording): string =>
  `**${inTheEnd.length} of ${checks.toLocaleString('en')} checks refuse attention as honest kernels compute it**, in fp32 and with weights in fp16, with ${seeds} seeds at ${shapes.length} shapes and all ` +
  `secret inputs. Two runs on changed inputs alone would refuse ${atFirst.length}.`;

const honestRungs = (recording: HonestRungsRecording): string => {
  const { evaluations } = recording;
  const alarms = evaluations.filter(({ status }) => status !== 'passed');
  const kernels = new Set(evaluations.map(({ kernel }) => kernel)).size;
  const details = alarms.map(
    ({ kernel, seed, status, reason = '' }) => `${code(kernel)}, seed ${seed}: ${status}: ${shorten(reason)}`,
  );
  return (
    `**${alarms.length} ${alarms.length === 1 ? 'alarm' : 'alarms'} in ${evaluations.length} thorough verifications** of ${kernels} rungs of the bundled problems, each with a new seed.` +
    `${details.length > 0 ? ` ${details.join('; ')}.` : ''} ${recordedWith(recording)}.`
  );
};

const honestTime = ({ status, medianNs }: HonestRun): string =>
  medianNs === undefined ? code(status) : formatMeasuredNs(medianNs);

const faultRow = (entry: FaultEntry): string[] => [
  `[${entry.name}](../test/faults/${entry.name}/kernel.cu)`,
  entry.mistake,
  code(entry.status),
  `${entry.reason ?? ''}${notAsExpected(entry.disagreements)}`,
  seconds(entry.reportedAfterMs),
  `${honestTime(entry.before)} → ${honestTime(entry.after)}`,
];

const faults = (recording: FaultRecording): string => {
  const titles = ['Kernel', 'What it does', 'Reported as', 'Reason given'].map((title) => ({ title }));
  const columns = [...titles, right('After'), right('Honest kernel, measured before → after')];
  const [first] = recording.faults;
  const limit = first ? ` Limit of a run: ${seconds(first.runTimeoutMs)}.` : '';
  return `${markdownTable(columns, recording.faults.map(faultRow))}\n\n${recordedWith(recording)}.${limit}`;
};

const profiled = (
  tier: string,
  { elapsedMs, countersSource }: TimedEvaluation & { countersSource: unknown },
): string => {
  const from = (countersSource as { kind?: string }).kind ?? 'none';
  return `${code(tier)} ${seconds(elapsedMs.total)} (counters: ${from})`;
};

const meanPhases = (evaluations: readonly TimedEvaluation[]): string =>
  (['compile', 'verify', 'time'] as const)
    .map((phase) => {
      const ms = evaluations.reduce((sum, { elapsedMs }) => sum + elapsedMs[phase], 0) / evaluations.length;
      return `${phase} ${ms.toFixed(0)} ms`;
    })
    .join(', ');

const throughput = (recording: ThroughputRecording): string => {
  const { screens, workload, preparedAhead, lightProfile } = recording;
  const evaluations = screens.flatMap((run) => run.evaluations);
  const wallMs = screens.reduce((sum, run) => sum + run.wallMs, 0);
  const profiles = Object.entries(lightProfile).map(([tier, evaluation]) => profiled(tier, evaluation));
  return (
    `**${((evaluations.length / wallMs) * 60_000).toFixed(0)} screens a minute** at ${workload}: ${evaluations.length} ` +
    `distinct candidates in ${seconds(wallMs)}, ${preparedAhead} compiled ahead; on average ${meanPhases(evaluations)}. ` +
    `One evaluation with a light profile: ${profiles.join(', ')}. ${recordedWith(recording)}.`
  );
};

const twoProcessRow = (entry: TwoProcessEntry): string[] => {
  const { kernel, parameters, workload, comparison, measurements, withinOnePercent, failure } = entry;
  const time = (name: string): string => {
    const medianNs = measurements[name]?.summary.medianNs;
    return medianNs === undefined ? '–' : formatMeasuredNs(medianNs);
  };
  return [
    [code(kernel), formatParameters(parameters)].filter(Boolean).join(' '),
    workload,
    time('warpsmith'),
    time('python'),
    comparison ? `${comparison.ratio.toFixed(4)} ${formatRatioInterval(comparison.intervalRatio)}` : (failure ?? '–'),
    withinOnePercent ? 'yes' : '**no**',
  ];
};

const exploitOutcome = ({ status, verdict, ratio, tier, medianNs, honestNs, sanitizer }: ExploitEntry): string => {
  if (status !== 'passed') return code(status);
  if (ratio === undefined) return 'passed';
  const times = `${formatMeasuredNs(medianNs!)} against ${formatMeasuredNs(honestNs!)}`;
  const said = tier === 'accept' ? `, called ${verdict}` : '';
  return `passed: ${ratio.toFixed(2)}×${said} (${times})${sanitizer === undefined ? '' : `; sanitizer ${sanitizer}`}`;
};

/** One row for each kernel and setting that was tried before; what the same was called after, where it was tried again. */
const exploits = (recording: ExploitRecording): string => {
  const keyOf = ({ name, parameters, workload, tier }: ExploitEntry) =>
    JSON.stringify([name, parameters, workload, tier]);
  const outcomes = (entries: readonly ExploitEntry[], key: string): string => {
    const found = entries.filter((entry) => keyOf(entry) === key).map(exploitOutcome);
    return found.length === 0 ? 'not tried' : [...new Set(found)].join('; ');
  };
  const keys = [...new Set([...recording.before, ...recording.after].map(keyOf))];
  const rows = keys.map((key) => {
    const entry = [...recording.before, ...recording.after].find((other) => keyOf(other) === key)!;
    const { name, parameters, workload, tier } = entry;
    return [
      `[${name}](../${redTeamSource(name)})${formatParameters(parameters) === '' ? '' : ` ${formatParameters(parameters)}`}`,
      `${workload}, ${tier}`,
      outcomes(recording.before, key),
      outcomes(recording.after, key),
    ];
  });
  const titles = ['Kernel', 'Workload', 'Before', 'With reruns and one cut in a block'].map((title) => ({ title }));
  const left = recording.leftovers.map(
    ({ memory, leftWords, scrubbedWords, words }) =>
      `${((100 * leftWords) / words).toFixed(1)} % of ${memory} memory, ${scrubbedWords} words after the scrub`,
  );
  return `${markdownTable(titles, rows)}\n\nWhat one kernel wrote and the next one found: ${left.join('; ')}. ${recordedWith(recording)}.`;
};

const twoProcesses = (recording: TwoProcessRecording): string =>
  `${markdownTable(
    [
      { title: 'Kernel' },
      { title: 'Workload' },
      right('measured by warpsmith'),
      right('by the Python worker'),
      right('Ratio'),
      { title: 'Within 1 %' },
    ],
    recording.kernels.map(twoProcessRow),
  )}\n\n${recordedWith(recording)}.`;

const passedOf = (entries: readonly FreshEntry[]): FreshEntry[] => entries.filter(({ status }) => status === 'passed');

/** Those that passed when they were judged last, also where they had been refused at first. */
const passingNow = ({ first, again }: Pick<FreshRecording['batches'][number], 'first' | 'again'>): FreshEntry[] =>
  passedOf(first.map((entry) => again.findLast(({ name }) => name === entry.name) ?? entry));

/** What a verdict that passed says itself. Of batches before k nobody wrote down where their kernels are wrong. */
const RESERVED = { sizes: 'not about such sizes', condition: 'names the condition', none: '' } as const;

/** How many passed, batch by batch, and what still passes. */
function freshKernels(recording: FreshRecording): string {
  const batches = markdownTable(
    [{ title: 'Batch' }, right('Kernels'), right('Passed at first'), right('Pass now')],
    recording.batches.map(({ name, first, again }) => [
      name,
      String(first.length),
      String(passedOf(first).length),
      again.length === 0 && passedOf(first).length > 0
        ? 'not judged again'
        : String(passingNow({ first, again }).length),
    ]),
  );
  const left = recording.batches.flatMap(({ name, first, again }) =>
    passingNow({ first, again }).map((entry) => [
      ...[`${name} ${entry.name}`, entry.kind, shorten(entry.wrongWhen)],
      RESERVED[entry.reservation ?? 'none'],
    ]),
  );
  const titles = [
    ...[{ title: 'What passes' }, { title: 'Kind' }, { title: 'It is wrong when' }],
    { title: 'What the verdict says' },
  ];
  const { device, versions, recordedAt } = recording;
  const where = `${device}, ${versions.compiler}, ${recordedAt.slice(0, 10)}`;
  return `${batches}\n\n${markdownTable(titles, left)}\n\n${where}.`;
}

export const refereeBlocks = (recordings: MeasuredRecordings): Record<string, string> => ({
  'h200-red-team-summary': recordingBlock(recordings, 'h200-red-team', redTeamSummary),
  'h200-red-team': recordingBlock(recordings, 'h200-red-team', redTeamTable),
  'fresh-wrong-kernels': recordingBlock(recordings, 'fresh-wrong-kernels', freshKernels),
  'h200-exploits': recordingBlock(recordings, 'h200-exploits', exploits),
  'h200-honest': recordingBlock(recordings, 'h200-honest', honest),
  'honest-attention': recordingBlock(recordings, 'honest-attention', honestAttention),
  'honest-rungs': recordingBlock(recordings, 'honest-rungs', honestRungs),
  'h200-faults': recordingBlock(recordings, 'h200-faults', faults),
  'h200-throughput': recordingBlock(recordings, 'h200-throughput', throughput),
  'h200-two-processes': recordingBlock(recordings, 'h200-two-processes', twoProcesses),
});
