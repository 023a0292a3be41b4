import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type CompileLimits, createClangToolchain } from '../../src/toolchains/clang.ts';
import { candidateOf, compileFails } from './support.ts';

/** 3^15 instantiations: minutes of work and gigabytes of memory, if it were let. */
const ENDLESS = `template <int N, int M> struct Tree { static constexpr int value = Tree<N - 1, 3 * M>::value + Tree<N - 1, 3 * M + 1>::value + Tree<N - 1, 3 * M + 2>::value; };
  template <int M> struct Tree<0, M> { static constexpr int value = M & 1; };
  extern "C" __global__ void run(int* o) { o[0] = Tree<15, 0>::value; }`;

const limited = (limits: Partial<CompileLimits>) => createClangToolchain({ limits });

describe('compiling is bounded', () => {
  it('in time', async () => {
    const failure = await compileFails(await limited({ timeoutMs: 700 }), { source: ENDLESS });
    expect(failure).toMatchObject({ status: 'timed-out', message: 'Compiling took longer than 0.7 s.' });
  });

  it('in memory', async () => {
    const failure = await compileFails(await limited({ maximumMemoryBytes: 320 << 20 }), { source: ENDLESS });
    expect(failure).toMatchObject({ status: 'compile-failed', message: 'Compiling took more than 320 MiB of memory.' });
  });

  it('in output', async () => {
    const failure = await compileFails(await limited({ maximumOutputBytes: 10_000 }), {
      source:
        'extern "C" __device__ int table[4000] = {1, 2, 3};\nextern "C" __global__ void run(int* o) {\n#pragma unroll\nfor (int i = 0; i < 200; i++) o[i * i] = table[i] * i; }',
    });
    expect(failure).toMatchObject({ status: 'compile-failed', message: expect.stringContaining('wrote more than') });
  });

  it('in recursion: the compiler says so or crashes, and either is the fault of the kernel', async () => {
    const source =
      'template <int N> struct Deep { static constexpr int value = Deep<N + 1>::value; };\nextern "C" __global__ void run(int* o) { o[0] = Deep<0>::value; }';
    const failure = await compileFails(await limited({}), { source });
    expect(failure).toMatchObject({
      status: 'compile-failed',
      message: expect.stringContaining('template instantiation'),
    });
    const parentheses = await compileFails(await limited({}), {
      source: `extern "C" __global__ void run(int* o) { o[0] = ${'('.repeat(20_000)}1${')'.repeat(20_000)}; }`,
    });
    expect(parentheses.status).toBe('compile-failed');
  });

  it('stops at once when aborted, and leaves no folder behind', async () => {
    const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('warpsmith-'));
    const before = folders().length;
    const toolchain = await limited({});
    const request = {
      candidate: candidateOf({ source: ENDLESS }),
      architecture: 'sm_89',
      signal: AbortSignal.timeout(500),
    };
    await expect(toolchain.compile(request)).rejects.toThrow(/timeout/);
    expect(folders().length).toBeLessThanOrEqual(before);
  });
});
