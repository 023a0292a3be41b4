import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ArtifactStore } from '../../../core/artifacts.ts';
import type { CompiledCode } from '../../../core/compiled-code.ts';
import type { KernelResources, LaunchCounters } from '../../../core/counters.ts';
import type { Finding } from '../../../core/finding.ts';
import type { LaunchPlan, PlannedLaunch } from '../../../core/launch-plan.ts';
import { rememberedAt } from '../../../core/once-for.ts';
import type { CountersSource, ProfileLevel, ProfileReport } from '../../../core/profile.ts';
import { prepareReplay, type ReplayCommand } from '../../../devices/cuda/replay/replay-command.ts';
import { type ProcessOutcome, runProcess } from '../../../process/run-process.ts';
import { writeTemporaryFile } from '../../../process/temporary-file.ts';
import { withTemporaryFolder } from '../../../process/temporary-folder.ts';
import { findCudaTool, toolVersion } from '../../../toolchains/cuda-toolkit.ts';
import { countersFromMetrics, NOT_COUNTED } from './counters-from-metrics.ts';
import { findingsFromRules, reportedRules } from './findings-from-rules.ts';
import { detailsArguments, profileArguments, sourceArguments, warmUpCount } from './ncu-arguments.ts';
import { OPCODE_METRIC, requestedMetrics, SECTIONS } from './ncu-metrics.ts';
import { type DetailsLaunch, type DetailsPage, parseDetailsPage } from './parse-details-page.ts';
import { parseSourcePage } from './parse-source-page.ts';
import type { ProfileFailureReason } from './profiling-help.ts';
import { sassClass } from './sass-classes.ts';

export interface ProfileRequest {
  /** Number of the GPU, as the driver counts. */
  readonly ordinal: number;
  readonly code: CompiledCode;
  readonly plan: LaunchPlan;
  /** Initial bytes of every `in` and `inout` buffer. */
  readonly contents: ReadonlyMap<string, Uint8Array>;
  readonly level: ProfileLevel;
  /** `all` for cold workloads: caches are flushed before every pass; `none` for hot ones, after one unprofiled run. */
  readonly cacheControl: 'all' | 'none';
  /** Resources by function name, from the driver; the profiler's own figures if absent. */
  readonly resources?: Readonly<Record<string, KernelResources>> | undefined;
  /** Source files by name, for counters by line at the full level. */
  readonly sources?: Readonly<Record<string, string>> | undefined;
  /** The profiler's own report is kept here. */
  readonly keepReportIn?: ArtifactStore | undefined;
  /** Wall-clock limit of ncu; by default 60 s for `light` and 600 s for `full`. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Path of ncu; searched if absent; treated as missing if null. */
  readonly ncu?: string | null;
}

export type ProfileOutcome =
  | {
      readonly ok: true;
      readonly report: ProfileReport;
      /** One for each launch step of the sequence. */
      readonly counters: LaunchCounters[];
      readonly countersSource: CountersSource;
      /** ncu's own rules. */
      readonly findings: Finding[];
    }
  | { readonly ok: false; readonly reason: ProfileFailureReason; readonly detail: string };

type Failure = Extract<ProfileOutcome, { ok: false }>;

const TIMEOUT_MS: Readonly<Record<ProfileLevel, number>> = { light: 60_000, full: 600_000 };
const MAXIMUM_OUTPUT_BYTES = 256 * 1024 ** 2;

/**
 * Profiles one launch sequence with Nsight Compute in a process of its own, outside graphs. Leaves clocks alone. Failures
 * are values: no ncu, forbidden counters, a time limit, or ncu's own message.
 */
export async function profile(request: ProfileRequest): Promise<ProfileOutcome> {
  const startMs = performance.now();
  const ncu = request.ncu === undefined ? findCudaTool('ncu') : request.ncu;
  if (!ncu)
    return {
      ok: false,
      reason: 'missing',
      detail: 'ncu is not installed, or not on the search path or in a CUDA toolkit',
    };
  return withTemporaryFolder(async (folder) => {
    const session = new NcuSession(ncu, request, folder);
    const [collected, version] = await Promise.all([session.collect(), versionOf(ncu)]);
    if (!collected.ok) return collected;
    return session.outcome(collected.page, version, startMs);
  });
}

/** Versions by path: asking starts the program once more. */
const VERSIONS = new Map<string, Promise<string>>();

const versionOf = (ncu: string): Promise<string> => rememberedAt(VERSIONS, ncu, () => toolVersion(ncu));

/** Metrics and sections that an ncu does not know, remembered so that they are requested only once. */
const UNKNOWN_NAMES = new Map<string, Set<string>>();

/** One profile: runs ncu, then reads its report. */
class NcuSession {
  readonly #ncu: string;
  readonly #request: ProfileRequest;
  readonly #folder: string;
  readonly #replay: ReplayCommand;
  readonly #reportPath: string;
  readonly #unknown: Set<string>;

  constructor(ncu: string, request: ProfileRequest, folder: string) {
    this.#ncu = ncu;
    this.#request = request;
    this.#folder = folder;
    this.#reportPath = join(folder, 'report');
    this.#unknown = rememberedAt(UNKNOWN_NAMES, ncu, () => new Set());
    const { ordinal, code, plan, contents, cacheControl } = request;
    this.#replay = prepareReplay(
      {
        ordinal,
        code,
        runs: [{ name: 'profiled sequence', plan, contents }],
        exactAllocations: false,
        leaveUnwritten: false,
        repeatCount: 1 + warmUpCount(cacheControl),
        readOutputs: false,
        timeoutMs: this.#timeoutMs,
      },
      folder,
    );
  }

  get #timeoutMs(): number {
    return this.#request.timeoutMs ?? TIMEOUT_MS[this.#request.level];
  }

  get #launches(): PlannedLaunch[] {
    return this.#request.plan.steps.filter((step) => step.kind === 'launch');
  }

  /** Runs the sequence under ncu. If ncu does not know some metrics, omits them and runs it again. */
  async collect(): Promise<{ ok: true; page: DetailsPage } | Failure> {
    const sourceFolder = this.#writeSources();
    const { level, cacheControl, plan, code } = this.#request;
    const isKnown = (name: string): boolean => !this.#unknown.has(name);
    for (;;) {
      const metrics = requestedMetrics().filter(isKnown);
      const sections = SECTIONS[level].filter(isKnown);
      const reportPath = this.#reportPath;
      const options = {
        sections,
        cacheControl,
        metrics,
        plan,
        code,
        reportPath,
        sourceFolder,
      };
      const outcome = await this.#run([...profileArguments(options), ...this.#replay.command]);
      const unknown = existsSync(this.#reportFile) ? [] : unknownNames(outcome, [...metrics, ...sections]);
      if (unknown.length === 0) return this.#collected(outcome);
      for (const name of unknown) this.#unknown.add(name);
    }
  }

  /** ncu shows sources by line only if it finds them under their names. */
  #writeSources(): string | undefined {
    const { sources, level } = this.#request;
    if (!sources || level !== 'full') return undefined;
    for (const [name, text] of Object.entries(sources)) {
      if (/^[\w.-]+$/.test(name)) writeTemporaryFile(this.#folder, name, text);
    }
    return this.#folder;
  }

  #run(args: readonly string[]): Promise<ProcessOutcome> {
    return runProcess({
      command: this.#ncu,
      args,
      cwd: this.#folder,
      env: this.#replay.environment,
      timeoutMs: this.#timeoutMs,
      maximumOutputBytes: MAXIMUM_OUTPUT_BYTES,
      signal: this.#request.signal,
    });
  }

  async #collected(outcome: ProcessOutcome): Promise<{ ok: true; page: DetailsPage } | Failure> {
    const failure = this.#failure(outcome);
    if (failure) return failure;
    const printed = parseDetailsPage(outcome.stdout);
    const page =
      printed.launches.length > 0
        ? printed
        : parseDetailsPage((await this.#run(detailsArguments(this.#reportFile))).stdout);
    if (page.launches.length === this.#launches.length) return { ok: true, page };
    const detail = `ncu profiled ${page.launches.length} of ${this.#launches.length} launches. ${tail(outcome)}`;
    return { ok: false, reason: 'failed', detail };
  }

  #failure(outcome: ProcessOutcome): Failure | undefined {
    const output = outcome.stdout + outcome.stderr;
    if (outcome.end === 'aborted') this.#request.signal?.throwIfAborted();
    if (/ERR_NVGPUCTRPERM/.test(output)) return { ok: false, reason: 'forbidden', detail: messageOf(output) };
    if (outcome.end === 'timed-out') {
      const detail = `ncu did not finish within ${this.#timeoutMs / 1000} s. ${messageOf(output)}`;
      return { ok: false, reason: 'timed-out', detail: detail.trim() };
    }
    const replayed = this.#replay.result();
    const failed = replayed?.failure ?? replayed?.runs.find((run) => !run.ok);
    if (failed) {
      const message = typeof failed === 'string' ? failed : failed.ok ? '' : failed.message;
      return { ok: false, reason: 'failed', detail: `the sequence failed under ncu: ${message}. ${messageOf(output)}` };
    }
    if (existsSync(this.#reportFile)) return undefined;
    return { ok: false, reason: 'failed', detail: `ncu left no report (${outcome.end}). ${tail(outcome)}` };
  }

  get #reportFile(): string {
    return `${this.#reportPath}.ncu-rep`;
  }

  async outcome({ launches, rules }: DetailsPage, version: string, startMs: number): Promise<ProfileOutcome> {
    const { level, cacheControl, keepReportIn } = this.#request;
    const lines = await this.#lines();
    const functionOf = (index: number): string => this.#launches[index]?.functionName ?? '?';
    const counters = launches.map((profiled, i) => {
      const planned = this.#launches[i]!;
      const resources = this.#request.resources?.[planned.functionName];
      return countersFromMetrics({ profiled, planned, plan: this.#request.plan, resources, lines: lines[i] ?? [] });
    });
    const report: ProfileReport = {
      tool: 'ncu',
      version,
      level,
      clockControl: 'none',
      cacheControl,
      launches: launches.map(({ metrics }, i) => ({ functionName: functionOf(i), metrics })),
      rules: reportedRules(rules, functionOf),
      reportObject: keepReportIn ? keepReportIn.put(readFileSync(this.#reportFile)) : undefined,
      elapsedMs: performance.now() - startMs,
    };
    const countersSource: CountersSource = { kind: 'ncu', detail: this.#sourceDetail(version, launches) };
    return { ok: true, report, counters, countersSource, findings: findingsFromRules(rules, functionOf) };
  }

  async #lines() {
    if (this.#request.level !== 'full') return [];
    const pages = this.#launches.map((_, i) => this.#run(sourceArguments(this.#reportFile, i)));
    return (await Promise.all(pages)).map(({ stdout }) => parseSourcePage(stdout));
  }

  #sourceDetail(version: string, launches: readonly DetailsLaunch[]): string {
    const missing = [...new Set([...this.#unknown, ...launches.flatMap(({ unavailable }) => unavailable)])];
    const asked = [...requestedMetrics(), ...SECTIONS[this.#request.level]];
    const without = asked.filter((name) => missing.includes(name));
    const gaps = without.length === 0 ? '' : `; not available: ${without.join(', ')}`;
    const opcodes = launches.flatMap(({ instances }) => [...(instances[OPCODE_METRIC]?.keys() ?? [])]);
    const unclassed = [...new Set(opcodes.filter((opcode) => sassClass(opcode) === undefined))];
    const moves = unclassed.length === 0 ? '' : `; classed as moves for want of a class: ${unclassed.join(', ')}`;
    return `counted by ncu ${version}: ${NOT_COUNTED}${gaps}${moves}`;
  }
}

const COMPLAINT = /fail|unknown|invalid|not (?:found|find|available|supported)/i;

/** Metrics and sections that ncu names as unknown, metrics as `regex:^name\\.(sum|…)$`. */
function unknownNames(outcome: ProcessOutcome, names: readonly string[]): string[] {
  const complaints = (outcome.stdout + outcome.stderr)
    .split('\n')
    .filter((line) => /\b(metric|section)/i.test(line) && COMPLAINT.test(line));
  return names.filter((name) => {
    const base = new RegExp(`(?<!\\w)${name.split('.')[0]!}(?!\\w)`);
    return complaints.some((line) => base.test(line));
  });
}

/** ncu's own lines about errors. */
const messageOf = (output: string): string =>
  output
    .split('\n')
    .filter((line) => /^==(ERROR|WARNING)==/.test(line))
    .join(' ')
    .slice(0, MESSAGE_CHARACTERS);

/** The last that was said, for causes nobody foresaw. */
function tail({ stdout, stderr }: ProcessOutcome): string {
  const message = messageOf(stdout + stderr);
  return message === '' ? `${stderr}\n${stdout}`.trim().slice(-MESSAGE_CHARACTERS) : message;
}

const MESSAGE_CHARACTERS = 1000;
