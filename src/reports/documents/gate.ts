import type { DeviceIdentity } from '../../core/device.ts';
import type { Finding } from '../../core/finding.ts';
import type { Dimensions } from '../../core/problem.ts';
import type { EvaluationStatus } from '../../core/status.ts';
import * as doc from '../document.ts';
import { formatCount, formatNs, formatRatioInterval, formatTime } from '../format.ts';
import { titleOf } from '../sections/findings.ts';
import type { ComparedSide, ComparedWorkload } from './compare.ts';

/**
 * What becomes of a kernel on a workload. `wrong` is any status of a kernel at fault; `not-judged` blames the device; `not-taken`: the
 * kernel's limits exclude the workload, and did before.
 */
export type GateOutcome = 'passes' | 'wrong' | 'slower' | 'worse-than-best' | 'not-judged' | 'not-taken';

/** The best time that the file of `--baseline` knows. */
export interface BestSoFar {
  ns: number;
  /** Best time ÷ time now; `null` where they can't be compared, and `note` says why. */
  ratio: number | null;
  note?: string;
}

/** A kernel on one workload, before and after the change. `ratio`: time before ÷ time after. */
export interface GatedWorkload extends Partial<Pick<ComparedWorkload, 'verdict' | 'intervalRatio' | 'blockCount'>> {
  workload: string;
  dimensions: Dimensions;
  outcome: GateOutcome;
  /** Why the outcome is not `passes`. */
  why?: string;
  /** `null` where the base has none that can be judged. */
  before: ComparedSide | null;
  after: ComparedSide | null;
  ratio: number | null;
  /** What the counters tell of the difference. */
  changes: string[];
  findings: Finding[];
  /** Rules whose findings the kernel had before. */
  findingsBefore: string[];
  /** Where it is wrong, or does not compile. */
  places: GatePlace[];
  best?: BestSoFar;
}

/** A place in a file of the kernel's folder. */
export interface GatePlace {
  file: string;
  line: number;
  column?: number;
  message: string;
}

/** One kernel that the change touches. */
export interface GatedKernel {
  /** Its folder, from the top of the repository. */
  kernel: string;
  /** changed: its files; new: not in the base; problem: only what judges it. */
  change: 'changed' | 'new' | 'problem';
  /** Its source files, from the top of the repository; the first one is what refusals without a place point to. */
  files: string[];
  /** The code is the same as before, so that nothing was judged: by its tokens, or by its PTX at the default settings. */
  sameCode?: 'tokens' | 'ptx';
  /** Why nothing could be judged: a mistake in its files. */
  error?: { status: EvaluationStatus; message: string; file?: string; path?: string };
  /** Why there is no comparison with the base. */
  notCompared?: string;
  /** Of what was judged. */
  seed?: number;
  workloads: GatedWorkload[];
}

export interface GateView {
  schemaVersion: 1;
  kind: 'gate';
  /** `commit`: the newest that both have, which kernels are compared with. */
  base: { ref: string; commit: string };
  /** `isDirty`: files of kernels or problems are not committed; they were judged as they are. */
  head: { commit: string; isDirty: boolean };
  /** Files that the change touches, whether or not they are of kernels. */
  fileCount: number;
  checks: 'usual' | 'thorough';
  /** Percent. */
  maximumSlowdown: number;
  /** `null` where nothing had to be judged. */
  device: DeviceIdentity | null;
  kernels: GatedKernel[];
  /** Problems that changed, so that all their kernels are judged. */
  problems: string[];
  deleted: string[];
  /** Kernels that `--most` left out. */
  leftOut: string[];
  /** Names of `--workload` that no touched problem declares. */
  unknownWorkloads: string[];
  baseline: { file: string; written: number | null } | null;
  passes: boolean;
  /** `kernel workload` of every refusal; the kernel alone for a mistake in its files. */
  failing: string[];
}

/** Outcomes that refuse a change. */
const REFUSALS: ReadonlySet<GateOutcome> = new Set(['wrong', 'slower', 'worse-than-best']);

export const isRefused = ({ outcome }: Pick<GatedWorkload, 'outcome'>): boolean => REFUSALS.has(outcome);

/** What refuses the change, by kernel and workload. */
export const failingOf = (kernels: readonly GatedKernel[]): string[] =>
  kernels.flatMap(({ kernel, error, workloads }) => [
    ...(error ? [kernel] : []),
    ...workloads.filter(isRefused).map(({ workload }) => `${kernel} ${workload}`),
  ]);

/** Whether something could not be judged, because the device does not run it. */
export const isLeftOpen = ({ kernels }: Pick<GateView, 'kernels'>): boolean =>
  kernels.some(({ workloads }) => workloads.some(({ outcome }) => outcome === 'not-judged'));

const OUTCOMES: Readonly<Record<GateOutcome, doc.Inline>> = {
  passes: doc.good('passes'),
  wrong: doc.bad('wrong'),
  slower: doc.bad('slower'),
  'worse-than-best': doc.bad('worse than the best'),
  'not-judged': doc.warn('not judged'),
  'not-taken': doc.dim('not taken'),
};

const shortCommit = (commit: string): string => commit.slice(0, 12);

function lead(view: GateView): doc.Inline {
  const { kernels, failing, fileCount, passes } = view;
  if (kernels.length === 0 && failing.length === 0)
    return [doc.good('passes'), `: ${formatCount(fileCount, 'file')} changed, no kernel among them`];
  const same = kernels.filter(({ sameCode }) => sameCode).length;
  const counts = `${formatCount(kernels.length, 'kernel')} touched${same > 0 ? `, ${same} with the same code as before` : ''}`;
  if (failing.length > 0) return [doc.bad('refused'), `: ${formatCount(failing.length, 'refusal')}; ${counts}`];
  return passes
    ? [doc.good('passes'), `: ${counts}`]
    : [doc.warn('not judged'), `: the device does not run all of it; ${counts}`];
}

/** Rows of the table: one for each workload, one for a kernel without any. */
interface Shown {
  readonly kernel: GatedKernel;
  readonly row?: GatedWorkload;
}

const shownOf = (kernels: readonly GatedKernel[]): Shown[] =>
  kernels.flatMap((kernel): Shown[] =>
    kernel.workloads.length === 0 ? [{ kernel }] : kernel.workloads.map((row) => ({ kernel, row })),
  );

const SAME: Readonly<Record<NonNullable<GatedKernel['sameCode']>, string>> = {
  tokens: 'same code',
  ptx: 'same PTX',
};

function outcomeOf({ kernel, row }: Shown): doc.Inline {
  if (row) return OUTCOMES[row.outcome];
  if (kernel.error) return doc.bad(kernel.error.status);
  return kernel.sameCode ? doc.good(SAME[kernel.sameCode]) : doc.dim('not judged');
}

function sideText(side: ComparedSide | null | undefined): string | undefined {
  if (!side) return undefined;
  return side.timing ? formatTime(side.timing.kind, side.timing.medianNs) : side.status;
}

/** `3.1 % slower`, `as fast`. */
function changeText({ ratio, verdict }: GatedWorkload): string | undefined {
  if (ratio === null) return undefined;
  const percent = 100 * (1 / ratio - 1);
  const amount = Math.abs(percent).toFixed(1);
  const text = amount === '0.0' ? 'as fast' : `${amount} % ${percent > 0 ? 'slower' : 'faster'}`;
  return verdict === undefined ? text : `${text} (${verdict})`;
}

const reasonsOf = ({ kernel, error, notCompared, workloads }: GatedKernel) => [
  error && `${kernel}: ${error.message}`,
  notCompared && `${kernel}: not compared with the base: ${notCompared}`,
  ...workloads.flatMap(({ workload, why, best }) =>
    [why, best?.note].map((said) => said && `${kernel}, ${workload}: ${said}`),
  ),
];

const countersOf = ({ kernel, workloads }: GatedKernel): doc.Part =>
  workloads.map(({ workload, changes }) => doc.titledList(`${kernel}, ${workload}`, changes));

const findingsOf = ({ kernel, workloads }: GatedKernel): doc.Part =>
  workloads.map((row) =>
    doc.titledList(
      `${kernel}, ${row.workload}`,
      row.findings.map((finding) => `${titleOf(finding)}${isNewIn(row, finding) ? ', new' : ''}`),
    ),
  );

/** Whether the kernel did not have a finding before. */
export const isNewIn = ({ before, findingsBefore }: GatedWorkload, { id }: Finding): boolean =>
  before !== null && !findingsBefore.includes(id);

/** With the name by which it was found, unless that is its own hash: CI names commits so. */
function describeBase({ commit, ref }: GateView['base']): string {
  if (ref === commit) return shortCommit(commit);
  return `${shortCommit(commit)} (where the change left ${WHOLE_HASH.test(ref) ? shortCommit(ref) : ref})`;
}

const WHOLE_HASH = /^[\da-f]{40,64}$/;

const about = ({ base, head, device, checks, maximumSlowdown, baseline }: GateView) => [
  `base ${describeBase(base)}, head ${shortCommit(head.commit)}${head.isDirty ? ' with files that are not committed' : ''}`,
  device &&
    `on ${device.name} (${device.id}), ${checks} checks; times are ${device.kind === 'virtual' ? 'predicted' : 'measured in the same blocks'}`,
  `a kernel may become ${maximumSlowdown} % slower`,
  baseline &&
    `best so far: ${baseline.file}${baseline.written === null ? '' : `, ${formatCount(baseline.written, 'row')} written`}`,
];

/** What a change does to the kernels that it touches. */
export function gateDocument(view: GateView): doc.Document {
  const { kernels, problems, deleted, leftOut, unknownWorkloads } = view;
  const shown = shownOf(kernels);
  // A device has but one kind of time.
  const isMeasured = view.device?.kind === 'cuda';
  const kind = isMeasured ? 'measured' : 'predicted';
  const hasBest = shown.some(({ row }) => row?.best);
  return doc.documentOf(
    'Kernels of this change',
    [doc.text(lead(view)), doc.list(about(view))],
    [
      doc.section('kernels', 'Kernels', [
        doc.table('Kernels', shown, [
          doc.names('kernel', ({ kernel }) => kernel.kernel),
          doc.words('workload', ({ row }) => row?.workload, 1),
          doc.words('outcome', outcomeOf),
          doc.words('time is', ({ row }) => row && changeText(row)),
          doc.figures(`${kind} before`, ({ row }) => sideText(row?.before), 2),
          doc.figures(`${kind} after`, ({ row }) => sideText(row?.after)),
          isMeasured && doc.words('95 % interval', ({ row }) => formatRatioInterval(row?.intervalRatio), 4),
          hasBest && doc.figures('best so far', ({ row }) => row?.best && formatNs(row.best.ns), 3),
        ]),
        doc.list(kernels.flatMap(reasonsOf)),
      ]),
      doc.section('others', 'Also', [
        doc.list([
          ...problems.map((problem) => `${problem} changed: all its kernels are judged`),
          ...deleted.map((kernel) => `${kernel} is gone`),
          ...leftOut.map((kernel) => doc.warn(`${kernel} was left out by --most`)),
          ...unknownWorkloads.map((name) => doc.warn(`no touched problem declares the workload ${name}`)),
        ]),
      ]),
      doc.section('counters', 'What the counters say', kernels.map(countersOf)),
      doc.detail('findings', 'Findings', kernels.map(findingsOf)),
    ],
  );
}
