import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import type { CompileLimits } from '../../src/toolchains/compile-stage.ts';
import { longTests } from '../support/sampling/matrix.ts';
import { candidateOf, compileFails } from './support.ts';

const long = longTests(import.meta.filename, { oneIn: 2 });

/** 3^15 instantiations: minutes of work and gigabytes of memory, if it were let. */
const ENDLESS = `template <int N, int M> struct Tree { static constexpr int value = Tree<N - 1, 3 * M>::value + Tree<N - 1, 3 * M + 1>::value + Tree<N - 1, 3 * M + 2>::value; };
  template <int M> struct Tree<0, M> { static constexpr int value = M & 1; };
  extern "C" __global__ void run(int* o) { o[0] = Tree<15, 0>::value; }`;

/** A hundred million tokens from a few lines. */
const HUGE = `#define A 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
#define B A, A, A, A, A, A, A, A, A, A
#define C B, B, B, B, B, B, B, B, B, B
#define D C, C, C, C, C, C, C, C, C, C
#define E D, D, D, D, D, D, D, D, D, D
#define F E, E, E, E, E, E, E, E, E, E
#define G F, F, F, F, F, F, F, F, F, F
extern "C" __global__ void run(int* o) { static const int table[] = {G, G, G, G, G, G, G, G, G, G}; o[0] = table[o[1]]; }`;

const limited = (limits: Partial<CompileLimits>) => createClangToolchain({ limits });

describe('compiling is bounded', () => {
  it('in time', async () => {
    const failure = await compileFails(await limited({ timeoutMs: 700 }), { source: ENDLESS });
    expect(failure).toMatchObject({ status: 'timed-out', message: 'Compiling took longer than 0.7 s.' });
  });

  long('in memory', async () => {
    const failure = await compileFails(await limited({ maximumMemoryBytes: 256 << 20 }), { source: HUGE });
    expect(failure).toMatchObject({ status: 'compile-failed', message: 'Compiling took more than 256 MiB of memory.' });
  });

  it('in output', async () => {
    const failure = await compileFails(await limited({ maximumOutputBytes: 10_000 }), {
      source:
        'extern "C" __device__ int table[4000] = {1, 2, 3};\nextern "C" __global__ void run(int* o) {\n#pragma unroll\nfor (int i = 0; i < 200; i++) o[i * i] = table[i] * i; }',
    });
    expect(failure).toMatchObject({ status: 'compile-failed', message: expect.stringContaining('wrote more than') });
  });

  long('in recursion: the compiler says so or crashes, and either is the fault of the kernel', async () => {
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

  it('stops at once when aborted, and leaves no folder behind', () =>
    withTemporaryFolder(async (folder) => {
      const elsewhere = process.env.TMPDIR;
      process.env.TMPDIR = folder;
      try {
        const signal = AbortSignal.timeout(500);
        const request = { candidate: candidateOf({ source: ENDLESS }), architecture: 'sm_89', signal };
        await expect((await limited({})).compile(request)).rejects.toThrow(/timeout/);
        expect(readdirSync(folder)).toEqual([]);
      } finally {
        if (elsewhere === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = elsewhere;
      }
    }));
});
