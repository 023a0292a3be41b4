import { describe, expect, it } from 'vitest';
import { PtxSyntaxError } from '../../src/ptx/errors.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { functionNamed, instruction, instructionsOf, moduleWith, parseBody, show, showFunction } from './support.ts';

describe('module directives', () => {
  it('reads version, target and address size', () => {
    const module = parsePtx('.version 8.0\n.target sm_90a, debug\n.address_size 64\n');
    expect(module).toEqual({ version: '8.0', target: 'sm_90a', addressSize: 64, variables: [], functions: [] });
  });

  it('skips comments, sections and pragmas', () => {
    const text = `/* a { block */ .version 7.8 // and } a line
      .section .debug_str { $L__info_string0: .b8 95, 90 }
      .pragma "nounroll";`;
    expect(parsePtx(text).version).toBe('7.8');
  });
});

describe('variables', () => {
  const variables = (text: string) => parsePtx(text).variables;

  it('reads initial bytes, padded with zeros', () => {
    const [variable] = variables('.visible .const .align 4 .b8 tab[8] = {0, 0, 128, 63};');
    expect(variable).toEqual({
      name: 'tab',
      space: 'const',
      type: 'b8',
      sizeBytes: 8,
      alignmentBytes: 4,
      external: false,
      initialBytes: new Uint8Array([0, 0, 128, 63, 0, 0, 0, 0]),
    });
  });

  it.each([
    ['.global .u32 g = 7;', [7, 0, 0, 0]],
    ['.global .s16 g[2] = {-1, 0x102};', [255, 255, 2, 1]],
    ['.global .f32 g = 1.5;', [0, 0, 192, 63]],
    ['.global .f32 g = 0f3FC00000;', [0, 0, 192, 63]],
    ['.global .f64 g = 0d3FF8000000000000;', [0, 0, 0, 0, 0, 0, 248, 63]],
    ['.global .b8 g[] = {1, 2, 3};', [1, 2, 3]],
    ['.global .b16 g[2][2] = {{1, 2}, {3, 4}};', [1, 0, 2, 0, 3, 0, 4, 0]],
  ])('%s', (text, bytes) => {
    const [variable] = variables(text);
    expect([...variable!.initialBytes!]).toEqual(bytes);
    expect(variable!.sizeBytes).toBe(bytes.length);
  });

  it('reads relocations', () => {
    const [, names] = variables('.global .u32 a; .global .u64 names[3] = {generic(a)+4, a, 0};');
    expect(names!.relocations).toEqual([
      { offset: 0, symbol: 'a', addend: 4, sizeBytes: 8, generic: true },
      { offset: 8, symbol: 'a', addend: 0, sizeBytes: 8, generic: false },
    ]);
  });

  it('joins an address written byte by byte', () => {
    const bytes = Array.from({ length: 8 }, (_, i) => `0xFF${'00'.repeat(i)}(generic(a))`).join(', ');
    const [, packed] = variables(`.global .u32 a; .global .align 8 .b8 p[12] = {1, 0, 0, 0, ${bytes}};`);
    expect(packed!.relocations).toEqual([{ offset: 4, symbol: 'a', addend: 0, sizeBytes: 8, generic: true }]);
    expect(packed!.initialBytes![0]).toBe(1);
  });

  it('tells dynamic shared memory', () => {
    const [variable] = variables('.extern .shared .align 128 .b8 sm[];');
    expect(variable).toMatchObject({ space: 'shared', sizeBytes: 0, alignmentBytes: 128, external: true });
  });

  it('rejects more values than fit', () => {
    expect(() => variables('.global .b8 g[2] = {1, 2, 3};')).toThrow(PtxSyntaxError);
  });

  it('gives vector variables their own alignment', () => {
    expect(variables('.shared .v4 .f32 tile[2];')[0]).toMatchObject({ sizeBytes: 32, alignmentBytes: 16 });
  });
});

describe('functions', () => {
  it('lays out parameters as the driver does', () => {
    const fn = parseBody(
      'ret;',
      '',
      `.param .u64 .ptr .global .align 1 p0, .param .align 8 .b8 p1[40], .param .u8 p2, .param .f32 p3, .param .align 64 .b8 p4[128]`,
    );
    expect(fn.parameters.map(({ name, sizeBytes, offset }) => [name, sizeBytes, offset])).toEqual([
      ['p0', 8, 0],
      ['p1', 40, 8],
      ['p2', 1, 48],
      ['p3', 4, 52],
      ['p4', 128, 64],
    ]);
  });

  it('reads launch bounds', () => {
    const text = moduleWith('ret;').replace(
      '()',
      '() .maxntid 128, 2 .minnctapersm 3 .maxnreg 64 .reqnctapercluster 2',
    );
    expect(functionNamed(parsePtx(text), 'k')).toMatchObject({
      maxThreads: [128, 2, 1],
      minCtasPerSm: 3,
      maxRegisters: 64,
      requiredCluster: [2, 1, 1],
    });
  });

  it('keeps a definition over a declaration', () => {
    const text = `.extern .func (.param .b32 r) f (.param .b32 a) ;
      .visible .func (.param .b32 r) f(.param .b32 a) { ret; }
      .extern .func __assertfail (.param .b64 a) .noreturn;`;
    const module = parsePtx(text);
    expect(module.functions.map((fn) => [fn.name, fn.kind, fn.defined])).toEqual([
      ['f', 'func', true],
      ['__assertfail', 'func', false],
    ]);
  });

  it('expands register ranges', () => {
    const fn = parseBody('.reg .b32 %r<3>; .reg .b64 %SP, %SPL; ret;');
    expect([...fn.registers]).toEqual([
      ['%r0', 'b32'],
      ['%r1', 'b32'],
      ['%r2', 'b32'],
      ['%SP', 'b64'],
      ['%SPL', 'b64'],
    ]);
  });
});

describe('instructions', () => {
  it('splits the opcode', () => {
    expect(instruction('@!%p1 ld.shared::cta.v2.f32 {%f1, %f2}, [%r1+-8];')).toMatchObject({
      opcode: 'ld',
      modifiers: ['shared::cta', 'v2', 'f32'],
      text: 'ld.shared::cta.v2.f32',
      guard: { register: '%p1', negated: true },
    });
  });

  it.each([
    ['mov.b32 %r1, -1;', ['%r1', '-1']],
    ['mov.b32 %r1, 0x7fffffff;', ['%r1', '2147483647']],
    ['mov.b32 %r1, 0b101U;', ['%r1', '5']],
    ['mov.b32 %r1, 017;', ['%r1', '15']],
    ['mov.b64 %rd1, 0xFFFFFFFFFFFFFFFF;', ['%rd1', '-1']],
    ['mov.b32 %r1, ~15;', ['%r1', '-16']],
    ['mov.b32 %r1, WARP_SZ;', ['%r1', '32']],
    ['mov.f32 %f1, 0fBF800000;', ['%f1', '0xbf800000']],
    ['mov.f32 %f1, -0f3F800000;', ['%f1', '0xbf800000']],
    ['mov.f64 %fd1, 0d3FF0000000000000;', ['%fd1', '0x3ff0000000000000']],
    ['mov.f32 %f1, 1.5;', ['%f1', '0x3ff8000000000000']],
    ['mov.u32 %r1, %tid.x;', ['%r1', '%tid.x']],
    ['mov.u64 %rd1, %globaltimer;', ['%rd1', '%globaltimer']],
    ['mov.b32 %r1, sm+16;', ['%r1', 'sm+16']],
    ['mov.b64 {%r1, _}, %rd1;', ['{%r1, _}', '%rd1']],
    ['ld.global.b32 %r1, [%rd1];', ['%r1', '[%rd1]']],
    ['ld.global.b32 %r1, [%rd1-4];', ['%r1', '[%rd1+-4]']],
    ['ld.shared.b32 %r1, [sm+8];', ['%r1', '[sm+8]']],
    ['ld.shared.b32 %r1, [64];', ['%r1', '[+64]']],
    ['setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;', ['%p1|%p2', '%r1', '%r2', '!%p3']],
    ['shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;', ['%r1|%p1', '%r2', '16', '31', '-1']],
    ['mbarrier.arrive.shared::cta.b64 _, [%r1];', ['_', '[%r1]']],
    [
      'cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd9, {%r2,%r3}], [%r4];',
      ['[%r1]', '[%rd9, {%r2, %r3}]', '[%r4]'],
    ],
    ['call.uni (%r1), f, (%r2, 3);', ['{%r1}', 'f', '{%r2, 3}']],
    ['call f;', ['{}', 'f', '{}']],
    ['call f, (%r1);', ['{}', 'f', '{%r1}']],
    ['call (%r1), %rd1, (%r2), prototype_0;', ['{%r1}', '%rd1', '{%r2}', 'prototype_0']],
  ])('%s', (text, operands) => {
    expect(instruction(text).operands.map(show)).toEqual(operands);
  });

  it('keeps the names of nested scopes apart', () => {
    const fn = parseBody(`.reg .b32 %r<3>; .reg .b32 t;
      mov.b32 t, 1;
      { .reg .pred p; .reg .b32 t; setp.ne.s32 p, %r1, 0; selp.b32 t, 1, 2, p; mov.b32 %r2, t; }
      { .reg .pred p; L: setp.ne.s32 p, %r1, 0; @p bra L; }
      { .reg .pred p; L: setp.ne.s32 p, %r2, 0; @p bra L; }
      mov.b32 %r1, t;`);
    expect(showFunction(fn)).toEqual([
      'mov.b32 t, 1',
      'setp.ne.s32 p, %r1, 0',
      'selp.b32 t$2, 1, 2, p',
      'mov.b32 %r2, t$2',
      'L:',
      'setp.ne.s32 p$2, %r1, 0',
      '@p$2 bra L',
      'L$2:',
      'setp.ne.s32 p$3, %r2, 0',
      '@p$3 bra L$2',
      'mov.b32 %r1, t',
    ]);
    expect(fn.registers.get('t$2')).toBe('b32');
  });

  it('resolves branch tables', () => {
    const fn = parseBody(`.reg .b32 %r<2>;
      $tab: .branchtargets $A, $B, $A;
      brx.idx %r1, $tab;
      $A: ret;
      $B: ret;`);
    expect(showFunction(fn)).toEqual(['brx.idx %r1, {$A, $B, $A}', '$A:', 'ret', '$B:', 'ret']);
  });

  it('reads declarations inside the body', () => {
    const fn = parseBody(`.local .align 4 .b8 __local_depot0[72];
      { .param .align 8 .b8 param0[16]; }
      { .param .b32 param0; }
      .shared .align 8 .u64 bar; ret;`);
    expect(fn.variables.map(({ name, space, sizeBytes }) => [name, space, sizeBytes])).toEqual([
      ['__local_depot0', 'local', 72],
      ['param0', 'param', 16],
      ['param0$2', 'param', 4],
      ['bar', 'shared', 8],
    ]);
  });
});

describe('syntax errors name the line and show it', () => {
  it.each([
    ['an unknown register', 'mov.b32 %q1, 0;', /unknown register `%q1`/],
    ['a branch to nowhere', 'bra $nowhere;', /unknown label `\$nowhere`/],
    ['a missing semicolon', 'ret', /expected `;`/],
    ['a stray character', 'ret; #', /unexpected character "#"/],
    ['an unknown directive', '.frobnicate 3;', /unknown directive `\.frobnicate`/],
    ['an unclosed scope', '{ ret;', /never closed/],
  ])('%s', (_, body, message) => {
    const parse = (): unknown => parsePtx(moduleWith(body));
    expect(parse).toThrow(PtxSyntaxError);
    expect(parse).toThrow(message);
  });

  it('counts lines from 1', () => {
    try {
      parsePtx('.version 7.8\n.target sm_89\n.address_size 64\n.entry k() {\n  bra oops;\n}\n');
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ line: 5, details: { received: 'bra oops;', path: 'line 5' } });
    }
  });
});

describe('source locations', () => {
  const files = '.file 1 "/home/u" "k.cu"\n.file 2 "/opt/headers" "./pack.h"\n';
  const sources = (body: string, isUserFile?: (path: string) => boolean) =>
    instructionsOf(functionNamed(parsePtx(moduleWith(body) + files, isUserFile ? { isUserFile } : {}), 'k')).map(
      (i) => i.source,
    );

  it('takes the location in force', () => {
    expect(sources('ret;\n.loc 1 18 11\nret;\nret;\n.loc 1 19 0\nret;')).toEqual([
      undefined,
      { file: 'k.cu', line: 18, column: 11 },
      { file: 'k.cu', line: 18, column: 11 },
      { file: 'k.cu', line: 19 },
    ]);
  });

  it('reads the inlining chain from the comments of clang', () => {
    const body = '.loc 2 17 79 // ./pack.h:17:79 @[ pack.h:5:1 @[ k.cu:18:11 ] ]\nret;';
    expect(sources(body)).toEqual([{ file: 'pack.h', line: 17, column: 79 }]);
    expect(sources(body, (path) => path === 'k.cu')).toEqual([{ file: 'k.cu', line: 18, column: 11 }]);
  });

  it('reads the inlining chain from inlined_at, through call sites that were inlined themselves', () => {
    const body = `.loc 1 40 3
      .loc 2 5 1, function_name $L__info_string0, inlined_at 1 40 3
      .loc 2 17 79, function_name $L__info_string1+2, inlined_at 2 5 1
      ret;`;
    expect(sources(body, (path) => path === 'k.cu')).toEqual([{ file: 'k.cu', line: 40, column: 3 }]);
  });

  it('takes the caller where the compiler gave line 0', () => {
    expect(sources('.loc 1 0 4 // k.cu:0:4 @[ k.cu:9:2 ]\nret;')).toEqual([{ file: 'k.cu', line: 9, column: 2 }]);
  });

  it('takes the place before for code that has no line of its own', () => {
    expect(sources('.loc 1 0 0\nret;\n.loc 1 9 2\nret;\n.loc 1 0 0\nret;')).toEqual([
      undefined,
      { file: 'k.cu', line: 9, column: 2 },
      { file: 'k.cu', line: 9, column: 2 },
    ]);
  });
});
