import { isDeepStrictEqual } from 'node:util';
import type { Timing } from '../../core/timing.ts';
import { ofType, type RecordedEvent, type RunStartedEvent, type WeightedWorkload } from '../../store/events.ts';
import { bestSoFarChart, type Steps } from '../charts/best-so-far-chart.ts';
import type { Chart } from '../charts/chart.ts';
import * as doc from '../document.ts';
import {
  formatCandidate,
  formatCount,
  formatKindAndTime,
  formatParameters,
  formatRatio,
  formatTiming,
} from '../format.ts';
import type { RunView } from '../run-view.ts';
import { changeLines, diffParts } from '../sections/changes.ts';
import { type BestChanges, settingChanges } from '../view/outcome.ts';
import { joinEvaluations, type TimeFigure } from '../view/progression.ts';
import { shellCommand } from '../view/reproduction.ts';
import { diffBetween, type ReadSource, type SourceDiff } from '../view/source-diffs.ts';

/** One of two runs; its speed-up is against its own start. */
export interface ComparedRun extends Pick<RunView, 'runId' | 'device' | 'best' | 'speedup' | 'repository'> {
  /** How many were made. */
  evaluations: number;
  /** Best time so far on the first workload, each with how many evaluations were made by then. */
  progress: { evaluations: number; medianNs: number }[];
  /** How many evaluations it had made when it had its best. */
  evaluationsToBest: number | null;
}

/** The bests of both runs on a workload that both are about. */
export interface ComparedTimes {
  workload: string;
  cache: WeightedWorkload['cache'];
  run: TimeFigure | null;
  against: TimeFigure | null;
  /** Time of `against` ÷ time of `run`: above 1, `run` is faster. `null`: see `notCompared`, or there is no time. */
  ratio: number | null;
}

/** What `report RUN --against OTHER --json` prints. */
export interface RunComparisonView {
  schemaVersion: 1;
  kind: 'run-comparison';
  problem: string;
  run: ComparedRun;
  against: ComparedRun;
  times: ComparedTimes[];
  /** Why times are not divided by each other; `null` where they are. */
  notCompared: string | null;
  /** A command that measures both in the same blocks, where that says what the logs can't. */
  compareCommand: string | null;
  /** Evaluations until each was as fast as the slower of both bests; `null` where times are of different things. */
  reached: { workload: string; kind: Timing['kind']; medianNs: number; run: number; against: number } | null;
  /** What else was different: settings, budgets, files of the problem, programs. */
  differences: { what: string; run: string; against: string }[];
  /** From the best of `against` to the best of `run`. */
  changes: Pick<BestChanges, 'kernel' | 'parameters'> | null;
  sources: SourceDiff | null;
}

/** A run as its folder tells it. */
export interface ReadRun {
  readonly view: RunView;
  readonly events: readonly RecordedEvent[];
  readonly readSource: ReadSource;
}

const startOf = ({ events }: ReadRun): RunStartedEvent => ofType(events, 'run-started')[0]!;

/** Kept rows: how many evaluations had been made by then, and the time on the first workload. */
const keptTimes = ({ progression }: RunView): ComparedRun['progress'] =>
  progression.flatMap(({ decision, time }, index) =>
    decision === 'keep' && time ? [{ evaluations: index + 1, medianNs: time.medianNs }] : [],
  );

function comparedRun({ view }: ReadRun): ComparedRun {
  const { runId, device, best, speedup, progression, repository } = view;
  const at = progression.findIndex(({ evaluationId }) => evaluationId === best?.evaluationId);
  return {
    ...{ runId, device, best, speedup, repository },
    evaluations: progression.length,
    evaluationsToBest: at < 0 ? null : at + 1,
    progress: keptTimes(view),
  };
}

type Both = readonly [run: ReadRun, against: ReadRun];

/** `gemm`, or `gemm in f16` of a problem that takes several dtypes. */
function problemOf(read: ReadRun): string {
  const { name, dtype } = startOf(read).problem;
  return dtype === undefined ? name : `${name} in ${dtype}`;
}

/** The reason if the times of two runs can't be divided: different devices, kinds of time or problems. */
function whyNotCompared(both: Both): string | null {
  const [{ view: run }, { view: against }] = both;
  const [problem, other] = both.map(problemOf);
  const onDevice = ({ device }: RunView): string => `${device.name} (${device.id})`;
  if (problem !== other) return `the runs are of two problems, ${problem} and ${other}`;
  if (run.device.name !== against.device.name || run.device.kind !== against.device.kind)
    return `times of two devices are not compared: ${onDevice(run)} and ${onDevice(against)}`;
  if (!run.best || !against.best) return `run ${run.best ? against.runId : run.runId} has no valid time`;
  if (run.best.kind !== against.best.kind) return 'measured times are not compared with predicted ones';
  return run.best.kind === 'measured'
    ? 'they were measured in different blocks, on different days or after different warm-ups; they are for orientation'
    : null;
}

/** The same work with the same caches, whatever the workload is called. */
const isSameWork = (a: Omit<WeightedWorkload, 'weight'>, b: Omit<WeightedWorkload, 'weight'>): boolean =>
  a.cache === b.cache && isDeepStrictEqual(a.dimensions, b.dimensions);

function comparedTimes([{ view: run }, { view: against }]: Both, isCompared: boolean): ComparedTimes[] {
  return run.objective.workloads.flatMap(({ best, ...workload }) => {
    const other = against.objective.workloads.find((one) => isSameWork(one, workload));
    if (!other) return [];
    const ratio = isCompared && best && other.best ? other.best.medianNs / best.medianNs : null;
    return [{ workload: workload.name, cache: workload.cache, run: best, against: other.best, ratio }];
  });
}

/** Measured times count here, too: medians of different blocks are accurate enough to show how far a search had come. */
function reachedBy(both: Both): RunComparisonView['reached'] {
  const [{ view: run }, { view: against }] = both;
  const isAlike = run.device.name === against.device.name && problemOf(both[0]) === problemOf(both[1]);
  if (!isAlike || !isSameWork(run.workload, against.workload)) return null;
  if (!run.best || !against.best || run.best.kind !== against.best.kind) return null;
  const medianNs = Math.max(run.best.medianNs, against.best.medianNs);
  const [of, other] = [run, against].map(
    (view) => keptTimes(view).find((kept) => kept.medianNs <= medianNs)?.evaluations,
  );
  if (of === undefined || other === undefined) return null;
  return { workload: run.workload.name, kind: run.best.kind, medianNs, run: of, against: other };
}

/** What a run was asked and what it ran with, by name. */
function settingsOf(read: ReadRun): Readonly<Record<string, string>> {
  const { view } = read;
  const { workloads, request, start, minimised = 'time' } = startOf(read);
  const commit =
    view.repository && `${view.repository.commit.slice(0, 12)}${view.repository.isDirty ? ', changed' : ''}`;
  return {
    device: `${view.device.name} (${view.device.id})`,
    workloads: workloads.map(({ name, cache, weight }) => `${name} ${cache} × ${weight}`).join(', '),
    start: `${start.kernel} ${formatParameters(start.parameters)}`.trim(),
    strategy: view.objective.strategy,
    minimised,
    seed: String(view.seed),
    goal: view.goal?.text ?? 'none',
    evaluations: String(view.budgets.maximumEvaluations ?? 'not limited'),
    minutes: String(view.budgets.maximumMinutes ?? 'not limited'),
    commit: commit ?? 'not known',
    ...view.environment,
    ...request.problemFiles,
  };
}

function differencesOf([run, against]: Both): RunComparisonView['differences'] {
  const [of, other] = [settingsOf(run), settingsOf(against)];
  return Object.keys({ ...of, ...other })
    .map((what) => ({ what, run: of[what] ?? 'none', against: other[what] ?? 'none' }))
    .filter((row) => row.run !== row.against);
}

/** Sources of both bests, whose contents lie in the two runs' folders. */
function sourcesOf([run, against]: Both): SourceDiff | null {
  const [after, before] = [run, against].map(({ view, events }) =>
    joinEvaluations(events).find(({ finished }) => finished.evaluation.id === view.best?.evaluationId),
  );
  const read: ReadSource = (hash) => run.readSource(hash) ?? against.readSource(hash);
  return before && after ? diffBetween(before, after, 'best to best', read) : null;
}

/** Best against best, what each took, and what was different. Times are divided only where they are of the same thing. */
export function compareRuns(run: ReadRun, against: ReadRun): RunComparisonView {
  const both: Both = [run, against];
  const notCompared = whyNotCompared(both);
  const times = comparedTimes(both, notCompared === null);
  const [of, other] = [comparedRun(run), comparedRun(against)];
  const isOfEnergy = both.some((read) => startOf(read).minimised === 'energy');
  const canMeasure = times.length > 0 && of.best?.kind === 'measured' && other.best?.kind === 'measured';
  return {
    schemaVersion: 1,
    kind: 'run-comparison',
    problem: problemOf(run),
    run: of,
    against: other,
    times,
    notCompared: notCompared ?? (times.length === 0 ? 'the runs have no workload in common' : null),
    compareCommand: canMeasure
      ? shellCommand('compare', {
          baseline: other.runId,
          candidate: of.runId,
          workloads: [],
          energy: isOfEnergy || undefined,
        })
      : null,
    reached: reachedBy(both),
    differences: differencesOf(both),
    changes: of.best && other.best ? settingChanges(other.best.candidate, of.best.candidate) : null,
    sources: sourcesOf(both),
  };
}

/** Ids are long: in sentences and tables the runs have letters. */
const [A, B] = ['A', 'B'];

const reachedLine = ({ reached }: RunComparisonView): string | null =>
  reached &&
  `To be as fast as the slower best, ${formatKindAndTime(reached)} on ${reached.workload}, ` +
    `${A} needed ${formatCount(reached.run, 'evaluation')}, ${B} ${reached.against}.`;

function conclusion({ times, notCompared }: RunComparisonView): doc.Inline {
  if (notCompared !== null) return doc.warn(`The bests are not compared: ${notCompared}.`);
  const [first] = times;
  if (times.length > 1 || !first?.ratio) return 'The table has the ratio on each workload.';
  const { ratio, run: time } = first;
  if (ratio === 1) return `Both bests take ${formatKindAndTime(time)}.`;
  const [faster, slower] = ratio > 1 ? [A, B] : [B, A];
  return `The best of ${faster} is ${time!.kind} ${formatRatio(Math.max(ratio, 1 / ratio))} faster than that of ${slower}.`;
}

const bestOf = ({ best }: ComparedRun): string =>
  best ? `${formatCandidate(best.candidate)}, ${formatTiming(best)}` : 'no valid time';

const runsTable = ({ run, against }: RunComparisonView): doc.Part =>
  doc.table(
    'Runs',
    [run, against],
    [
      doc.names('run', (_, index) => [A, B][index]),
      doc.words('best', bestOf),
      doc.figures('× its start', ({ speedup }) => formatRatio(speedup)),
      doc.figures('evaluations', ({ evaluations }) => evaluations, 2),
      doc.figures('to its best', ({ evaluationsToBest }) => evaluationsToBest, 1),
    ],
  );

/** Best times so far of both runs by evaluations made. Undefined where they are of different things. */
function progressChart({ run, against, reached }: RunComparisonView): Chart | undefined {
  if (!reached) return undefined;
  const stepsOf = ({ progress, evaluations }: ComparedRun, style: Steps['style']): Steps => ({
    points: progress.map((kept) => ({ spent: kept.evaluations, medianNs: kept.medianNs })),
    total: evaluations,
    style,
  });
  return bestSoFarChart({
    ...{ kind: reached.kind, workload: reached.workload, by: 'evaluation of both runs', from: 1, mostTicks: 8 },
    remark: `solid: ${A}; dashed: ${B}`,
    description: [run, against].map((one) => `${one.runId}: ${one.progress.length} times kept`).join('; '),
    searches: [stepsOf(against, 'reference'), stepsOf(run, 'best-so-far')],
  });
}

/** Two runs of a problem, best against best. */
export function runComparisonDocument(view: RunComparisonView): doc.Document {
  const { problem, run, against, times, compareCommand, differences, changes, sources } = view;
  const reached = reachedLine(view);
  const nothing = 'nothing: both are the same kernel with the same parameters';
  return doc.documentOf(
    `${problem}: two runs, best against best`,
    [
      doc.list(
        [run, against].map(({ runId, device }, index) => ({
          term: [A, B][index],
          text: `${runId}, on ${device.name}`,
        })),
      ),
      doc.text(conclusion(view)),
      reached !== null && doc.text(reached),
      compareCommand !== null && [
        doc.note('This measures both in the same blocks, and gives a verdict:'),
        doc.codeBlock('sh', compareCommand),
      ],
      runsTable(view),
    ],
    [
      doc.section('times', 'Times of the bests', [
        doc.figure('progress', 'Best time so far of both runs by evaluation', progressChart(view)),
        doc.table('Times of the bests', times, [
          doc.words('workload', ({ workload, cache }) => `${workload} (${cache})`),
          doc.figures(A, ({ run: time }) => formatKindAndTime(time)),
          doc.figures(B, ({ against: time }) => formatKindAndTime(time)),
          doc.figures('ratio', ({ ratio }) => formatRatio(ratio)),
        ]),
      ]),
      doc.section('changes', `From the best of ${B} to that of ${A}`, [
        changes && doc.list(changeLines(changes, nothing)),
        sources && diffParts([['sources', sources]]),
      ]),
      doc.section('differences', 'What else was different', [
        doc.table('What else was different', differences, [
          doc.names('what', ({ what }) => what),
          doc.words(A, (row) => row.run),
          doc.words(B, (row) => row.against),
        ]),
        differences.length === 0 && doc.note('Nothing: both runs were asked the same, with the same programs.'),
      ]),
    ],
  );
}
