import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findUncheckableReferences } from '../../src/toolchains/nvrtc/program.ts';
import { toyCandidate } from '../support/toy-problem.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'warpsmith-includes-'));
  mkdirSync(join(root, 'toolkit', 'include'), { recursive: true });
  writeFileSync(join(root, 'toolkit', 'include', 'cuda_fp16.h'), '');
  writeFileSync(join(root, 'toolkit', 'secret.h'), 'password');
});
afterEach(() => rmSync(root, { recursive: true }));

const refusals = (target: string): string[] => {
  // Deep enough that the name stays within the kernel's own folder.
  const sources = { 'a/b/c/d/kernel.cuh': `#include "${target}"\n` };
  const kernel = { ...toyCandidate().kernel, sources };
  return findUncheckableReferences(kernel, [join(root, 'toolkit', 'include')]).map(({ message }) => message);
};

it('takes headers of the toolkit, but none that lie beside it', () => {
  expect(refusals('cuda_fp16.h')).toEqual([]);
  expect(refusals('../include/cuda_fp16.h')).toEqual([]);
  expect(refusals('../secret.h')).toEqual([expect.stringMatching(/#include of `..\/secret.h` is refused/)]);
  expect(refusals('../../../../../../etc/passwd')).toHaveLength(1);
});
