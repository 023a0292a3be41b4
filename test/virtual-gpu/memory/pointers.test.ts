import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { floats, type KernelLaunch, launchKernel, tryLaunch } from '../../support/launch/launch-kernel.ts';
import { openKernels } from '../../support/launch/open-kernels.ts';

let device: Device;
let module: LoadedModule;

beforeAll(async () => {
  ({ device, module } = await openKernels(join(import.meta.dirname, 'pointers.cu'), { threads: 2 }));
});

afterAll(() => device.close());

const COUNT = 64;
const series = (value: (i: number) => number): Float32Array => Float32Array.from({ length: COUNT }, (_, i) => value(i));
const A = series((i) => i + 0.5);
const B = series((i) => 1000 - i);
const INDICES = Float32Array.from(A).map((_, i) => (i * 7) % COUNT);

const pointers = (...buffers: string[]) =>
  ({ kind: 'pointers', targets: buffers.map((buffer) => ({ buffer, offsetBytes: 0 })) }) as const;

/** The kernel's parameters are a, b, out and n = 4. */
const BUFFERS = { a: A, b: B, out: COUNT * 4 };
const N = { i32: 4 };

interface PointerCase {
  name: string;
  launch?: KernelLaunch;
  wanted: (i: number) => number;
}

const dot = (value: (i: number) => number): number => {
  let sum = 0;
  for (let i = 0; i < COUNT; i++) sum = Math.fround(Math.fround(value(i)) + sum);
  return sum;
};

const CASES: PointerCase[] = [
  { name: 'chosen', wanted: (i) => (i % 2 ? A[i]! : B[i]!) },
  { name: 'ping_pong', wanted: (i) => A[i]! + 4 },
  {
    name: 'wide_indices',
    launch: { buffers: { ...BUFFERS, b: BigInt64Array.from(INDICES, (i) => BigInt(i)) } },
    wanted: (i) => A[INDICES[i]!]!,
  },
  {
    name: 'table',
    launch: {
      arguments: [pointers('p', 'q'), 'b', 'out', N],
      buffers: { p: A, q: B, b: Int32Array.from(INDICES), out: COUNT * 4 },
    },
    wanted: (i) => (INDICES[i]! % 2 ? B[i]! : A[i]!),
  },
  {
    name: 'chosen_or_loaded',
    launch: { arguments: [pointers('b', 'p'), 'b', 'out', N], buffers: { p: A, b: B, out: COUNT * 4 } },
    wanted: (i) => (i % 2 ? A[i]! : B[i]!),
  },
  { name: 'in_local_memory', wanted: (i) => (i % 2 ? B[i]! : A[i]!) },
  { name: 'in_shared_memory', wanted: (i) => A[i]! },
  { name: 'rounded', wanted: (i) => A[i]! },
  { name: 'by_difference', wanted: (i) => A[i]! + B[i]! },
  { name: 'walked', wanted: () => dot((i) => A[i]! * B[i]!) },
  { name: 'walked_back', wanted: () => dot((i) => A[COUNT - 1 - i]! * B[i]!) },
  { name: 'exchanged', wanted: (i) => A[i]! },
  { name: 'variable', wanted: (i) => A[COUNT - 1 - i]! },
  { name: 'far_offset', launch: { arguments: ['a', 'b', 'out', { i32: 50_000_000 }] }, wanted: (i) => A[i]! },
];

describe('pointers reach the buffers they were made from', () => {
  it.each(CASES)('$name', async ({ name, launch, wanted }) => {
    const { contents } = await launchKernel(device, module, {
      functionName: name,
      block: COUNT,
      arguments: ['a', 'b', 'out', N],
      buffers: BUFFERS,
      ...launch,
    });
    const got = floats(contents.out!);
    for (let i = 0; i < COUNT; i++) expect(got[i]).toBeCloseTo(wanted(i), name.startsWith('walked') ? -2 : 5);
  });

  it.each(['chosen', 'ping_pong', 'walked', 'by_difference', 'far_offset'])(
    'and no others: %s with a short second buffer',
    async (name) => {
      // b lies before a and out: what follows it is memory of the kernel's, but not b's.
      const outcome = await tryLaunch(device, module, {
        functionName: name,
        block: COUNT,
        arguments: name === 'far_offset' ? ['b', 'a', 'out', { i32: 50_000_000 }] : ['a', 'b', 'out', N],
        buffers: { b: B.slice(0, 40), out: COUNT * 4, a: A },
      });
      expect(outcome).toMatchObject({ ok: false, status: 'unsafe' });
    },
  );
});
