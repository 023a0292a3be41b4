/**
 * Immediate post-dominator of each node; −1 where it is the exit or where control can't reach the exit.
 * Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed graph.
 *
 * @param successors Per node.
 * @param leaves Per node: has an edge to the exit.
 */
export function immediatePostDominators(
  successors: readonly (readonly number[])[],
  leaves: readonly boolean[],
): number[] {
  const exit = successors.length;
  const predecessors: number[][] = [...successors.map(() => []), []];
  const forward = successors.map((targets, node) => (leaves[node] ? [...targets, exit] : [...targets]));
  forward.forEach((targets, node) => {
    for (const target of targets) predecessors[target]!.push(node);
  });
  const postorder = postorderFrom(exit, predecessors);
  const rank = new Map(postorder.map((node, i) => [node, i]));
  const dominator = new Map([[exit, exit]]);

  const common = (a: number, b: number): number => {
    let [x, y] = [a, b];
    while (x !== y) {
      if (rank.get(x)! < rank.get(y)!) x = dominator.get(x)!;
      else y = dominator.get(y)!;
    }
    return x;
  };

  for (let changed = true; changed; ) {
    changed = false;
    for (const node of postorder.toReversed()) {
      if (node === exit) continue;
      const known = forward[node]!.filter((target) => dominator.has(target));
      const next = known.reduce(common);
      if (dominator.get(node) === next) continue;
      dominator.set(node, next);
      changed = true;
    }
  }
  return successors.map((_, node) => {
    const found = dominator.get(node) ?? exit;
    return found === exit ? -1 : found;
  });
}

function postorderFrom(root: number, edges: readonly (readonly number[])[]): number[] {
  const order: number[] = [];
  const seen = new Set([root]);
  const stack = [{ node: root, next: 0 }];
  while (stack.length > 0) {
    const frame = stack.at(-1)!;
    const target = edges[frame.node]![frame.next++];
    if (target === undefined) {
      order.push(frame.node);
      stack.pop();
    } else if (!seen.has(target)) {
      seen.add(target);
      stack.push({ node: target, next: 0 });
    }
  }
  return order;
}
