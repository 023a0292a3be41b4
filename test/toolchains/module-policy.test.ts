import { describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../src/core/compiled-code.ts';
import {
  hasPartialBarriers,
  hasWritableVariables,
  judgeModule,
  screenModule,
  stateOf,
} from '../../src/toolchains/module-policy.ts';
import { ptxCode } from '../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../support/launch/ptx-text.ts';

const cubin = (bytes: Buffer): CompiledCode => ({ ...ptxCode(''), kind: 'cubin', text: bytes.toString('base64') });

/** A 64-bit ELF file with these sections and nothing in them. */
function elf(...sections: { name: string; flags?: number; bytes?: number; type?: number }[]): Buffer {
  const all = [{ name: '' }, ...sections, { name: '.shstrtab' }] as typeof sections;
  const names = Buffer.from(all.map(({ name }) => `${name}\0`).join(''));
  const tableAt = 64 + names.length;
  const file = Buffer.alloc(tableAt + 64 * all.length);
  file.writeUInt32BE(0x7f454c46, 0);
  file.set([2, 1, 1], 4);
  file.writeBigUInt64LE(BigInt(tableAt), 40);
  file.writeUInt16LE(64, 58);
  file.writeUInt16LE(all.length, 60);
  file.writeUInt16LE(all.length - 1, 62);
  file.set(names, 64);
  let nameAt = 0;
  all.forEach(({ name, flags = 0, bytes = 0, type = 1 }, i) => {
    const at = tableAt + 64 * i;
    file.writeUInt32LE(nameAt, at);
    file.writeUInt32LE(type, at + 4);
    file.writeBigUInt64LE(BigInt(flags), at + 8);
    file.writeBigUInt64LE(64n, at + 24);
    file.writeBigUInt64LE(BigInt(bytes), at + 32);
    nameAt += name.length + 1;
  });
  return file;
}

describe('variables that outlive a launch', () => {
  const cases: [what: string, variables: string, state: boolean][] = [
    ['none', '', false],
    ['a constant', '.const .align 4 .f32 weights[4];', false],
    ['one of another module', '.extern .global .align 4 .u32 calls;', false],
    ['shared memory', '.shared .align 4 .b8 tile[128];', false],
    ['a visible one', '.visible .global .align 4 .u32 calls;', true],
    ['a private one', '.global .align 8 .b8 table[64];', true],
    ['a weak one', '  .weak .global .u32 calls;', true],
    ['one whose declaration goes over lines', '.global\n.align 4\n.u32 calls;', true],
    ['one without spaces', '.visible.global.u32 calls;', true],
    ['one after a comment', '/* .ptr */ .global .u32 calls;', true],
    ['one after another statement', '.const .f32 weight; .global .u32 calls;', true],
    ['a comment about one', '// .global .u32 calls;', false],
    ['one after a place in the source', '.file 1 "a.cu" .global .u32 calls;', true],
    ['one in the file’s name', '.file 1 "a.global .u32 calls;"', false],
    [
      'a constant whose address escapes',
      '.const .f32 weight; .func f() { mov.u64 %d1, weight; cvta.const.u64 %d0, %d1; }',
      true,
    ],
    ['a constant that a variable points to', '.const .f32 w; .const .u64 p = generic(w);', true],
    ['guarded accesses', '.func f() { @%p1 ld.global.u32 %r0, [%d0]; @!%p1 st.global.u32 [%d0], %r0; }', false],
    ['an access after a label', '.func f() { L1: ld.global.u32 %r0, [%d0]; }', false],
    ['an access after a place', '.func f() { .loc 1 2 3\nld.global.u32 %r0, [%d0]; }', false],
    ['a pointer among the parameters', '.func f(.param .u64 .ptr .global .align 4 x);', false],
  ];
  it.each(cases)('in PTX: %s', (_what, variables, state) => {
    const uses = 'mov.u64 %d0, calls; mov.u64 %d0, table;';
    const body = `${uses} ld.global.u32 %r0, [%d0]; ld.weak.global.u32 %r0, [%d0];`;
    expect(hasWritableVariables(ptxCode(moduleText(variables, entry({ body }))))).toBe(state);
  });

  it('but not variables that nothing names, as NVRTC writes constants', () => {
    const constants = '.visible .global .align 4 .u32 kWarps = 8; .global .align 1 .b8 kIsOrdinary[1] = {1};';
    const state = (body: string, bytes: number, declared = constants) => {
      const sections = [
        { name: '.text.f', flags: 6, bytes: 512 },
        { name: '.nv.global.init', flags: 3, bytes },
      ];
      return stateOf({ ...cubin(elf(...sections)), ptx: moduleText(declared, entry({ body })) });
    };
    expect(state('mov.u32 %r0, 8;', 5)).toBeUndefined();
    expect(state('mov.u64 %d0, kWarps;', 5)).toEqual({ variables: ['kWarps', 'kIsOrdinary'], isComplete: true });
    expect(state('mov.u32 %r0, 8;', 5, `${constants} .global .u64 p = generic(kWarps);`)).toMatchObject({
      isComplete: true,
    });
    // More than the PTX shows, with 3 bytes for alignment: something else is there.
    expect(state('mov.u32 %r0, 8;', 8)).toBeUndefined();
    expect(state('mov.u32 %r0, 8;', 9)).toEqual({ variables: ['kWarps', 'kIsOrdinary'], isComplete: false });
    expect(state('mov.u32 %r0, 8;', 5, `${constants} .global .texref t;`)).toMatchObject({ isComplete: false });
  });

  it('in a cubin: sections of device variables', () => {
    const code = [
      { name: '.text.f', flags: 6, bytes: 512 },
      { name: '.nv.constant0.f', flags: 2, bytes: 528 },
    ];
    const constants = { name: '.nv.constant3', flags: 2, bytes: 16 };
    expect(hasWritableVariables({ ...cubin(elf(...code, constants)), ptx: '.const .f32 w;' })).toBe(false);
    expect(hasWritableVariables(cubin(elf(...code, constants)))).toBe(true);
    expect(hasWritableVariables({ ...cubin(elf(...code)), ptx: '.global .u32 x; .global .u64 p = x;' })).toBe(true);
    const reserved = { name: '.nv.shared.reserved.0', flags: 3, type: 8, bytes: 1024 };
    expect(hasWritableVariables(cubin(elf(...code, reserved)))).toBe(false);
    expect(hasWritableVariables(cubin(elf(...code, { name: '.nv.global', flags: 3, type: 8, bytes: 4 })))).toBe(true);
    expect(hasWritableVariables(cubin(elf(...code, { name: '.nv.global.init', flags: 3, bytes: 4 })))).toBe(true);
    expect(hasWritableVariables(cubin(elf(...code, { name: '.data', flags: 3, bytes: 4 })))).toBe(true);
    expect(hasWritableVariables(cubin(elf(...code, { name: '.bss', flags: 3, type: 8, bytes: 4 })))).toBe(true);
    expect(hasWritableVariables(cubin(Buffer.from('not an ELF file')))).toBe(true);
  });
});

/** Entry 0 (an undefined symbol without a name), then these names, all undefined. */
function elfWithUndefined(...names: string[]): Buffer {
  const texts = Buffer.from(['', ...names].map((name) => `${name}\0`).join(''));
  const symbols = Buffer.alloc(24 * (names.length + 1));
  let at = 1;
  names.forEach((name, i) => {
    symbols.writeUInt32LE(at, 24 * (i + 1));
    at += name.length + 1;
  });
  const file = Buffer.concat([
    elf({ name: '.symtab', type: 2, bytes: symbols.length }, { name: '.strtab', type: 3 }),
    symbols,
    texts,
  ]);
  const tableAt = Number(file.readBigUInt64LE(40));
  const symbolsAt = file.length - texts.length - symbols.length;
  file.writeBigUInt64LE(BigInt(symbolsAt), tableAt + 64 + 24);
  file.writeUInt32LE(2, tableAt + 64 + 40);
  file.writeBigUInt64LE(BigInt(file.length - texts.length), tableAt + 128 + 24);
  return file;
}

const refusalOf = (ptx: string) => judgeModule(ptxCode(ptx)).refusal;
const calling = (name: string) => `.extern .func (.param .b64 r) ${name} (.param .b64 a);`;

describe('what a module is refused for', () => {
  it.each([
    'cudaLaunchDevice',
    'cudaLaunchDeviceV2',
    '__cudaCDP2LaunchDeviceV2',
    '__cudaCDP2GetParameterBufferV2',
    'cnpLaunchDevice',
  ])('launches from the device: %s', (name) => {
    expect(refusalOf(calling(name))).toContain(`calls the device runtime (${name})`);
    expect(judgeModule(cubin(elfWithUndefined('f', name))).refusal).toContain(name);
  });

  it.each(['malloc', 'free', 'cudaMalloc'])('the device heap: %s', (name) => {
    expect(refusalOf(calling(name))).toContain(`uses the device heap (${name})`);
    expect(judgeModule(cubin(elfWithUndefined(name))).refusal).toContain(`uses the device heap (${name})`);
  });

  it('functions of nobody; not its own, nor printing', () => {
    expect(refusalOf(calling('somebody'))).toBe('it calls somebody, which it does not define');
    expect(refusalOf(`${calling('helper')}\n.func (.param .b64 r) helper (.param .b64 a) { ret; }`)).toBeUndefined();
    expect(refusalOf(`${calling('vprintf')} ${calling('__assertfail')}`)).toBeUndefined();
    expect(judgeModule(cubin(elfWithUndefined('vprintf', '__assertfail'))).refusal).toBeUndefined();
  });

  it.each(['%gridid', '%envreg3', '%pm0', '%current_graph_exec'])('%s', (register) => {
    expect(refusalOf(entry({ body: `mov.u64 %d0, ${register};` }))).toContain(
      `reads ${register}, which tells one launch`,
    );
  });

  it('what can’t be read', () => {
    expect(refusalOf('#define G .global')).toContain('unexpected character "#"');
    expect(refusalOf('.file 1 "a\\" .global .u32 x; //"')).toContain('a string with an escaped quote');
    for (const glued of [
      '.target sm_90.global',
      '.target sm_90, debug.global',
      '.address_size 64.global',
      '.loc 1 2 x.global',
    ]) {
      const text = `${glued} .align 4 .u32 calls;`;
      expect(refusalOf(text), glued).toContain('a state space that is glued to a name');
      expect(hasWritableVariables(ptxCode(text)), glued).toBe(true);
    }
    expect(judgeModule(cubin(Buffer.alloc(80))).refusal).toContain('not a 64-bit ELF file');
  });
});

it('clocks and SM numbers are told', () => {
  const body =
    'mov.u64 %d0, %clock64; mov.u64 %d0, %globaltimer; mov.u32 %r0, %smid; mov.u32 %r0, %nsmid; mov.u32 %r0, %envreg2;';
  const screened = screenModule({ ok: true, code: ptxCode(entry({ body })), cached: false, elapsedMs: 0 });
  expect(screened).toMatchObject({
    ok: true,
    code: {
      diagnostics: [
        { severity: 'note', message: 'reads %clock64: what it does may depend on the clock' },
        { severity: 'note', message: 'reads %globaltimer: what it does may depend on the time of day' },
        { severity: 'note', message: 'reads %smid, %nsmid: what it does may depend on where it runs on the GPU' },
        {
          severity: 'note',
          message:
            'reads %envreg2: what it does may depend on what the driver keeps for the barrier of a cooperative grid, which outlives a launch',
        },
      ],
    },
  });
  expect(judgeModule(ptxCode(entry({ body: 'mov.u32 %r0, %tid.x; mov.u32 %r0, %laneid;' }))).notes).toEqual([]);
});

describe('what says itself which lines L2 keeps', () => {
  const noted = (body: string) => judgeModule(ptxCode(moduleText(entry({ body })))).notes.map(({ message }) => message);

  it.each([
    ['createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;', 'createpolicy, evict_last'],
    ['prefetch.global.L2::evict_last [%rd1];', 'prefetch, evict_last'],
    ['ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2;', 'cache_hint'],
    ['discard.global.L2 [%rd1], 128;', 'discard'],
  ])('is named: %s', (instruction, hints) => {
    const [message] = noted(instruction);
    expect(message).toContain(`(${hints})`);
  });

  it('is not what every load may say', () => {
    expect(noted('ld.global.L2::128B.b32 %r1, [%rd1];\nld.global.nc.L1::no_allocate.b32 %r1, [%rd1];')).toEqual([]);
  });
});

describe('variables that can be put back', () => {
  const variablesIn = (text: string) => stateOf(ptxCode(`.version 8.4 .target sm_90 .address_size 64 ${text}`));

  it.each([
    ['.visible .global .align 4 .u32 calls;', ['calls']],
    ['.global .align 16 .b8 table[16] = {1, 2, 3, 4}; .visible .global .f32 x = 0f00000000;', ['table', 'x']],
    // The name of one that is declared otherwise is not taken for granted: the module is then loaded anew.
    ['.global .u32 a, b;', ['']],
    ['.global .attribute(.managed) .u32 m;', ['']],
    ['.const .u32 c; .global .u64 p = generic(c);', ['c', 'p']],
  ])('%s', (text, variables) => {
    expect(variablesIn(`${text} .func f() { mov.u64 %d0, calls; mov.u64 %d1, x; }`)).toEqual({
      variables,
      isComplete: true,
    });
  });

  it('none where there are none', () => {
    expect(variablesIn('.const .u32 c; .extern .global .u32 elsewhere;')).toBeUndefined();
  });
});

describe('barriers of some of the threads of a CTA', () => {
  it.each([
    ['bar.sync 0;', false],
    ['barrier.sync 0;', false],
    ['bar.sync 1;', true],
    ['bar.sync 0, 64;', true],
    ['bar.sync %r1, 64;', true],
    ['bar.arrive 2, 128;', true],
    ['barrier.cta.sync.aligned 3, 96;', true],
    ['bar.warp.sync -1;', false],
    ['barrier.cluster.arrive.aligned;', false],
    ['// bar.sync 1;', false],
  ])('%s: %s', (body, isPartial) => {
    expect(hasPartialBarriers(ptxCode(moduleText('', entry({ body }))))).toBe(isPartial);
  });

  it('are not known of machine code alone', () => {
    expect(hasPartialBarriers(cubin(elf()))).toBe(false);
  });
});
