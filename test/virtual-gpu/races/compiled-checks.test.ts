import { describe, expect, it } from 'vitest';
import { parsePtx } from '../../../src/ptx/parse.ts';
import { mulberry32 } from '../../../src/stats/random.ts';
import { compileKernel } from '../../../src/virtual-gpu/compile-kernel.ts';
import type { KernelImage } from '../../../src/virtual-gpu/kernel-image.ts';
import { DEVICE_START, WINDOW } from '../../../src/virtual-gpu/layout.ts';
import { CtaRunner } from '../../../src/virtual-gpu/runtime/cta-runner.ts';
import { KernelFault } from '../../../src/virtual-gpu/runtime/fault.ts';
import { WriteMap } from '../../../src/virtual-gpu/runtime/write-map.ts';

/**
 * Compiled code notes most accesses to shared and device memory, JavaScript the others. Random kernels must come out the same when
 * JavaScript notes all of them: the same fault, with the same two accesses, or none, and the same first read of what nobody wrote.
 */
const WARPS = 3;
const THREADS = WARPS * 32;
const ROUNDS = 6;
/** Of shared memory, and of each CTA's part of the buffer. */
const BYTES = 4096;
const CTAS = 3;
const BUFFER = { name: 'y', start: DEVICE_START, bytes: CTAS * BYTES };
const SPACES = ['shared', 'global'] as const;
type Space = (typeof SPACES)[number];
/** In device memory its place in the buffer is added: see `randomKernel`. */
const PLACES: Readonly<Record<Space, { register: string; from: string }>> = {
  shared: { register: '%r9', from: '' },
  global: { register: '%rd2', from: 'cvt.u64.u32 %rd2, %r9; add.u64 %rd2, %rd2, %rd1;' },
};

interface Outcome {
  readonly fault: string | undefined;
  readonly uninitialised: string | undefined;
  /** Accesses that JavaScript was told of, or carried out; copies that land not counted. */
  readonly told: number;
}

/** Sixteen bytes of each lane. */
const WIDE = 'shl.b32 %r9, %r1, 4;';
/** Addresses, as instructions that leave one in %r9: by lane, by warp, and by the round of the loop. */
const ADDRESSES: readonly string[] = [
  'shl.b32 %r9, %r1, 2;',
  WIDE,
  'xor.b32 %r9, %r1, 1; shl.b32 %r9, %r9, 2;',
  'xor.b32 %r9, %r1, 32; shl.b32 %r9, %r9, 2;',
  'and.b32 %r9, %r1, -32; shl.b32 %r9, %r9, 2;',
  'and.b32 %r9, %r1, -4; shl.b32 %r9, %r9, 2;',
  'and.b32 %r9, %r1, 7; shl.b32 %r9, %r9, 6;',
  'shl.b32 %r9, %r1, 2; and.b32 %r8, %r2, 1; shl.b32 %r8, %r8, 10; xor.b32 %r9, %r9, %r8;',
  'mov.u32 %r9, 512;',
];

/** Share of the accesses of kernels without a fault. In device memory JavaScript compares those of several warps. */
const MOST_TOLD: Readonly<Record<Space, number>> = { shared: 0.5, global: 0.75 };

type Draw = (bound: number) => number;

/** Of rows of 16 bytes. */
const ROWS: readonly string[] = [
  WIDE,
  'xor.b32 %r9, %r1, 5; shl.b32 %r9, %r9, 4;',
  'xor.b32 %r9, %r1, 32; shl.b32 %r9, %r9, 4;',
  'and.b32 %r9, %r1, -2; shl.b32 %r9, %r9, 4;',
  'shr.u32 %r9, %r1, 3; shl.b32 %r9, %r9, 4;',
  'and.b32 %r9, %r1, 15; shl.b32 %r9, %r9, 4;',
  'shl.b32 %r9, %r1, 4; and.b32 %r8, %r2, 1; shl.b32 %r8, %r8, 10; xor.b32 %r9, %r9, %r8;',
  'mov.u32 %r9, 512;',
];

/** Matrices that a warp loads, or a copy of each lane, which lands here or at the next wait. */
function rows(draw: Draw): string {
  const address = ROWS[draw(ROWS.length)]!;
  const count = [1, 2, 4][draw(3)]!;
  const registers = ['%r4', '%r5', '%r6', '%r7'].slice(0, count).join(', ');
  const place = `[%r9+${draw(3) * 16}]`;
  const guard = draw(3) === 0 ? '@%p1 ' : '';
  const wait = draw(3) === 0 ? '' : 'cp.async.wait_all;';
  return draw(2) === 0
    ? `${address}\nldmatrix.sync.aligned.m8n8.x${count}${draw(2) === 0 ? '.trans' : ''}.shared.b16 {${registers}}, ${place};`
    : `${address}\n${guard}cp.async.ca.shared.global ${place}, [%rd3], ${draw(2) === 0 ? 16 : '16, %r10'};\n${wait}`;
}

/** An access, now and then an atomic one. What several warps store may be the same for all: that is no race. */
function access(draw: Draw, space: Space): string {
  const isOneOf = (parts: number): boolean => draw(parts) === 0;
  if (space === 'shared' && isOneOf(4)) return rows(draw);
  const address = ADDRESSES[draw(ADDRESSES.length)]!;
  const guard = isOneOf(4) ? '@%p1 ' : '';
  const isWide = address === WIDE && isOneOf(2);
  const { register, from } = PLACES[space];
  const place = `[${register}+${draw(3) * 16}]`;
  const load = isWide ? `ld.${space}.v4.u32 {%r4, %r5, %r6, %r7}, ${place};` : `ld.${space}.u32 %r4, ${place};`;
  const value = ['%r1', '%r2', '%r4', '7'][draw(4)]!;
  const store = isWide
    ? `st.${space}.v4.u32 ${place}, {%r4, %r5, ${value}, %r7};`
    : `st.${space}.u32 ${place}, ${value};`;
  const add = `red.${space}.add.u32 ${place}, ${value};`;
  return `${address}${from}\n${guard}${isOneOf(3) ? store : isOneOf(12) ? add : load}`;
}

/** What orders accesses: perhaps only in the first rounds, when compiled code has not seen them often. */
function meeting(draw: Draw, label: string): string {
  const opcode = draw(4) === 0 ? 'bar.warp.sync -1;' : 'bar.sync 0;';
  return draw(4) === 0 ? `@%p2 bra.uni ${label};\n${opcode}\n${label}:` : opcode;
}

/** @param unit a byte is accessed, too, so that cells are smaller than what most accesses touch. */
function randomKernel(seed: number, space: Space): string {
  const random = mulberry32(seed);
  const draw: Draw = (bound) => Math.floor(random() * bound);
  const isOrdered = draw(4) > 0;
  const body = Array.from({ length: 3 + draw(6) }, (_, i) => [
    access(draw, space),
    ...(isOrdered || draw(2) === 0 ? [meeting(draw, `MET${i}`)] : []),
  ]).flat();
  const { register, from } = PLACES[space];
  const own = `mov.u32 %r9, %r3; ${from}`;
  const unit = ['', `${own} ld.${space}.u8 %r4, [${register}];`, `${own} ld.${space}.u16 %r4, [${register}];`][
    draw(3)
  ]!;
  const filled = Array.from(
    { length: draw(3) === 0 ? 1 : 10 },
    (_, i) => `st.${space}.u32 [${register}+${i * THREADS * 4}], %r1;`,
  );
  // CTAs that share a part race.
  const partBytes = draw(8) === 0 ? 0 : BYTES;
  return [
    '.version 8.0\n.target sm_89\n.address_size 64',
    `.visible .entry random(.param .u64 y) {\n.reg .b32 %r<11>; .reg .b64 %rd<4>; .reg .pred %p<4>;`,
    `ld.param.u64 %rd1, [y]; mov.u32 %r9, %ctaid.x; mul.wide.u32 %rd2, %r9, ${partBytes}; add.u64 %rd1, %rd1, %rd2;`,
    'mov.u32 %r1, %tid.x; shl.b32 %r3, %r1, 2; mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 40;',
    'mov.u32 %r4, 0; mov.u32 %r5, 1; mov.u32 %r6, 2; mov.u32 %r7, 3; and.b32 %r10, %r1, 16;',
    'mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd3, %rd1;',
    ...(space === 'shared' ? ['st.global.u32 [%rd3], %r1;'] : []),
    own,
    ...(space === 'global' && draw(2) === 0 ? [] : filled),
    'bar.sync 0;',
    unit,
    `ROUND:\nsetp.ge.u32 %p2, %r2, ${ROUNDS / 2};`,
    ...body,
    `add.u32 %r4, %r4, %r1; add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, ${ROUNDS};\n@%p3 bra.uni ROUND;\nret;\n}`,
  ].join('\n');
}

/** The only accesses are of 128 bytes each, by a lane and its neighbour. */
const WIDE_KERNEL = [
  '.version 8.0\n.target sm_89\n.address_size 64',
  '.visible .entry random(.param .u64 y) {\n.reg .b32 %r<3>; .reg .b64 %rd<4>;',
  'ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 128; add.u64 %rd2, %rd2, %rd1;',
  'xor.b32 %r2, %r1, 1; mul.wide.u32 %rd3, %r2, 128; add.u64 %rd3, %rd3, %rd1;',
  'discard.global.L2 [%rd2], 128; discard.global.L2 [%rd3], 128;\nret;\n}',
].join('\n');

/** Each warp stores a word with every lane, side by side, and reads them with eight lanes, four words each. */
const regrouping = (meeting: string): string =>
  [
    '.version 8.0\n.target sm_89\n.address_size 64',
    '.visible .entry random(.param .u64 y) {\n.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<2>;',
    'ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1;',
    'and.b32 %r2, %r1, 31; and.b32 %r3, %r1, -32; shl.b32 %r3, %r3, 2; shl.b32 %r4, %r2, 4; add.u32 %r3, %r3, %r4;',
    'cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd3, %rd1; setp.lt.u32 %p1, %r2, 8;',
    `st.global.u32 [%rd2], %r1;\n${meeting}\n@%p1 ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd3];\nret;\n}`,
  ].join('\n');

const compiled = (ptx: string): KernelImage =>
  compileKernel({
    ...{ module: parsePtx(ptx), functionName: 'random', globals: new Map(), counting: false, watching: true },
    fusedMultiplyAdd: true,
  });

function run(image: KernelImage, watchesSlowly: boolean, orderSeed: number, ctas = CTAS): Outcome {
  const device = new WebAssembly.Memory({ initial: 4, maximum: 4, shared: true });
  const parameters = new Uint8Array(BigUint64Array.of((BigInt(WINDOW.global) << 32n) | BigInt(BUFFER.start)).buffer);
  const runner = new CtaRunner(image, device, new WriteMap());
  const { env } = runner.imports as { env: Record<string, WebAssembly.ImportValue> };
  const landings = new Set(image.warpSites.map(({ landing }) => landing));
  let told = 0;
  const telling = Object.fromEntries(
    (['watchGroup', 'watchUniform', 'warpOperation'] as const).map((name) => [
      name,
      (...values: number[]) => {
        if (name !== 'watchGroup' || !landings.has(values[0])) told += 1;
        (env[name] as (...values: number[]) => void)(...values);
      },
    ]),
  );
  runner.attach(new WebAssembly.Instance(new WebAssembly.Module(image.wasm), { env: { ...env, ...telling } }));
  runner.begin({
    ...{
      grid: [ctas, 1, 1],
      cluster: [1, 1, 1],
      hasClusters: false,
      block: [THREADS, 1, 1],
      dynamicSharedBytes: BYTES,
    },
    ...{ parameters, ranges: [BUFFER], rangesByName: { y: [0] }, orderSeed, instructionsPerCta: 1e6 },
    ...{
      deviceBytes: 4 * 65536,
      smCount: 2,
      warpsPerSm: 48,
      privateContents: { kind: 'rubbish', seed: 0 },
      isSerial: true,
    },
    watchesSlowly,
  });
  let fault: string | undefined;
  try {
    for (let cta = 0; cta < ctas; cta++) runner.runCluster(cta);
  } catch (error) {
    if (!(error instanceof KernelFault)) throw error;
    fault = `${error.message} ${error.instruction?.ptxLine} ${error.lane} ${error.address} in ${error.cta}`;
  }
  const read = runner.uninitialisedRead;
  const uninitialised = read && `${read.access.instruction.ptxLine} ${read.address} ${read.cta} ${read.thread}`;
  return { fault, uninitialised, told };
}

describe.each(SPACES)('of %s memory compiled code and JavaScript find the same', (space) => {
  const outcomes: Outcome[] = [];

  it.each(Array.from({ length: 80 }, (_, i) => i))('in random kernel %i', (seed) => {
    const image = compiled(randomKernel(seed, space));
    const orderSeed = seed % 2 === 0 ? 0 : seed;
    const [slow, quick] = [run(image, true, orderSeed), run(image, false, orderSeed)];
    expect({ ...quick, told: 0 }).toEqual({ ...slow, told: 0 });
    expect(quick.told).toBeLessThanOrEqual(slow.told);
    outcomes.push(quick, slow);
  });

  it('of races and of their absence, and JavaScript is told of few accesses of kernels without', () => {
    const quick = outcomes.filter((_, i) => i % 2 === 0);
    const slow = outcomes.filter((_, i) => i % 2 === 1);
    const told = (list: readonly Outcome[]): number =>
      list.filter(({ fault }) => fault === undefined).reduce((sum, one) => sum + one.told, 0);
    expect(quick.filter(({ fault }) => fault !== undefined).length).toBeGreaterThan(10);
    expect(quick.filter(({ fault }) => fault === undefined).length).toBeGreaterThan(10);
    if (space === 'shared')
      expect(quick.filter(({ uninitialised }) => uninitialised !== undefined).length).toBeGreaterThan(2);
    expect(told(quick)).toBeLessThan(told(slow) * MOST_TOLD[space]);
  });
});

it('accesses that are wider than any cell are noted cell by cell', () => {
  const image = compiled(WIDE_KERNEL);
  const [slow, quick] = [run(image, true, 0), run(image, false, 0)];
  expect({ ...quick, told: 0 }).toEqual({ ...slow, told: 0 });
});

describe('what lanes did side by side', () => {
  it.each([
    { meeting: '', isRace: true },
    { meeting: 'bar.warp.sync -1;', isRace: false },
  ])('and other lanes do again is a race, unless they have met: "$meeting"', ({ meeting, isRace }) => {
    const image = compiled(regrouping(meeting));
    const [slow, quick] = [run(image, true, 0, 1), run(image, false, 0, 1)];
    expect({ ...quick, told: 0 }).toEqual({ ...slow, told: 0 });
    expect(quick.fault !== undefined).toBe(isRace);
    if (!isRace) expect(quick.told).toBe(0);
  });
});
