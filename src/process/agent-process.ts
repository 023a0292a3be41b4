import { randomUUID } from 'node:crypto';
import { spawnGuarded } from './guard.ts';
import type { LineProcessOptions } from './line-process.ts';
import { endMarkedProcesses, markedProcesses } from './marked-processes.ts';
import { killGroup, signalProcess } from './process-group.ts';
import { processTree } from './process-tree.ts';

export interface AgentRequest extends Pick<LineProcessOptions, 'command' | 'args' | 'cwd' | 'env'> {
  /** Written to its stdin, which then ends. */
  readonly stdin: string;
  readonly timeoutMs: number;
}

/** How an agent's process ended. */
export interface AgentEnd {
  readonly end: 'exited' | 'killed' | 'not-started' | 'timed-out' | 'ended';
  /** For people: the exit code, the signal, or the system's error. */
  readonly detail: string;
  /** Processes that it left in other groups. */
  readonly survivors: number;
  /** The last that it wrote to stdout and stderr. */
  readonly output: string;
}

/** A coding agent that works by itself for a while. */
export interface AgentProcess {
  /** Settles when it has ended, and everything that it started. Never rejects. */
  readonly ended: Promise<AgentEnd>;
  /**
   * Stops all its processes where they are, until `resume`. The end of this process, of its time or of the agent ends them all the same,
   * because SIGKILL reaches what is stopped.
   */
  pause(): void;
  resume(): void;
  /** Ends it now. */
  end(): Promise<AgentEnd>;
}

/** All children inherit it, also those in a group of their own. */
const MARK_NAME = 'WARPSMITH_AGENT';
/** Of what it writes, the rest is read and thrown away. */
const OUTPUT_TAIL_BYTES = 64 * 1024;
/** How long a process that left the group may hold the output pipes open. */
const PIPE_GRACE_MS = 500;

/**
 * Starts an agent in a process group of its own. At its end, by itself, after its time or when it is told to, all its processes
 * are ended, also those in other groups as long as they keep their environment. The guard does the same if this process is killed.
 */
export function startAgent(request: AgentRequest): AgentProcess {
  const mark = randomUUID();
  const { command, args, cwd, env, stdin, timeoutMs } = request;
  const child = spawnGuarded(command, args, {
    cwd,
    env: { ...env, [MARK_NAME]: mark },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const { promise, resolve } = Promise.withResolvers<AgentEnd>();
  let output = Buffer.alloc(0);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output = Buffer.concat([output, chunk]).subarray(-OUTPUT_TAIL_BYTES);
    });
  }
  let why: 'timed-out' | 'ended' | undefined;
  const stop = (reason: 'timed-out' | 'ended'): void => {
    why ??= reason;
    if (child.pid !== undefined) killGroup(child.pid);
  };
  const timer = setTimeout(() => stop('timed-out'), timeoutMs);
  let isDone = false;
  const finish = (end: Pick<AgentEnd, 'end' | 'detail'>): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    const survivors = endMarkedProcesses(`${MARK_NAME}=${mark}`);
    child.stdout?.destroy();
    child.stderr?.destroy();
    resolve({ ...end, survivors, output: output.toString('utf8') });
  };
  child.once('error', ({ message }) => finish({ end: 'not-started', detail: message }));
  child.once('exit', (code, signal) => {
    const end = why ?? (signal === null ? 'exited' : 'killed');
    const detail = signal === null ? `exit code ${code}` : signal;
    const closed = (): void => finish({ end, detail });
    child.once('close', closed);
    setTimeout(closed, PIPE_GRACE_MS);
  });
  // A program that ends without reading its input closes the pipe: not our error.
  child.stdin?.on('error', () => {});
  child.stdin?.end(stdin);
  const paused = new Set<number>();
  return {
    ended: promise,
    pause() {
      if (child.pid === undefined || isDone) return;
      // Twice, because one that has not been stopped yet may begin another.
      for (const _sweep of [1, 2]) {
        for (const pid of [...processTree(child.pid), ...markedProcesses(`${MARK_NAME}=${mark}`)]) {
          if (paused.has(pid)) continue;
          paused.add(pid);
          signalProcess(pid, 'SIGSTOP');
        }
      }
    },
    resume() {
      for (const pid of paused) signalProcess(pid, 'SIGCONT');
      paused.clear();
    },
    end() {
      stop('ended');
      return promise;
    },
  };
}
