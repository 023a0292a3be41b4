import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take longest, longest first: started last, one of them would keep one core waiting for the other. */
const LONGEST = [
  'cli/demo',
  'red-team/red-team',
  'course/course',
  'browser/page',
  'problems/attention-hopper',
  'problems/',
  'corpus',
  'bench/soak',
  'reports/html',
  'mcp/turn',
  'mcp/',
  'cli/optimize',
  'cli/handover',
  'cli/authors-interrupted',
  'cli/evaluate',
  'cli/dispatch',
  'evaluation/launches/contents-and-copies',
  'app/author/command/whole-runs',
  'toolchains/gpu-compilers',
  'toolchains/precompiled-headers',
  'handover/compile-with-nvcc',
  'cli/real-gpus',
  'honest/honest',
].map((place) => `/test/${place}`);

/** Projects that start first: the last of them has small files, which keep all cores busy to the end. */
const FIRST = ['starting', 'alone', 'in turn'];
const rankOf = (project: string): number => (FIRST.includes(project) ? FIRST.indexOf(project) : FIRST.length);

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.findIndex((part) => moduleId.includes(part));
  return place < 0 ? LONGEST.length : place;
};

/** One project after the other, since processes are shared within one; in each the longest files first. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))].sort((a, b) => rankOf(a) - rankOf(b));
    return projects.flatMap((name) =>
      sorted.filter(({ project }) => project.name === name).sort((a, b) => placeOf(a) - placeOf(b)),
    );
  }
}
