import { readdirSync, readFileSync } from 'node:fs';

/** The process and all its descendants that are still connected; only itself if there is no /proc. */
export function processTree(root: number): Set<number> {
  const parents = new Map<number, number>();
  for (const pid of processIds()) {
    const parent = parentOf(pid);
    if (parent !== undefined) parents.set(pid, parent);
  }
  const tree = new Set([root]);
  for (const pid of parents.keys()) {
    const trail = [];
    let at: number | undefined = pid;
    while (at !== undefined && !tree.has(at)) {
      trail.push(at);
      at = parents.get(at);
    }
    if (at !== undefined) for (const member of trail) tree.add(member);
  }
  return tree;
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Field 4 of /proc/<pid>/stat. Source: proc_pid_stat(5). */
function parentOf(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const parent = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
    return parent > 0 ? parent : undefined;
  } catch {
    return undefined; // It ended between the listing and the read.
  }
}
