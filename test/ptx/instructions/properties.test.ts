import { describe, expect, it } from 'vitest';
import {
  flopPerLane,
  instructionClass,
  resultOf,
  runsAs,
  synchronisationOf,
} from '../../../src/ptx/instructions/properties.ts';
import { instruction } from '../support.ts';

describe('instructionClass', () => {
  it.each([
    ['add.s32 %r1, %r2, %r3;', 'integer'],
    ['add.rn.f32 %f1, %f2, %f3;', 'fp32'],
    ['fma.rn.f64 %fd1, %fd2, %fd3, %fd1;', 'fp64'],
    ['fma.rn.bf16x2 %r1, %r2, %r3, %r1;', 'fp16'],
    ['max.f16 %rs1, %rs2, %rs3;', 'fp16'],
    ['div.approx.f32 %f1, %f2, %f3;', 'special'],
    ['div.rn.f64 %fd1, %fd2, %fd3;', 'fp64'],
    ['div.s32 %r1, %r2, %r3;', 'integer'],
    ['ex2.approx.ftz.f32 %f1, %f2;', 'special'],
    ['sqrt.rn.f64 %fd1, %fd2;', 'fp64'],
    ['rcp.approx.ftz.f64 %fd1, %fd2;', 'special'],
    ['cvt.rn.f16x2.f32 %r1, %f1, %f2;', 'conversion'],
    ['setp.lt.f32 %p1, %f1, %f2;', 'predicate'],
    ['and.pred %p1, %p2, %p3;', 'predicate'],
    ['and.b32 %r1, %r2, %r3;', 'integer'],
    ['selp.b32 %r1, %r2, %r3, %p1;', 'move'],
    ['ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];', 'global-load'],
    ['ld.volatile.shared.b32 %r1, [%r2];', 'shared-load'],
    ['ld.shared::cta.b32 %r1, [%r2];', 'shared-load'],
    ['ld.b32 %r1, [%rd1];', 'global-load'],
    ['ld.param.b32 %r1, [x];', 'constant-load'],
    ['ld.const.b32 %r1, [%r2];', 'constant-load'],
    ['st.local.b32 [%r1], %r2;', 'local-store'],
    ['st.shared.b32 [%r1], %r2;', 'shared-store'],
    ['atom.shared.add.u32 %r1, [%r2], %r3;', 'atomic'],
    ['red.global.add.f32 [%rd1], %f1;', 'atomic'],
    ['shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;', 'shuffle'],
    ['vote.sync.ballot.b32 %r1, %p1, -1;', 'vote'],
    ['redux.sync.add.s32 %r1, %r2, -1;', 'vote'],
    ['bar.sync 0;', 'barrier'],
    ['mbarrier.init.shared::cta.b64 [%r1], 1;', 'barrier'],
    ['fence.proxy.async;', 'barrier'],
    [
      'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};',
      'tensor',
    ],
    ['wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1}, [%r2], 16;', 'shared-load'],
    ['wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1}, 16;', 'global-store'],
    ['ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];', 'shared-load'],
    ['cp.async.cg.shared.global [%r1], [%rd1], 16;', 'async-copy'],
    ['wgmma.fence.sync.aligned;', 'barrier'],
    ['ret;', 'control'],
  ])('%s', (text, expected) => {
    expect(instructionClass(instruction(text))).toBe(expected);
  });

  it('knows nothing of an unknown opcode', () => {
    expect(instructionClass({ ...instruction('ret;'), opcode: 'frobnicate' })).toBeUndefined();
  });
});

describe('flopPerLane', () => {
  it.each([
    ['add.f32 %f1, %f2, %f3;', { kind: 'fp32', count: 1 }],
    ['fma.rn.f32 %f1, %f2, %f3, %f1;', { kind: 'fp32', count: 2 }],
    ['fma.rn.f16x2 %r1, %r2, %r3, %r1;', { kind: 'fp16', count: 4 }],
    ['ex2.approx.f32 %f1, %f2;', { kind: 'fp32', count: 1 }],
    ['mul.f64 %fd1, %fd2, %fd3;', { kind: 'fp64', count: 1 }],
    // 2·16·8·16 over 32 lanes.
    [
      'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};',
      { kind: 'tensor', count: 128 },
    ],
    // 2·64·8·16 over the 128 lanes of a warpgroup.
    ['wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, %p1, 1, 1;', { kind: 'tensor', count: 128 }],
    ['mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r1}, {%r2}, {%r3}, {%r1};', undefined],
    ['wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1}, [%r2], 16;', undefined],
    ['mad.lo.s32 %r1, %r2, %r3, %r1;', undefined],
    ['cvt.rn.f32.s32 %f1, %r1;', undefined],
    ['setp.lt.f32 %p1, %f1, %f2;', undefined],
    ['red.global.add.f32 [%rd1], %f1;', undefined],
  ])('%s', (text, expected) => {
    expect(flopPerLane(instruction(text))).toEqual(expected);
  });
});

describe('who meets at an instruction, and how a warp runs it', () => {
  it.each([
    ['bar.sync 0;', 'cta', 'control'],
    ['barrier.sync.aligned 0;', 'cta', 'control'],
    ['bar.arrive 0, 64;', 'cta-arrival', 'warp'],
    ['bar.warp.sync -1;', 'warp', 'order'],
    ['barrier.cluster.arrive;', 'cluster-arrival', 'warp'],
    ['barrier.cluster.wait;', 'cluster', 'control'],
    ['shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;', 'warp', 'warp'],
    ['shfl.bfly.b32 %r1, %r2, 1, 31;', 'active-lanes', 'warp'],
    ['elect.sync %r1|%p1, -1;', 'warp', 'warp'],
    ['activemask.b32 %r1;', 'active-lanes', 'warp'],
    ['ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];', 'warp', 'warp'],
    ['wgmma.fence.sync.aligned;', 'warpgroup', 'warp'],
    ['membar.gl;', 'memory', 'order'],
    ['ld.global.b32 %r1, [%rd1];', 'none', 'access'],
    ['add.f32 %f1, %f2, %f3;', 'none', 'lane'],
    ['bra DONE; DONE:', 'none', 'control'],
  ])('%s', (text, meeting, runs) => {
    expect([synchronisationOf(instruction(text)), runsAs(instruction(text))]).toEqual([meeting, runs]);
  });
});

describe('where a result comes from', () => {
  it.each([
    ['add.s32 %r1, %r2, %r3;', 'operands'],
    ['cvta.to.global.u64 %rd1, %rd2;', 'copy'],
    ['selp.b32 %r1, %r2, %r3, %p1;', 'choice'],
    ['atom.global.add.u32 %r1, [%rd1], %r2;', 'memory'],
    ['red.global.add.u32 [%rd1], %r2;', 'none'],
    ['wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1}, 16;', 'none'],
    ['wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, %p1, 1, 1;', 'accumulator'],
    ['mbarrier.arrive.shared::cta.b64 %rd1, [%r1];', 'operands'],
    ['mbarrier.init.shared::cta.b64 [%r1], 1;', 'none'],
  ])('%s', (text, expected) => {
    expect(resultOf(instruction(text))).toBe(expected);
  });
});
