import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { xdgFolder } from './xdg-folder.ts';

/** What is known of the release of this machine's GPU. Times in ms since 1970. Holds no argument of the release command: one may be a key. */
export interface LeaseState {
  /** The process that will release the GPU. */
  readonly pid: number;
  /** The warpsmith command whose end it waits for. */
  readonly command: number;
  /** The executable of the release command. */
  readonly executable: string;
  /** When the GPU is released at the latest; `null`: whenever the command has ended. */
  readonly deadlineAtMs: number | null;
  /** When the GPU is released, once the command has ended. */
  readonly releaseAtMs: number | null;
  /** How a release that failed ended, in words. */
  readonly failed: string | null;
}

/** A home folder may be shared by machines: each has a file of its own. */
export const leasePath = (): string => join(xdgFolder('XDG_STATE_HOME'), `lease-${hostname()}.json`);

/** @throws Error with code EEXIST if there is one. */
export function createLeaseFile(path: string, state: LeaseState): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${JSON.stringify(state)}\n`, { flag: 'wx', mode: 0o600 });
}

export function replaceLeaseFile(path: string, state: LeaseState): void {
  const written = `${path}.${process.pid}`;
  writeFileSync(written, `${JSON.stringify(state)}\n`, { mode: 0o600 });
  renameSync(written, path);
}

export const removeLeaseFile = (path: string): void => rmSync(path, { force: true });

/** Undefined if there is none that can be read. */
export function readLeaseFile(path: string = leasePath()): LeaseState | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LeaseState;
  } catch {
    return undefined;
  }
}

/** Whether its process is still there. Its number may have gone to another program. */
export function isHeld({ pid }: LeaseState): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('lease-main');
  } catch {
    return false;
  }
}

/** When the GPUs of this machine are released, in words. */
export function describeLease(path: string = leasePath()): {
  readonly failed: boolean;
  readonly said: string;
  readonly hint?: string;
} {
  const state = readLeaseFile(path);
  if (state?.failed) {
    const said = `${state.executable} was to release the GPUs and failed: ${state.failed}`;
    return { failed: true, said, hint: `Release them by hand, then remove ${path}.` };
  }
  if (!state || !isHeld(state)) return { failed: false, said: 'no command is to release GPUs of this machine' };
  const { executable, command, deadlineAtMs, releaseAtMs, pid } = state;
  const at = (ms: number) => new Date(ms).toISOString();
  const latest = deadlineAtMs === null ? '' : `, at ${at(deadlineAtMs)} at the latest`;
  const when = releaseAtMs === null ? `after process ${command} has ended${latest}` : `at ${at(releaseAtMs)}`;
  return { failed: false, said: `${executable} releases the GPUs ${when}; kill -9 ${pid} prevents it` };
}
