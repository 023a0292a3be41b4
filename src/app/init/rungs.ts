import type { Memory } from '../../cuda-source/host-values.ts';
import type { CompiledLaunch } from './draft.ts';

/**
 * Launches in groups, each of which computes the results: one group of launches that use each other's results, or several
 * that are alternatives, as where a file compares kernels.
 */
export function groupLaunches(launches: readonly CompiledLaunch[]): CompiledLaunch[][] {
  const groups: CompiledLaunch[][] = [];
  for (const launch of launches) {
    const group = groups.at(-1);
    if (group === undefined || isAlternative(launch, group)) groups.push([launch]);
    else group.push(launch);
  }
  return groups;
}

function isAlternative(launch: CompiledLaunch, group: readonly CompiledLaunch[]): boolean {
  const written = new Set(group.flatMap((one) => memoriesOf(one, 'writes')));
  const own = memoriesOf(launch, 'writes');
  const used = memoriesOf(launch, 'reads').filter((memory) => written.has(memory));
  const isSameCall = group.length === 1 && group[0]!.kernel !== launch.kernel && haveSameMemories(group[0]!, launch);
  if (used.length > 0 && !isSameCall) return false;
  return own.some((memory) => written.has(memory));
}

const memoriesOf = ({ launch, access }: CompiledLaunch, how: 'reads' | 'writes'): Memory[] =>
  launch.arguments.flatMap((value, i) => (value.kind === 'pointer' && access[i]?.[how] ? [value.memory] : []));

/** Whether two kernels are passed the same memories: C = αAB + βC by one and by the other. */
function haveSameMemories(a: CompiledLaunch, b: CompiledLaunch): boolean {
  const memories = ({ launch }: CompiledLaunch) =>
    launch.arguments.flatMap((value) => (value.kind === 'pointer' ? [value.memory] : []));
  const [left, right] = [memories(a), memories(b)];
  return left.length > 1 && left.length === right.length && left.every((memory) => right.includes(memory));
}
