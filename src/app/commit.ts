import { describeSizes } from '../core/compared-sizes.ts';
import { WarpsmithError } from '../core/errors.ts';
import { assignments } from '../core/values.ts';
import { type MadeBranch, makeBranch } from '../handover/git-branch.ts';
import { type KeptChange, keptChanges } from '../handover/kept-changes.ts';
import { isSameKernel } from '../handover/same-kernel.ts';
import { formatMove, formatRatioInterval, formatTiming } from '../reports/format.ts';
import { type CandidateTarget, candidateTarget, type LoadedRun, restore, startOf } from './candidate-target.ts';
import { folderOf } from './export.ts';

export interface CommitReport extends MadeBranch {
  /** Subjects of the commits, oldest first. */
  readonly subjects: readonly string[];
}

/**
 * Makes a branch of the changes that a run kept, in the repository that holds its start kernel: one commit per change, with
 * its evidence. Checks out nothing.
 *
 * @param target as `candidateTarget`; a run, or one of its evaluations, at which the branch ends.
 * @throws WarpsmithError `commit-needs-a-run`, `no-kept-changes`; as `makeBranch` and `candidateTarget`.
 */
export async function commitRun(target: string, { store }: { store: string }): Promise<CommitReport> {
  const best = await candidateTarget(target, { store, parameters: {} });
  if (!best.origin) throw needsRun(target);
  const { run } = best.origin;
  const kept = keptChanges(run.events, best.candidate.id);
  if (kept.length === 0) throw nothingKept(run, best);
  const start = await startOf(best);
  const { folder } = start.kernel;
  const changes: { files: Readonly<Record<string, string>>; message: string }[] = [];
  for (const change of kept) {
    const { candidate } = await restore(run, change.event);
    changes.push({ files: folderOf(candidate, start.kernel), message: messageOf(run, change) });
  }
  const made = await makeBranch({
    folder,
    before: folderOf(start, start.kernel),
    // Compares parsed JSON: layout does not matter, and the run may have started with other values than the defaults.
    isSame: (name, atHead) => name === 'kernel.json' && isSameKernel(atHead, start.kernel.file),
    branch: `warpsmith/${run.id}`,
    changes,
  });
  return { ...made, subjects: changes.map(({ message }) => message.split('\n')[0]!) };
}

/** Subject, then the evidence: the ratio with its kind and interval, the finding, and where it was judged. */
function messageOf(run: LoadedRun, { event, decision, move, confirmation }: KeptChange): string {
  const { evaluation } = event;
  const { device } = run.started;
  const setting = [evaluation.candidate.kernel, ...assignments(evaluation.candidate.parameters)].join(' ');
  const lines = [
    move ? formatMove(move.move) : setting,
    '',
    `${sentence(decision.reason)}${decision.intervalRatio ? ` Interval ${formatRatioInterval(decision.intervalRatio)}.` : ''}`,
    // Blind strategies have no finding to name.
    ...(move && move.finding.id !== 'none'
      ? [`Finding: ${move.finding.id} of ${move.finding.evaluationId}: ${move.finding.evidence}`]
      : []),
    ...(move?.move.kind === 'written' ? [`Hypothesis: ${move.move.hypothesis}`] : []),
    ...(move ? [`Pattern: ${move.pattern.title}`] : []),
    ...(evaluation.timing ? [`Time: ${formatTiming(evaluation.timing)}`] : []),
    ...(confirmation ? [`Confirmation: ${confirmation.outcome}: ${confirmation.reason}`] : []),
    '',
    `Evaluation: ${evaluation.id} of warpsmith run ${run.id}`,
    `Candidate: ${evaluation.candidate.id} (${setting})`,
    `Workload: ${evaluation.workload.name}`,
    ...(evaluation.coverage?.compared ? [`Compared: ${describeSizes(evaluation.coverage.compared)}`] : []),
    `Device: ${device.name} (${device.id})`,
    '',
  ];
  return lines.join('\n');
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

const needsRun = (target: string): WarpsmithError =>
  new WarpsmithError({
    code: 'commit-needs-a-run',
    message: `${target} is a kernel; --commit needs a run, whose kept changes it commits.`,
    path: '--commit',
    received: target,
    expected: 'a run, or RUN/e12',
    hint: 'Name a run, such as latest.',
  });

const nothingKept = (run: LoadedRun, { candidate }: CandidateTarget): WarpsmithError =>
  new WarpsmithError({
    code: 'no-kept-changes',
    message: `Run ${run.id} kept no change on the way to candidate ${candidate.id}.`,
    file: run.folder,
    path: '--commit',
    received: 'the start, or a candidate that was not kept',
    expected: 'a run that kept a change',
    hint: `See \`warpsmith report ${run.id}\`; change.patch has the difference to any candidate.`,
  });
