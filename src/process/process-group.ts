import { readdirSync, readFileSync } from 'node:fs';

/** Ends every process of the group at once. A group that has already gone is fine. */
export function killGroup(groupId: number): void {
  try {
    process.kill(-groupId, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** One that has already gone, or belongs to somebody else, is fine. */
export function signalProcess(pid: number, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGINT' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Nothing is left to stop, to let go on, to interrupt or to end.
  }
}

/** Resident memory of all processes of the group in bytes; 0 if there is no /proc. */
export function groupResidentBytes(groupId: number): number {
  let bytes = 0;
  for (const pid of processIds()) {
    const stat = readProcessStat(pid);
    if (stat?.groupId === groupId) bytes += stat.residentPages * PAGE_BYTES;
  }
  return bytes;
}

/**
 * Resident memory in bytes of a process and the children of its main thread, because a wall around it may add processes. 0
 * after its end, and if there is no /proc.
 */
export function residentBytes(pid: number): number {
  const own = (readProcessStat(`${pid}`)?.residentPages ?? 0) * PAGE_BYTES;
  return childrenOf(pid).reduce((bytes, child) => bytes + residentBytes(child), own);
}

/** Source: proc_pid_children(5). */
function childrenOf(pid: number): number[] {
  try {
    return (readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').match(/\d+/g) ?? []).map(Number);
  } catch {
    return []; // It has ended, or its kernel keeps no such list.
  }
}

/** x86-64 and the usual arm64 kernels. */
const PAGE_BYTES = 4096;

/** Of all processes of this machine; none if there is no /proc. */
export function processIds(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

interface ProcessStat {
  readonly parent: number;
  readonly groupId: number;
  readonly residentPages: number;
}

/** Fields 4, 5 and 24 of /proc/<pid>/stat. Source: proc_pid_stat(5). */
export function readProcessStat(pid: string): ProcessStat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Field 2, the name, may hold spaces and parentheses; the rest follows the last ')'.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { parent: Number(fields[1]), groupId: Number(fields[2]), residentPages: Number(fields[21]) };
  } catch {
    return undefined; // It ended between the listing and the read.
  }
}
