import { describe, expect, it } from 'vitest';
import { UnsupportedPtxError } from '../../src/ptx/errors.ts';
import { inlineCalls } from '../../src/ptx/inline-calls.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { moduleWith, showFunction } from './support.ts';

const inlined = (body: string, before: string) => inlineCalls(parsePtx(moduleWith(body, before)), 'k');

const SQUARE = `.visible .func (.param .b32 func_retval0) square(.param .b32 square_param_0)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [square_param_0]; mul.lo.s32 %r2, %r1, %r1; st.param.b32 [func_retval0], %r2; ret; }`;

const callSequence = (callee: string, argument: string, result: string): string =>
  `{ .param .b32 param0; st.param.b32 [param0], ${argument}; .param .b32 retval0;
     call.uni (retval0), ${callee}, (param0); ld.param.b32 ${result}, [retval0]; }`;

describe('inlineCalls', () => {
  it('leaves no trace of a simple call', () => {
    const fn = inlined(
      `.reg .b32 %r<9>; mov.u32 %r1, %tid.x; ${callSequence('square', '%r1', '%r7')} add.s32 %r8, %r7, 1; ret;`,
      SQUARE,
    );
    expect(showFunction(fn)).toEqual([
      'mov.u32 %r1, %tid.x',
      'mul.lo.s32 %r2$2, %r1, %r1',
      'add.s32 %r8, %r2$2, 1',
      'ret',
    ]);
    expect(fn.variables).toEqual([]);
    expect(fn.registers.get('%r2$2')).toBe('b32');
  });

  it('keeps the moves where a register is written more than once', () => {
    const fn = inlined(
      `.reg .pred %p<2>; .reg .b32 %r<9>; mov.b32 %r1, 2; $loop: ${callSequence('square', '%r1', '%r1')} @%p1 bra $loop; ret;`,
      SQUARE,
    );
    expect(showFunction(fn)).toEqual(
      [
        'mov.b32 %r1, 2',
        '$loop:',
        'mov.b32 param0$0, %r1',
        'mul.lo.s32 %r2, param0$0, param0$0',
        'mov.b32 %r1, %r2',
        '@%p1 bra $loop',
        'ret',
      ].map((line) => line.replaceAll('%r2', '%r2$2')),
    );
  });

  it('passes structs element by element', () => {
    const pair = `.func (.param .align 4 .b8 func_retval0[8]) pair(.param .align 4 .b8 pair_param_0[8])
    { .reg .b32 %r<3>; ld.param.v2.b32 {%r1, %r2}, [pair_param_0];
      st.param.b32 [func_retval0], %r2; st.param.b32 [func_retval0+4], %r1; ret; }`;
    const fn = inlined(
      `.reg .b32 %r<9>; mov.b32 %r5, 1; mov.b32 %r6, 2;
       { .param .align 4 .b8 param0[8]; st.param.b32 [param0], %r5; st.param.b32 [param0+4], %r6;
         .param .align 4 .b8 retval0[8]; call.uni (retval0), pair, (param0);
         ld.param.v2.b32 {%r7, %r8}, [retval0]; }
       sub.s32 %r1, %r7, %r8; ret;`,
      pair,
    );
    expect(showFunction(fn)).toEqual(['mov.b32 %r5, 1', 'mov.b32 %r6, 2', 'sub.s32 %r1, %r6, %r5', 'ret']);
  });

  it('reads a narrow part of a wider element', () => {
    const callee = `.func (.param .b32 func_retval0) f(.param .b32 f_param_0)
    { .reg .b16 %rs<3>; .reg .b32 %r<3>; ld.param.s8 %rs1, [f_param_0]; ld.param.u8 %rs2, [f_param_0+2];
      add.s16 %rs1, %rs1, %rs2; cvt.s32.s16 %r1, %rs1; st.param.b32 [func_retval0], %r1; ret; }`;
    const fn = inlined(`.reg .b32 %r<9>; mov.b32 %r3, 7; ${callSequence('f', '%r3', '%r4')} ret;`, callee);
    expect(showFunction(fn).slice(1, 4)).toEqual([
      'cvt.s16.s8 %rs1, %r3',
      'shr.u32 param0$0$16, %r3, 16',
      'cvt.u16.u8 %rs2, param0$0$16',
    ]);
  });

  it('keeps a parameter whose address is taken in local memory', () => {
    const callee = `.func (.param .b32 func_retval0) f(.param .align 4 .b8 f_param_0[8])
    { .reg .b32 %r<3>; .reg .b64 %rd<3>; mov.b64 %rd1, f_param_0; ld.local.b32 %r1, [%rd1+4];
      st.param.b32 [func_retval0], %r1; ret; }`;
    const fn = inlined(
      `.reg .b32 %r<9>; mov.b32 %r3, 7;
       { .param .align 4 .b8 param0[8]; st.param.v2.b32 [param0], {%r3, 1}; .param .b32 retval0;
         call.uni (retval0), f, (param0); ld.param.b32 %r4, [retval0]; } ret;`,
      callee,
    );
    expect(showFunction(fn)).toEqual([
      'mov.b32 %r3, 7',
      'st.local.v2.b32 [param0], {%r3, 1}',
      'mov.b64 %rd1, param0',
      'ld.local.b32 %r1$2, [%rd1+4]',
      'ret',
    ]);
    expect(fn.variables).toMatchObject([{ name: 'param0', space: 'local', sizeBytes: 8 }]);
  });

  it('turns an early ret into a branch to the end, and keeps labels of two copies apart', () => {
    const callee = `.func f(.param .b32 f_param_0)
    { .reg .pred %p<2>; .reg .b32 %r<2>; ld.param.b32 %r1, [f_param_0]; setp.eq.s32 %p1, %r1, 0; @%p1 ret;
      $again: bra $again; }`;
    const call = '{ .param .b32 param0; st.param.b32 [param0], 3; call.uni f, (param0); }';
    const fn = inlined(`${call} ${call} ret;`, callee);
    expect(showFunction(fn)).toEqual([
      'mov.b32 param0$0, 3',
      'setp.eq.s32 %p1, param0$0, 0',
      '@%p1 bra $end_of_f',
      '$again:',
      'bra $again',
      '$end_of_f:',
      'mov.b32 param0$2$0, 3',
      'setp.eq.s32 %p1$2, param0$2$0, 0',
      '@%p1$2 bra $end_of_f$2',
      '$again$2:',
      'bra $again$2',
      '$end_of_f$2:',
      'ret',
    ]);
  });

  it('branches around a guarded call', () => {
    const fn = inlined('.reg .pred %p<2>; @%p1 call.uni f; ret;', '.func f() { bar.sync 0; ret; }');
    expect(showFunction(fn)).toEqual(['@!%p1 bra $skip_call', 'bar.sync 0', '$skip_call:', 'ret']);
  });

  it('merges local variables, once per callee', () => {
    const callee = `.func f() { .local .align 8 .b8 depot[16]; .reg .b64 %rd<2>; mov.b64 %rd1, depot; ret; }`;
    const fn = inlined('.local .align 8 .b8 depot[8]; call.uni f; call.uni f; ret;', callee);
    expect(fn.variables.map(({ name, sizeBytes }) => [name, sizeBytes])).toEqual([
      ['depot', 8],
      ['depot$2', 16],
    ]);
    expect(showFunction(fn)).toEqual(['mov.b64 %rd1, depot$2', 'mov.b64 %rd1$2, depot$2', 'ret']);
  });

  it('inlines through several levels', () => {
    const fourth = `.func (.param .b32 func_retval0) fourth(.param .b32 fourth_param_0)
    { .reg .b32 %r<4>; ld.param.b32 %r1, [fourth_param_0]; ${callSequence('square', '%r1', '%r2')}
      ${callSequence('square', '%r2', '%r3')} st.param.b32 [func_retval0], %r3; ret; }`;
    const fn = inlined(
      `.reg .b32 %r<9>; mov.b32 %r1, 3; ${callSequence('fourth', '%r1', '%r2')} ret;`,
      SQUARE + fourth,
    );
    const multiplications = showFunction(fn).filter((line) => line.startsWith('mul'));
    expect(multiplications).toHaveLength(2);
    expect(showFunction(fn)).toHaveLength(4);
  });

  it('makes a call of vprintf an instruction', () => {
    const before = '.extern .func (.param .b32 retval0) vprintf (.param .b64 a, .param .b64 b);';
    const fn = inlined(
      `.reg .b32 %r<2>; .reg .b64 %rd<3>; { .param .b64 param0; st.param.b64 [param0], %rd1; .param .b64 param1;
         st.param.b64 [param1], %rd2; .param .b32 retval0; call.uni (retval0), vprintf, (param0, param1);
         ld.param.b32 %r1, [retval0]; } add.s32 %r1, %r1, 1; ret;`,
      before,
    );
    expect(showFunction(fn)).toEqual([
      'mov.b64 param0$0, %rd1',
      'mov.b64 param1$0, %rd2',
      'vprintf() %driver0, param0$0, param1$0',
      'mov.b32 %r1, %driver0',
      'add.s32 %r1, %r1, 1',
      'ret',
    ]);
  });

  it('makes a failed assertion an instruction and a trap', () => {
    const before =
      '.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;';
    const pass = (type: string, i: number) => `.param .${type} p${i}; st.param.${type} [p${i}], ${i};`;
    const passed = ['b64', 'b64', 'b32', 'b64', 'b64'].map(pass).join(' ');
    const fn = inlined(`{ ${passed} call.uni __assertfail, (p0, p1, p2, p3, p4); }`, before);
    expect(showFunction(fn).map((line) => line.split(' ')[0])).toEqual([
      ...['mov.b64', 'mov.b64', 'mov.b32', 'mov.b64', 'mov.b64', '__assertfail()', 'trap'],
    ]);
  });

  it('takes register parameters', () => {
    const callee = '.func (.reg .b32 out) f(.reg .b32 in) { add.s32 out, in, 1; ret; }';
    const fn = inlined('.reg .b32 %r<3>; call.uni (%r2), f, (%r1); ret;', callee);
    expect(showFunction(fn)).toEqual(['mov.b32 in, %r1', 'add.s32 out, in, 1', 'mov.b32 %r2, out', 'ret']);
  });

  it.each([
    [
      'another printf',
      '.extern .func vprintf();',
      'call.uni vprintf;',
      /`call vprintf` in k calls a function with no body/,
    ],
    ['recursion', '.func f() { call.uni f; ret; }', 'call.uni f;', /`call f` in k is recursive \(f → f\)/],
    ['pointers', '', '.reg .b64 %rd<2>; call %rd1, (), proto;', /`call` in k calls through a function pointer/],
    ['undeclared functions', '', 'call.uni g;', /`call g` in k calls an undeclared function/],
  ])('refuses %s', (_, before, body, message) => {
    expect(() => inlined(body, before)).toThrow(UnsupportedPtxError);
    expect(() => inlined(body, before)).toThrow(message);
  });

  it('throws on a function the module lacks', () => {
    expect(() => inlineCalls(parsePtx(moduleWith('ret;')), 'nope')).toThrow(/defines no function nope/);
  });
});
