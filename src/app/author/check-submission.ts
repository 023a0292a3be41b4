import type { Candidate } from '../../core/kernel.ts';
import type { PlannedStep } from '../../core/launch-plan.ts';
import { whyNotTaken } from '../../core/plan/takes-workload.ts';
import type { Problem, Workload } from '../../core/problem.ts';
import { planLaunches } from '../../evaluation/launches/plan-launches.ts';
import { describeDiagnostic } from '../../reports/format.ts';
import type { Session } from '../session.ts';

/** Where an author's kernels are compiled: a turn, or a run. */
export interface Bench {
  readonly problem: Problem;
  readonly workload: Workload;
  session(): Promise<Session>;
  /** Does work that needs the device, when nothing else does. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

/** Where kernels are compiled while a run asks for them: the author holds the device already. */
export const benchOfRun = (session: Session, problem: Problem, workload: Workload): Bench => ({
  problem,
  workload,
  session: async () => session,
  inTurn: (work) => work(),
});

/** What compiling a submission shows. */
export interface SubmissionCheck {
  candidate: string;
  compiles: boolean;
  /** Why it does not, or would not run. */
  problem: string | null;
  diagnostics: string[];
  /** Per function: registers, shared and local bytes. */
  resources: string[];
  /** Launches of the workload. */
  launches: string[];
}

const MOST_DIAGNOSTICS = 12;

/**
 * Compiles a submission and expands its launches; runs nothing, and costs no evaluation.
 *
 * @throws WarpsmithError for a mistake in a launch plan.
 */
export async function checkSubmission(
  turn: Bench,
  candidate: Candidate,
  signal?: AbortSignal,
): Promise<SubmissionCheck> {
  const session = await turn.session();
  const { dimensions } = turn.workload;
  const refused = whyNotTaken(candidate, dimensions);
  const plan =
    refused === undefined
      ? planLaunches({ problem: turn.problem, candidate, dimensions, spec: session.device.spec })
      : undefined;
  const look = await turn.inTurn(() => session.compile!(candidate, signal));
  const { compiled, refusal, resources = {} } = look;
  const notTaken = refused === undefined ? null : `the workload is not taken: needs ${refused}`;
  const diagnostics = compiled.ok ? compiled.code.diagnostics : compiled.diagnostics;
  return {
    candidate: candidate.id,
    compiles: compiled.ok && refusal === undefined,
    problem: compiled.ok ? (refusal?.message ?? notTaken) : compiled.message,
    diagnostics: diagnostics.slice(0, MOST_DIAGNOSTICS).map(describeDiagnostic),
    resources: Object.entries(resources).map(
      ([name, { registersPerThread, registersSource, staticSharedBytes, localBytesPerThread }]) =>
        `${name}: ${registersPerThread} registers per thread (${registersSource === 'compiler' ? 'by the compiler' : 'estimated'}), ` +
        `${staticSharedBytes} B static shared, ${localBytesPerThread} B local${localBytesPerThread > 0 ? ' (arrays or spills)' : ''}`,
    ),
    launches: (plan?.steps ?? []).map(stepText),
  };
}

function stepText(step: PlannedStep): string {
  if (step.kind === 'memset') return `memset ${step.buffer}`;
  if (step.kind === 'copy') return `copy of ${step.bytes} B from ${step.from.buffer} to ${step.to.buffer}`;
  const { functionName, grid, block, dynamicSharedBytes } = step;
  return `${functionName} grid (${grid.join(', ')}) block (${block.join(', ')}), ${dynamicSharedBytes} B dynamic shared`;
}

/** Why a submission does not compile, or would not run; undefined if nothing speaks against it, or nothing can be compiled here. */
export async function refusedSubmission(
  bench: Bench,
  candidate: Candidate,
  signal?: AbortSignal,
): Promise<{ readonly code: string; readonly reason: string } | undefined> {
  if (!(await bench.session()).compile) return undefined;
  const { compiles, problem, diagnostics } = await checkSubmission(bench, candidate, signal);
  if (compiles && problem === null) return undefined;
  return { code: 'does-not-compile', reason: [problem, ...diagnostics].filter(Boolean).join('\n') };
}
