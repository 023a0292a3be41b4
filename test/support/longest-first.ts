import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, longest first: started last, one of them would keep one core waiting for the other. */
const LONGEST = [
  'cli/demo',
  'cli/handover',
  'cli/evaluate',
  'toolchains/gpu-compilers',
  'fuzz/fuzz',
  'cli/optimize',
  'toolchains/header-pack/compiles',
  'cli/real-gpus',
  'handover/dispatch',
  'bench/soak',
  'red-team/red-team',
  'problems/histogram',
  'problems/gemm',
  'problems/layernorm',
  'app/attention-on-l4',
  'problems/softmax',
  'honest/honest',
  'virtual-gpu/opcodes/opcodes',
  'problems/',
].map((place) => `/test/${place}`);

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.findIndex((part) => moduleId.includes(part));
  return place < 0 ? LONGEST.length : place;
};

/** One project after the other, since processes are shared within one; in each the longest files first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    return projects.flatMap((name) =>
      sorted.filter(({ project }) => project.name === name).sort((a, b) => placeOf(a) - placeOf(b)),
    );
  }
}
