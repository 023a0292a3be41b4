type Graph = readonly (readonly number[])[];

/**
 * Order of the nodes reachable from node 0: a weak topological order (Bourdoncle, 1993). Every edge goes forward,
 * except those that close a loop; the nodes of each loop are contiguous and start with its header.
 *
 * @param successors Per node; the last successor is laid out next where the order is free.
 */
export function orderBlocks(successors: Graph): { order: number[]; loopHeaders: number[] } {
  const order: number[] = [];
  const loopHeaders: number[] = [];
  const visit = (starts: readonly number[], region: ReadonlySet<number>): void => {
    for (const [header, ...others] of topologicalComponents(starts, region, successors)) {
      order.push(header);
      if (others.length === 0 && !successors[header]!.includes(header)) continue;
      loopHeaders.push(header);
      // Without its header a loop falls apart into what comes in order and the loops inside it.
      visit(successors[header]!, new Set(others));
    }
  };
  visit([0], new Set(successors.keys()));
  return { order, loopHeaders };
}

type Component = [header: number, ...others: number[]];

/**
 * Strongly connected components of `region` reachable from `starts`, in topological order, each starting with the
 * node first reached. Source: Tarjan, "Depth-First Search and Linear Graph Algorithms" (1972); iterative.
 */
function topologicalComponents(starts: readonly number[], region: ReadonlySet<number>, successors: Graph): Component[] {
  const visitNumber = new Map<number, number>();
  const lowLink = new Map<number, number>();
  /** Visited nodes whose component is not complete. */
  const open: number[] = [];
  const isOpen = new Set<number>();
  const components: Component[] = [];
  const stack: { node: number; next: number }[] = [];

  const enter = (node: number): void => {
    visitNumber.set(node, visitNumber.size);
    lowLink.set(node, visitNumber.get(node)!);
    open.push(node);
    isOpen.add(node);
    stack.push({ node, next: 0 });
  };
  const lower = (node: number, value: number): void => {
    lowLink.set(node, Math.min(lowLink.get(node)!, value));
  };
  const leave = (node: number): void => {
    stack.pop();
    const parent = stack.at(-1);
    if (parent) lower(parent.node, lowLink.get(node)!);
    if (lowLink.get(node) !== visitNumber.get(node)) return;
    const component = open.splice(open.lastIndexOf(node)) as Component;
    for (const member of component) isOpen.delete(member);
    components.push(component);
  };

  for (const start of starts) {
    if (!region.has(start) || visitNumber.has(start)) continue;
    enter(start);
    while (stack.length > 0) {
      const frame = stack.at(-1)!;
      const target = successors[frame.node]![frame.next++];
      if (target === undefined) leave(frame.node);
      else if (!region.has(target)) continue;
      else if (!visitNumber.has(target)) enter(target);
      else if (isOpen.has(target)) lower(frame.node, visitNumber.get(target)!);
    }
  }
  return components.reverse();
}
