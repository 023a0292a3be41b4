import { describe, expect, it } from 'vitest';
import type { CompiledCode } from '../../../src/core/compiled-code.ts';
import { deviceSideLaunch, hasWritableVariables } from '../../../src/devices/cuda/worker/module-state.ts';
import { ptxCode } from '../../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../../support/launch/ptx-text.ts';

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
    ['a pointer among the parameters', '.func f(.param .u64 .ptr .global .align 4 x);', false],
  ];
  it.each(cases)('in PTX: %s', (_what, variables, state) => {
    const text = moduleText(variables, entry({ body: 'ld.global.u32 %r0, [%d0]; ld.weak.global.u32 %r0, [%d0];' }));
    expect(hasWritableVariables(ptxCode(text))).toBe(state);
  });

  it('in a cubin: sections of device variables', () => {
    const code = [
      { name: '.text.f', flags: 6, bytes: 512 },
      { name: '.nv.constant0.f', flags: 2, bytes: 528 },
    ];
    const reserved = { name: '.nv.shared.reserved.0', flags: 3, type: 8, bytes: 1024 };
    expect(hasWritableVariables(cubin(elf(...code, reserved)))).toBe(false);
    expect(hasWritableVariables(cubin(elf(...code, { name: '.nv.global', flags: 3, type: 8, bytes: 4 })))).toBe(true);
    expect(hasWritableVariables(cubin(elf(...code, { name: '.nv.global.init', flags: 3, bytes: 4 })))).toBe(true);
    expect(hasWritableVariables(cubin(elf(...code, { name: '.data', flags: 3, bytes: 4 })))).toBe(true);
    expect(hasWritableVariables(cubin(elf(...code, { name: '.bss', flags: 3, type: 8, bytes: 4 })))).toBe(true);
    expect(hasWritableVariables(cubin(Buffer.from('not an ELF file')))).toBe(true);
  });
});

it('launches from the device are recognised by the functions they need', () => {
  for (const name of [
    'cudaLaunchDevice',
    'cudaLaunchDeviceV2',
    '__cudaCDP2LaunchDeviceV2',
    '__cudaCDP2GetParameterBufferV2',
  ]) {
    expect(deviceSideLaunch(ptxCode(`.extern .func (.param .b32 r) ${name} (.param .b64 a);`))).toBe(name);
    expect(deviceSideLaunch(cubin(Buffer.from(`\0${name}\0f\0`)))).toBe(name);
  }
  expect(deviceSideLaunch(ptxCode(moduleText(entry({ body: '' }))))).toBeUndefined();
});
