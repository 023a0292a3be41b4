import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnGuarded } from './guard.ts';
import { wholeEnvironment } from './minimal-environment.ts';
import { packageFolder } from './package-folder.ts';
import { killGroup, signalProcess } from './process-group.ts';

/** How long an interrupted command may take to say what it has found. */
const LONGEST_END_MS = 15_000;
const STDERR_TAIL = 4000;

/** A warpsmith command in a process of its own. */
export interface OwnCommand {
  readonly pid: number | undefined;
  readonly isRunning: boolean;
  /** Resolves when it has ended, with its exit code and the last that it said on stderr. */
  readonly ended: Promise<{ readonly exitCode: number | null; readonly said: string }>;
  /** Interrupts it, as Ctrl-C does, and waits; kills it if it takes too long. */
  close(): Promise<void>;
}

/**
 * Starts a command of this warpsmith, with this process's environment and working folder. It is killed if this process ends
 * without closing it.
 *
 * @param words as on a command line, without `warpsmith`.
 */
export function startOwnCommand(words: readonly string[]): OwnCommand {
  const program = join(packageFolder('bin'), 'warpsmith.mjs');
  const child = spawnGuarded(process.execPath, [program, ...words], {
    env: wholeEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  let isRunning = true;
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-STDERR_TAIL);
  });
  const ended = once(child, 'close').then(
    ([exitCode]) => ({ exitCode: exitCode as number | null, said }),
    (error: Error) => ({ exitCode: null, said: error.message }),
  );
  ended.then(() => {
    isRunning = false;
  });
  return {
    pid: child.pid,
    get isRunning() {
      return isRunning;
    },
    ended,
    async close() {
      if (isRunning && child.pid !== undefined) signalProcess(child.pid, 'SIGINT');
      const timer = new AbortController();
      await Promise.race([ended, sleep(LONGEST_END_MS, undefined, { signal: timer.signal }).catch(() => {})]);
      timer.abort();
      if (isRunning && child.pid !== undefined) killGroup(child.pid);
      await ended;
    },
  };
}
