import { rmSync } from 'node:fs';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { endMarkedProcesses } from './marked-processes.ts';
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
const mark = process.argv[2] ?? '';
const groups = new Set<number>();
const folders = new Set<string>();

function note({ kind, id, gone = false }: GuardLine): void {
  const known: Set<unknown> = kind === 'group' ? groups : folders;
  if (gone) known.delete(id);
  else known.add(id);
}

function endAll(): void {
  for (const group of groups) attempt(() => killGroup(group));
  if (mark !== '') endMarkedProcesses(mark);
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
