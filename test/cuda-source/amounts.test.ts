import { describe, expect, it } from 'vitest';
import { evaluateExpression } from '../../src/core/expressions/evaluate.ts';
import { type Amount, printAmount } from '../../src/cuda-source/amounts.ts';
import { followHostCode } from '../../src/cuda-source/host-walk.ts';
import { readCudaSource } from '../../src/cuda-source/source.ts';

/** The grid of a launch in `main`, after these statements. */
function gridOf(grid: string, before = 'int N = 1000, M = 77;', global = ''): string[] {
  const text = `${global}\n__global__ void k() {}\nint main() { ${before} k<<<${grid}, 1>>>(); }`;
  const { events } = followHostCode(readCudaSource(text, 'a.cu'));
  const launch = events.find((event) => event.kind === 'launch')!.launch;
  if (launch.grid.kind !== 'triple') return [launch.grid.kind];
  return launch.grid.parts.map((part: Amount) => printAmount(part)).filter((part, i) => i === 0 || part !== '1');
}

describe('grids of host code as expressions', () => {
  it.each<[grid: string, expression: string]>([
    ['(N + 255) / 256', 'ceilDiv(N, 256)'],
    ['(N + 256 - 1) / 256', 'ceilDiv(N, 256)'],
    ['(N - 1) / 256 + 1', 'ceilDiv(N, 256)'],
    ['1 + (N - 1) / 256', 'ceilDiv(N, 256)'],
    ['ceil(N / 256.0)', 'ceilDiv(N, 256)'],
    ['(int)ceil((float)N / 256)', 'ceilDiv(N, 256)'],
    ['(M - 1 + N) / M', 'ceilDiv(N, M)'],
    ['N / 256', 'floor(N / 256)'],
    ['(N + 3) / 4 * 2', 'ceilDiv(N, 4) * 2'],
    ['N * M / 4', 'floor(N * M / 4)'],
    ['min((N + 31) / 32, 128)', 'min(ceilDiv(N, 32), 128)'],
    ['std::max(1, N >> 3)', 'max(1, N >> 3)'],
    ['dim3((N + 15) / 16, M)', 'ceilDiv(N, 16)|M'],
    ['4 * 8 / 2', '16'],
    ['(N & ~255) / 256', 'unknown'],
    ['2 * (N - 5 + 1)', '2 * (N - 4)'],
  ])('%s', (grid, expected) => expect(gridOf(grid).join('|')).toBe(expected));

  it.each<[what: string, before: string, global: string, expected: string]>([
    ['a macro with parameters', 'int N = 5;', '#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))', 'ceilDiv(N, 32)'],
    [
      'a function',
      'int N = 5;',
      'static inline int CEIL_DIV(int a, int b) { return (a + b - 1) / b; }',
      'ceilDiv(N, 32)',
    ],
    [
      'a template function',
      'int N = 5;',
      'template <class T> T CEIL_DIV(T a, T b) { return (a + b - 1) / b; }',
      'ceilDiv(N, 32)',
    ],
    [
      'a constant with another name',
      'const int n = N;',
      '#define N 512\n#define CEIL_DIV(a, b) ((a) / (b))\n',
      'floor(N / 32)',
    ],
  ])('through %s', (_, before, global, expected) =>
    expect(gridOf(before.includes('const int n') ? 'CEIL_DIV(n, 32)' : 'CEIL_DIV(N, 32)', before, global)[0]).toBe(
      expected,
    ),
  );

  it('follows variables, members of dim3 and branches', () => {
    expect(gridOf('g', 'int N = 100; dim3 b(32, 4); dim3 g; g.x = (N + b.x - 1) / b.x; g.y = b.y;')).toEqual([
      'ceilDiv(N, 32)',
      '4',
    ]);
    expect(gridOf('g', 'int N = 100; int g; if (N > 50) { g = N / 2; } else { g = 1; }')).toEqual(['floor(N / 2)']);
    expect(gridOf('n', 'int n = argc > 1 ? atoi(argv[1]) : 64;')).toEqual(['n']);
  });

  it('are what the host would compute, at many sizes', () => {
    for (const grid of ['(N + 255) / 256', '(N + 100) / 256', '(N - 1) / 7 + 1', '(N * 3 + 31) / 32', 'N / 4 + 2']) {
      const [expression] = gridOf(grid);
      for (let N = 1; N < 600; N += 13) {
        const steps = grid.replaceAll(/\/ (\d+)/g, '/$1').replaceAll('N', String(N));
        const wanted = wholeValue(steps);
        expect(evaluateExpression(expression!, { N }), `${grid} at ${N}`).toBe(wanted);
      }
    }
  });
});

/** C's arithmetic of whole numbers on a text such as `(5 + 255) /256`, read from left to right. */
function wholeValue(text: string): number {
  const division = /^(.*?)\/(\d+)(.*)$/.exec(text)!;
  const sum = (part: string): number => {
    const [product = '0', ...rest] = part
      .replaceAll(/[()]/g, '')
      .trim()
      .split(/(?=[+-])/);
    const factors = product.split('*').reduce((all, factor) => all * Number(factor), 1);
    return rest.reduce((all, one) => all + Number(one.replaceAll(' ', '')), factors);
  };
  const behind = division[3]!.trim();
  return Math.trunc(sum(division[1]!) / Number(division[2])) + (behind === '' ? 0 : Number(behind.replaceAll(' ', '')));
}
