import { describe, expect, it } from 'vitest';
import { hasSameInstructions, hasSameTokens } from '../../../src/app/gate/same-code.ts';
import { loadKernel } from '../../../src/app/loading/load-kernel.ts';
import { makeCandidate } from '../../../src/core/candidate.ts';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import type { Kernel } from '../../../src/core/kernel.ts';
import { SCALE } from '../../cli/run-cli.ts';

const { kernel } = await loadKernel(`${SCALE}/01_strided`);
const SOURCE = kernel.sources['kernel.cu']!;
const of = (text: string, more: Partial<Kernel['file']> = {}): Kernel => ({
  ...kernel,
  file: { ...kernel.file, ...more },
  sources: { 'kernel.cu': text },
});
const isSame = (before: string, after: string): boolean => hasSameTokens(of(before), of(after));

describe('kernels with the same tokens', () => {
  it.each([
    ['a comment of its own line', 'int a;\nint b;', 'int a;\n// why\n/* and\nhow */\nint b;'],
    ['a comment behind code', 'int a;\nint b;', 'int a; // why\nint b;'],
    ['indentation and empty lines', 'int a;\nint b;', 'int a;\n\n\n    int b;'],
    ['line ends of another system', 'int a;\nint b;\n', 'int a;\r\nint b;\r\n'],
    ['a comment in a directive', '#define N 4\nint a[N];', '#define N 4 // four\nint a[N];'],
    ['a directive in several lines', '#define F(x) x +  1\n', '#define F(x) x + \\\n  1\n'],
    ['words that look like comments in a text', 'auto s = "// a";', '// b\nauto s = "// a";'],
  ])('differ in %s', (_, before, after) => expect(isSame(before, after)).toBe(true));

  it.each([
    ['a name', 'int a;', 'int b;'],
    ['what a comment hides', 'int a;\nint b;', 'int a;\n// int b;'],
    ['a text', 'auto s = "// a";', 'auto s = "// b";'],
    ['a macro that takes arguments', '#define F(x) 1\n', '#define F (x) 1\n'],
    ['a directive', '#define N 4\n', '#define N 5\n'],
    ['the number of a line that the code knows', 'int a = __LINE__;', '\nint a = __LINE__;'],
    ['a comment between what was one word to a macro', 'S(a+b)', 'S(a/**/+b)'],
    ['a text that nobody can read', 'int a; /* no end', 'int a; /* no end either'],
  ])('do not differ in %s', (_, before, after) => expect(isSame(before, after)).toBe(false));

  it('differ in what people read of kernel.json, and not in what is launched', () => {
    const with_ = (more: Partial<Kernel['file']>): boolean => hasSameTokens(kernel, of(SOURCE, more));
    expect(with_({ description: 'Another.', remedies: ['parallelism'] })).toBe(true);
    expect(with_({ limits: ['N <= 4'] })).toBe(false);
    const { BLOCK, PER_THREAD } = kernel.file.parameters!;
    expect(with_({ parameters: { BLOCK: { ...BLOCK!, description: 'Threads.' }, PER_THREAD: PER_THREAD! } })).toBe(
      true,
    );
    expect(with_({ parameters: { BLOCK: { ...BLOCK!, default: 64 }, PER_THREAD: PER_THREAD! } })).toBe(false);
    expect(hasSameTokens(kernel, { ...kernel, sources: { ...kernel.sources, 'more.cuh': '' } })).toBe(false);
  });
});

describe('kernels with the same instructions', () => {
  const PTX = '\t.loc\t1 2 0 // kernel.cu:2:0\n$L__tmp0:\n\tadd.f32 %r1, %r2, %r2;\n$L__BB0_2: // %exit\n\tret;\n';
  const MOVED = PTX.replace('1 2 0', '1 9 0').replace('$L__tmp0:\n', '').replace('%exit', '%end');

  /** Whether two kernels that compile to these texts are the same. */
  function compiledTo(one: string | undefined, other: string | undefined, more: Partial<Kernel['file']> = {}) {
    const texts = [one, other];
    const compile = async () => {
      const text = texts.shift();
      const failed = { ok: false, status: 'compile-failed', message: '', diagnostics: [], elapsedMs: 0 } as const;
      const code = { kind: 'ptx', text } as CompiledCode;
      return { compiled: text === undefined ? failed : ({ ok: true, code, cached: false, elapsedMs: 0 } as const) };
    };
    const [before, after] = [of('a'), of('b', more)].map((each) => makeCandidate(each, {}));
    return hasSameInstructions({ compile }, before!, after!, undefined);
  }

  it('may name other lines', async () => expect(await compiledTo(PTX, MOVED)).toBe(true));

  it.each([
    ['another instruction', PTX.replace('add', 'sub'), {}],
    ['a jump to another place', PTX.replace('BB0_2', 'BB0_3'), {}],
    ['another launch', MOVED, { steps: [] }],
    ['nothing to compare', undefined, {}],
  ])('do not have %s', async (_, other, more) => expect(await compiledTo(PTX, other, more)).toBe(false));
});
