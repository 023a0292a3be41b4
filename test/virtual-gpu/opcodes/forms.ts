/**
 * Every lane-wise instruction form under test. Source i is written `$i`, result i `@i`; several instructions may
 * stand in one form (carry chains).
 */
export interface OpcodeForm {
  /** e.g. `fma.rn.ftz.f32 @0, $0, $1, $2;` */
  readonly text: string;
  /** Register type of each result. */
  readonly results: readonly string[];
  /** How the values of each source are drawn; see values.ts. The register type follows from it. */
  readonly sources: readonly SourceKind[];
}

/** A PTX type, or a narrower meaning of one. */
export type SourceKind = string;

/** Register type that holds values of a type or source kind. */
export function registerType(kind: SourceKind): string {
  if (kind === 'pred') return 'pred';
  if (/^(?:[bus]8|[bus]16|f16|bf16|e4m3x2|e5m2x2|\w+-f16|\w+-\w+-f16)$/.test(kind)) return 'b16';
  if (/^(?:[bus]64|f64|nonzero-[us]64|few64|edge-f64)$/.test(kind)) return 'b64';
  return kind === 'nonzero-s16' || kind === 'nonzero-u16' ? 'b16' : 'b32';
}

/** `opcode @0, $0, $1, …`, then what is given literally. */
function form(opcode: string, result: string, sources: readonly SourceKind[], literal = ''): OpcodeForm {
  const operands = ['@0', ...sources.map((_, i) => `$${i}`), ...(literal === '' ? [] : [literal])];
  return { text: `${opcode} ${operands.join(', ')};`, results: [registerType(result)], sources };
}

const raw = (text: string, results: readonly string[], sources: readonly SourceKind[]): OpcodeForm => ({
  text,
  results: results.map(registerType),
  sources,
});

/** All ways to put one alternative of each list after the other, separated by dots; '' leaves it out. */
function spell(...parts: readonly (readonly string[])[]): string[] {
  return parts
    .reduce<string[]>(
      (heads, tails) => heads.flatMap((head) => tails.map((tail) => (tail === '' ? head : `${head}.${tail}`))),
      [''],
    )
    .map((text) => text.slice(1));
}

const INTEGERS = ['s16', 'u16', 's32', 'u32', 's64', 'u64'] as const;
const widen = (type: string): string => type[0] + String(Number(type.slice(1)) * 2);

function integerArithmetic(): OpcodeForm[] {
  const forms: OpcodeForm[] = [];
  for (const type of INTEGERS) {
    for (const opcode of ['add', 'sub', 'mul.lo', 'mul.hi', 'min', 'max']) {
      forms.push(form(`${opcode}.${type}`, type, [type, type]));
    }
    for (const opcode of ['div', 'rem']) forms.push(form(`${opcode}.${type}`, type, [type, `nonzero-${type}`]));
    for (const opcode of ['mad.lo', 'mad.hi', 'sad']) forms.push(form(`${opcode}.${type}`, type, [type, type, type]));
  }
  for (const type of ['s16', 'u16', 's32', 'u32'] as const) {
    forms.push(form(`mul.wide.${type}`, widen(type), [type, type]));
    forms.push(form(`mad.wide.${type}`, widen(type), [type, type, widen(type)]));
  }
  for (const type of ['s16', 's32', 's64']) {
    for (const opcode of ['abs', 'neg']) forms.push(form(`${opcode}.${type}`, type, [type]));
  }
  for (const type of ['s32', 'u32']) {
    for (const half of ['lo', 'hi']) {
      forms.push(form(`mul24.${half}.${type}`, type, [type, type]));
      forms.push(form(`mad24.${half}.${type}`, type, [type, type, type]));
    }
  }
  forms.push(form('mad24.hi.sat.s32', 's32', ['s32', 's32', 's32']));
  forms.push(form('mad.hi.sat.s32', 's32', ['s32', 's32', 's32']));
  for (const opcode of ['add.sat', 'sub.sat', 'min.relu', 'max.relu']) {
    forms.push(form(`${opcode}.s32`, 's32', ['s32', 's32']));
  }
  for (const type of ['s16x2', 'u16x2']) {
    for (const opcode of ['add', 'min', 'max']) forms.push(form(`${opcode}.${type}`, 'b32', ['b32', 'b32']));
  }
  for (const opcode of ['min.relu', 'max.relu']) forms.push(form(`${opcode}.s16x2`, 'b32', ['b32', 'b32']));
  for (const a of ['s32', 'u32']) {
    for (const b of ['s32', 'u32']) {
      forms.push(form(`dp4a.${a}.${b}`, 'b32', ['b32', 'b32', 'b32']));
      for (const half of ['lo', 'hi']) forms.push(form(`dp2a.${half}.${a}.${b}`, 'b32', ['b32', 'b32', 'b32']));
    }
  }
  return forms;
}

function extendedPrecision(): OpcodeForm[] {
  return ['32', '64'].flatMap((bits) => {
    const type = `u${bits}`;
    const four = [type, type, type, type];
    return [
      raw(`add.cc.${type} @0, $0, $2; addc.cc.${type} @1, $1, $3; addc.${type} @2, 0, 0;`, [type, type, type], four),
      raw(`sub.cc.${type} @0, $0, $2; subc.cc.${type} @1, $1, $3; subc.${type} @2, 0, 0;`, [type, type, type], four),
      raw(`mad.lo.cc.${type} @0, $0, $1, $2; madc.hi.${type} @1, $0, $1, $3;`, [type, type], four),
      raw(
        `mad.hi.cc.${type} @0, $0, $1, $2; madc.lo.cc.${type} @1, $0, $1, $3; addc.${type} @2, 0, 0;`,
        [type, type, type],
        four,
      ),
    ];
  });
}

function bits(): OpcodeForm[] {
  const forms: OpcodeForm[] = [];
  for (const type of ['pred', 'b16', 'b32', 'b64']) {
    for (const opcode of ['and', 'or', 'xor']) forms.push(form(`${opcode}.${type}`, type, [type, type]));
    forms.push(form(`not.${type}`, type, [type]));
    if (type !== 'pred') forms.push(form(`cnot.${type}`, type, [type]));
  }
  for (const width of ['16', '32', '64']) {
    for (const opcode of [`shl.b${width}`, `shr.b${width}`, `shr.u${width}`, `shr.s${width}`]) {
      forms.push(form(opcode, `b${width}`, [`b${width}`, 'amount']));
      for (const amount of ['0', '3', '15', '31', '70']) forms.push(form(opcode, `b${width}`, [`b${width}`], amount));
    }
  }
  for (const type of ['b32', 'b64']) {
    forms.push(
      form(`popc.${type}`, 'b32', [type]),
      form(`clz.${type}`, 'b32', [type]),
      form(`brev.${type}`, type, [type]),
    );
    forms.push(
      form(`bfi.${type}`, type, [type, type, 'byte', 'byte']),
      form(`bfi.${type}`, type, [type, type], '5, 9'),
    );
  }
  for (const type of ['s32', 'u32', 's64', 'u64']) {
    forms.push(form(`bfind.${type}`, 'b32', [type]), form(`bfind.shiftamt.${type}`, 'b32', [type]));
    forms.push(form(`bfe.${type}`, type, [type, 'byte', 'byte']));
    for (const field of ['0, 0', '3, 7', '28, 8', '28, 30', '0, 32'])
      forms.push(form(`bfe.${type}`, type, [type], field));
  }
  forms.push(form('fns.b32', 'b32', ['b32', 'lanes', 'small']));
  for (const mode of ['clamp', 'wrap']) {
    forms.push(form(`bmsk.${mode}.b32`, 'b32', ['amount', 'amount']));
    for (const type of ['s32', 'u32']) forms.push(form(`szext.${mode}.${type}`, 'b32', [type, 'amount']));
    for (const direction of ['l', 'r']) {
      forms.push(form(`shf.${direction}.${mode}.b32`, 'b32', ['b32', 'b32', 'amount']));
      for (const amount of ['0', '7', '32', '45']) {
        forms.push(form(`shf.${direction}.${mode}.b32`, 'b32', ['b32', 'b32'], amount));
      }
    }
  }
  forms.push(form('prmt.b32', 'b32', ['b32', 'b32', 'nibbles']));
  for (const selector of ['0x7610', '0x5410', '0x8f91', '0x3210']) {
    forms.push(form('prmt.b32', 'b32', ['b32', 'b32'], selector));
  }
  for (const mode of ['f4e', 'b4e', 'rc8', 'ecl', 'ecr', 'rc16']) {
    forms.push(form(`prmt.b32.${mode}`, 'b32', ['b32', 'b32', 'nibbles']));
  }
  for (const table of ['0x00', '0xff', '0xca', '0x96', '0xe8', '0x80', '0x3a', '0x01']) {
    forms.push(form('lop3.b32', 'b32', ['b32', 'b32', 'b32'], table));
  }
  return forms;
}

const F32_ROUNDINGS = ['rn', 'rz', 'rm', 'rp'];

function floatArithmetic(): OpcodeForm[] {
  const forms: OpcodeForm[] = [];
  const many = (names: readonly string[], type: string, count: number): void => {
    for (const name of names)
      forms.push(
        form(
          name,
          type,
          Array.from({ length: count }, () => type),
        ),
      );
  };
  many(spell(['add', 'sub', 'mul'], ['', ...F32_ROUNDINGS], ['', 'ftz'], ['', 'sat'], ['f32']), 'f32', 2);
  many(spell(['fma'], F32_ROUNDINGS, ['', 'ftz'], ['', 'sat'], ['f32']), 'f32', 3);
  many(spell(['mad'], ['rn'], ['f32', 'ftz.f32', 'sat.f32']), 'f32', 3);
  many(spell(['add', 'sub', 'mul'], ['', ...F32_ROUNDINGS], ['f64']), 'f64', 2);
  many(spell(['fma'], F32_ROUNDINGS, ['f64']), 'f64', 3);
  for (const type of ['f16', 'f16x2']) {
    many(spell(['add', 'sub', 'mul'], ['', 'rn'], ['', 'ftz'], ['', 'sat'], [type]), type, 2);
    many(spell(['fma.rn'], ['', 'ftz'], ['', 'sat', 'relu'], [type]), type, 3);
    many(spell(['abs', 'neg'], ['', 'ftz'], [type]), type, 1);
    many(spell(['min', 'max'], ['', 'ftz'], ['', 'NaN'], ['', 'xorsign.abs'], [type]), type, 2);
  }
  for (const type of ['bf16', 'bf16x2']) {
    many(spell(['add', 'sub', 'mul'], ['', 'rn'], [type]), type, 2);
    many(spell(['fma.rn'], ['', 'relu'], [type]), type, 3);
    many(spell(['abs', 'neg'], [type]), type, 1);
    many(spell(['min', 'max'], ['', 'NaN'], ['', 'xorsign.abs'], [type]), type, 2);
  }
  many(spell(['abs', 'neg'], ['', 'ftz'], ['f32']), 'f32', 1);
  many(spell(['abs', 'neg'], ['f64']), 'f64', 1);
  many(spell(['min', 'max'], ['', 'ftz'], ['', 'NaN'], ['', 'xorsign.abs'], ['f32']), 'f32', 2);
  many(spell(['min', 'max'], ['f64']), 'f64', 2);
  many(['copysign.f32'], 'f32', 2);
  many(['copysign.f64'], 'f64', 2);
  many(spell(['div'], F32_ROUNDINGS, ['', 'ftz'], ['f32']), 'f32', 2);
  many(spell(['div'], ['approx', 'full'], ['', 'ftz'], ['f32']), 'f32', 2);
  many(spell(['div'], F32_ROUNDINGS, ['f64']), 'f64', 2);
  many(spell(['rcp', 'sqrt'], F32_ROUNDINGS, ['', 'ftz'], ['f32']), 'f32', 1);
  many(spell(['rcp', 'sqrt'], F32_ROUNDINGS, ['f64']), 'f64', 1);
  many(spell(['rcp', 'sqrt', 'rsqrt', 'sin', 'cos', 'lg2', 'ex2'], ['approx'], ['', 'ftz'], ['f32']), 'f32', 1);
  many(['tanh.approx.f32'], 'f32', 1);
  many(['rcp.approx.ftz.f64', 'rsqrt.approx.f64', 'rsqrt.approx.ftz.f64'], 'f64', 1);
  for (const type of ['f16', 'f16x2', 'bf16', 'bf16x2']) {
    many([`tanh.approx.${type}`, type.startsWith('b') ? `ex2.approx.ftz.${type}` : `ex2.approx.${type}`], type, 1);
  }
  for (const property of ['finite', 'infinite', 'number', 'notanumber', 'normal', 'subnormal']) {
    for (const type of ['f32', 'f64']) forms.push(form(`testp.${property}.${type}`, 'pred', [type]));
  }
  return forms;
}

const ORDERED = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'];
const FLOAT_COMPARISONS = [...ORDERED, ...ORDERED.map((c) => `${c}u`), 'num', 'nan'];

function comparisons(): OpcodeForm[] {
  const forms: OpcodeForm[] = [];
  const add = (comparison: string, flush: string, type: string): void => {
    const dots = flush === '' ? '' : `.${flush}`;
    // Only these half-precision forms have no second result.
    const single = type === 'f16' || type === 'bf16';
    const results = single ? '@0' : '@0|@1';
    const text = `setp.${comparison}${dots}.${type} ${results}, $0, $1;`;
    forms.push(raw(text, single ? ['pred'] : ['pred', 'pred'], [type, type]));
  };
  for (const type of INTEGERS) for (const comparison of ORDERED) add(comparison, '', type);
  for (const type of ['u32', 'u64', 'u16'])
    for (const comparison of ['lo', 'ls', 'hi', 'hs']) add(comparison, '', type);
  for (const type of ['b16', 'b32', 'b64']) for (const comparison of ['eq', 'ne']) add(comparison, '', type);
  for (const comparison of FLOAT_COMPARISONS) {
    for (const type of ['f32', 'f64', 'f16', 'bf16']) add(comparison, '', type);
    add(comparison, 'ftz', 'f32');
    add(comparison, 'ftz', 'f16');
  }
  for (const comparison of ['lt', 'neu', 'nan']) {
    for (const type of ['f16x2', 'bf16x2']) add(comparison, '', type);
  }
  for (const operation of ['and', 'or', 'xor']) {
    for (const [comparison, type] of [
      ['lt', 's32'],
      ['ge', 'f32'],
      ['neu', 'f64'],
      ['eq', 'b64'],
      ['gtu', 'f32'],
    ] as const) {
      const text = `setp.${comparison}.${operation}.${type} @0|@1, $0, $1, $2;`;
      forms.push(raw(text, ['pred', 'pred'], [type, type, 'pred']));
      forms.push(raw(text.replace('$2', '!$2'), ['pred', 'pred'], [type, type, 'pred']));
    }
  }
  for (const to of ['u32', 's32', 'f32']) {
    for (const [comparison, type] of [
      ['lt', 's32'],
      ['hi', 'u32'],
      ['ge', 'f32'],
      ['neu', 'f64'],
      ['eq', 'b64'],
      ['ne', 's16'],
    ] as const) {
      forms.push(form(`set.${comparison}.${to}.${type}`, to, [type, type]));
    }
  }
  forms.push(form('set.lt.and.u32.s32', 'u32', ['s32', 's32', 'pred']));
  for (const type of ['b16', 'b32', 'b64', 's32', 'u16', 's64', 'f32', 'f64']) {
    forms.push(form(`selp.${type}`, type, [type, type, 'pred']));
    forms.push(
      form(`slct.${type}.s32`, type, [type, type, 's32']),
      form(`slct.${type}.f32`, type, [type, type, 'f32']),
    );
  }
  forms.push(form('slct.ftz.f32.f32', 'f32', ['f32', 'f32', 'f32']));
  return forms;
}

const CONVERSION_INTEGERS = ['u8', 's8', 'u16', 's16', 'u32', 's32', 'u64', 's64'];
const FLOATS = ['f16', 'f32', 'f64'];

/** True when every value of `from` is one of `to`: `.sat` is then not allowed. */
function fitsAll(to: string, from: string): boolean {
  const [toBits, fromBits] = [Number(to.slice(1)), Number(from.slice(1))];
  if (to[0] === from[0]) return toBits >= fromBits;
  return to[0] === 's' && toBits > fromBits;
}

function conversions(): OpcodeForm[] {
  const forms: OpcodeForm[] = [];
  for (const to of CONVERSION_INTEGERS) {
    for (const from of CONVERSION_INTEGERS) {
      if (to !== from) forms.push(form(`cvt.${to}.${from}`, to, [from]));
      if (!fitsAll(to, from)) forms.push(form(`cvt.sat.${to}.${from}`, to, [from]));
    }
    // No instruction converts between 8 bits and bf16.
    for (const from of to.endsWith('8') ? FLOATS : [...FLOATS, 'bf16']) {
      for (const mode of ['rni', 'rzi', 'rmi', 'rpi']) {
        forms.push(form(`cvt.${mode}.${to}.${from}`, to, [from]));
        if (from === 'f32') forms.push(form(`cvt.${mode}.ftz.${to}.${from}`, to, [from]));
      }
    }
    for (const type of FLOATS) {
      for (const mode of F32_ROUNDINGS) forms.push(form(`cvt.${mode}.${type}.${to}`, type, [to]));
    }
    if (!to.endsWith('8')) forms.push(form(`cvt.rn.bf16.${to}`, 'bf16', [to]));
  }
  // A destination wider than the type takes the extended value.
  for (const type of ['s8', 'u8', 's16', 'u16']) forms.push(form(`cvt.${type}.s32`, 'b32', ['s32']));
  // Of a source wider than the type the low bits count.
  for (const from of ['s8', 'u8', 's16', 'u16', 's32', 'u32']) {
    for (const to of ['u16', 's32', 'u64', 's64']) {
      if (to !== from) forms.push(form(`cvt.${to}.${from}`, to, ['b64']));
    }
    forms.push(form(`cvt.rn.f32.${from}`, 'f32', ['b64']), form(`cvt.rn.f64.${from}`, 'f64', ['b64']));
  }
  for (const mode of F32_ROUNDINGS) {
    for (const [to, from] of [
      ['f16', 'f32'],
      ['f16', 'f64'],
      ['f32', 'f64'],
      ['bf16', 'f32'],
      ['bf16', 'f64'],
    ] as const) {
      forms.push(form(`cvt.${mode}.${to}.${from}`, to, [from]));
    }
  }
  for (const name of [
    'cvt.f32.f16',
    'cvt.f64.f16',
    'cvt.f64.f32',
    'cvt.f32.bf16',
    'cvt.f64.bf16',
    'cvt.ftz.f32.f16',
    'cvt.sat.f32.f16',
  ]) {
    forms.push(form(name, name.split('.').at(-2)!, [name.split('.').at(-1)!]));
  }
  for (const name of [
    'cvt.rn.ftz.f16.f32',
    'cvt.rn.sat.f16.f32',
    'cvt.rn.ftz.f32.f64',
    'cvt.rn.relu.f16.f32',
    'cvt.rn.relu.bf16.f32',
    'cvt.rz.relu.bf16.f32',
    'cvt.rn.sat.f32.f64',
    'cvt.ftz.f64.f32',
  ]) {
    forms.push(form(name, name.split('.').at(-2)!, [name.split('.').at(-1)!]));
  }
  for (const mode of ['rni', 'rzi', 'rmi', 'rpi']) {
    for (const type of FLOATS) forms.push(form(`cvt.${mode}.${type}.${type}`, type, [type]));
    forms.push(form(`cvt.${mode}.ftz.f32.f32`, 'f32', ['f32']));
  }
  forms.push(
    form('cvt.sat.f32.f32', 'f32', ['f32']),
    form('cvt.ftz.f32.f32', 'f32', ['f32']),
    form('cvt.ftz.sat.f32.f32', 'f32', ['f32']),
  );
  for (const type of ['f16x2', 'bf16x2']) {
    for (const modifiers of ['rn', 'rz', 'rn.relu', 'rz.relu']) {
      forms.push(form(`cvt.${modifiers}.${type}.f32`, type, ['f32', 'f32']));
    }
  }
  for (const type of ['e4m3x2', 'e5m2x2']) {
    for (const relu of ['', '.relu']) {
      forms.push(form(`cvt.rn.satfinite${relu}.${type}.f32`, type, ['f32', 'f32']));
      forms.push(form(`cvt.rn.satfinite${relu}.${type}.f16x2`, type, ['f16x2']));
      forms.push(form(`cvt.rn${relu}.f16x2.${type}`, 'f16x2', [type]));
    }
  }
  forms.push(form('cvt.rna.tf32.f32', 'b32', ['f32']));
  for (const to of ['s8', 'u8']) forms.push(form(`cvt.pack.sat.${to}.s32.b32`, 'b32', ['s32', 's32', 'b32']));
  for (const to of ['s16', 'u16']) forms.push(form(`cvt.pack.sat.${to}.s32`, 'b32', ['s32', 's32']));
  return forms;
}

const MOVES: readonly OpcodeForm[] = [
  ...['pred', 'b16', 'u16', 's16', 'b32', 'u32', 's32', 'f32', 'b64', 'u64', 's64', 'f64'].map((type) =>
    form(`mov.${type}`, type, [type]),
  ),
  raw('mov.b32 @0, {$0, $1};', ['b32'], ['b16', 'b16']),
  raw('mov.b64 @0, {$0, $1};', ['b64'], ['b32', 'b32']),
  raw('mov.b64 @0, {$0, $1, $2, $3};', ['b64'], ['b16', 'b16', 'b16', 'b16']),
  raw('mov.b32 {@0, @1}, $0;', ['b16', 'b16'], ['b32']),
  raw('mov.b64 {@0, @1}, $0;', ['b32', 'b32'], ['b64']),
  raw('mov.b64 {@0, @1, @2, @3}, $0;', ['b16', 'b16', 'b16', 'b16'], ['b64']),
  raw('mov.b64 {_, @0}, $0;', ['b32'], ['b64']),
  raw('mov.b32 {_, @0}, $0;', ['b16'], ['b32']),
];

/** All lane-wise forms. */
export const LANE_FORMS: readonly OpcodeForm[] = [
  ...integerArithmetic(),
  ...extendedPrecision(),
  ...bits(),
  ...floatArithmetic(),
  ...comparisons(),
  ...conversions(),
  ...MOVES,
];

/** `.ftz` forms on values whose results lie at the edge of the normal range. */
export const EDGE_FORMS: readonly OpcodeForm[] = [
  ...F32_ROUNDINGS.flatMap((mode) => [
    form(`mul.${mode}.ftz.f32`, 'f32', ['edge-f32', 'below-one-f32']),
    form(`fma.${mode}.ftz.f32`, 'f32', ['edge-f32', 'below-one-f32', 'nothing-f32']),
    form(`cvt.${mode}.ftz.f32.f64`, 'f32', ['edge-f64']),
  ]),
  form('mul.ftz.sat.f32', 'f32', ['edge-f32', 'below-one-f32']),
  form('mul.ftz.f16', 'f16', ['edge-f16', 'below-one-f16']),
  form('fma.rn.ftz.f16', 'f16', ['edge-f16', 'below-one-f16', 'nothing-f16']),
];

/** Forms over the lanes of a warp. `%mask` is the set of lanes that execute. */
export const WARP_FORMS: readonly OpcodeForm[] = [
  ...['up', 'down', 'bfly', 'idx'].flatMap((mode) => [
    raw(`shfl.sync.${mode}.b32 @0|@1, $0, $1, $2, %mask;`, ['b32', 'pred'], ['b32', 'small', 'shuffle-control']),
    ...['1, 31', '16, 31', '3, 0x181f', '2, 0', '1, 0x1c00'].map((control) =>
      raw(`shfl.sync.${mode}.b32 @0|@1, $0, ${control}, %mask;`, ['b32', 'pred'], ['b32']),
    ),
  ]),
  ...['all', 'any', 'uni'].flatMap((mode) => [
    raw(`vote.sync.${mode}.pred @0, $0, %mask;`, ['pred'], ['pred']),
    raw(`vote.sync.${mode}.pred @0, !$0, %mask;`, ['pred'], ['pred']),
  ]),
  raw('vote.sync.ballot.b32 @0, $0, %mask;', ['b32'], ['pred']),
  raw('match.any.sync.b32 @0, $0, %mask;', ['b32'], ['few']),
  raw('match.any.sync.b64 @0, $0, %mask;', ['b32'], ['few64']),
  raw('match.all.sync.b32 @0|@1, $0, %mask;', ['b32', 'pred'], ['few']),
  raw('match.all.sync.b64 @0|@1, $0, %mask;', ['b32', 'pred'], ['few64']),
  ...['add', 'min', 'max'].flatMap((op) =>
    ['u32', 's32'].map((type) => raw(`redux.sync.${op}.${type} @0, $0, %mask;`, ['b32'], [type])),
  ),
  ...['and', 'or', 'xor'].map((op) => raw(`redux.sync.${op}.b32 @0, $0, %mask;`, ['b32'], ['b32'])),
  raw('activemask.b32 @0;', ['b32'], []),
  raw('elect.sync @0|@1, %mask;', ['b32', 'pred'], []),
];
