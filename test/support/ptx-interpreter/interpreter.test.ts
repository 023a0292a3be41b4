import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { instructionsOf, parseBody, REGISTERS } from '../../ptx/support.ts';
import { decode, encode, exactOfNumber, type FloatType, FORMATS, numberOf } from './formats.ts';
import { executeWarp } from './index.ts';
import { bitsOfType, type LaneState } from './lane.ts';

/** Runs `text` on one lane whose registers start as given; returns the registers named in `outputs`. */
function run(text: string, inputs: Record<string, bigint | number>, outputs: readonly string[]): bigint[] {
  const fn = parseBody(`${REGISTERS} ${text}`);
  const registers = new Map<string, bigint>();
  for (const [name, value] of Object.entries(inputs)) {
    const bits = bitsOfType(fn.registers.get(`%${name}`)!);
    registers.set(`%${name}`, BigInt.asUintN(bits, BigInt(value)));
  }
  const state: LaneState = { registers, carry: 0n };
  for (const instruction of instructionsOf(fn)) executeWarp(instruction, fn.registers, new Map([[0, state]]));
  return outputs.map((name) => state.registers.get(`%${name}`)!);
}

const f32 = (value: number): bigint => encode('f32', exactOfNumber(value), 'rn');
const f64 = (value: number): bigint => encode('f64', exactOfNumber(value), 'rn');

describe('integer operations, against hand-computed values', () => {
  it.each<[string, Record<string, bigint | number>, number | bigint]>([
    ['add.sat.s32 %r0, %r1, %r2;', { r1: 0x7fffffff, r2: 1 }, 0x7fffffff],
    ['sub.s32 %r0, %r1, %r2;', { r1: 1, r2: 2 }, 0xffffffff],
    ['mul.hi.s32 %r0, %r1, %r2;', { r1: -2, r2: 3 }, 0xffffffff],
    ['mul.hi.u32 %r0, %r1, %r2;', { r1: -1, r2: -1 }, 0xfffffffe],
    ['mad.hi.sat.s32 %r0, %r1, %r2, %r3;', { r1: 0x40000000, r2: 4, r3: 0x7fffffff }, 0x7fffffff],
    ['mul24.hi.s32 %r0, %r1, %r2;', { r1: 0x00800000, r2: 0x10 }, 0xfffff800],
    ['mul24.lo.u32 %r0, %r1, %r2;', { r1: 0xff000002, r2: 3 }, 6],
    ['sad.s32 %r0, %r1, %r2, %r3;', { r1: -5, r2: 3, r3: 10 }, 18],
    ['div.s32 %r0, %r1, %r2;', { r1: -7, r2: 2 }, 0xfffffffd],
    ['rem.s32 %r0, %r1, %r2;', { r1: -7, r2: 2 }, 0xffffffff],
    ['bfe.s32 %r0, %r1, 4, 8;', { r1: 0xf80 }, 0xfffffff8],
    ['bfe.u32 %r0, %r1, 28, 8;', { r1: 0xf0000000 }, 0xf],
    ['bfe.s32 %r0, %r1, 28, 8;', { r1: 0x90000000 }, 0xfffffff9],
    ['bfi.b32 %r0, %r1, %r2, 8, 4;', { r1: 0xabc, r2: 0 }, 0xc00],
    ['bfind.s32 %r0, %r1;', { r1: -1 }, 0xffffffff],
    ['bfind.shiftamt.u32 %r0, %r1;', { r1: 0x8000 }, 16],
    ['clz.b32 %r0, %r1;', { r1: 0 }, 32],
    ['clz.b64 %r0, %rd1;', { rd1: 1 }, 63],
    ['popc.b64 %r0, %rd1;', { rd1: -1 }, 64],
    ['brev.b32 %r0, %r1;', { r1: 6 }, 0x60000000],
    ['fns.b32 %r0, %r1, %r2, 2;', { r1: 0b10110, r2: 1 }, 2],
    ['fns.b32 %r0, %r1, %r2, -2;', { r1: 0b10110, r2: 3 }, 1],
    ['bmsk.clamp.b32 %r0, %r1, %r2;', { r1: 4, r2: 8 }, 0xff0],
    ['bmsk.clamp.b32 %r0, %r1, %r2;', { r1: 4, r2: 99 }, 0xfffffff0],
    ['bmsk.wrap.b32 %r0, %r1, %r2;', { r1: 36, r2: 33 }, 0x10],
    ['szext.wrap.s32 %r0, %r1, %r2;', { r1: 0x8f, r2: 8 }, 0xffffff8f],
    ['szext.clamp.u32 %r0, %r1, %r2;', { r1: -1, r2: 40 }, 0xffffffff],
    ['dp4a.s32.u32 %r0, %r1, %r2, %r3;', { r1: 0xff020304, r2: 0x01010101, r3: 10 }, 18],
    ['dp2a.hi.u32.u32 %r0, %r1, %r2, %r3;', { r1: 0x00020003, r2: 0x05040000, r3: 1 }, 23],
    ['shl.b32 %r0, %r1, 32;', { r1: 1 }, 0],
    ['shr.s32 %r0, %r1, 99;', { r1: -8 }, 0xffffffff],
    ['shf.l.wrap.b32 %r0, %r1, %r2, 8;', { r1: 0xaabbccdd, r2: 0x11223344 }, 0x223344aa],
    ['shf.r.clamp.b32 %r0, %r1, %r2, 32;', { r1: 0xaabbccdd, r2: 0x11223344 }, 0x11223344],
    ['prmt.b32 %r0, %r1, %r2, 0x7610;', { r1: 0x33221100, r2: 0x77665544 }, 0x77661100],
    ['prmt.b32 %r0, %r1, %r2, 0x888f;', { r1: 0x33221180, r2: 0x77665544 }, 0xffffff00],
    ['prmt.b32.rc16 %r0, %r1, %r2, 1;', { r1: 0x33221100, r2: 0 }, 0x33223322],
    ['lop3.b32 %r0, %r1, %r2, %r3, 0xca;', { r1: 0xff00, r2: 0x1234, r3: 0xabcd }, 0x12cd],
    ['min.relu.s32 %r0, %r1, %r2;', { r1: -4, r2: 3 }, 0],
    ['max.s16x2 %r0, %r1, %r2;', { r1: 0xffff0001, r2: 0x00018000 }, 0x00010001],
    ['cnot.b32 %r0, %r1;', { r1: 0 }, 1],
    ['mov.b32 %r0, {%rs1, %rs2};', { rs1: 0x1111, rs2: 0x2222 }, 0x22221111],
  ])('%s %o', (text, inputs, expected) => {
    expect(run(text, inputs, ['r0'])[0]).toBe(BigInt(expected));
  });

  it('carries from word to word', () => {
    const text = 'add.cc.u32 %r0, %r1, %r2; addc.cc.u32 %r3, %r1, 0; addc.u32 %r4, 0, 0;';
    expect(run(text, { r1: -1, r2: 1 }, ['r0', 'r3', 'r4'])).toEqual([0n, 0n, 1n]);
    const borrow = 'sub.cc.u32 %r0, %r1, %r2; subc.u32 %r3, %r1, 0;';
    expect(run(borrow, { r1: 0, r2: 1 }, ['r0', 'r3'])).toEqual([0xffffffffn, 0xffffffffn]);
    const product = 'mad.lo.cc.u32 %r0, %r1, %r1, %r2; madc.hi.u32 %r3, %r1, %r1, 0;';
    expect(run(product, { r1: -1, r2: -1 }, ['r0', 'r3'])).toEqual([0n, 0xffffffffn]);
  });
});

describe('floating-point operations, against JavaScript where it rounds once', () => {
  const anyF32 = fc.oneof(
    fc.float(),
    fc.constantFrom(
      0,
      -0,
      1,
      -1,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
      2 ** -149,
      -(2 ** -127),
    ),
  );

  it.each<[string, (a: number, b: number) => number]>([
    ['add.rn.f32', (a, b) => Math.fround(a + b)],
    ['sub.rn.f32', (a, b) => Math.fround(a - b)],
    ['mul.rn.f32', (a, b) => Math.fround(a * b)],
    ['div.rn.f32', (a, b) => Math.fround(a / b)],
  ])('%s', (opcode, operation) => {
    fc.assert(
      fc.property(anyF32, anyF32, (a, b) => {
        const [bits] = run(`${opcode} %f0, %f1, %f2;`, { f1: f32(a), f2: f32(b) }, ['f0']);
        expect(numberOf(decode('f32', bits!))).toBe(operation(a, b));
      }),
    );
  });

  it('squareRoot and division round as float64 does', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), (a, b) => {
        const [root, quotient] = run(
          'sqrt.rn.f64 %fd0, %fd1; div.rn.f64 %fd3, %fd1, %fd2;',
          { fd1: f64(a), fd2: f64(b) },
          ['fd0', 'fd3'],
        );
        expect(numberOf(decode('f64', root!))).toBe(Math.sqrt(a));
        expect(numberOf(decode('f64', quotient!))).toBe(a / b);
      }),
    );
  });

  it('f16 rounds as Float16Array does', () => {
    fc.assert(
      fc.property(fc.double({ min: -70000, max: 70000 }), (value) => {
        expect(numberOf(decode('f16', encode('f16', exactOfNumber(value), 'rn')))).toBe(Math.f16round(value));
      }),
    );
  });

  it('encodes what it decodes, in every format', () => {
    for (const type of Object.keys(FORMATS) as FloatType[]) {
      const { bits } = FORMATS[type];
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n }), (pattern) => {
          const value = decode(type, pattern);
          if (value.kind !== 'nan') expect(encode(type, value, 'rz')).toBe(pattern);
        }),
      );
    }
  });

  it.each<[string, Record<string, bigint | number>, string, bigint]>([
    // (1+2⁻²³)² − (1+2⁻²²) = 2⁻⁴⁶, lost by a product rounded on its own.
    ['fma.rn.f32 %f0, %f1, %f1, %f2;', { f1: 0x3f800001, f2: 0xbf800002 }, 'f0', f32(2 ** -46)],
    ['add.rp.f32 %f0, %f1, %f2;', { f1: f32(1), f2: f32(2 ** -60) }, 'f0', 0x3f800001n],
    ['add.rm.f32 %f0, %f1, %f2;', { f1: f32(1), f2: f32(-(2 ** -60)) }, 'f0', 0x3f7fffffn],
    ['add.rm.f32 %f0, %f1, %f2;', { f1: f32(1), f2: f32(-1) }, 'f0', 0x80000000n],
    ['add.rz.f32 %f0, %f1, %f1;', { f1: 0x7f7fffff }, 'f0', 0x7f7fffffn],
    ['mul.ftz.f32 %f0, %f1, %f2;', { f1: 0x80000001, f2: f32(2) }, 'f0', 0x80000000n],
    ['mul.ftz.f32 %f0, %f1, %f2;', { f1: 0x00800000, f2: f32(-0.5) }, 'f0', 0x80000000n],
    ['add.sat.f32 %f0, %f1, %f1;', { f1: f32(7) }, 'f0', f32(1)],
    ['add.sat.f32 %f0, %f1, %f1;', { f1: 0x7fc00000 }, 'f0', 0n],
    ['add.f32 %f0, %f1, %f2;', { f1: 0x7f800000, f2: 0xff800000 }, 'f0', 0x7fffffffn],
    ['min.f32 %f0, %f1, %f2;', { f1: 0x7fc00000, f2: f32(3) }, 'f0', f32(3)],
    ['min.NaN.f32 %f0, %f1, %f2;', { f1: 0x7fc00000, f2: f32(3) }, 'f0', 0x7fffffffn],
    ['max.f32 %f0, %f1, %f2;', { f1: 0x80000000, f2: 0 }, 'f0', 0n],
    ['min.f32 %f0, %f1, %f2;', { f1: 0, f2: 0x80000000 }, 'f0', 0x80000000n],
    ['min.xorsign.abs.f32 %f0, %f1, %f2;', { f1: f32(-2), f2: f32(3) }, 'f0', f32(-2)],
    ['copysign.f32 %f0, %f1, %f2;', { f1: f32(-2), f2: f32(3) }, 'f0', f32(-3)],
    ['fma.rn.relu.f16 %rs0, %rs1, %rs1, %rs2;', { rs1: 0x3c00, rs2: 0xc000 }, 'rs0', 0n],
    ['fma.rn.bf16x2 %r0, %r1, %r2, %r3;', { r1: 0x3f804000, r2: 0x40404040, r3: 0x3f800000 }, 'r0', 0x408040c0n],
    ['testp.subnormal.f32 %p0, %f1;', { f1: 1 }, 'p0', 1n],
    ['testp.normal.f32 %p0, %f1;', { f1: 0 }, 'p0', 1n],
    ['rcp.rn.f32 %f0, %f1;', { f1: 0x80000000 }, 'f0', 0xff800000n],
    ['sqrt.rn.f32 %f0, %f1;', { f1: f32(-1) }, 'f0', 0x7fffffffn],
    ['ex2.approx.f32 %f0, %f1;', { f1: f32(-3) }, 'f0', f32(0.125)],
    ['lg2.approx.f32 %f0, %f1;', { f1: 0 }, 'f0', 0xff800000n],
    ['rsqrt.approx.f32 %f0, %f1;', { f1: f32(4) }, 'f0', f32(0.5)],
  ])('%s %o', (text, inputs, output, expected) => {
    expect(run(text, inputs, [output])[0]).toBe(expected);
  });
});

describe('conversions', () => {
  it.each<[string, Record<string, bigint | number>, string, number | bigint]>([
    ['cvt.s32.s8 %r0, %r1;', { r1: 0x180 }, 'r0', 0xffffff80],
    ['cvt.u16.u32 %rs0, %r1;', { r1: 0x12345678 }, 'rs0', 0x5678],
    ['cvt.sat.u8.s32 %r0, %r1;', { r1: -3 }, 'r0', 0],
    ['cvt.sat.s8.s32 %r0, %r1;', { r1: -300 }, 'r0', 0xffffff80],
    ['cvt.u64.s32 %rd0, %r1;', { r1: -1 }, 'rd0', 0xffffffffffffffffn],
    ['cvt.rzi.s32.f32 %r0, %f1;', { f1: f32(-2.7) }, 'r0', 0xfffffffe],
    ['cvt.rni.s32.f32 %r0, %f1;', { f1: f32(2.5) }, 'r0', 2],
    ['cvt.rpi.s32.f32 %r0, %f1;', { f1: 1 }, 'r0', 1],
    ['cvt.rpi.ftz.s32.f32 %r0, %f1;', { f1: 1 }, 'r0', 0],
    ['cvt.rzi.u32.f32 %r0, %f1;', { f1: f32(-5) }, 'r0', 0],
    ['cvt.rzi.u32.f32 %r0, %f1;', { f1: f32(2 ** 40) }, 'r0', 0xffffffff],
    ['cvt.rzi.s32.f32 %r0, %f1;', { f1: 0x7fc00000 }, 'r0', 0],
    ['cvt.rzi.s64.f32 %rd0, %f1;', { f1: 0x7fc00000 }, 'rd0', 0x8000000000000000n],
    ['cvt.rzi.s32.f64 %r0, %fd1;', { fd1: 0x7ff8000000000000n }, 'r0', 0x80000000],
    ['cvt.rn.f32.s32 %f0, %r1;', { r1: 0x01000001 }, 'f0', f32(0x01000000)],
    ['cvt.rz.f32.u64 %f0, %rd1;', { rd1: -1 }, 'f0', 0x5f7fffff],
    ['cvt.rmi.f32.f32 %f0, %f1;', { f1: f32(-0.5) }, 'f0', f32(-1)],
    ['cvt.rzi.f32.f32 %f0, %f1;', { f1: f32(-0.5) }, 'f0', 0x80000000],
    ['cvt.f32.f16 %f0, %rs1;', { rs1: 0x0001 }, 'f0', f32(2 ** -24)],
    ['cvt.rn.f16.f32 %rs0, %f1;', { f1: f32(65520) }, 'rs0', 0x7c00],
    ['cvt.rz.f16.f32 %rs0, %f1;', { f1: f32(65520) }, 'rs0', 0x7bff],
    ['cvt.rn.satfinite.f16.f32 %rs0, %f1;', { f1: f32(1e9) }, 'rs0', 0x7bff],
    ['cvt.rn.bf16.f32 %rs0, %f1;', { f1: 0x3f818000 }, 'rs0', 0x3f82],
    ['cvt.rn.bf16x2.f32 %r0, %f1, %f2;', { f1: f32(1), f2: f32(2) }, 'r0', 0x3f804000],
    ['cvt.rn.relu.f16x2.f32 %r0, %f1, %f2;', { f1: f32(-1), f2: f32(2) }, 'r0', 0x00004000],
    ['cvt.rn.satfinite.e4m3x2.f32 %rs0, %f1, %f2;', { f1: f32(1000), f2: f32(1) }, 'rs0', 0x7e38],
    ['cvt.rn.f16x2.e5m2x2 %r0, %rs1;', { rs1: 0x3c40 }, 'r0', 0x3c004000],
    ['cvt.rna.tf32.f32 %r0, %f1;', { f1: 0x3f801000 }, 'r0', 0x3f802000],
    ['cvt.sat.f32.f32 %f0, %f1;', { f1: f32(-4) }, 'f0', 0],
    ['cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3;', { r1: 300, r2: -1, r3: 0xabcd }, 'r0', 0xabcdff00],
  ])('%s %o', (text, inputs, output, expected) => {
    expect(run(text, inputs, [output])[0]).toBe(BigInt(expected));
  });
});

describe('comparison and selection', () => {
  it.each<[string, Record<string, bigint | number>, string, number | bigint]>([
    ['setp.lt.u32 %p0, %r1, %r2;', { r1: -1, r2: 1 }, 'p0', 0],
    ['setp.lt.s32 %p0, %r1, %r2;', { r1: -1, r2: 1 }, 'p0', 1],
    ['setp.ne.f32 %p0, %f1, %f1;', { f1: 0x7fc00000 }, 'p0', 0],
    ['setp.neu.f32 %p0, %f1, %f1;', { f1: 0x7fc00000 }, 'p0', 1],
    ['setp.eq.f32 %p0, %f1, %f2;', { f1: 0, f2: 0x80000000 }, 'p0', 1],
    ['setp.num.f32 %p0, %f1, %f1;', { f1: 0x7fc00000 }, 'p0', 0],
    ['setp.gt.ftz.f32 %p0, %f1, 0f00000000;', { f1: 1 }, 'p0', 0],
    ['setp.lt.and.s32 %p1|%p0, %r1, %r2, !%p3;', { r1: 2, r2: 1, p3: 0 }, 'p0', 1],
    ['setp.lt.f16x2 %p1|%p0, %r1, %r2;', { r1: 0x00003c00, r2: 0x3c000000 }, 'p0', 1],
    ['set.gt.f32.s32 %f0, %r1, %r2;', { r1: 2, r2: 1 }, 'f0', 0x3f800000],
    ['set.gt.u32.s32 %r0, %r1, %r2;', { r1: 2, r2: 1 }, 'r0', 0xffffffff],
    ['set.gt.f16x2.f16x2 %r0, %r1, %r2;', { r1: 0x3c000000, r2: 0 }, 'r0', 0x3c000000],
    ['selp.b32 %r0, %r1, %r2, %p1;', { r1: 5, r2: 6, p1: 0 }, 'r0', 6],
    ['slct.b32.s32 %r0, %r1, %r2, %r3;', { r1: 5, r2: 6, r3: -1 }, 'r0', 6],
    ['slct.f32.f32 %f0, %f1, %f2, %f3;', { f1: 5, f2: 6, f3: 0x80000000 }, 'f0', 5],
    ['slct.f32.f32 %f0, %f1, %f2, %f3;', { f1: 5, f2: 6, f3: 0x7fc00000 }, 'f0', 6],
    ['@!%p1 mov.b32 %r0, 1;', { r0: 9, p1: 1 }, 'r0', 9],
  ])('%s %o', (text, inputs, output, expected) => {
    expect(run(text, inputs, [output])[0]).toBe(BigInt(expected));
  });
});

describe('warp operations', () => {
  /** Runs on the lanes of `mask`; lane i starts with %r1 = 100 + i and %p1 = i odd. */
  function warp(text: string, outputs: readonly string[], mask = 0xffffffff): (bigint[] | undefined)[] {
    const fn = parseBody(`${REGISTERS} ${text}`);
    const lanes = new Map<number, LaneState>();
    for (let lane = 0; lane < 32; lane++) {
      if (((mask >>> lane) & 1) === 0) continue;
      const registers = new Map([
        ['%r1', BigInt(100 + lane)],
        ['%p1', BigInt(lane & 1)],
      ]);
      lanes.set(lane, { registers, carry: 0n });
    }
    for (const instruction of instructionsOf(fn)) executeWarp(instruction, fn.registers, lanes);
    return Array.from({ length: 32 }, (_, lane) => {
      const state = lanes.get(lane);
      return state && outputs.map((name) => state.registers.get(`%${name}`)!);
    });
  }

  it.each<[string, (lane: number) => [number, number]]>([
    ['shfl.sync.bfly.b32 %r0|%p0, %r1, 3, 31, -1;', (lane) => [100 + (lane ^ 3), 1]],
    ['shfl.sync.up.b32 %r0|%p0, %r1, 2, 0, -1;', (lane) => (lane >= 2 ? [98 + lane, 1] : [100 + lane, 0])],
    ['shfl.sync.down.b32 %r0|%p0, %r1, 30, 31, -1;', (lane) => (lane < 2 ? [130 + lane, 1] : [100 + lane, 0])],
    ['shfl.sync.idx.b32 %r0|%p0, %r1, 5, 31, -1;', () => [105, 1]],
    // Segments of 8: mask 0x18 in bits 8…12.
    ['shfl.sync.idx.b32 %r0|%p0, %r1, 5, 0x181f, -1;', (lane) => [105 + (lane & 24), 1]],
    ['shfl.sync.down.b32 %r0|%p0, %r1, 1, 0x181f, -1;', (lane) => ((lane & 7) < 7 ? [101 + lane, 1] : [100 + lane, 0])],
    ['shfl.sync.up.b32 %r0|%p0, %r1, 1, 0x1800, -1;', (lane) => ((lane & 7) > 0 ? [99 + lane, 1] : [100 + lane, 0])],
  ])('%s', (text, expected) => {
    warp(text, ['r0', 'p0']).forEach((result, lane) => {
      expect(result).toEqual(expected(lane).map(BigInt));
    });
  });

  it('votes over the lanes of the mask that execute', () => {
    expect(warp('vote.sync.ballot.b32 %r0, %p1, 0xff;', ['r0'], 0xff)[3]).toEqual([0xaan]);
    expect(warp('vote.sync.all.pred %p0, %p1, 0xaa;', ['p0'], 0xaa)[1]).toEqual([1n]);
    expect(warp('vote.sync.any.pred %p0, !%p1, 0xaa;', ['p0'], 0xaa)[1]).toEqual([0n]);
    expect(warp('vote.sync.uni.pred %p0, %p1, 0x3;', ['p0'], 0x3)[1]).toEqual([0n]);
    expect(warp('activemask.b32 %r0;', ['r0'], 0xf0)[4]).toEqual([0xf0n]);
    expect(warp('@%p1 activemask.b32 %r0;', ['r0'], 0xff)[1]).toEqual([0xaan]);
  });

  it('matches and reduces', () => {
    const odd = 'and.b32 %r2, %r1, 1;';
    expect(warp(`${odd} match.any.sync.b32 %r0, %r2, -1;`, ['r0'])[2]).toEqual([0x55555555n]);
    expect(warp(`${odd} match.all.sync.b32 %r0|%p0, %r2, -1;`, ['r0', 'p0'])[2]).toEqual([0n, 0n]);
    expect(warp('redux.sync.add.u32 %r0, %r1, 0xf;', ['r0'], 0xf)[0]).toEqual([406n]);
    expect(warp('sub.s32 %r2, %r1, 110; redux.sync.min.s32 %r0, %r2, -1;', ['r0'])[0]).toEqual([
      BigInt.asUintN(32, -10n),
    ]);
    expect(warp('elect.sync %r0|%p0, 0xf0;', ['r0', 'p0'], 0xf0)[5]).toEqual([4n, 0n]);
  });
});
