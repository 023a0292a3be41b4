import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { loadKernel } from '../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../src/core/candidate.ts';
import type { ContentsDeclaration, KernelFile } from '../../src/core/kernel.ts';
import { expandPlan } from '../../src/core/plan/expand-plan.ts';
import type { Dimensions } from '../../src/core/problem.ts';
import { launchHeader } from '../../src/handover/launch-header/launch-header.ts';
import { smallKernel, smallProblem } from '../core/support/small-problem.ts';
import { longTests, sampled } from '../support/sampling/matrix.ts';
import { hardCandidate, hardProblem } from './support/everything.ts';
import { hostCompiler, runHostProgram, STUB_DEFINITIONS } from './support/host-compiler.ts';
import { type PlanCase, plansHere, plansInCpp } from './support/plan-program.ts';
import { randomDimensions } from './support/random-dimensions.ts';

const long = longTests(import.meta.filename, { oneIn: 3 });

const problemsFolder = new URL('../../problems/', import.meta.url).pathname;
const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

const PROBLEMS = readdirSync(problemsFolder).filter((name) => isFile(join(problemsFolder, name, 'problem.json')));

/** Every kernel that is shipped with a problem. */
const kernelsOf = (problem: string): string[] =>
  readdirSync(join(problemsFolder, problem))
    .map((kernel) => join(problemsFolder, problem, kernel))
    .filter((folder) => isFile(join(folder, 'kernel.json')));

const casesPerKernel = 12;

const shipped = async (kernelFolders: readonly string[]): Promise<PlanCase[]> => {
  const cases: PlanCase[] = [];
  for (const folder of kernelFolders) {
    const { kernel, problem } = await loadKernel(folder);
    const declared = problem.file.workloads.slice(0, 6).map((workload) => workload.dimensions);
    const dimensions = [...declared, ...randomDimensions(problem.file, 7, casesPerKernel)];
    cases.push({ problem: problem.file, candidate: makeCandidate(kernel, {}), dimensions });
  }
  return cases;
};

const check = (cases: readonly PlanCase[]): { planned: number; refused: number } => {
  const there = plansInCpp(cases);
  let [planned, refused] = [0, 0];
  for (const [index, plan] of cases.entries()) {
    const here = plansHere(plan);
    for (const [at, dimensions] of plan.dimensions.entries()) {
      const what = { kernel: plan.candidate.kernel.file.name, dimensions };
      expect({ ...what, plan: there[index]![at] }).toEqual({ ...what, plan: here[at] });
      if (here[at]![0] === 'refused') refused++;
      else planned++;
    }
  }
  return { planned, refused };
};

describe.skipIf(!hostCompiler)('the launch header plans what the launch planner plans (needs g++)', () => {
  sampled('launch headers', PROBLEMS, { oneIn: 8, placeOf: (problem) => `problems/${problem}` })(
    'for every shipped kernel of %s',
    async (problem) => {
      const folders = kernelsOf(problem);
      const { planned } = check(await shipped(folders));
      // Most random shapes lie outside of the limits of attention's specialised rungs.
      expect(planned).toBeGreaterThan(folders.length);
    },
  );

  long('for a kernel with one of everything, and names that C++ has other uses for', () => {
    const dimensions: Dimensions[] = [
      { N: 16, class: 16, floor: 2, step: 1 },
      { N: 5, class: 8, floor: 1, step: 3 },
      // Refused: two limits, the constraint, a value, a range, an i8, threads, shared memory.
      { N: 6, class: 16, floor: 2, step: 1 },
      { N: 4, class: 16, floor: 2, step: 13 },
      { N: 16, class: 64, floor: 2, step: 1 },
      { N: 16, class: 9, floor: 2, step: 1 },
      { N: 100_001, class: 8, floor: 2, step: 1 },
      { N: 16, class: 16, floor: 2, step: 4000 },
      { N: 16, class: 16, floor: 33, step: 1 },
      { N: 70_000, class: 24, floor: 2, step: 1 },
      { N: 0, class: 8, floor: 2, step: 1 },
      // The problem's limit, and a shape beside it.
      { N: 16, class: 64, floor: 7, step: 1 },
      { N: 16, class: 16, floor: 7, step: 1 },
      ...randomDimensions(hardProblem, 3, 200),
    ];
    const { planned, refused } = check([{ problem: hardProblem, candidate: hardCandidate(), dimensions }]);
    expect(planned).toBeGreaterThan(10);
    expect(refused).toBeGreaterThan(10);
  });
});

describe.skipIf(!hostCompiler)('prepare() of the launch header (needs g++)', () => {
  const dimensions = { N: 5, D: 32, causal: 0 };
  const CONTENTS: Readonly<Record<string, ContentsDeclaration | undefined>> = {
    zeros: undefined,
    value: { dtype: 'f16', value: 'N / 3' },
    list: { dtype: 'i32', values: ['D', '-N', 'BLOCK'] },
    row: { dtype: 'u8', from: 'D', step: 'N' },
    bytes: { bytes: '0aFF7f' },
  };
  const workspacesOf = (contents: typeof CONTENTS) =>
    Object.fromEntries(
      Object.entries(contents).map(([name, of]) => [name, { bytes: '4 * N + 1', init: 'once' as const, contents: of }]),
    );

  /** What prepare() does, a line for each call of the runtime. */
  function prepare(contents: typeof CONTENTS): { printed: string; file: KernelFile } {
    const file = {
      ...smallKernel,
      workspaces: workspacesOf(contents),
      steps: [{ memset: { buffer: 'y', byteValue: 0 } }],
    };
    const candidate = makeCandidate({ folder: 'small', file, sources: { 'kernel.cu': '' } }, {});
    const header = launchHeader({ problem: smallProblem, candidate, name: 'small', provenance: ['a test'] });
    const main = [
      '#include "small_launch.hpp"',
      STUB_DEFINITIONS,
      'const void* small::function(int) { return nullptr; }',
      'cudaError_t small::detail::write_pointers(void**, const void* const*, int, cudaStream_t) { return cudaSuccess; }',
      'int main() {',
      '  small::Dimensions dimensions;',
      `  dimensions.N = ${dimensions.N};`,
      `  dimensions.D = ${dimensions.D};`,
      '  alignas(256) static unsigned char workspace[4096];',
      '  std::string why;',
      '  if (small::prepare(dimensions, workspace, nullptr, &why) != cudaSuccess) std::printf("%s\\n", why.c_str());',
      '}',
    ];
    return { printed: runHostProgram({ 'main.cpp': main.join('\n'), 'small_launch.hpp': header }), file };
  }

  long('writes the contents that the launch planner plans', () => {
    const { printed, file } = prepare(CONTENTS);
    const { buffers } = expandPlan({
      problem: smallProblem,
      kernel: file,
      parameters: { BLOCK: 128, ITEMS: 1 },
      dimensions,
      device: { smCount: 58 },
    });
    const wanted = buffers
      .filter(({ role }) => role === 'workspace')
      .map(({ bytes, contents }) => {
        if (!contents) return `memset 0 ${bytes}`;
        const whole = Uint8Array.from({ length: bytes }, (_, i) => contents[i % contents.length]!);
        return `copy ${bytes} ${Buffer.from(whole).toString('hex')}`;
      });
    expect(printed.trim().split('\n')).toEqual(wanted);
  });

  long('refuses a value that its dtype does not hold', () => {
    expect(prepare({ list: { dtype: 'u8', values: ['D', '-N'] } }).printed).toContain(
      'workspaces.list.contents.values[1]: -N is -5; expected a value within the range of its type',
    );
  });
});
