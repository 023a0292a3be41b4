import { WarpsmithError } from '../core/errors.ts';
import type { Candidate } from '../core/kernel.ts';

/** Why CUDA C++ is needed, and what to do with a kernel that comes compiled. */
interface Need {
  readonly because: string;
  readonly hint: string;
}

/** @throws WarpsmithError `export-needs-cuda-source` for a kernel that comes compiled. */
export function requireCudaSource({ kernel: { file, folder } }: Candidate, { because, hint }: Need): void {
  if (file.source.kind === 'cuda') return;
  throw new WarpsmithError({
    code: 'export-needs-cuda-source',
    message: `${file.name} is ${file.source.kind}: ${because}.`,
    file: `${folder}/kernel.json`,
    path: 'source.kind',
    received: file.source.kind,
    expected: 'cuda',
    hint,
  });
}
