import { describe, expect, it } from 'vitest';
import { createToolchain } from '../../src/toolchains/create-toolchain.ts';

/** Runs with an environment in which no CUDA is found by its variables or the search path. */
async function withVariables<T>(variables: Record<string, string>, use: () => Promise<T>): Promise<T> {
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
  Object.assign(process.env, variables);
  try {
    return await use();
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

describe('createToolchain', () => {
  it('gives virtual GPUs clang, and no other compiler', async () => {
    expect((await createToolchain({ target: 'virtual' })).identity.name).toBe('clang');
    expect((await createToolchain({ target: 'virtual', kind: 'clang' })).identity.name).toBe('clang');
    for (const kind of ['nvrtc', 'nvcc'] as const) {
      await expect(createToolchain({ target: 'virtual', kind })).rejects.toMatchObject({
        exitCode: 2,
        details: { code: 'unsuitable-toolchain', message: expect.stringContaining("Virtual GPUs run clang's PTX") },
      });
    }
  });

  it('says what was searched when the compiler asked for is missing', () =>
    withVariables({ WARPSMITH_NVRTC: '/nowhere/libnvrtc.so' }, async () => {
      await expect(createToolchain({ target: 'cuda', kind: 'nvrtc' })).rejects.toMatchObject({
        exitCode: 3,
        details: {
          received: expect.stringContaining('/nowhere/libnvrtc.so'),
          hint: expect.stringContaining('pip install'),
        },
      });
    }));

  it('takes another compiler when NVRTC is missing and none was asked for', () =>
    withVariables({ WARPSMITH_NVRTC: '/nowhere/libnvrtc.so' }, async () => {
      const toolchain = await createToolchain({ target: 'cuda', driverVersion: '580.1' });
      expect(['nvcc', 'clang']).toContain(toolchain.identity.name);
      await toolchain.close?.();
    }));
});
