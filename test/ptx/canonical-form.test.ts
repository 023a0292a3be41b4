import { describe, expect, it } from 'vitest';
import { canonicalForm } from '../../src/ptx/canonical-form.ts';
import { parseBody, REGISTERS, showFunction } from './support.ts';

const canonical = (body: string): string[] => showFunction(canonicalForm(parseBody(`${REGISTERS} ${body}`)));

describe('canonicalForm', () => {
  it('leaves common instructions alone', () => {
    const body = ['add.s32 %r1, %r2, %r3', '@%p1 st.global.b32 [%rd1], %r1', 'cvt.u64.u32 %rd1, %r1', 'ret'];
    expect(canonical(body.map((line) => `${line};`).join(' '))).toEqual(body);
  });

  it('extends a result narrower than its register', () => {
    expect(canonical('cvt.s8.s32 %r1, %r2; cvt.u16.u32 %r1, %r2; cvt.s16.s8 %r1, %rs1; cvt.s8.s32 %rs1, %r2;')).toEqual(
      ['cvt.s32.s8 %r1, %r2', 'cvt.u32.u16 %r1, %r2', 'cvt.s32.s8 %r1, %rs1', 'cvt.s8.s32 %rs1, %r2'],
    );
  });

  it('converts the low half of a register wider than the type', () => {
    expect(canonical('@%p1 cvt.s64.s32 %rd1, %rd2; cvt.rn.f32.u16 %f1, %rd2; cvt.s64.s16 %rd1, %r1;')).toEqual([
      '@%p1 cvt.u32.u64 @narrow32_0, %rd2',
      '@%p1 cvt.s64.s32 %rd1, @narrow32_0',
      'cvt.u32.u64 @narrow32_0, %rd2',
      'cvt.rn.f32.u16 %f1, @narrow32_0',
      'cvt.s64.s16 %rd1, %r1',
    ]);
  });

  it('loads and stores through registers as wide as the type', () => {
    expect(
      canonical('@%p1 ld.global.s32 %rd1, [%rd2]; ld.shared.v2.u8 {%r1, %rs1}, [%r2]; st.global.u16 [%rd2], %rd1;'),
    ).toEqual([
      '@%p1 ld.global.s32 @narrow32_0, [%rd2]',
      '@%p1 cvt.s64.s32 %rd1, @narrow32_0',
      'ld.shared.v2.u8 {@narrow16_0, %rs1}, [%r2]',
      'cvt.u32.u8 %r1, @narrow16_0',
      'cvt.u16.u64 @narrow16_0, %rd1',
      'st.global.u16 [%rd2], @narrow16_0',
    ]);
  });

  it('counts what it spells out once', () => {
    const { body } = canonicalForm(parseBody(`${REGISTERS} @%p1 bar.sync 0; ld.global.s8 %rd1, [%rd2]; ret;`));
    const counted = body.flatMap((s) => (s.kind === 'instruction' ? [s.instruction] : []));
    expect(counted.map(({ text, countedAs }) => [text, countedAs?.text ?? countedAs])).toEqual([
      ['bra', 'bar.sync'],
      ['bar.sync', null],
      ['ld.global.s8', undefined],
      ['cvt.s64.s8', null],
      ['ret', undefined],
    ]);
  });

  it('makes decimal literals of f32 instructions f32', () => {
    expect(canonical('mul.f32 %f1, %f2, 1.5; mul.f64 %fd1, %fd2, 1.5;')).toEqual([
      'mul.f32 %f1, %f2, 0x3fc00000',
      'mul.f64 %fd1, %fd2, 0x3ff8000000000000',
    ]);
  });

  it('puts guarded warp-wide instructions behind a branch', () => {
    expect(canonical('@%p1 shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1; ret;')).toEqual([
      '@!%p1 bra $skip',
      'shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1',
      '$skip:',
      'ret',
    ]);
  });

  it('spells out carries', () => {
    expect(canonical('add.cc.u32 %r1, %r1, %r2; addc.u32 %r3, %r4, 0;')).toEqual([
      'mov.b32 @termb32, %r1',
      'add.u32 @totalb32, @termb32, %r2',
      'setp.lt.u32 @carry, @totalb32, %r2',
      'mov.b32 %r1, @totalb32',
      'mov.b32 @termb32, %r4',
      'add.u32 @totalb32, @termb32, 0',
      'selp.b32 @addendb32, 1, 0, @carry',
      'add.u32 @totalb32, @totalb32, @addendb32',
      'mov.b32 %r3, @totalb32',
    ]);
  });
});
