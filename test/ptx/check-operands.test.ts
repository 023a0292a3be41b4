import { describe, expect, it } from 'vitest';
import { checkOperands } from '../../src/ptx/check-operands.ts';
import { inlineCalls } from '../../src/ptx/inline-calls.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { longTestOf } from '../support/sampling/long-tests.ts';
import { LANE_FORMS, WARP_FORMS } from '../virtual-gpu/opcodes/forms.ts';
import { kernelText, MODES, moduleText } from '../virtual-gpu/opcodes/kernel.ts';

const check = (text: string): void => {
  const module = parsePtx(text);
  checkOperands(inlineCalls(module, 'k'), module);
};

const kernel = (body: string): string => `.version 7.8
.target sm_89
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .pred %p<2>;
  .reg .b16 %h<3>;
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ${body}
  ret;
}
`;

describe('operands that fit their instruction', () => {
  longTestOf(import.meta.filename)('are every form the virtual GPU is tested with', () => {
    for (const form of [...LANE_FORMS, ...WARP_FORMS])
      expect(() => check(moduleText([kernelText('k', form, MODES)])), form.text).not.toThrow();
  });

  it.each([
    'ld.param.u64 %d0, [p];',
    'ld.global.u8 %h0, [%d0+4]; st.global.u8 [%d0], %r0;',
    'ld.global.v2.u32 {%r0, %r1}, [%d0];',
    'mov.b32 {%h0, %h1}, %r0; mov.b64 %d0, {%r0, %r1}; mov.u32 %r0, %tid.x;',
    'mul.wide.u32 %d0, %r0, 4; mad.wide.s32 %d0, %r0, %r1, %d1;',
    'shl.b64 %d0, %d1, %r0; cvt.u64.u32 %d0, %r0; cvt.u16.u32 %r1, %r0;',
    'setp.eq.s32 %p0, %r0, 1; selp.b64 %d0, %d1, 0, %p0; @!%p0 bra END; END: bar.sync 0;',
    'shfl.sync.bfly.b32 %r0|%p0, %r1, 1, 31, -1; vote.sync.ballot.b32 %r0, !%p0, -1;',
    'atom.global.cas.b32 %r0, [%d0], %r1, %r2; red.global.add.u32 [%d0], %r1;',
    'fns.b32 %r0, %r1, 0, 1; szext.clamp.s32 %r0, %r1, %r2; bmsk.wrap.b32 %r0, 3, %r1; vadd.s32.s32.s32 %r0, %r1, %r2;',
    'prefetch.global.L2 [%d0]; discard.global.L2 [%d0], 128; nanosleep.u32 40; membar.gl; fence.acq_rel.gpu;',
    'elect.sync _|%p0, -1; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%r2]; bar.warp.sync -1;',
    'mapa.shared::cluster.u32 %r0, %r1, %r2; getctarank.u64 %r0, %d1; exit;',
  ])('%s', (body) => {
    expect(() => check(kernel(body))).not.toThrow();
  });
});

describe('what no assembler accepts is refused with its line', () => {
  it.each([
    ['add.s64 %d0, %r0, %d1;', 'operand 2 of `add.s64` is %r0, a .b32 register, where 64 bits are wanted'],
    ['fns.b32 %r0, %r1, 0;', '`fns.b32` takes 4 operands, not 3'],
    ['szext.clamp.s32 %d0, %r1, %r2;', 'operand 1 of `szext.clamp.s32` is %d0'],
    ['bmsk.wrap.b32 %r0, %h1, 1;', 'operand 2 of `bmsk.wrap.b32` is %h1'],
    ['membar.gl %r0;', '`membar.gl` takes 0 operands, not 1'],
    ['elect.sync %r0|%p0;', '`elect.sync` takes 2 operands, not 1'],
    ['add.s32 %r0, %r1;', '`add.s32` takes 3 operands, not 2'],
    ['mul.wide.u32 %r0, %r1, %r2;', 'operand 1 of `mul.wide.u32` is %r0'],
    ['shl.b64 %d0, %d1, %d2;', 'operand 3 of `shl.b64` is %d2'],
    ['ld.global.u64 %r0, [%d0];', 'operand 1 of `ld.global.u64` is %r0'],
    ['ld.global.u32 %r0, %d0;', 'operand 2 of `ld.global.u32` is not an address'],
    ['ld.global.u32 %r0, [%h0];', 'operand 2 of `ld.global.u32` has an address of 16 bits'],
    ['ld.global.v4.u32 {%r0, %r1}, [%d0];', 'operand 1 of `ld.global.v4.u32` has 2 elements, not 4'],
    ['ld.param.u64 %d0, [q];', 'nothing is named `q`'],
    ['mov.b64 %d0, {%r0, %h1};', 'operand 2 of `mov.b64` is %h1'],
    ['setp.eq.s32 %r0, %r1, 0;', 'operand 1 of `setp.eq.s32` is %r0'],
    ['selp.b32 %r0, %r1, %r2, %r3;', 'operand 4 of `selp.b32` is %r3'],
    ['@%r0 ret;', '%r0 is not a predicate'],
    ['bar.sync [%d0];', 'operand 1 of `bar.sync` is an address'],
    ['shfl.sync.bfly.b32 %r0, %d0, 1, 31, -1;', 'operand 2 of `shfl.sync.bfly.b32` is %d0'],
    ['atom.global.add.u32 %r0, [%d0];', '`atom.global.add.u32` takes 3 operands, not 2'],
  ])('%s', (body, problem) => {
    expect(() => check(kernel(body))).toThrow(`PTX line 9: ${problem}`);
  });
});
