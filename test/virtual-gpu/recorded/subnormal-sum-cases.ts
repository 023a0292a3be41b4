import { createStream } from '../../../src/stats/random.ts';
import { byThread0, kernelText, loadShared, POINTER, storeShared } from '../hopper/ptx.ts';
import { drawerOf, type FloatName } from './draw-floats.ts';
import type { RecordedCase } from './recorded-case.ts';

const THREADS = 128;
const BYTES = 512;

/** Thread t adds word t of `in` to word t of what is in device memory: `%rd2` is its address, `%r9` and `%f9` the word. */
const inDeviceMemory = (instruction: string): string => `
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd5, %r1, 4;
  ld.param.u64 %rd1, [in]; cvta.to.global.u64 %rd1, %rd1; add.u64 %rd1, %rd1, %rd5;
  ld.param.u64 %rd2, [out]; cvta.to.global.u64 %rd2, %rd2; add.u64 %rd2, %rd2, %rd5;
  ld.global.b32 %r9, [%rd1]; mov.b32 %f9, %r9;
  ${instruction}`;

/** The same to shared memory, which begins with the words of `in`, so that each is doubled. */
const inSharedMemory = (instruction: string): string => `${loadShared(BYTES)}
  mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; mov.u32 %r2, smem; add.u32 %r2, %r2, %r1;
  ld.shared.b32 %r9, [%r2]; mov.b32 %f9, %r9;
  bar.sync 0;
  ${instruction}
  bar.sync 0;
  ${storeShared(BYTES)}`;

const inBulk = (type: string): string => `${loadShared(BYTES)}
  mov.u32 %r10, smem; ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;
  ${byThread0(`
  cp.reduce.async.bulk.global.shared::cta.bulk_group.${type} [%rd1], [%r10], ${BYTES};
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;`)}`;

/** Bits of the fraction. */
const FRACTION = { f32: 23, f16: 10, bf16: 7 } as const satisfies Partial<Record<FloatName, number>>;

const BODIES: readonly (readonly [name: string, type: keyof typeof FRACTION, body: string])[] = [
  ['red.global.add.f32', 'f32', inDeviceMemory('red.global.add.f32 [%rd2], %f9;')],
  ['atom.global.add.f32', 'f32', inDeviceMemory('atom.global.add.f32 %f8, [%rd2], %f9;')],
  ['red.global.add.noftz.f16x2', 'f16', inDeviceMemory('red.global.add.noftz.f16x2 [%rd2], %r9;')],
  ['red.global.add.noftz.bf16x2', 'bf16', inDeviceMemory('red.global.add.noftz.bf16x2 [%rd2], %r9;')],
  ['red.shared.add.f32', 'f32', inSharedMemory('red.shared.add.f32 [%r2], %f9;')],
  ['atom.shared.add.f32', 'f32', inSharedMemory('atom.shared.add.f32 %f8, [%r2], %f9;')],
  ['bulk reduction, add.f32', 'f32', inBulk('add.f32')],
  ['bulk reduction, add.noftz.f16', 'f16', inBulk('add.noftz.f16')],
  ['bulk reduction, add.noftz.bf16', 'bf16', inBulk('add.noftz.bf16')],
];

/** Numbers of either sign whose exponent field is 0 to 3: half of the sums of two are subnormal, or of subnormal numbers. */
function drawOf(type: keyof typeof FRACTION, label: string): Uint8Array {
  const next = drawerOf(createStream('recorded subnormal sums', label));
  const [fraction, bits] = [FRACTION[type], type === 'f32' ? 32 : 16];
  const numbers = Array.from({ length: (8 * BYTES) / bits }, () => {
    const magnitude = (next() % 4) * 2 ** fraction + (next() % 2 ** fraction);
    return (next() % 2) * 2 ** (bits - 1) + magnitude;
  });
  const words = bits === 32 ? Uint32Array.from(numbers) : Uint16Array.from(numbers);
  return new Uint8Array(words.buffer);
}

/** Sums whose terms or results are subnormal: units that add in memory take them for zeros, or do not. */
export const SUBNORMAL_SUM_CASES: readonly RecordedCase[] = BODIES.map(([name, type, body]) => ({
  name: `subnormal sums by ${name}`,
  family: 'atomic sums',
  ptx: kernelText({ parameters: [POINTER('in'), POINTER('out')], body }),
  buffers: () => ({ in: drawOf(type, `${name} in`), out: drawOf(type, `${name} out`) }),
  launches: [{ block: THREADS, dynamicSharedBytes: BYTES, arguments: ['in', 'out'] }],
  parts: [{ name: 'sums', bytes: BYTES }],
}));
