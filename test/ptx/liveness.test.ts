import { describe, expect, it } from 'vitest';
import { buildControlFlowGraph } from '../../src/ptx/control-flow.ts';
import { definitionsAndUses } from '../../src/ptx/instructions/properties.ts';
import { analyseLiveness } from '../../src/ptx/liveness.ts';
import { instruction, parseBody, REGISTERS } from './support.ts';

describe('definitionsAndUses', () => {
  it.each([
    ['add.s32 %r1, %r2, %r3;', '%r1', '%r2 %r3'],
    ['@%p1 mov.b32 %r1, %r2;', '%r1', '%r2 %p1'],
    ['ld.global.v2.b32 {%r1, _}, [%rd1+4];', '%r1', '%rd1'],
    ['st.shared.v2.b32 [%r1], {%r2, %r3};', '', '%r1 %r2 %r3'],
    ['setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;', '%p1 %p2', '%r1 %r2 %p3'],
    ['mov.b64 {%r1, %r2}, %rd1;', '%r1 %r2', '%rd1'],
    ['atom.global.add.u32 %r1, [%rd1], %r2;', '%r1', '%rd1 %r2'],
    ['red.global.add.u32 [%rd1], %r2;', '', '%rd1 %r2'],
    ['bar.sync %r1, %r2;', '', '%r1 %r2'],
    ['bar.red.popc.u32 %r1, %r2, %p1;', '%r1', '%r2 %p1'],
    ['cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;', '', '%r1 %rd1 %r2'],
    ['mbarrier.arrive.shared::cta.b64 %rd1, [%r1];', '%rd1', '%r1'],
    ['mbarrier.init.shared::cta.b64 [%r1], %r2;', '', '%r1 %r2'],
    ['mbarrier.try_wait.shared::cta.b64 %p1, [%r1], %rd1;', '%p1', '%r1 %rd1'],
    ['wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, %p1, 1, 1;', '%f1', '%f1 %rd1 %rd2 %p1'],
    ['wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r1], {%f1, %f2}, %r2;', '', '%r1 %f1 %f2 %r2'],
    ['bra.uni $x; $x:', '', ''],
  ])('%s', (text, definitions, uses) => {
    const split = (names: string): string[] => names.split(' ').filter((name) => name !== '');
    expect(definitionsAndUses(instruction(text))).toEqual({ definitions: split(definitions), uses: split(uses) });
  });
});

const graphOf = (body: string) => buildControlFlowGraph(parseBody(`${REGISTERS} ${body}`));

describe('analyseLiveness', () => {
  it('carries values around a loop', () => {
    const graph = graphOf(`
      mov.b32 %r1, 0; mov.b32 %r2, 5;
      $loop: add.s32 %r1, %r1, %r2; setp.lt.s32 %p1, %r1, 99; @%p1 bra $loop;
      st.global.b32 [%rd1], %r1; ret;`);
    const { liveIn, liveOut } = analyseLiveness(graph);
    expect(liveIn.map((set) => [...set].sort())).toEqual([['%rd1'], ['%r1', '%r2', '%rd1'], ['%r1', '%rd1']]);
    expect(liveOut.map((set) => [...set].sort())).toEqual([['%r1', '%r2', '%rd1'], ['%r1', '%r2', '%rd1'], []]);
  });

  it('keeps a value alive over a guarded write', () => {
    const { liveIn } = analyseLiveness(graphOf('@%p1 mov.b32 %r1, 1; st.global.b32 [%rd1], %r1; ret;'));
    expect([...liveIn[0]!].sort()).toEqual(['%p1', '%r1', '%rd1']);
  });
});
