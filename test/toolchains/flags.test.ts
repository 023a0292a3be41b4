import { beforeAll, describe, expect, it } from 'vitest';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { parseFlags } from '../../src/toolchains/user-flags.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { compileFails, compiles } from './support.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

describe('parseFlags', () => {
  const settingsOf = (...flags: string[]) => {
    const parsed = parseFlags(flags);
    if (!parsed.ok) throw new Error(parsed.reason);
    return parsed.settings;
  };

  it('starts from what nvcc does without flags', () => {
    expect(settingsOf()).toEqual({
      languageStandard: 'c++17',
      optimisationLevel: '3',
      macros: [],
      flushSubnormals: false,
      preciseDivision: true,
      preciseSquareRoot: true,
      fuseMultiplyAdd: true,
      fastIntrinsics: false,
    });
  });

  it('takes nvcc spellings, joined and in two words', () => {
    expect(settingsOf('-DA=1', '-D', 'B', '-UC')).toMatchObject({ macros: ['-DA=1', '-DB', '-UC'] });
    expect(settingsOf('-std=c++20')).toMatchObject({ languageStandard: 'c++20' });
    expect(settingsOf('--std', 'c++14')).toMatchObject({ languageStandard: 'c++14' });
    expect(settingsOf('-O2')).toMatchObject({ optimisationLevel: '2' });
    expect(settingsOf('-maxrregcount=64')).toMatchObject({ maximumRegisters: 64 });
    expect(settingsOf('--maxrregcount', '128')).toMatchObject({ maximumRegisters: 128 });
    expect(settingsOf('--fmad=false', '-lineinfo', '--expt-relaxed-constexpr')).toMatchObject({
      fuseMultiplyAdd: false,
    });
  });

  it('takes fast math apart, the last word winning', () => {
    const fast = { flushSubnormals: true, preciseDivision: false, preciseSquareRoot: false, fastIntrinsics: true };
    expect(settingsOf('-use_fast_math')).toMatchObject(fast);
    expect(settingsOf('--use_fast_math', '--prec-div=true')).toMatchObject({ ...fast, preciseDivision: true });
    expect(settingsOf('-ffast-math', '-ftz=false')).toMatchObject({ ...fast, flushSubnormals: false });
  });

  it.each([
    ['-I/usr/include', 'source.includes'],
    ['-arch=sm_90', 'the device decides'],
    ['-gencode', 'the device decides'],
    ['-G', 'unoptimised'],
    ['-Xptxas', 'not passed on'],
    ['-mllvm', 'not passed on'],
    ['-include', 'source.includes'],
    ['-fplugin=evil.so', 'not passed on'],
    ['@flags.txt', 'not one of the flags'],
    ['-o', 'not one of the flags'],
    ['-DA=1\n#include', 'not one of the flags'],
    ['-maxrregcount=8', 'between 16 and 255'],
  ])('refuses %s', (flag, reason) => {
    expect(parseFlags(['-O3', flag])).toEqual({ ok: false, flag, index: 1, reason: expect.stringContaining(reason) });
  });

  it('does not let a macro stand in for a parameter', () => {
    expect(parseFlags(['-DBLOCK_M=1'], ['BLOCK_M'])).toMatchObject({ ok: false, index: 0 });
    expect(parseFlags(['-UBLOCK_M'], ['BLOCK_M'])).toMatchObject({ ok: false });
    expect(parseFlags(['-DBLOCK_N=1'], ['BLOCK_M'])).toMatchObject({ ok: true });
  });
});

describe('what flags do to the code', () => {
  let toolchain: Toolchain;
  beforeAll(async () => {
    toolchain = await createClangToolchain();
  });
  const source = `extern "C" __global__ void run(float* o) {
    o[0] = o[1] / o[2]; o[3] = sqrtf(o[4]); o[5] = expf(o[6]); o[7] = sinf(o[8]); o[9] = o[10] * o[11] + o[12];
  }`;
  const ptxWith = async (...flags: string[]) => (await compiles(toolchain, { source, flags })).text;

  it('is precise and fused by default', async () => {
    const ptx = await ptxWith();
    expect(ptx).toContain('div.rn.f32');
    expect(ptx).toContain('sqrt.rn.f32');
    expect(ptx).not.toContain('sin.approx');
    expect(ptx).not.toMatch(/(mul|add|div|sqrt)\.(rn\.)?ftz/);
    expect(ptx).toMatch(/fma\.rn\.f32/);
  });

  it('is approximate and flushes with fast math', async () => {
    const ptx = await ptxWith('--use_fast_math');
    expect(ptx).toContain('div.approx.ftz.f32');
    expect(ptx).toContain('sqrt.approx.ftz.f32');
    expect(ptx).toContain('sin.approx.ftz.f32');
    expect(ptx).toContain('ex2.approx.ftz.f32');
    expect(ptx).not.toMatch(/fma\.rn\.f32/);
  });

  long('takes each part of fast math alone', async () => {
    expect(await ptxWith('--prec-div=false')).toContain('div.full.f32');
    expect(await ptxWith('--prec-sqrt=false')).toContain('sqrt.approx.f32');
    expect(await ptxWith('--ftz=true')).toMatch(/div\.rn\.ftz\.f32/);
  });

  long('does not fuse products with sums under --fmad=false', async () => {
    const sum = 'extern "C" __global__ void run(float* o) { o[9] = o[10] * o[11] + o[12]; }';
    const fused = await compiles(toolchain, { source: sum });
    const apart = await compiles(toolchain, { source: sum, flags: ['--fmad=false'] });
    expect(fused.text).toContain('fma.rn.f32');
    expect(apart.text).not.toContain('fma');
    expect(apart.text).toMatch(/mul(\.rn)?\.f32/);
  });

  it('limits registers with -maxrregcount, launch bounds going first', async () => {
    const two = `extern "C" __global__ void run(float* o) { o[0] = 1; }
      extern "C" __global__ void __launch_bounds__(128) bounded(float* o) { o[0] = 1; }`;
    const { text } = await compiles(toolchain, {
      source: two,
      functions: ['run', 'bounded'],
      flags: ['-maxrregcount=64'],
    });
    expect(text.match(/\.maxnreg 64/g)).toHaveLength(1);
    expect(text).toMatch(/\.entry run\([^{]*\.maxnreg 64/);
  });

  it('gives macros to the source', async () => {
    const { text } = await compiles(toolchain, {
      source: 'extern "C" __global__ void run(int* o) { o[0] = VALUE; }',
      flags: ['-DVALUE=(40 + 2)'],
    });
    expect(text).toMatch(/st\.global\.b32\s+\[%rd\d+\], 42;/);
  });

  it('says which flag is refused, and where', async () => {
    const failure = await compileFails(toolchain, { source, flags: ['-O3', '-I/etc'] });
    expect(failure).toMatchObject({
      status: 'invalid',
      message: 'source.flags[1]: `-I/etc` is refused: list the files in source.includes instead.',
    });
  });
});
