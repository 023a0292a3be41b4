import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { Device } from '../../../src/core/device.ts';
import type { LoadedModule } from '../../../src/core/device-values.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { createClangToolchain } from '../../../src/toolchains/clang.ts';
import { compileCuda, functionsIn } from '../../support/launch/compile-cuda.ts';
import { launchKernel, loadCode, tryLaunch, words } from '../../support/launch/launch-kernel.ts';

/** `exit` in the PTX ISA: a thread that exits no longer keeps a barrier of the whole CTA waiting. */
const SOURCE = `
extern "C" __global__ void guarded_sum(const unsigned *in, unsigned *out, int n) {
  __shared__ unsigned values[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int last = min(n - (int)(blockIdx.x * blockDim.x), (int)blockDim.x);
  values[threadIdx.x] = in[i];
  for (int width = 64; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width && threadIdx.x + width < last) values[threadIdx.x] += values[threadIdx.x + width];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

extern "C" __global__ void last_words(unsigned *out) {
  __shared__ unsigned said[32];
  said[threadIdx.x % 32] = 0;
  __syncthreads();
  if (threadIdx.x >= 32) {
    said[threadIdx.x - 32] = threadIdx.x;
    return;
  }
  __syncthreads();
  out[threadIdx.x] = said[threadIdx.x];
}

extern "C" __global__ void counts(unsigned *out, int n) {
  if (threadIdx.x >= n) return;
  int odd = __syncthreads_count(threadIdx.x & 1);
  int all = __syncthreads_and(threadIdx.x < n);
  out[threadIdx.x] = 2 * odd + all;
}

extern "C" __global__ void leave_one_by_one(unsigned *out) {
  for (int round = 0; round < blockDim.x; round++) {
    if (round == threadIdx.x) return;
    __syncthreads();
    out[threadIdx.x] = round + 1;
  }
}`;

let device: Device;
let code: CompiledCode;
let module: LoadedModule;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
  code = await compileCuda(await createClangToolchain(), SOURCE, functionsIn(SOURCE));
  module = await loadCode(device, code);
});

afterAll(() => device.close());

describe('threads that have exited release a barrier', () => {
  it.each([1, 31, 32, 33, 100, 127, 128, 129, 250])('%i of the threads have work', async (n) => {
    const values = Uint32Array.from({ length: n }, (_, i) => i * i + 1);
    const grid = Math.ceil(n / 128);
    for (const options of [{ orderSeed: 0, count: true }, { orderSeed: 5 }, { orderSeed: 0, findRaces: true }]) {
      const { contents } = await launchKernel(device, module, {
        functionName: 'guarded_sum',
        grid,
        block: 128,
        arguments: ['in', 'out', { i32: n }],
        buffers: { in: values, out: grid * 4 },
        inputs: ['in'],
        options,
      });
      const wanted = [0, 1]
        .slice(0, grid)
        .map((cta) => values.slice(cta * 128, cta * 128 + 128).reduce((a, b) => a + b));
      expect([...words(contents.out!)]).toEqual(wanted);
    }
  });

  it('what a thread wrote before it left comes before what follows the barrier', async () => {
    const launch = { functionName: 'last_words', block: 64, arguments: ['out'], buffers: { out: 128 } };
    for (const options of [{}, { orderSeed: 3 }, { findRaces: true }]) {
      const { contents } = await launchKernel(device, module, { ...launch, options });
      expect([...words(contents.out!)]).toEqual(Array.from({ length: 32 }, (_, i) => i + 32));
    }
  });

  it.each([20, 32, 50])('a barrier that counts, counts the %i threads that are left', async (n) => {
    const { contents } = await launchKernel(device, module, {
      functionName: 'counts',
      block: 64,
      arguments: ['out', { i32: n }],
      buffers: { out: 256 },
    });
    const wanted = 2 * Math.floor(n / 2) + 1;
    expect([...words(contents.out!)]).toEqual(Array.from({ length: 64 }, (_, i) => (i < n ? wanted : 0)));
  });

  it('one thread leaves in every round', async () => {
    const launch = { functionName: 'leave_one_by_one', block: 48, arguments: ['out'], buffers: { out: 192 } };
    const outcome = await tryLaunch(device, module, { ...launch, options: { count: true } });
    if (!outcome.ok) throw new Error(outcome.message);
    expect([...words(outcome.contents.out!)]).toEqual(Array.from({ length: 48 }, (_, i) => i));
  });
});
