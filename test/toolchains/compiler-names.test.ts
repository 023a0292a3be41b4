import { describe, expect, it } from 'vitest';
import { createClangToolchain } from '../../src/toolchains/clang.ts';
import { findForbiddenReferences } from '../../src/toolchains/source-policy.ts';
import { compileCuda } from '../support/launch/compile-cuda.ts';

const ONLY_CLANG = ['__clang__', '__clang_major__', '__clang_version__', '__llvm__', '__CUDA__', '__NVPTX__'];

describe('what tells a virtual GPU’s compiler from nvcc', () => {
  it('is not there: clang’s own macros are undefined, nvcc’s is defined', async () => {
    const tests = [...ONLY_CLANG.map((name) => `defined(${name})`), '!defined(__NVCC__)'];
    const source = `
      #include <cuda_fp16.h>
      #include <mma.h>
      ${tests.map((test) => `#if ${test}\n#error ${test.replaceAll(/[()]/g, ' ')}\n#endif`).join('\n')}
      extern "C" __global__ void run(int* y) { y[0] = 1; }`;
    await expect(compileCuda(await createClangToolchain(), source, ['run'])).resolves.toMatchObject({ kind: 'ptx' });
  });

  it.each([
    '#ifdef __WARPSMITH_DEVICE_HEADERS__\n#endif',
    '#if defined(__WS_BOTH)\n#endif',
    '#if __has_include(<warpsmith/keywords.h>)\n#endif',
  ])('is refused where the pack can’t do without it: %s', (text) => {
    const [found] = findForbiddenReferences({ 'kernel.cu': `// a kernel\n${text}` });
    expect(found).toMatchObject({ severity: 'error', location: { file: 'kernel.cu', line: 2 } });
    expect(found!.message).toContain('no other compiler');
  });
});
