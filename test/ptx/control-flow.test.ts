import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ControlFlowGraph } from '../../src/ptx/ast.ts';
import { orderBlocks } from '../../src/ptx/block-order.ts';
import { buildControlFlowGraph } from '../../src/ptx/control-flow.ts';
import { immediatePostDominators } from '../../src/ptx/post-dominators.ts';
import { parseBody, REGISTERS } from './support.ts';

const graphOf = (body: string): ControlFlowGraph => buildControlFlowGraph(parseBody(`${REGISTERS} ${body}`));
const edges = (graph: ControlFlowGraph): number[][] => graph.blocks.map((block) => block.successors);

describe('buildControlFlowGraph', () => {
  it('makes straight code one block, whatever labels debug information adds', () => {
    const graph = graphOf('$L__tmp0: mov.b32 %r1, 1; $L__tmp1: mov.b32 %r2, 2; $L__tmp2: ret; $L__func_end0:');
    expect(graph.blocks.map((block) => block.instructions.length)).toEqual([3]);
    expect(graph.immediatePostDominators).toEqual([-1]);
  });

  it('puts the reconvergence point of an if/else last', () => {
    const graph = graphOf(`
      @%p1 bra $else;
      mov.b32 %r1, 1;
      bra.uni $join;
      $else: mov.b32 %r1, 2;
      $join: ret;`);
    expect(edges(graph)).toEqual([[2, 1], [3], [3], []]);
    expect(graph.immediatePostDominators).toEqual([3, 3, 3, -1]);
    expect(graph.blocks[3]!.predecessors).toEqual([1, 2]);
  });

  it('keeps a loop together and its exit after it, even if the text has the exit first', () => {
    const graph = graphOf(`
      bra $head;
      $exit: ret;
      $head: @%p1 bra $exit;
      mov.b32 %r1, 1;
      @%p2 bra $exit;
      bra $head;`);
    expect(edges(graph)).toEqual([[1], [4, 2], [4, 3], [1], []]);
    expect([...graph.loopHeaders]).toEqual([1]);
    expect(graph.immediatePostDominators).toEqual([1, 4, 4, 1, -1]);
  });

  it('lets lanes fall through a guarded ret', () => {
    const graph = graphOf('@%p1 ret; mov.b32 %r1, 1; ret;');
    expect(edges(graph)).toEqual([[1], []]);
    expect(graph.immediatePostDominators).toEqual([-1, -1]);
  });

  it('does not wait for lanes that trap', () => {
    const graph = graphOf('@%p1 bra $fail; mov.b32 %r1, 1; ret; $fail: trap;');
    expect(graph.blocks[0]!.successors).toHaveLength(2);
    const next = graph.blocks[0]!.successors[1]!;
    expect(graph.immediatePostDominators[0]).toBe(next);
  });

  it('drops what cannot be reached', () => {
    expect(graphOf('ret; mov.b32 %r1, 1; ret;').blocks).toHaveLength(1);
    expect(graphOf('trap; exit;').blocks.map((block) => block.instructions.length)).toEqual([1]);
  });

  it('ends a body without ret', () => {
    expect(edges(graphOf('mov.b32 %r1, 1;'))).toEqual([[]]);
    expect(edges(graphOf(''))).toEqual([[]]);
  });

  it('gives brx.idx one successor per table entry', () => {
    const graph = graphOf('$t: .branchtargets $a, $b, $a; brx.idx %r1, $t; $a: ret; $b: ret;');
    const [a, b, again] = graph.blocks[0]!.successors;
    expect(a).toBe(again);
    expect(graph.blocks[a!]!.labels).toEqual(['$a']);
    expect(graph.blocks[b!]!.labels).toEqual(['$b']);
    expect(graph.blocks[a!]!.predecessors).toEqual([0]);
  });
});

/** Random graphs where node 0 is the entry. */
const graphs = fc
  .integer({ min: 1, max: 12 })
  .chain((size) =>
    fc.array(fc.array(fc.nat({ max: size - 1 }), { maxLength: 3 }), { minLength: size, maxLength: size }),
  );

function reachable(successors: readonly (readonly number[])[], start: number, without = -1): Set<number> {
  const seen = new Set<number>();
  const stack = start === without ? [] : [start];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    for (const next of successors[node]!) if (next !== without) stack.push(next);
  }
  return seen;
}

describe('orderBlocks', () => {
  it('lists each reachable node once, and goes back only to loop headers', () => {
    fc.assert(
      fc.property(graphs, (successors) => {
        const { order, loopHeaders } = orderBlocks(successors);
        expect([...order].sort()).toEqual([...reachable(successors, 0)].sort());
        const position = new Map(order.map((node, i) => [node, i]));
        for (const node of order) {
          for (const next of successors[node]!) {
            if (position.get(next)! <= position.get(node)!) expect(loopHeaders).toContain(next);
          }
        }
      }),
    );
  });

  it('keeps every strongly connected component contiguous', () => {
    fc.assert(
      fc.property(graphs, (successors) => {
        const { order } = orderBlocks(successors);
        const reach = successors.map((_, node) => reachable(successors, node));
        const component = order.map((a) => order.filter((b) => reach[a]!.has(b) && reach[b]!.has(a)));
        order.forEach((_, i) => {
          const places = component[i]!.map((node) => order.indexOf(node));
          expect(Math.max(...places) - Math.min(...places)).toBe(places.length - 1);
        });
      }),
    );
  });
});

describe('immediatePostDominators', () => {
  it('equals the definition', () => {
    fc.assert(
      fc.property(graphs, (successors) => {
        const exit = successors.length;
        const leaves = successors.map((targets) => targets.length === 0);
        const withExit = [...successors.map((targets, i) => (leaves[i] ? [exit] : targets)), []];
        const reachesExit = (node: number, without: number) => reachable(withExit, node, without).has(exit);
        const postDominators = (node: number) =>
          successors.map((_, i) => i).filter((i) => i !== node && reachesExit(node, -1) && !reachesExit(node, i));
        const result = immediatePostDominators(successors, leaves);
        successors.forEach((_, node) => {
          const all = postDominators(node);
          // The immediate one is post-dominated by all the others.
          const nearest = all.find((a) => all.every((b) => b === a || postDominators(a).includes(b)));
          expect(result[node]).toBe(nearest ?? -1);
        });
      }),
    );
  });
});
