import type { AttemptResult } from '../../store/journal.ts';
import {
  code,
  type Document,
  dim,
  documentOf,
  heading,
  list,
  type Part,
  type Section,
  section,
  text,
  warn,
} from '../document.ts';
import {
  formatCount,
  formatInstant,
  formatKindAndTime,
  formatParameters,
  formatRatioInterval,
  formatTiming,
} from '../format.ts';
import type { AttemptChange, LoggedAttempt, LogView } from '../log-view.ts';
import { unifiedDiff } from '../sections/changes.ts';
import { statusText } from './evaluation.ts';

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

const tree = (attempts: readonly LoggedAttempt[]): Part =>
  list(
    attempts.map((one) => ({
      term: place(one),
      text: [
        one.change ? describeChange(one.change) : settingOf(one),
        '; ',
        statusText({ status: worst(one).status }),
        [describeRatio(one), ...timesOf(one)].filter(Boolean).map((part) => `, ${part}`),
        one.note === undefined ? '' : dim(` “${one.note}”`),
      ],
    })),
  );

function problemSections({ attempts }: LogView): Section[] {
  const problems = [...Map.groupBy(attempts, ({ problem }) => problem)];
  return problems.flatMap(([problem, all]) => {
    const devices = new Set(all.map(({ device }) => device.id));
    const first = all[0]!.results[0]?.workload;
    return section(`problem-${problem}`, `${problem}: ${[...devices].join(', ')}${first ? `, ${first}` : ''}`, [
      tree(all),
    ]);
  });
}

/** The tree of what was tried by hand; one attempt is shown with its differences. */
export function logDocument(view: LogView): Document {
  const { store, attempts, leftOut, unreadable, problem } = view;
  const [only] = attempts;
  if (view.attempt !== null && only) return attemptDocument(only);
  const of = problem === null ? '' : ` of ${problem}`;
  const notes = list([
    leftOut > 0 && `${formatCount(leftOut, 'older attempt')} left out: --last ${leftOut + attempts.length}`,
    unreadable > 0 && warn(`${formatCount(unreadable, 'line')} of the journal can't be read`),
  ]);
  if (!only) {
    const hint = 'evaluate, diagnose and compare keep what they judge, with --note';
    return documentOf(`No attempts${of} in ${store}.`, [text(hint), notes]);
  }
  return documentOf(`${formatCount(attempts.length, 'attempt')}${of} in ${store}`, [notes], [problemSections(view)]);
}

function describeResult({ workload, status, reason, timing, finding }: AttemptResult): string {
  const why = reason ? `: ${reason}` : '';
  const time = timing ? `, ${formatTiming(timing)}` : '';
  return `${workload}: ${status}${why}${time}${finding ? `, limited by ${finding}` : ''}`;
}

function attemptDocument(attempt: LoggedAttempt): Document {
  const { id, time, command, note, parent, problem, device, candidate, results, change, seed } = attempt;
  const diff = unifiedDiff(parent ?? '', id, change?.files ?? []);
  return documentOf(`Attempt ${id} of ${problem} on ${device.name}, ${formatInstant(time)}`, [
    list([
      note !== undefined && { term: 'Note', text: note },
      { term: 'Kernel', text: [settingOf(attempt), ', candidate ', code(candidate.id), `, in ${candidate.folder}`] },
      { term: 'Judged by', text: `${command}${seed === undefined ? '' : `, seed ${seed}`}` },
      { term: 'Parent', text: parent ?? 'none' },
      change && { term: 'Change', text: describeChange(change) },
      change && { term: 'Than its parent', text: describeRatio(attempt) ?? 'no ratio' },
    ]),
    list(results.map(describeResult)),
    diff !== '' && [heading('Difference'), { kind: 'code', language: 'diff', text: diff }],
  ]);
}
