import { valuesKey } from '../../core/values.ts';
import { combineRatios } from '../../stats/combine-ratios.ts';
import type { Attempt, AttemptResult } from '../../store/journal.ts';
import * as doc from '../document.ts';
import {
  formatCount,
  formatInstant,
  formatKindAndTime,
  formatParameters,
  formatRatioInterval,
  formatTiming,
} from '../format.ts';
import { unifiedDiff } from '../sections/changes.ts';
import { type BestChanges, settingChanges } from '../view/outcome.ts';
import { compareSources, type ReadSource, type SourceDiff } from '../view/source-diffs.ts';
import { statusText } from './evaluation.ts';

/** The differences of an attempt from its parent. */
export type AttemptChange = Pick<BestChanges, 'kernel' | 'parameters'> & Pick<SourceDiff, 'files' | 'missing'>;

/** Ratio of the parent's times to the attempt's. */
export interface AttemptRatio {
  kind: 'measured' | 'predicted';
  /** Parent's time ÷ its time; over several workloads their geometric mean. */
  ratio: number;
  /** Measured, on one workload: 95 %. A prediction has none: see the times' own. */
  intervalRatio: [number, number] | null;
  verdict: string | null;
  workloads: number;
}

/** An attempt with its place in the tree, its change and its gain. */
export interface LoggedAttempt extends Attempt {
  /** How many attempts stand above it in the tree. */
  depth: number;
  /** How many side branches it stands on: of several children of an attempt, the last one goes on straight. */
  branch: number;
  /** `null` for one without a parent. */
  change: AttemptChange | null;
  versusParent: AttemptRatio | null;
  /** Why there is no ratio although there is a parent. */
  whyNoRatio: string | null;
}

/** What `warpsmith log --json` prints. */
export interface LogView {
  schemaVersion: 1;
  kind: 'log';
  store: string;
  /** The one that was asked for. */
  problem: string | null;
  attempt: string | null;
  /** Every attempt behind its parent, trees in the order in which they were begun. */
  attempts: LoggedAttempt[];
  /** Older ones that were not asked for. */
  leftOut: number;
  /** Lines of the journal that this version can't read. */
  unreadable: number;
}

export interface LogOptions extends Pick<LogView, 'store' | 'problem' | 'attempt' | 'unreadable'> {
  readonly attempts: readonly Attempt[];
  readonly last: number;
  readonly readSource: ReadSource;
}

/** Builds the tree of attempts. */
export function buildLogView(options: LogOptions): LogView {
  const { store, attempts, unreadable, problem, attempt, last, readSource } = options;
  const wanted = attempts.filter(
    (one) => (problem === null || one.problem === problem) && (attempt === null || one.id === attempt),
  );
  const shown = wanted.slice(-last);
  const byId = new Map(attempts.map((one) => [one.id, one]));
  return {
    schemaVersion: 1,
    kind: 'log',
    store,
    problem,
    attempt,
    attempts: inTreeOrder(shown).map(({ one, depth, branch }) => {
      const parent = one.parent === null ? undefined : byId.get(one.parent);
      return { ...one, depth, branch, ...against(one, parent, readSource) };
    }),
    leftOut: wanted.length - shown.length,
    unreadable,
  };
}

interface Placed {
  readonly one: Attempt;
  readonly depth: number;
  readonly branch: number;
}

/** Depth first, children in the order in which they were tried. A parent that is not shown, or not earlier, is none. */
function inTreeOrder(attempts: readonly Attempt[]): Placed[] {
  const place = new Map(attempts.map(({ id }, index) => [id, index]));
  const isRoot = ({ parent }: Attempt, index: number): boolean =>
    parent === null || !((place.get(parent) ?? Number.POSITIVE_INFINITY) < index);
  const children = Map.groupBy(
    attempts.filter((one, index) => !isRoot(one, index)),
    ({ parent }) => parent!,
  );
  const ordered: Placed[] = [];
  // A chain of attempts may be longer than a stack of calls.
  const waiting: Placed[] = attempts.filter(isRoot).map((one) => ({ one, depth: 0, branch: 0 }));
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { one, depth, branch } = next;
    ordered.push(next);
    const own = children.get(one.id) ?? [];
    waiting.unshift(
      ...own.map((child, i) => ({ one: child, depth: depth + 1, branch: branch + (i < own.length - 1 ? 1 : 0) })),
    );
  }
  return ordered;
}

function against(
  one: Attempt,
  parent: Attempt | undefined,
  readSource: ReadSource,
): Pick<LoggedAttempt, 'change' | 'versusParent' | 'whyNoRatio'> {
  if (!parent) return { change: null, versusParent: null, whyNoRatio: null };
  const change = {
    ...settingChanges(parent.candidate, one.candidate),
    ...compareSources(parent.sources, one.sources, readSource),
  };
  const ratio = ratioTo(parent, one);
  return typeof ratio === 'string'
    ? { change, versusParent: null, whyNoRatio: ratio }
    : { change, versusParent: ratio, whyNoRatio: null };
}

/** Statuses whose times may be compared. */
const TIMED: readonly AttemptResult['status'][] = ['passed', 'unverified'];

/** The ratio, or why there is none. */
function ratioTo(parent: Attempt, one: Attempt): AttemptRatio | string {
  const [first] = one.results;
  const beside = one.results.flatMap((result) => result.beside ?? []);
  if (first?.beside && beside.length === 1) {
    const { ratio, verdict, intervalRatio } = first.beside;
    return { kind: 'measured', ratio, intervalRatio, verdict, workloads: 1 };
  }
  if (beside.length > 1) return meanOf('measured', beside);
  if (parent.device.id !== one.device.id) return `another device than ${parent.id}`;
  const pairs = one.results.flatMap((result) => {
    const before = parent.results.find((other) => isSameWorkload(result, other));
    return before ? [{ before, result }] : [];
  });
  if (pairs.length === 0) return `another workload than ${parent.id}`;
  const timed = pairs.filter(({ before, result }) => isTimed(before) && isTimed(result));
  if (timed.length === 0) {
    const isOwn = pairs.some(({ result }) => !isTimed(result));
    return isOwn ? 'no valid time' : `${parent.id} has no valid time`;
  }
  if (timed.some(({ before, result }) => [before, result].some(({ timing }) => timing!.kind === 'measured')))
    return 'measured apart: use warpsmith compare';
  const ratios = timed.map(({ before, result }) => ({ ratio: before.timing!.medianNs / result.timing!.medianNs }));
  return meanOf('predicted', ratios);
}

const isTimed = ({ status, timing }: AttemptResult): boolean =>
  TIMED.includes(status) && timing !== undefined && timing.medianNs > 0;

const isSameWorkload = (a: AttemptResult, b: AttemptResult): boolean =>
  a.cache === b.cache && valuesKey(a.dimensions) === valuesKey(b.dimensions);

const meanOf = (kind: AttemptRatio['kind'], ratios: readonly Pick<AttemptRatio, 'ratio'>[]): AttemptRatio => ({
  kind,
  ratio: combineRatios(ratios.map(({ ratio }) => ({ ratio, weight: 1 }))).ratio,
  intervalRatio: null,
  verdict: null,
  workloads: ratios.length,
});

/** `BLOCK_M 32 → 64, kernel.cu +12 −3`. */
function describeChange({ kernel, parameters, files, missing }: AttemptChange): string {
  const parts = [
    ...(kernel ? [`${kernel.from} → ${kernel.to}`] : []),
    ...parameters.map(({ name, from, to }) => `${name} ${from ?? '–'} → ${to ?? '–'}`),
    ...files.map(({ file, addedLines, removedLines }) => `${file} +${addedLines} −${removedLines}`),
    ...missing.map((file) => `${file} is gone`),
  ];
  return parts.join(', ') || 'nothing: judged again';
}

const settingOf = ({ candidate }: LoggedAttempt): string =>
  [candidate.kernel, formatParameters(candidate.parameters)].filter((part) => part !== '').join(' ');

/** The worst of several workloads is what counts. */
const worst = ({ results }: LoggedAttempt): AttemptResult =>
  results.find(({ status }) => status !== 'passed' && status !== 'unverified') ??
  results.find(({ status }) => status !== 'passed') ??
  results[0]!;

/** A ratio never comes without its kind. */
function describeRatio({ versusParent, whyNoRatio, parent }: LoggedAttempt): string | undefined {
  if (!versusParent) return whyNoRatio ?? undefined;
  const { kind, ratio, verdict, intervalRatio, workloads } = versusParent;
  const over = workloads > 1 ? ` over ${workloads} workloads` : '';
  const interval = intervalRatio ? ` ${formatRatioInterval(intervalRatio)}` : '';
  return `${verdict ? `${verdict}, ` : ''}${kind} ${ratio.toFixed(2)}×${interval} the speed of ${parent}${over}`;
}

const timesOf = ({ results }: LoggedAttempt): string[] =>
  results.flatMap(({ timing }) => (timing ? [formatKindAndTime(timing)] : []));

/** Branches further out stand no further to the right, so that a line keeps its width. */
const MOST_BRANCHES = 12;

/** `○` begins a tree; `●` goes on from the last one above it in its column, or starts a side branch of the column before. */
const place = ({ id, depth, branch }: LoggedAttempt): string =>
  `${'│ '.repeat(Math.min(branch, MOST_BRANCHES))}${depth === 0 ? '○' : '●'} ${id}`;

const tree = (attempts: readonly LoggedAttempt[]): doc.Part =>
  doc.list(
    attempts.map((one) => ({
      term: place(one),
      text: [
        one.change ? describeChange(one.change) : settingOf(one),
        '; ',
        statusText({ status: worst(one).status }),
        [describeRatio(one), ...timesOf(one)].filter(Boolean).map((part) => `, ${part}`),
        one.note === undefined ? '' : doc.dim(` “${one.note}”`),
      ],
    })),
  );

function problemSections({ attempts }: LogView): doc.Section[] {
  const problems = [...Map.groupBy(attempts, ({ problem }) => problem)];
  return problems.flatMap(([problem, all]) => {
    const devices = new Set(all.map(({ device }) => device.id));
    const first = all[0]!.results[0]?.workload;
    return doc.section(`problem-${problem}`, `${problem}: ${[...devices].join(', ')}${first ? `, ${first}` : ''}`, [
      tree(all),
    ]);
  });
}

/** The tree of what was tried by hand; one attempt is shown with its differences. */
export function logDocument(view: LogView): doc.Document {
  const { store, attempts, leftOut, unreadable, problem } = view;
  const [only] = attempts;
  if (view.attempt !== null && only) return attemptDocument(only);
  const of = problem === null ? '' : ` of ${problem}`;
  const notes = doc.list([
    leftOut > 0 && `${formatCount(leftOut, 'older attempt')} left out: --last ${leftOut + attempts.length}`,
    unreadable > 0 && doc.warn(`${formatCount(unreadable, 'line')} of the journal can't be read`),
  ]);
  if (!only) {
    const hint = 'evaluate, diagnose and compare keep what they judge, with --note';
    return doc.documentOf(`No attempts${of} in ${store}.`, [doc.text(hint), notes]);
  }
  return doc.documentOf(
    `${formatCount(attempts.length, 'attempt')}${of} in ${store}`,
    [notes],
    [problemSections(view)],
  );
}

function describeResult({ workload, status, reason, timing, finding }: AttemptResult): string {
  const why = reason ? `: ${reason}` : '';
  const time = timing ? `, ${formatTiming(timing)}` : '';
  return `${workload}: ${status}${why}${time}${finding ? `, limited by ${finding}` : ''}`;
}

function attemptDocument(attempt: LoggedAttempt): doc.Document {
  const { id, time, command, note, parent, problem, device, candidate, results, change, seed } = attempt;
  const diff = unifiedDiff(parent ?? '', id, change?.files ?? []);
  return doc.documentOf(`Attempt ${id} of ${problem} on ${device.name}, ${formatInstant(time)}`, [
    doc.list([
      doc.fact('Note', note),
      doc.fact('Kernel', [settingOf(attempt), ', candidate ', doc.code(candidate.id), `, in ${candidate.folder}`]),
      doc.fact('Judged by', `${command}${seed === undefined ? '' : `, seed ${seed}`}`),
      doc.fact('Parent', parent ?? 'none'),
      doc.fact('Change', change && describeChange(change)),
      doc.fact('Than its parent', change && (describeRatio(attempt) ?? 'no ratio')),
    ]),
    doc.list(results.map(describeResult)),
    diff !== '' && [doc.heading('Difference'), doc.codeBlock('diff', diff)],
  ]);
}
