import { describe, expect, it } from 'vitest';
import { buildControlFlowGraph } from '../../src/ptx/control-flow.ts';
import { definitionsAndUses } from '../../src/ptx/instructions/properties.ts';
import { analyseLiveness } from '../../src/ptx/liveness.ts';
import { estimateRegisters, maximumLiveRegisters } from '../../src/ptx/registers.ts';
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

describe('estimateRegisters', () => {
  it('counts 64-bit values twice and predicates not at all', () => {
    const loads = 'ld.global.b64 %rd1, [16]; ld.global.b32 %r1, [%rd1]; ld.global.b16 %rs1, [%rd1];';
    const stores = '@%p1 st.global.b32 [%rd1], %r1; @%p1 st.global.b16 [%rd1], %rs1;';
    const fn = parseBody(`${REGISTERS} ${loads} setp.eq.s32 %p1, %r1, 0; ${stores} ret;`);
    expect(maximumLiveRegisters(fn, buildControlFlowGraph(fn))).toBe(4);
  });

  it('counts parameters and constants as free, unless they are written again', () => {
    const live = (extra: string): number => {
      const fn = parseBody(
        `${REGISTERS} mov.b32 %r1, 7; mov.u32 %r2, %tid.x; ld.param.b32 %r3, [p]; ${extra}
         st.global.b32 [16], %r1; st.global.b32 [20], %r2; st.global.b32 [24], %r3; ret;`,
      );
      return maximumLiveRegisters(fn, buildControlFlowGraph(fn));
    };
    expect(live('')).toBe(0);
    expect(live('@%p1 mov.b32 %r1, 8;')).toBe(1);
  });

  it('stays within launch bounds', () => {
    const loads = Array.from({ length: 200 }, (_, i) => `ld.global.b32 %x${i}, [%rd1];`).join(' ');
    const stores = Array.from({ length: 200 }, (_, i) => `st.global.b32 [%rd1], %x${i};`).join(' ');
    const fn = parseBody(`${REGISTERS} .reg .b32 %x<200>; ${loads} ${stores} ret;`);
    const graph = buildControlFlowGraph(fn);
    expect(estimateRegisters(fn, graph)).toBeGreaterThanOrEqual(202);
    expect(estimateRegisters({ ...fn, maxThreads: [256, 2, 1] }, graph)).toBe(128);
    expect(estimateRegisters({ ...fn, maxThreads: [128, 1, 1], minCtasPerSm: 5 }, graph)).toBe(96);
    expect(estimateRegisters({ ...fn, maxRegisters: 40 }, graph)).toBe(40);
  });
});
