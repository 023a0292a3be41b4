import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { type CudaSearch, cudaRoots, findCudaTool, locateCudaToolkit } from '../../src/toolchains/cuda-toolkit.ts';
import { locateNvrtc } from '../../src/toolchains/nvrtc/locate-nvrtc.ts';

function put(path: string, text = ''): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function tool(path: string, says: string): string {
  put(path, `#!/bin/sh\necho "${says}"\n`);
  chmodSync(path, 0o755);
  return path;
}

/** A machine made of files: two toolkits, two versions of Nsight Compute. */
function machine(folder: string): CudaSearch & { environment: Record<string, string> } {
  for (const version of ['12.9', '13.0']) {
    put(join(folder, 'local', `cuda-${version}`, 'include', 'cuda_fp16.h'));
    tool(join(folder, 'local', `cuda-${version}`, 'bin', 'nvcc'), `release ${version}, V${version}.88`);
  }
  tool(join(folder, 'local', 'cuda-13.0', 'bin', 'compute-sanitizer'), 'Version 2025.3.1.0 (build 1)');
  for (const version of ['2024.10.0', '2025.3.1']) tool(join(folder, 'nsight', version, 'ncu'), `Version ${version}`);
  return {
    environment: { PATH: '/nowhere' },
    installFolders: [join(folder, 'local')],
    nsightComputeFolder: join(folder, 'nsight'),
  };
}

const inMachine = (use: (folder: string, search: ReturnType<typeof machine>) => Promise<void> | void) =>
  withTemporaryFolder(async (temporary) => {
    const folder = realpathSync(temporary);
    await use(folder, machine(folder));
  });

describe('the programs of a CUDA installation', () => {
  it('come from the newest toolkit and the newest Nsight Compute', () =>
    inMachine(async (folder, search) => {
      expect(cudaRoots(search)).toEqual([join(folder, 'local', 'cuda-13.0'), join(folder, 'local', 'cuda-12.9')]);
      const { tools } = await locateCudaToolkit(search);
      expect(tools.map(({ tool: name, version }) => [name, version])).toEqual([
        ['nvcc', '13.0.88'],
        ['ncu', '2025.3.1'],
        ['compute-sanitizer', '2025.3.1.0'],
      ]);
    }));

  it('come from where CUDA_HOME says, and from the search path before all', () =>
    inMachine((folder, search) => {
      search.environment.CUDA_HOME = join(folder, 'local', 'cuda-12.9');
      expect(findCudaTool('nvcc', search)).toBe(join(folder, 'local', 'cuda-12.9', 'bin', 'nvcc'));
      search.environment.PATH = join(folder, 'path');
      const preferred = tool(join(folder, 'path', 'nvcc'), 'V1.0');
      expect(findCudaTool('nvcc', search)).toBe(preferred);
    }));

  it('may be missing', () => {
    const search = { environment: {}, installFolders: [], nsightComputeFolder: '/nowhere' };
    expect(findCudaTool('ncu', search)).toBeUndefined();
    expect(cudaRoots(search)).toEqual([]);
  });
});

describe('NVRTC', () => {
  const places = { pythonFolders: [], loaderLibraries: [] };

  it('is found in a toolkit, with the headers beside it', () =>
    inMachine(async (folder, search) => {
      const root = join(folder, 'local', 'cuda-13.0');
      put(join(root, 'include', 'cuda.h'), '#define CUDA_VERSION 13000');
      mkdirSync(join(root, 'include', 'cccl'));
      const library = put(join(root, 'lib64', 'libnvrtc.so.13'));
      put(join(root, 'lib64', 'libnvrtc-builtins.so.13.0'));
      expect(await locateNvrtc({ ...search, ...places })).toMatchObject({
        path: library,
        includeFolders: [join(root, 'include'), join(root, 'include', 'cccl')],
        headerVersion: '13.0',
      });
    }));

  it('is found in a Python package, with the headers of a toolkit where the package has none', () =>
    inMachine(async (folder, search) => {
      const library = put(join(folder, 'site', 'nvidia', 'cu13', 'lib', 'libnvrtc.so.13'));
      const found = await locateNvrtc({ ...search, ...places, pythonFolders: [join(folder, 'site')] });
      expect(found.path).toBe(library);
      expect(found.includeFolders).toEqual([join(folder, 'local', 'cuda-13.0', 'include')]);
      put(join(folder, 'site', 'nvidia', 'cu13', 'include', 'cuda_fp16.h'));
      const complete = await locateNvrtc({ ...search, ...places, pythonFolders: [join(folder, 'site')] });
      expect(complete.includeFolders).toEqual([join(folder, 'site', 'nvidia', 'cu13', 'include')]);
    }));

  it('is what WARPSMITH_NVRTC names', () =>
    inMachine(async (folder, search) => {
      put(join(folder, 'local', 'cuda-13.0', 'lib64', 'libnvrtc.so.13'));
      const named = put(join(folder, 'mine', 'libnvrtc.so.12.9'));
      for (const value of [named, join(folder, 'mine')]) {
        search.environment.WARPSMITH_NVRTC = value;
        expect((await locateNvrtc({ ...search, ...places })).path).toBe(named);
      }
      search.environment.WARPSMITH_NVRTC = join(folder, 'not-there');
      await expect(locateNvrtc({ ...search, ...places })).rejects.toMatchObject({
        exitCode: 3,
        details: { code: 'no-nvrtc', received: expect.stringContaining('not-there') },
      });
    }));

  it('is missing with all that was searched', () =>
    inMachine(async (folder, search) => {
      await expect(locateNvrtc({ ...search, ...places, pythonFolders: [join(folder, 'site')] })).rejects.toMatchObject({
        exitCode: 3,
        details: { code: 'no-nvrtc', received: expect.stringMatching(/cuda-13\.0\/lib64.*loader.*nvidia\/cu13\/lib/) },
      });
    }));

  it('has a fingerprint that changes with the library and with the headers', () =>
    inMachine(async (folder, search) => {
      const root = join(folder, 'local', 'cuda-13.0');
      put(join(root, 'lib64', 'libnvrtc.so.13'), 'one');
      const first = (await locateNvrtc({ ...search, ...places })).fingerprint;
      put(join(root, 'lib64', 'libnvrtc.so.13'), 'another');
      const second = (await locateNvrtc({ ...search, ...places })).fingerprint;
      put(join(root, 'include', 'cuda_fp16.h'), '// changed');
      const third = (await locateNvrtc({ ...search, ...places })).fingerprint;
      expect(new Set([first, second, third]).size).toBe(3);
    }));
});
