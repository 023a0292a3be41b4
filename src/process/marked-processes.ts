import { readFileSync } from 'node:fs';
import { processIds, signalProcess } from './process-group.ts';

/** Looks for marked processes so often: each finds what those before it started while they were ended. */
const SWEEPS = 5;

/** Linux: the processes of this user that have the mark, `NAME=value`, in the environment it was started with, in any group. */
export const markedProcesses = (mark: string): number[] =>
  processIds()
    .filter((pid) => isMarked(pid, mark))
    .map(Number);

function isMarked(pid: string, mark: string): boolean {
  if (Number(pid) === process.pid) return false;
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(mark);
  } catch {
    return false; // It has ended, or belongs to somebody else.
  }
}

/** Ends every process with the mark, and what they start meanwhile. @returns how many there were. */
export function endMarkedProcesses(mark: string): number {
  const ended = new Set<number>();
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const left = markedProcesses(mark);
    if (left.length === 0) break;
    for (const pid of left) {
      ended.add(pid);
      signalProcess(pid, 'SIGKILL');
    }
  }
  return ended.size;
}
