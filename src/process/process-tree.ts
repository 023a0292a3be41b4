import { processIds, readProcessStat } from './process-group.ts';

/** The process and all its descendants that are still connected; only itself if there is no /proc. */
export function processTree(root: number): Set<number> {
  const parents = new Map<number, number>();
  for (const pid of processIds()) {
    const stat = readProcessStat(pid);
    if (stat) parents.set(Number(pid), stat.parent);
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
