import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { onProcessEnd } from './cleanup.ts';
import { entryFile } from './entry-file.ts';
import type { GuardLine } from './guard-main.ts';
import { minimalEnvironment } from './minimal-environment.ts';
import { killGroup } from './process-group.ts';

/*
 * Cleans up even if this process is killed outright: the guard, a separate process, then ends children and removes folders.
 * `cleanup.ts` handles every orderly end.
 */

const ENTRY = entryFile(new URL('./guard-main.ts', import.meta.url));

/** Every child has it in its environment, so that none is missed that was started a moment before the end. */
const MARK_NAME = 'WARPSMITH_GUARD';
let mark: string = randomUUID();
let isLeftToParent = false;

/** For a process that is to outlive this one, and whatever started this one. */
export const withoutGuardMark = ({ [MARK_NAME]: _, ...environment }: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  environment;

/**
 * For a process that starts programs in its parent's stead: they carry the parent's mark, by which the parent's guard finds
 * them, and this process needs no guard of its own.
 */
export function leaveToParentsGuard(): void {
  mark = process.env[MARK_NAME] ?? mark;
  isLeftToParent = true;
}

const watched = new Map<string, GuardLine>();
let guard: ChildProcess | undefined;

/** Removes a temporary folder when this process is killed while the guard runs. @returns how to take that back. */
export const guardFolder = (path: string): (() => void) => watch({ kind: 'folder', id: path });

/** Options of a child. It always gets its own group and never a shell. */
export type GuardedSpawnOptions = Pick<SpawnOptions, 'cwd' | 'stdio' | 'serialization'> & {
  /** The whole environment, but for the guard's mark. */
  readonly env: Readonly<Record<string, string>>;
};

/**
 * Starts a program in its own process group, whose id is the child's. The group is killed when this process ends, for
 * whatever reason, unless the child ends first.
 */
export function spawnGuarded(command: string, args: readonly string[], options: GuardedSpawnOptions): ChildProcess {
  startGuard();
  const child = spawn(command, args, {
    ...options,
    env: { ...options.env, [MARK_NAME]: mark },
    detached: true, // A new session, hence a new process group.
    shell: false,
  });
  const { pid } = child;
  if (pid === undefined) return child;
  const forgetGuard = watch({ kind: 'group', id: pid });
  const forgetEnd = onProcessEnd(() => killGroup(pid));
  // Also kills remaining processes of its group, before another group can get the same number.
  child.once('exit', () => {
    killGroup(pid);
    forgetEnd();
    forgetGuard();
  });
  return child;
}

function watch(line: GuardLine): () => void {
  const key = `${line.kind} ${line.id}`;
  watched.set(key, line);
  tell(line);
  return () => {
    if (watched.delete(key)) tell({ ...line, gone: true });
  };
}

function tell(line: GuardLine): void {
  guard?.stdin?.write(`${JSON.stringify(line)}\n`);
}

/** Starts the guard if it does not run. Without one, what ends in order is cleaned up all the same. */
function startGuard(): void {
  if (guard || isLeftToParent) return;
  const started = spawn(process.execPath, [fileURLToPath(ENTRY), `${MARK_NAME}=${mark}`], {
    cwd: '/',
    // Where this process keeps compiled modules: types are then not stripped anew at each start.
    env: minimalEnvironment(['NODE_COMPILE_CACHE']),
    detached: true, // Ctrl-C in a terminal must not end it before its parent.
    shell: false,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard = started;
  const gone = () => {
    if (guard === started) guard = undefined;
  };
  started.once('error', gone);
  started.once('exit', gone);
  started.stdin?.on('error', gone);
  // It waits for the end of this process, and must not put it off.
  started.unref();
  (started.stdin as unknown as { unref?(): void } | null)?.unref?.();
  for (const line of watched.values()) tell(line);
}
