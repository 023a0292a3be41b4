/** A load or store: how many elements of which type a lane moves, and how wide the registers are. */
export interface AccessForm {
  type: string;
  count: number;
  registerBits: 16 | 32 | 64;
}

const bitsOf = (type: string): number => Number(type.slice(1));
export const accessBytes = ({ type, count }: AccessForm): number => (bitsOf(type) / 8) * count;

/** Registers may be wider than the type: loads then extend by the type's sign. */
const REGISTER_BITS: Readonly<Record<number, readonly (16 | 32 | 64)[]>> = {
  8: [16, 32, 64],
  16: [16, 32, 64],
  32: [32, 64],
  64: [64],
};

export const ACCESS_FORMS: readonly AccessForm[] = ['u', 's', 'b', 'f'].flatMap((kind) =>
  [8, 16, 32, 64]
    .filter((bits) => kind !== 'f' || bits >= 32)
    .flatMap((bits) =>
      [1, 2, 4]
        .filter((count) => bits * count <= 128)
        .flatMap((count) =>
          REGISTER_BITS[bits]!.filter((registerBits) => kind !== 'f' || registerBits === bits).map((registerBits) => ({
            type: `${kind}${bits}`,
            count,
            registerBits,
          })),
        ),
    ),
);

export const formName = ({ type, count, registerBits }: AccessForm): string =>
  `${count > 1 ? `v${count}.` : ''}${type} in ${registerBits}-bit registers`;

/** `v4.u8`, as it stands in the opcode. */
export const formSuffix = ({ type, count }: AccessForm): string => `${count > 1 ? `v${count}.` : ''}${type}`;

/** Registers of a form, by element; floating-point types have registers of their own. */
export function registersOf({ type, count, registerBits }: AccessForm): string[] {
  const isFloat = type.startsWith('f');
  const prefix = registerBits === 16 ? '%h' : registerBits === 32 ? (isFloat ? '%f' : '%r') : isFloat ? '%e' : '%d';
  const first = prefix === '%e' ? 0 : 8;
  return Array.from({ length: count }, (_, i) => `${prefix}${first + i}`);
}

export const operandOf = (registers: readonly string[]): string =>
  registers.length === 1 ? registers[0]! : `{${registers.join(', ')}}`;

/** Puts a register's bits, zero-extended, into %d0. */
export const widen = (register: string): string => {
  const conversions: Record<string, string> = {
    h: `cvt.u64.u16 %d0, ${register};`,
    r: `cvt.u64.u32 %d0, ${register};`,
    f: `mov.b32 %r0, ${register}; cvt.u64.u32 %d0, %r0;`,
    d: `mov.b64 %d0, ${register};`,
    e: `mov.b64 %d0, ${register};`,
  };
  return conversions[register[1]!]!;
};

/** Puts the low bits of %d0 into a register. */
export const narrow = (register: string): string => {
  const conversions: Record<string, string> = {
    h: `cvt.u16.u64 ${register}, %d0;`,
    r: `cvt.u32.u64 ${register}, %d0;`,
    f: `cvt.u32.u64 %r0, %d0; mov.b32 ${register}, %r0;`,
    d: `mov.b64 ${register}, %d0;`,
    e: `mov.b64 ${register}, %d0;`,
  };
  return conversions[register[1]!]!;
};

/** What a register holds after loading element `element` from `bytes`. */
export function loadedValue(form: AccessForm, bytes: DataView, element: number): bigint {
  const bits = bitsOf(form.type);
  let value = 0n;
  for (let i = 0; i < bits / 8; i++) value |= BigInt(bytes.getUint8((element * bits) / 8 + i)) << BigInt(8 * i);
  if (form.type.startsWith('s')) value = BigInt.asIntN(bits, value);
  return BigInt.asUintN(form.registerBits, value);
}
