import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../../../src/core/device.ts';
import { openDevice } from '../../../src/devices/open-device.ts';
import { launchCode } from '../../support/launch/launch-kernel.ts';
import { entry, moduleText } from '../../support/launch/ptx-text.ts';
import { sampled } from '../../support/sampling/matrix.ts';
import {
  ACCESS_FORMS,
  type AccessForm,
  accessBytes,
  formName,
  formSuffix,
  loadedValue,
  narrow,
  operandOf,
  registersOf,
  widen,
} from './access-forms.ts';

let device: Device;

beforeAll(async () => {
  device = await openDevice('virtual:l4', { threads: 1 });
});

afterAll(() => device.close());

const LANES = 32;
/** Every lane has 16 bytes of its own. */
const LANE_BYTES = 16;
const SPACE_BYTES = LANES * LANE_BYTES;

/** Lanes that take part, by how they are chosen. */
const MODES = {
  all: () => true,
  parted: (lane: number) => lane % 3 !== 0,
  guarded: (lane: number) => lane % 5 < 2,
} as const;
type Mode = keyof typeof MODES;

const condition = (mode: Mode): string =>
  mode === 'parted'
    ? 'rem.u32 %r1, %tid_x, 3; setp.ne.u32 %p0, %r1, 0;'
    : 'rem.u32 %r1, %tid_x, 5; setp.lt.u32 %p0, %r1, 2;';

/** An instruction executed by the lanes of a mode. */
function chosen(mode: Mode, instruction: string, label: string): string {
  if (mode === 'all') return instruction;
  if (mode === 'guarded') return `@%p0 ${instruction}`;
  return `@!%p0 bra ${label}; ${instruction} ${label}:`;
}

const SPACES = ['global', 'shared', 'local'] as const;
type Space = (typeof SPACES)[number];

const VARIABLES: Record<Space, string> = {
  global: `.global .align 16 .b8 bytes[${SPACE_BYTES}];`,
  shared: `.shared .align 16 .b8 bytes[${SPACE_BYTES}];`,
  local: '',
};

/** Leaves the address of the lane's 16 bytes in %d1. */
const address = (space: Space): string =>
  space === 'local'
    ? '.local .align 16 .b8 bytes[32]; mov.u64 %d1, bytes; add.u64 %d1, %d1, 16;'
    : `mul.wide.u32 %d1, %tid_x, ${LANE_BYTES}; mov.u64 %d2, bytes; add.u64 %d1, %d1, %d2;`;

/** Makes the address in %d1 generic. */
const toGeneric = (space: Space): string => `cvta.${space}.u64 %d3, %d1;`;

const START = 'mov.u32 %tid_x, %tid.x;';
const DECLARE = '.reg .u32 %tid_x;';

/** Deterministic bytes. */
const input = Uint8Array.from({ length: SPACE_BYTES }, (_, i) => (i * 151 + (i >> 3) * 17 + 129) & 255);

/** Stores %d0 at out[slot][tid]. */
const storeResult = (slot: number): string =>
  `mul.wide.u32 %d4, %tid_x, 8; add.u64 %d4, %d4, %out; st.global.u64 [%d4+${slot * LANES * 8}], %d0;`;

const POISON = 0xabcdn;
const allForms = ACCESS_FORMS.flatMap((form) =>
  Array.from({ length: form.count }, (_, element) => ({ form, element })),
);

function loadKernel(space: Space, isGeneric: boolean, mode: Mode): string {
  const prefix = isGeneric ? 'ld' : `ld.${space}`;
  const base = isGeneric ? '%d3' : '%d1';
  let slot = 0;
  const body = ACCESS_FORMS.map((form, index) => {
    const registers = registersOf(form);
    const poison = `mov.u64 %d0, ${POISON}; ${registers.map(narrow).join(' ')}`;
    const load = chosen(mode, `${prefix}.${formSuffix(form)} ${operandOf(registers)}, [${base}];`, `L${index}`);
    const results = registers.map((register) => `${widen(register)} ${storeResult(slot++)}`);
    return `${poison} ${load} ${results.join(' ')}`;
  });
  return entry({
    parameters: ['u64 in', 'u64 out'],
    body: `${DECLARE} ${START} ${address(space)} ${toGeneric(space)} ${mode === 'all' ? '' : condition(mode)}
      mul.wide.u32 %d5, %tid_x, 16; add.u64 %d5, %d5, %in;
      ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d5]; st.${space}.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
      ${body.join('\n')}`,
  });
}

describe('loads', () => {
  const cases = SPACES.flatMap((space) =>
    [false, true].flatMap((isGeneric) =>
      (Object.keys(MODES) as Mode[]).map((mode) => ({ space, way: isGeneric ? 'generic' : 'named', mode })),
    ),
  );

  sampled('loads', cases, { oneIn: 6, kindOf: ({ space }) => space, placeOf: () => 'src/virtual-gpu/codegen' })(
    '$space memory, $way address, $mode lanes: every type, vector and register width',
    async (c) => {
      const { contents } = await launchCode(
        device,
        moduleText(VARIABLES[c.space], loadKernel(c.space, c.way === 'generic', c.mode)),
        { arguments: ['in', 'out'], buffers: { in: input, out: allForms.length * LANES * 8 } },
      );
      const got = new BigUint64Array(contents.out!.buffer);
      const wrong: string[] = [];
      allForms.forEach(({ form, element }, slot) => {
        for (let lane = 0; lane < LANES; lane++) {
          const bytes = new DataView(input.buffer, lane * LANE_BYTES, LANE_BYTES);
          const wanted = MODES[c.mode](lane) ? loadedValue(form, bytes, element) : POISON;
          const value = got[slot * LANES + lane]!;
          if (value !== wanted)
            wrong.push(
              `${formName(form)}, element ${element}, lane ${lane}: ${value.toString(16)} ≠ ${wanted.toString(16)}`,
            );
        }
      });
      expect(wrong.slice(0, 5)).toEqual([]);
    },
  );

  it('one address for the whole warp, from a parameter, a constant and a variable', async () => {
    const forms = ACCESS_FORMS.filter((form) => accessBytes(form) <= 16);
    const sources = ['ld.global:%in+16', 'ld.const:table+16', 'ld.shared:words+16'];
    let slot = 0;
    const body = sources.flatMap((source) => {
      const [opcode, at] = source.split(':');
      return forms.map((form) => {
        const registers = registersOf(form);
        const results = registers.map((register) => `${widen(register)} ${storeResult(slot++)}`);
        return `${opcode}.${formSuffix(form)} ${operandOf(registers)}, [${at}]; ${results.join(' ')}`;
      });
    });
    const text = moduleText(
      `.const .align 16 .b8 table[32] = {${[...input.slice(0, 32)].join(', ')}};`,
      '.shared .align 16 .b8 words[32];',
      entry({
        parameters: ['u64 in', 'u64 out'],
        body: `${DECLARE} ${START} ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%in+16];
          st.shared.v4.u32 [words+16], {%r2, %r3, %r4, %r5};
          ${body.join('\n')}`,
      }),
    );
    const { contents } = await launchCode(device, text, {
      arguments: ['in', 'out'],
      buffers: { in: input, out: slot * LANES * 8 },
    });
    const got = new BigUint64Array(contents.out!.buffer);
    const bytes = new DataView(input.buffer, 16, 16);
    const wanted = sources.flatMap(() =>
      forms.flatMap((form) =>
        Array.from({ length: form.count }, (_, element) => loadedValue(form, bytes, element)).flatMap((value) =>
          Array.from({ length: LANES }, () => value),
        ),
      ),
    );
    expect(got.findIndex((value, i) => value !== wanted[i])).toBe(-1);
  });
});

describe('stores', () => {
  /** Element `element` of what a lane stores with form number `index`. */
  const storedValue = (index: number, element: number, lane: number): bigint =>
    BigInt.asUintN(64, BigInt(lane * 7 + element * 1013 + index * 77 + 1) * 0x9e3779b97f4a7c15n);

  function storeKernel(space: Space, isGeneric: boolean, mode: Mode): string {
    const prefix = isGeneric ? 'st' : `st.${space}`;
    const base = isGeneric ? '%d3' : '%d1';
    const body = ACCESS_FORMS.map((form, index) => {
      const registers = registersOf(form);
      const values = registers.map(
        (register, element) => `mad.lo.u32 %r1, %tid_x, 7, ${element * 1013 + index * 77 + 1};
          cvt.u64.u32 %d0, %r1; mul.lo.u64 %d0, %d0, 0x9e3779b97f4a7c15; ${narrow(register)}`,
      );
      const clear = `st.${space}.v4.u32 [%d1], {%r6, %r6, %r6, %r6};`;
      const store = chosen(mode, `${prefix}.${formSuffix(form)} [${base}], ${operandOf(registers)};`, `L${index}`);
      const copy = `ld.${space}.v4.u32 {%r2, %r3, %r4, %r5}, [%d1]; mul.wide.u32 %d5, %tid_x, 16; add.u64 %d5, %d5, %out;
        st.global.v4.u32 [%d5+${index * SPACE_BYTES}], {%r2, %r3, %r4, %r5};`;
      return `${values.join(' ')} ${clear} ${store} ${copy}`;
    });
    return entry({
      parameters: ['u64 out'],
      body: `${DECLARE} ${START} ${address(space)} ${toGeneric(space)} ${mode === 'all' ? '' : condition(mode)}
        mov.u32 %r6, 0; ${body.join('\n')}`,
    });
  }

  /** The lane's 16 bytes after the store. */
  function wantedBytes(form: AccessForm, index: number, lane: number, mode: Mode): number[] {
    const bytes = new Uint8Array(LANE_BYTES);
    if (MODES[mode](lane))
      for (let element = 0; element < form.count; element++) {
        const size = accessBytes(form) / form.count;
        for (let i = 0; i < size; i++)
          bytes[element * size + i] = Number((storedValue(index, element, lane) >> BigInt(8 * i)) & 255n);
      }
    return [...bytes];
  }

  const cases = SPACES.flatMap((space) =>
    [false, true].flatMap((isGeneric) =>
      (Object.keys(MODES) as Mode[]).map((mode) => ({ space, way: isGeneric ? 'generic' : 'named', mode })),
    ),
  );

  sampled('stores', cases, { oneIn: 6, kindOf: ({ space }) => space, placeOf: () => 'src/virtual-gpu/codegen' })(
    '$space memory, $way address, $mode lanes: every type, vector and register width',
    async (c) => {
      const { contents } = await launchCode(
        device,
        moduleText(VARIABLES[c.space], storeKernel(c.space, c.way === 'generic', c.mode)),
        { arguments: ['out'], buffers: { out: ACCESS_FORMS.length * SPACE_BYTES } },
      );
      const wrong: string[] = [];
      ACCESS_FORMS.forEach((form, index) => {
        for (let lane = 0; lane < LANES; lane++) {
          const at = index * SPACE_BYTES + lane * LANE_BYTES;
          const got = [...contents.out!.slice(at, at + LANE_BYTES)];
          const wanted = wantedBytes(form, index, lane, c.mode);
          if (got.join() !== wanted.join()) wrong.push(`${formName(form)}, lane ${lane}: ${got} ≠ ${wanted}`);
        }
      });
      expect(wrong.slice(0, 5)).toEqual([]);
    },
  );
});
