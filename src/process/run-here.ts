import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { findExecutable, isExecutableFile } from './find-executable.ts';
import { spawnGuarded } from './guard.ts';
import { minimalEnvironment } from './minimal-environment.ts';
import { groupResidentBytes, killGroup, residentBytes } from './process-group.ts';

export interface ProcessRequest {
  /** Absolute path, or a name looked up on the search path. Never run through a shell. */
  command: string;
  args: readonly string[];
  cwd: string;
  /** The whole environment of the child; {@link minimalEnvironment} when absent. */
  env?: Readonly<Record<string, string>>;
  stdin?: string | Uint8Array;
  timeoutMs: number;
  /** stdout and stderr together. */
  maximumOutputBytes: number;
  /** How bytes of the output become text; `latin1` keeps each of them. */
  encoding?: 'utf8' | 'latin1';
  /** Resident memory of the whole group. */
  maximumMemoryBytes?: number;
  signal?: AbortSignal | undefined;
}

export interface ProcessOutcome {
  /**
   * `exited`: by itself, with `exitCode`; `signaled`: by a signal that was not ours; `not-started`: see `stderr`. The
   * others say which limit ended it.
   */
  end: 'exited' | 'signaled' | 'timed-out' | 'aborted' | 'memory-exceeded' | 'output-exceeded' | 'not-started';
  exitCode?: number;
  signal?: NodeJS.Signals;
  /** The output until the end, at most `maximumOutputBytes` in all. */
  stdout: string;
  stderr: string;
  elapsedMs: number;
}

type Limit = 'timed-out' | 'aborted' | 'memory-exceeded' | 'output-exceeded';

const MEMORY_POLL_MS = 50;
/** Going through all processes of the machine for those of the group takes milliseconds: done at every tenth poll. */
const POLLS_PER_GROUP = 10;

/**
 * Runs a program in its own process group and returns how it ended; never rejects because of the program. At its end, by
 * itself or by a limit, all remaining processes of its group are killed.
 */
export async function runHere(request: ProcessRequest): Promise<ProcessOutcome> {
  const startMs = performance.now();
  const elapsedMs = () => performance.now() - startMs;
  if (request.signal?.aborted) return { end: 'aborted', stdout: '', stderr: '', elapsedMs: 0 };

  const resolved = resolveCommand(request);
  if (resolved === undefined) {
    const stderr = `${request.command}: no such executable file`;
    return { end: 'not-started', stdout: '', stderr, elapsedMs: elapsedMs() };
  }
  const { command, args } = withHardLimits(resolved, request);
  const child = spawnGuarded(command, args, {
    cwd: request.cwd,
    env: request.env ?? minimalEnvironment(),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const groupId = child.pid;
  if (groupId === undefined) {
    return { end: 'not-started', stdout: '', stderr: await startError(child), elapsedMs: elapsedMs() };
  }

  let limit: Limit | undefined;
  const stop = (reason: Limit) => {
    limit ??= reason;
    killGroup(groupId);
  };
  const release = watch(request, groupId, stop);
  const output = collectOutput(child, request, () => stop('output-exceeded'));
  feed(child, request.stdin);

  const { exitCode, signal } = await ended(child);
  release();
  const base = { stdout: output.stdout(), stderr: output.stderr(), elapsedMs: elapsedMs() };
  if (limit !== undefined) return { end: limit, ...base };
  if (signal !== null) return { end: 'signaled', signal, ...base };
  return { end: 'exited', exitCode: exitCode ?? 0, ...base };
}

/** Where the command really is; unlike the system's own search, the same with and without `prlimit` in front. */
function resolveCommand(request: ProcessRequest): string | undefined {
  if (request.command.includes('/')) return isExecutableFile(request.command) ? request.command : undefined;
  return findExecutable(request.command, (request.env ?? minimalEnvironment()).PATH);
}

/** `prlimit` replaces itself by the command, so the child's id and group stay the same. */
function withHardLimits(command: string, request: ProcessRequest): { command: string; args: string[] } {
  const prlimit = request.maximumMemoryBytes === undefined ? undefined : findExecutable('prlimit');
  if (prlimit === undefined || request.maximumMemoryBytes === undefined) return { command, args: [...request.args] };
  // Address space exceeds resident memory. The CPU-time limit also bounds a child that nobody watches.
  const addressSpaceBytes = 2 * request.maximumMemoryBytes;
  const cpuSeconds = Math.ceil(request.timeoutMs / 1000) * availableParallelism() + 1;
  const limits = [`--as=${addressSpaceBytes}`, `--cpu=${cpuSeconds}`, '--core=0'];
  return { command: prlimit, args: [...limits, '--', command, ...request.args] };
}

function startError(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.once('error', (error) => resolve(error.message)));
}

/** Arms every limit but output; the returned function disarms them. */
function watch(request: ProcessRequest, groupId: number, stop: (reason: Limit) => void): () => void {
  const onAbort = () => stop('aborted');
  request.signal?.addEventListener('abort', onAbort, { once: true });
  const timeout = setTimeout(() => stop('timed-out'), request.timeoutMs);
  const maximumMemoryBytes = request.maximumMemoryBytes ?? Number.POSITIVE_INFINITY;
  let polls = 0;
  const poll = Number.isFinite(maximumMemoryBytes)
    ? setInterval(() => {
        const isOfGroup = ++polls % POLLS_PER_GROUP === 0;
        // The group's number is that of the process that leads it.
        const bytes = isOfGroup ? groupResidentBytes(groupId) : residentBytes(groupId);
        if (bytes > maximumMemoryBytes) stop('memory-exceeded');
      }, MEMORY_POLL_MS)
    : undefined;
  return () => {
    request.signal?.removeEventListener('abort', onAbort);
    clearTimeout(timeout);
    clearInterval(poll);
  };
}

function collectOutput(
  child: ChildProcess,
  { maximumOutputBytes: maximumBytes, encoding = 'utf8' }: ProcessRequest,
  onTooMuch: () => void,
) {
  let total = 0;
  const collect = (stream: NodeJS.ReadableStream | null): (() => string) => {
    const chunks: Buffer[] = [];
    stream?.on('data', (chunk: Buffer) => {
      const room = maximumBytes - total;
      total += chunk.length;
      if (room > 0) chunks.push(chunk.length <= room ? chunk : chunk.subarray(0, room));
      if (chunk.length > room) onTooMuch();
    });
    return () => Buffer.concat(chunks).toString(encoding);
  };
  return { stdout: collect(child.stdout), stderr: collect(child.stderr) };
}

function feed(child: ChildProcess, stdin: string | Uint8Array | undefined): void {
  // A program that ends without reading its input closes the pipe: not our error.
  child.stdin?.on('error', () => {});
  child.stdin?.end(stdin);
}

/** How long a process that left the group may hold the output pipes open after the program's end. */
const PIPE_GRACE_MS = 500;

/**
 * Resolves when the program has ended and its pipes are closed. Kills the rest of its group first, so that no grandchild
 * keeps inherited pipes open.
 */
function ended(child: ChildProcess): Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => {
    let grace: NodeJS.Timeout | undefined;
    child.once('exit', () => {
      grace = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, PIPE_GRACE_MS);
    });
    child.once('close', (exitCode, signal) => {
      clearTimeout(grace);
      resolve({ exitCode, signal });
    });
  });
}
