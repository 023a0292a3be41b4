import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { killGroup } from './process-group.ts';

/*
 * The process that outlives its parent by a moment. The parent holds the other end of stdin and writes a line for
 * everything that must not outlive it; when it ends, however it does, stdin ends, and all of that goes.
 *
 * One argument: the mark that every child of the parent carries in its environment.
 */

/** Resources of the parent, one line of JSON each; removed with `"gone": true`. */
export interface GuardLine {
  readonly kind: 'group' | 'folder';
  /** Process group, or absolute path. */
  readonly id: number | string;
  readonly gone?: boolean;
}

const TEMPORARY = /^warpsmith-\d+-/;
/** Looks for marked processes: each finds what those before it started while they were ended. */
const SWEEPS = 5;

const mark = process.argv[2] ?? '';
const groups = new Set<number>();
const folders = new Set<string>();

function note({ kind, id, gone = false }: GuardLine): void {
  const known: Set<unknown> = kind === 'group' ? groups : folders;
  if (gone) known.delete(id);
  else known.add(id);
}

/** Linux: every process of this user that was started with the mark, in any group. */
function markedProcesses(): number[] {
  if (mark === '') return [];
  try {
    return readdirSync('/proc').filter(isMarked).map(Number);
  } catch {
    return [];
  }
}

function isMarked(pid: string): boolean {
  if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
  } catch {
    return false; // It has ended, or belongs to somebody else.
  }
}

function endAll(): void {
  for (const group of groups) attempt(() => killGroup(group));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const left = markedProcesses();
    if (left.length === 0) break;
    for (const pid of left) attempt(() => process.kill(pid, 'SIGKILL'));
  }
  for (const folder of folders) {
    if (TEMPORARY.test(basename(folder)))
      attempt(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  }
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // One that can't be ended must not keep the others alive.
  }
}

// A closing terminal, or a signal to all of the parent's processes, must not end the guard first.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
createInterface({ input: process.stdin })
  .on('line', (line) => attempt(() => note(JSON.parse(line) as GuardLine)))
  .on('close', endAll);
