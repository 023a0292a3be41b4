import { describe, expect, it } from 'vitest';
import { sampled } from '../../support/sampling/matrix.ts';
import { EDGE_FORMS, LANE_FORMS, type OpcodeForm, WARP_FORMS } from './forms.ts';
import { MODES, type Mode } from './kernel.ts';
import { type FormOptions, failuresOf } from './run-form.ts';

/** Two warps of inputs per form; other seeds were run when this was written. */
const DRAWS = { warps: 2, seed: 1 };

/** e.g. `cvt` of `cvt.rn.f32.f64 …`. */
const opcodeOf = (form: OpcodeForm): string => /^\w+/.exec(form.text)![0];

function formsByOpcode(forms: readonly OpcodeForm[]): [opcode: string, forms: OpcodeForm[]][] {
  const groups = new Map<string, OpcodeForm[]>();
  for (const form of forms) groups.set(opcodeOf(form), [...(groups.get(opcodeOf(form)) ?? []), form]);
  return [...groups];
}

function failuresOfAll(
  forms: readonly OpcodeForm[],
  modes: readonly Mode[],
  options: FormOptions = DRAWS,
): Record<string, string[]> {
  const results = forms.map((form) => [form.text, failuresOf(form, modes, options)] as const);
  return Object.fromEntries(results.filter(([, failures]) => failures.length > 0));
}

describe('lane-wise instructions give the interpreter’s bits on full, divergent, guarded and uniform warps', () => {
  sampled('lane-wise opcodes', formsByOpcode(LANE_FORMS), { oneIn: 16, placeOf: () => 'src/virtual-gpu/codegen' })(
    '%s',
    (_, forms) => {
      expect(failuresOfAll(forms, MODES)).toEqual({});
    },
  );
});

describe('results at the edge of the normal range', () => {
  it('are flushed where rounding with no bound on the exponent leaves them below it, as the hardware does', () => {
    expect(failuresOfAll(EDGE_FORMS, ['full', 'divergent'])).toEqual({});
  });
});

describe('warp-wide instructions do, too', () => {
  // Their mask must name the lanes that execute: uniform operands add nothing.
  sampled('warp-wide opcodes', formsByOpcode(WARP_FORMS), { oneIn: 5 })('%s', (_, forms) => {
    expect(failuresOfAll(forms, ['full', 'divergent', 'guarded'])).toEqual({});
  });
});

describe('hosts whose relaxed multiply-add rounds twice', () => {
  it('get the same bits from the emulation', () => {
    const forms = LANE_FORMS.filter((form) => ['fma', 'mad', 'ex2'].includes(opcodeOf(form)));
    const options = { warps: 8, seed: 2, fusedMultiplyAdd: false };
    expect(failuresOfAll(forms, ['full', 'divergent'], options)).toEqual({});
  });
});

describe('the comparison itself', () => {
  it('fails a device that computes something else', () => {
    const form: OpcodeForm = { text: 'add.s32 @0, $0, $1;', results: ['b32'], sources: ['s32', 's32'] };
    const transform = (text: string): string => text.replaceAll('add.s32', 'sub.s32');
    expect(failuresOf(form, MODES, { ...DRAWS, transform })).not.toEqual([]);
  });

  it('fails a lane that writes though it is off', () => {
    const form: OpcodeForm = { text: 'add.s32 @0, $0, $1;', results: ['b32'], sources: ['s32', 's32'] };
    const transform = (text: string): string => text.replaceAll('@%on ', '').replaceAll('@!%on bra', '@%never bra');
    const declare = (text: string): string =>
      text.replace('.reg .pred %on;', '.reg .pred %on, %never; setp.ne.u32 %never, 0, 0;');
    expect(failuresOf(form, MODES, { ...DRAWS, transform: (text) => declare(transform(text)) })).not.toEqual([]);
  });
});
