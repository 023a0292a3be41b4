import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import {
  type ComparedSizes,
  conditionsOf,
  describeSizes,
  sizesOfShape,
  unionOfSizes,
} from '../../src/core/compared-sizes.ts';
import { expandBuffers } from '../../src/core/plan/expand-buffers.ts';
import type { Dimensions, ProblemFile } from '../../src/core/problem.ts';
import { dispatchTable } from '../../src/handover/dispatch-table.ts';
import { launchHeader } from '../../src/handover/launch-header/launch-header.ts';
import { chooseEntry } from './support/choose-entry.ts';
import { hostCompiler, inFolder, runHostProgram, STUB_DEFINITIONS } from './support/host-compiler.ts';
import { packageOf, python, runPython } from './torch/support.ts';

const folder = (problem: string, rung: string): string =>
  new URL(`../../problems/${problem}/${rung}`, import.meta.url).pathname;

const sizesAt = (problem: ProblemFile, all: readonly Dimensions[]): ComparedSizes =>
  all.map((dimensions) => sizesOfShape(problem, dimensions, expandBuffers(problem, dimensions))).reduce(unionOfSizes);

const setUp = async () => {
  const [{ problem, kernel }, other] = await Promise.all([
    loadKernel(folder('softmax', '02_warp_per_row')),
    loadKernel(folder('softmax', '01_naive')),
  ]);
  const compared = sizesAt(problem.file, [
    { R: 32, N: 2048 },
    { R: 1, N: 70_000 },
    { R: 70_000, N: 1 },
  ]);
  return {
    ...{ problem: problem.file, compared },
    candidate: makeCandidate(kernel, {}),
    other: makeCandidate(other.kernel, {}),
  };
};

const ONE_TOO_LARGE = 'results were compared for N 1 to 70,000 only (N = 70001); evaluate the kernel with a workload';
const TOO_MANY = 'results were compared for at most 70,000 elements of X, Y only (R = 300, N = 300); evaluate';
/** A call, and how its refusal begins; null: taken. */
const CALLS: readonly (readonly [R: number, N: number, refusal: string | null])[] = [
  [32, 2048, null],
  [70_000, 1, null],
  [1, 70_001, ONE_TOO_LARGE],
  [300, 300, TOO_MANY],
];

describe('compared sizes', () => {
  it('are ranges of dimensions, listed values, and the most elements of tensors', async () => {
    const { file } = (await loadKernel(folder('attention', '03_rows'))).problem;
    const base = { B: 1, H: 1, S: 32, D: 64, causal: 0, Hkv: 1, Skv: 32, bottomRight: 0, bshd: 0, lse: 0 };
    const sizes = sizesAt(file, [base, { ...base, D: 32, S: 100, causal: 1, lse: 1 }]);
    expect(sizes.dimensions.S).toEqual({ least: 32, most: 100 });
    expect(sizes.dimensions.D).toEqual({ least: 32, most: 64, values: [32, 64] });
    expect(sizes.elements).toMatchObject({ Q: 3200, K: 2048 });
    expect(describeSizes(sizes)).toMatch(
      /B 1 alone, H 1 alone, S 32 to 100, D 32 and 64, causal 0 and 1, .*; at most 3,200/,
    );
    const conditions = conditionsOf(file, sizes).map(({ condition }) => condition);
    expect(conditions).toContain('D == 32 || D == 64');
    expect(conditions).toContain('S >= 32 && S <= 100');
    expect(conditions).toContain('(B) * (H) * (S) * (D) <= 3200');
  });

  it('are what an entry of a dispatch table takes: other calls go on to the next, or to the fallback', async () => {
    const { problem, candidate, other, compared } = await setUp();
    const winner = (name: string, R: number, of: typeof candidate) => ({
      workload: { name, dimensions: { R, N: 2048 } },
      candidate: of,
      timing: { kind: 'predicted' as const, medianNs: 1 },
      seed: 1,
    });
    const table = dispatchTable({
      problem,
      device: { id: 'virtual:l4', name: 'none' },
      winners: [winner('few', 32, candidate)],
      fallback: other,
      compared: new Map([[candidate.id, compared]]),
    });
    const chosen = CALLS.map(([R, N]) => {
      const candidates = new Map([candidate, other].map((one) => [one.id, one]));
      return chooseEntry(table, { problem, candidates }, { R, N })?.workload ?? null;
    });
    expect(chosen).toEqual(['few', 'few', null, null]);
    expect(table.entries[0]).toMatchObject({ compared });
    expect(table.fallback.compared).toBeUndefined();
  });

  it.skipIf(!hostCompiler)('are what a launch header takes (needs g++)', async () => {
    const { problem, candidate, compared } = await setUp();
    const header = (name: string, sizes?: ComparedSizes): string =>
      launchHeader({ problem, candidate, name, compared: sizes, provenance: [] });
    const program = [
      '#include "few_launch.hpp"',
      '#include "all_launch.hpp"',
      STUB_DEFINITIONS,
      ...['few', 'all'].flatMap((name) => [
        `const void* ${name}::function(int) { return nullptr; }`,
        `cudaError_t ${name}::detail::write_pointers(void**, const void* const*, int, cudaStream_t) { return cudaSuccess; }`,
        `void ask_${name}(long long R, long long N) {`,
        `  ${name}::Dimensions dimensions;`,
        '  dimensions.R = R;',
        '  dimensions.N = N;',
        '  std::string why;',
        `  std::printf("%s\\n", ${name}::takes(dimensions, &why) ? "takes" : why.c_str());`,
        '}',
      ]),
      'int main() {',
      ...CALLS.flatMap(([R, N]) => [`  ask_few(${R}, ${N});`, `  ask_all(${R}, ${N});`]),
      '}',
    ].join('\n');
    const printed = runHostProgram({
      'few_launch.hpp': header('few', compared),
      'all_launch.hpp': header('all'),
      'main.cpp': program,
    }).trim();
    const answers = printed.split('\n');
    for (const [index, [, , refusal]] of CALLS.entries()) {
      expect(answers[2 * index]).toContain(refusal ?? 'takes');
      expect(answers[2 * index + 1]).toBe('takes');
    }
  });

  it.skipIf(!python)('are what a kernel of a PyTorch package takes (needs python3)', async () => {
    const { problem, candidate, compared } = await setUp();
    const { files } = packageOf(problem, [candidate], { name: 'few', compared: [compared] });
    const program = [
      'import importlib, json, glob, os',
      "name = os.path.basename(glob.glob('few/kernel_*.py')[0])[:-3]",
      "refusal = importlib.import_module('few.' + name).refusal",
      `print(json.dumps([refusal(call) for call in ${JSON.stringify(CALLS.map(([R, N]) => [R, N]))}]))`,
    ].join('\n');
    const answers = inFolder({ ...files, 'ask.py': program }, (at) =>
      JSON.parse(runPython([join(at, 'ask.py')], at, '')),
    ) as (string | null)[];
    for (const [index, [, , refusal]] of CALLS.entries()) {
      if (refusal === null) expect(answers[index]).toBeNull();
      else expect(answers[index]).toContain(refusal);
    }
  });
});
