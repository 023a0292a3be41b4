import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allEnded } from '../../../core/all-ended.ts';
import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { LaunchPlan } from '../../../core/launch-plan.ts';
import type { SanitizerReport, SanitizerToolReport } from '../../../core/profile.ts';
import { SANITIZER_TOOLS, type SanitizerTool } from '../../../core/vocabulary.ts';
import { prepareReplay } from '../../../devices/cuda/replay/replay-command.ts';
import type { ReplayResult, ReplayRun } from '../../../devices/cuda/replay/replay-request.ts';
import { type ProcessOutcome, runProcess } from '../../../process/run-process.ts';
import { withTemporaryFolder } from '../../../process/temporary-folder.ts';
import { findCudaTool, toolVersion } from '../../../toolchains/cuda-toolkit.ts';
import { parseSanitizerLog, type SanitizerRecord } from './sanitizer-log.ts';

export interface SanitizeRequest {
  /** Number of the GPU, as the driver counts. */
  readonly ordinal: number;
  readonly code: CompiledCode;
  /** Check shapes, each with its plan and inputs; see `sanitizerChecks`. */
  readonly checks: readonly ReplayRun[];
  /** The workload as it is timed. */
  readonly timed?: TimedRuns;
  /** All four when absent. */
  readonly tools?: readonly SanitizerTool[];
  /** Wall-clock limit of each tool; 240 s when absent. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Path of compute-sanitizer; searched if absent; treated as missing if null. */
  readonly sanitizer?: string | null;
}

/** The same launch sequence, many times in a row and a few times; see `sanitizerBursts`. */
export interface TimedRuns {
  readonly many: ReplayRun;
  readonly few: ReplayRun;
}

/** They share the GPU with one another, and perhaps with a verification. */
const DEFAULT_TIMEOUT_MS = 240_000;
const MAXIMUM_OUTPUT_BYTES = 16 * 1024 ** 2;
/** Most complaints that a tool prints, and most that are described. */
const PRINT_LIMIT = 20;
const DESCRIBED_COUNT = 3;
/** An exit code that neither Node nor the tool itself uses. */
const ERROR_EXIT_CODE = 86;

/** What each tool is told beside what all are told. */
const TOOL_ARGUMENTS: Readonly<Record<SanitizerTool, readonly string[]>> = {
  // The replay reports failing driver calls itself; looking up optional functions is no error.
  memcheck: ['--report-api-errors', 'no'],
  racecheck: [],
  initcheck: [],
  synccheck: [],
};

/**
 * Runs a candidate's check shapes under compute-sanitizer's tools, all at once, in processes of their own. Every buffer is an allocation
 * of its exact size; outputs and workspaces are unwritten. A tool is clean only if it ran to its end and found nothing.
 */
export async function sanitize(request: SanitizeRequest): Promise<SanitizerReport> {
  const tools = request.tools ?? SANITIZER_TOOLS;
  const sanitizer = request.sanitizer === undefined ? findCudaTool('compute-sanitizer') : request.sanitizer;
  if (!sanitizer) return { outcome: 'unsanitized', version: null, tools: tools.map(absent) };
  const version = await toolVersion(sanitizer);
  const reports = await allEnded(tools.map((tool) => runTool(tool, sanitizer, request)));
  return { outcome: overall(reports), version, tools: reports };
}

const absent = (tool: SanitizerTool): SanitizerToolReport => ({
  tool,
  outcome: 'absent',
  errorCount: 0,
  detail: 'compute-sanitizer is not installed, or not on the search path or in a CUDA toolkit, which contains it',
  elapsedMs: 0,
});

/** An empty list of tools has shown nothing either. */
function overall(reports: readonly SanitizerToolReport[]): SanitizerReport['outcome'] {
  if (reports.some(({ outcome }) => outcome === 'errors')) return 'errors';
  return reports.length > 0 && reports.every(({ outcome }) => outcome === 'clean') ? 'clean' : 'unsanitized';
}

function runTool(tool: SanitizerTool, sanitizer: string, request: SanitizeRequest): Promise<SanitizerToolReport> {
  return withTemporaryFolder(async (folder) => {
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const runs = RUNS_OF[tool](request.checks, request.timed);
    const replay = prepareReplay(
      {
        ordinal: request.ordinal,
        code: request.code,
        runs,
        exactAllocations: true,
        leaveUnwritten: true,
        repeatCount: 1,
        readOutputs: false,
        timeoutMs,
      },
      folder,
    );
    const logPath = join(folder, 'sanitizer.log');
    const outcome = await runProcess({
      command: sanitizer,
      args: [...toolArguments(tool, logPath), ...replay.command],
      cwd: folder,
      env: replay.environment,
      timeoutMs,
      maximumOutputBytes: MAXIMUM_OUTPUT_BYTES,
      signal: request.signal,
    });
    request.signal?.throwIfAborted();
    const log = existsSync(logPath) ? readFileSync(logPath, 'utf8') : '';
    return toolReport(tool, { outcome, log, replayed: replay.result(), runs });
  });
}

type RunsOfTool = (checks: readonly ReplayRun[], timed: TimedRuns | undefined) => readonly ReplayRun[];

const checksAndMany: RunsOfTool = (checks, timed) => [...checks, ...(timed ? [timed.many] : [])];

/** What each tool runs. */
const RUNS_OF: Readonly<Record<SanitizerTool, RunsOfTool>> = {
  // Accesses that need more than the declared alignment fail only at addresses with no more than that.
  memcheck: (checks, timed) =>
    checksAndMany(checks, timed).flatMap((check) => [
      check,
      { ...check, name: `${check.name}, at the declared alignment`, minimumAlignment: true },
    ]),
  // A race in shared memory lies within one CTA of one launch, and racecheck takes many times as long as the other tools.
  racecheck: (checks, timed) => [...checks, ...(timed ? [timed.few] : [])],
  initcheck: checksAndMany,
  synccheck: checksAndMany,
};

const toolArguments = (tool: SanitizerTool, logPath: string): string[] => [
  '--tool',
  tool,
  '--log-file',
  logPath,
  '--error-exitcode',
  String(ERROR_EXIT_CODE),
  '--print-limit',
  String(PRINT_LIMIT),
  '--show-backtrace',
  'device',
  '--target-processes',
  'application-only',
  ...TOOL_ARGUMENTS[tool],
];

/** The result of one tool. It is clean only with a complete log without errors, a normal exit and a finished replay. */
function toolReport(
  tool: SanitizerTool,
  seen: {
    outcome: ProcessOutcome;
    log: string;
    replayed: ReplayResult | undefined;
    runs: readonly ReplayRun[];
  },
): SanitizerToolReport {
  const { outcome, replayed, runs } = seen;
  const log = parseSanitizerLog(seen.log);
  const report = (kind: SanitizerToolReport['outcome'], detail: string): SanitizerToolReport => ({
    tool,
    outcome: kind,
    errorCount: log.errorCount,
    detail,
    elapsedMs: outcome.elapsedMs,
  });
  if (log.errorCount > 0 || log.records.length > 0) {
    const plans = runs.map(({ plan }) => plan);
    const described = log.records.slice(0, DESCRIBED_COUNT).map((record) => describeRecord(record, plans));
    const first = described.length > 0 ? described.join('\n') : `${log.errorCount} errors without a description`;
    return { ...report('errors', first), errorCount: Math.max(log.errorCount, log.records.length) };
  }
  if (outcome.end === 'timed-out')
    return report('timed-out', `not done after ${(outcome.elapsedMs / 1000).toFixed(1)} s`);
  const trouble = troubleOf(outcome, replayed, runs.length) ?? (log.isComplete ? undefined : 'no summary');
  if (trouble === undefined) return report('clean', '');
  return report('failed', [trouble, ...log.remarks, outcome.stderr.trim().slice(-500)].filter(Boolean).join('. '));
}

/** Why a run without complaints has shown nothing. */
function troubleOf(
  outcome: ProcessOutcome,
  replayed: ReplayResult | undefined,
  checkCount: number,
): string | undefined {
  if (checkCount === 0) return 'no check shape to run';
  if (outcome.end !== 'exited') return `the tool ended: ${outcome.end}${outcome.signal ? ` (${outcome.signal})` : ''}`;
  if (outcome.exitCode !== 0) return `the tool ended with exit code ${outcome.exitCode}`;
  if (!replayed) return 'the kernel’s process left no result';
  if (replayed.failure !== undefined) return `the kernel could not be run: ${replayed.failure}`;
  const failed = replayed.runs.find((run) => !run.ok);
  if (failed && !failed.ok) return `${failed.name}: ${failed.message}`;
  return replayed.runs.length === checkCount ? undefined : `${replayed.runs.length} of ${checkCount} checks were run`;
}

/**
 * A complaint in one line, with its buffer if it can be identified: every buffer is an allocation of its own with its exact
 * size, so the size often identifies it.
 */
export function describeRecord(
  { description, allocationBytes }: SanitizerRecord,
  plans: readonly LaunchPlan[],
): string {
  const names = new Set(
    plans.flatMap(({ buffers }) =>
      buffers.filter(({ bytes }) => bytes === allocationBytes).map(({ name }) => `'${name}'`),
    ),
  );
  return names.size === 0 ? description : `${description} (as large as ${[...names].join(' or ')})`;
}
