import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { findHeaderFolder, openHeaderPack } from '../../src/toolchains/header-pack.ts';
import { type ClangCompiler, locateClang } from '../../src/toolchains/locate-clang.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { longTests, sampled } from '../support/sampling/matrix.ts';
import { candidateOf, compiles, type KernelDescription } from './support.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

let compiler: ClangCompiler;
beforeAll(async () => {
  // A folder is used where a test gives one.
  vi.stubEnv('WARPSMITH_CACHE', 'off');
  compiler = await locateClang();
});
afterAll(() => vi.unstubAllEnvs());

const BASE: KernelDescription = {
  source: {
    'kernel.cu':
      '#include "tile.cuh"\nextern "C" __global__ void run(float* o) { o[0] = kTile * 2.0f + N; }\nextern "C" __global__ void other() {}',
    'tile.cuh': 'constexpr float kTile = 1.0f;',
  },
  includes: ['tile.cuh'],
  parameters: { N: 4 },
};

describe('the key', () => {
  /** Compiles what all of these tests start from once. */
  let toolchain: Toolchain;
  beforeAll(async () => {
    toolchain = await createClangToolchain({ compiler });
  });

  const changed: [string, KernelDescription, string?][] = [
    [
      'the source',
      {
        ...BASE,
        source: { ...(BASE.source as object), 'kernel.cu': `${(BASE.source as Record<string, string>)['kernel.cu']} ` },
      },
    ],
    ['an include', { ...BASE, source: { ...(BASE.source as object), 'tile.cuh': 'constexpr float kTile = 3.0f;' } }],
    [
      'the name of an include',
      { ...BASE, source: { ...(BASE.source as object), 'more.cuh': '' }, includes: ['tile.cuh', 'more.cuh'] },
    ],
    ['a flag', { ...BASE, flags: ['-DX=1'] }],
    ['another value of the flag', { ...BASE, flags: ['-DX=2'] }],
    ['fast math', { ...BASE, flags: ['--use_fast_math'] }],
    ['a parameter', { ...BASE, parameters: { N: 8 } }],
    ['the functions', { ...BASE, functions: ['run', 'other'] }],
    ['the architecture', BASE, 'sm_90'],
  ];

  sampled('what a key changes with', changed, { oneIn: 3 })(
    'changes with %s',
    async (_what, description, architecture = 'sm_89') => {
      const base = await compiles(toolchain, BASE);
      const other = await compiles(toolchain, description, architecture);
      expect(other.key).not.toBe(base.key);
      expect(base.key).toMatch(/^[0-9a-f]{64}$/);
    },
  );

  it('changes with the compiler', async () => {
    const other = { ...compiler, fingerprint: `${compiler.fingerprint} rebuilt` };
    const first = await compiles(toolchain, BASE);
    const second = await compiles(await createClangToolchain({ compiler: other }), BASE);
    expect(second.key).not.toBe(first.key);
  });

  long('changes with a header of the pack, even while running', () =>
    withTemporaryFolder(async (folder) => {
      cpSync(findHeaderFolder(), folder, { recursive: true });
      const withHeaders = await createClangToolchain({ compiler, headers: openHeaderPack(folder) });
      const description = {
        ...BASE,
        source: '#include <math_constants.h>\nextern "C" __global__ void run(float* o) { o[0] = CUDART_PI_F * N; }',
      };
      const first = await compiles(withHeaders, description);
      const header = join(folder, 'math_constants.h');
      writeFileSync(header, readFileSync(header, 'utf8').replace('3.141592654f', '3.0f'));
      const second = await compiles(withHeaders, description);
      expect(second.key).not.toBe(first.key);
      expect(second.text).not.toBe(first.text);
    }),
  );

  it('does not change with what has no influence', async () => {
    const first = await compiles(toolchain, BASE);
    const candidate = candidateOf(BASE);
    const elsewhere = { ...candidate, kernel: { ...candidate.kernel, folder: '/elsewhere' } };
    const second = await toolchain.compile({ candidate: elsewhere, architecture: 'sm_89' });
    expect(second).toMatchObject({ ok: true, cached: true, code: { key: first.key } });
  });
});

describe('the cache', () => {
  const compile = (options: Parameters<typeof createClangToolchain>[0]) =>
    createClangToolchain({ compiler, ...options }).then((toolchain) =>
      toolchain.compile({ candidate: candidateOf(BASE), architecture: 'sm_89' }),
    );
  const files = (folder: string) =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

  it('serves a second process from disk, bit for bit', () =>
    withTemporaryFolder(async (cacheFolder) => {
      const first = await compile({ cacheFolder });
      const second = await compile({ cacheFolder });
      expect(first).toMatchObject({ ok: true, cached: false });
      expect(second).toMatchObject({ ok: true, cached: true });
      expect(second.ok && second.code).toEqual(first.ok && first.code);
      expect(files(cacheFolder)).toHaveLength(1); // no temporary files left
    }));

  long('does not believe a damaged or a moved entry', () =>
    withTemporaryFolder(async (cacheFolder) => {
      const first = await compile({ cacheFolder });
      const [entry] = files(cacheFolder);
      const path = join(entry!.parentPath, entry!.name);
      const text = readFileSync(path, 'utf8');
      for (const damaged of [text.slice(0, -100), text.replace('.target sm_89', '.target sm_80'), '', '{}']) {
        writeFileSync(path, damaged);
        const again = await compile({ cacheFolder });
        expect(again).toMatchObject({ ok: true, cached: false });
        expect(again.ok && again.code).toEqual(first.ok && first.code);
      }
    }),
  );

  long('compiles without a cache when the folder cannot be written', () =>
    withTemporaryFolder(async (folder) => {
      writeFileSync(join(folder, 'file'), '');
      const cacheFolder = join(folder, 'file', 'cache');
      expect(await compile({ cacheFolder })).toMatchObject({ ok: true, cached: false });
      expect(await compile({ cacheFolder })).toMatchObject({ ok: true, cached: false });
    }),
  );

  it('compiles once for two requests at the same time', async () => {
    const toolchain = await createClangToolchain({ compiler });
    const request = { candidate: candidateOf(BASE), architecture: 'sm_89' };
    const [first, second] = await Promise.all([toolchain.compile(request), toolchain.compile(request)]);
    expect(first.ok && second.ok && first.code === second.code).toBe(true);
  });

  it('does not keep failures', () =>
    withTemporaryFolder(async (cacheFolder) => {
      const toolchain = await createClangToolchain({ compiler, cacheFolder });
      const candidate = candidateOf({ source: 'syntax error' });
      expect(await toolchain.compile({ candidate, architecture: 'sm_89' })).toMatchObject({ ok: false });
      expect(files(cacheFolder)).toHaveLength(0);
    }));
});
