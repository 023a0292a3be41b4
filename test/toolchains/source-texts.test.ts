import { describe, expect, it } from 'vitest';
import { liesWithin, parseDependencyFile } from '../../src/toolchains/dependency-file.ts';
import { takeFunctionSymbols } from '../../src/toolchains/function-symbols.ts';
import { findFileReferences, findKernelNames } from '../../src/toolchains/scan-source.ts';
import { widenCopies } from '../../src/toolchains/widen-copies.ts';

describe('findKernelNames', () => {
  it('sees through attributes, templates and comments', () => {
    const text = `
      // __global__ void commented(int);
      __global__ void __launch_bounds__(32 * (1 + 1), 2) first(float* o) {}
      template <int N> __global__ static void second(float* o);
      extern "C" void __global__ /* here */ third (int n) { }
      struct S { __global__ int member; };
    `;
    expect(findKernelNames(text)).toEqual(['first', 'second', 'third']);
  });
});

describe('findFileReferences', () => {
  it('gives construct, name and line', () => {
    expect(findFileReferences('#include <a.h>\n  #  include "b.h" // c\n#if __has_include(<d>)\n#include E\n')).toEqual(
      [
        { construct: '#include', target: 'a.h', line: 1 },
        { construct: '#include', target: 'b.h', line: 2 },
        { construct: '__has_include', target: 'd', line: 3 },
        { construct: '#include', line: 4 },
      ],
    );
  });
});

describe('parseDependencyFile', () => {
  it('resolves, unescapes and joins lines', () => {
    const text = 'unit: unit.cu \\\n  kernel/./a\\ b.cu /x/y$$z.h kernel/../../etc/passwd\n';
    expect(parseDependencyFile(text, '/sources')).toEqual([
      '/sources/unit.cu',
      '/sources/kernel/a b.cu',
      '/x/y$z.h',
      '/etc/passwd',
    ]);
  });

  it('knows inside from outside', () => {
    expect(liesWithin('/a/b/c', '/a/b')).toBe(true);
    expect(liesWithin('/a/b', '/a/b')).toBe(true);
    expect(liesWithin('/a/bc', '/a/b')).toBe(false);
    expect(liesWithin('/a/b/../c', '/a/b')).toBe(false);
    expect(liesWithin('/a/b/..c', '/a/b')).toBe(true);
  });
});

describe('widenCopies', () => {
  const copy = (to: string, from: string, bytes: number) =>
    `  call void @llvm.memcpy.p0.p0.i64(ptr ${to}, ptr ${from}, i64 ${bytes}, i1 false), !dbg !7, !tbaa.struct !8\n`;

  it('turns aligned copies into vector loads, then stores', () => {
    expect(widenCopies(copy('align 16 %a', 'align 16 addrspacecast (ptr addrspace(3) @s to ptr)', 32))).toBe(
      [
        '  %ws.copy0.v0 = load <4 x i32>, ptr addrspacecast (ptr addrspace(3) @s to ptr), align 16, !dbg !7',
        '  %ws.copy0.from16 = getelementptr inbounds i8, ptr addrspacecast (ptr addrspace(3) @s to ptr), i64 16, !dbg !7',
        '  %ws.copy0.v16 = load <4 x i32>, ptr %ws.copy0.from16, align 16, !dbg !7',
        '  store <4 x i32> %ws.copy0.v0, ptr %a, align 16, !dbg !7',
        '  %ws.copy0.to16 = getelementptr inbounds i8, ptr %a, i64 16, !dbg !7',
        '  store <4 x i32> %ws.copy0.v16, ptr %ws.copy0.to16, align 16, !dbg !7',
        '',
      ].join('\n'),
    );
  });

  it.each([
    ['unaligned', copy('align 8 %a', 'align 16 %b', 16)],
    ['of an odd size', copy('align 16 %a', 'align 16 %b', 24)],
    ['that is large', copy('align 16 %a', 'align 16 %b', 256)],
    ['that is volatile', copy('align 16 %a', 'align 16 %b', 16).replace('i1 false', 'i1 true')],
  ])('leaves a copy alone %s', (_what, text) => {
    expect(widenCopies(text)).toBe(text);
  });
});

describe('takeFunctionSymbols', () => {
  it('reads the probes and removes them, keeping what else is used', () => {
    const ir = [
      '@table = addrspace(4) constant [1 x i32] [i32 1], align 4',
      '@__warpsmith_function_0 = addrspace(1) externally_initialized global ptr @_Z1kILi64EEvPf, align 8',
      '@__warpsmith_function_1 = addrspace(1) externally_initialized global ptr @plain, align 8',
      '@llvm.compiler.used = appending global [3 x ptr] [ptr addrspacecast (ptr addrspace(1) @__warpsmith_function_0 to ptr), ptr addrspacecast (ptr addrspace(1) @__warpsmith_function_1 to ptr), ptr addrspacecast (ptr addrspace(4) @table to ptr)], section "llvm.metadata"',
      '',
    ].join('\n');
    expect(takeFunctionSymbols(ir, ['k<64>', 'plain'])).toEqual({
      functionSymbols: { 'k<64>': '_Z1kILi64EEvPf', plain: 'plain' },
      ir: [
        '@table = addrspace(4) constant [1 x i32] [i32 1], align 4',
        '@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(4) @table to ptr)], section "llvm.metadata"',
        '',
      ].join('\n'),
    });
  });
});
