import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { LANE_FORMS, type OpcodeForm, WARP_FORMS } from './forms.ts';
import { MODES, type Mode } from './kernel.ts';
import { failuresOf } from './run-form.ts';

/** Two warps of inputs per form; other seeds were run when this was written. */
const DRAWS = { warps: 2, seed: 1 };

let device: Device;
beforeAll(async () => {
  device = await openDevice('virtual:h200', { threads: 1 });
});
afterAll(() => device.close());

/** e.g. `cvt` of `cvt.rn.f32.f64 …`. */
const opcodeOf = (form: OpcodeForm): string => /^\w+/.exec(form.text)![0];

function formsByOpcode(forms: readonly OpcodeForm[]): [opcode: string, forms: OpcodeForm[]][] {
  const groups = new Map<string, OpcodeForm[]>();
  for (const form of forms) groups.set(opcodeOf(form), [...(groups.get(opcodeOf(form)) ?? []), form]);
  return [...groups];
}

async function failuresOfAll(forms: readonly OpcodeForm[], modes: readonly Mode[]): Promise<Record<string, string[]>> {
  const failures: Record<string, string[]> = {};
  for (const form of forms) {
    const found = await failuresOf(device, form, modes, DRAWS);
    if (found.length > 0) failures[form.text] = found;
  }
  return failures;
}

describe('lane-wise instructions give the interpreter’s bits on full, divergent, guarded and uniform warps', () => {
  it.each(formsByOpcode(LANE_FORMS))('%s', async (_, forms) => {
    expect(await failuresOfAll(forms, MODES)).toEqual({});
  });
});

describe('warp-wide instructions do, too', () => {
  // Their mask must name the lanes that execute: uniform operands add nothing.
  it.each(formsByOpcode(WARP_FORMS))('%s', async (_, forms) => {
    expect(await failuresOfAll(forms, ['full', 'divergent', 'guarded'])).toEqual({});
  });
});

describe('the comparison itself', () => {
  it('fails a device that computes something else', async () => {
    const wrong: OpcodeForm = { text: 'add.s32 @0, $0, $1;', results: ['b32'], sources: ['s32', 's32'] };
    const load: Device['load'] = (code) => device.load({ ...code, text: code.text.replaceAll('add.s32', 'sub.s32') });
    const impostor = new Proxy(device, {
      get: (target, name) => {
        const member = Reflect.get(target, name, target);
        return name === 'load' ? load : typeof member === 'function' ? member.bind(target) : member;
      },
    });
    expect(await failuresOf(impostor, wrong, MODES, DRAWS)).not.toEqual([]);
  });
});
