import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import { filesOfTorchPackage } from '../../../src/handover/torch/torch-package.ts';
import { hardCandidate, hardProblem } from '../support/everything.ts';
import { packageOf } from './support.ts';

const problems = new URL('../../../problems/', import.meta.url).pathname;

/** Of a package: what torch.library is told, and the function that users call. */
const signatureOf = (files: Readonly<Record<string, string | Uint8Array>>, name: string) => {
  const text = String(files[`${name}/_op.py`]);
  return {
    schema: [...text.matchAll(/define\(\n\s+"([^\n]*)",/g)].map(([, schema]) => schema)[0],
    function: [...text.matchAll(/^def ([a-z]\w*\(.*\)):$/gm)].map(([, signature]) => signature)[0],
  };
};

const OUT = 'out: torch.Tensor | tuple[torch.Tensor | None, ...] | None = None';

describe('the operator of a package', () => {
  it.each([
    ['gemm/04_vectorised', 'gemm(Tensor A, Tensor B) -> Tensor', `gemm(A: torch.Tensor, B: torch.Tensor, *, ${OUT})`],
    ['softmax/03_online', 'softmax(Tensor X) -> Tensor', `softmax(X: torch.Tensor, *, ${OUT})`],
    [
      'histogram/02_shared',
      'histogram(Tensor x, SymInt BINS=256, SymInt spread=100) -> Tensor',
      `histogram(x: torch.Tensor, *, BINS: int = 256, spread: int = 100, ${OUT})`,
    ],
  ])('%s follows from problem.json', async (path, schema, signature) => {
    const { kernel, problem } = await loadKernel(join(problems, path));
    const { files } = packageOf(problem.file, [makeCandidate(kernel, {})], { name: 'one' });
    expect(signatureOf(files, 'one')).toEqual({ schema, function: signature });
  });

  it('gets along with names that Python keeps, and changes in place what kernels also read', () => {
    const { files } = packageOf(hardProblem, [hardCandidate()], { name: 'hard' });
    expect(signatureOf(files, 'hard')).toEqual({
      schema: 'hard(Tensor X, Tensor sizes, Tensor(a2!) int_, SymInt step=1) -> ()',
      function: `hard(X: torch.Tensor, sizes: torch.Tensor, int_: torch.Tensor, *, step: int = 1, ${OUT})`,
    });
  });
});

describe('a package', () => {
  it('says what is known of it, and names its files', () => {
    const { files } = packageOf(hardProblem, [hardCandidate()], { name: 'hard' });
    const readme = String(files['README.md']);
    expect(readme).toContain('- Not compiled.\n');
    expect(readme).toContain('2026-01-31');
    expect(readme).toMatch(/\| 01_everything \| [0-9a-f]{12} \| sm_80, sm_90 \| none 0 \|/);
    expect(filesOfTorchPackage(String(files['export.json'])).sort()).toEqual(Object.keys(files).sort());
  });

  it('never names a file outside of its folder as one of its own', () => {
    const listed = ['a/b.py', '../b', 'a/../../b', '/etc/passwd', 'a\\..\\b', '..', 7];
    expect(filesOfTorchPackage(JSON.stringify({ kind: 'torch-package', files: listed }))).toEqual(['a/b.py']);
    expect(filesOfTorchPackage('{"kind": "reproduction", "files": ["kernel.cu"]}')).toEqual([]);
    expect(filesOfTorchPackage('no JSON')).toEqual([]);
  });
});
