/**
 * kernel.json's `source.flags`: nvcc's spellings, mapped to their meaning here. Other flags are refused, so that a kernel
 * can neither reach files nor change how it is judged.
 */

export interface CompileSettings {
  languageStandard: string;
  optimisationLevel: '0' | '1' | '2' | '3';
  /** In order: `-DNAME=value`, `-UNAME`. */
  macros: readonly string[];
  flushSubnormals: boolean;
  preciseDivision: boolean;
  preciseSquareRoot: boolean;
  fuseMultiplyAdd: boolean;
  /** sinf means __sinf and so on. */
  fastIntrinsics: boolean;
  maximumRegisters?: number;
}

export type ParsedFlags =
  | { ok: true; settings: CompileSettings }
  | { ok: false; flag: string; index: number; reason: string };

const DEFAULTS: CompileSettings = {
  languageStandard: 'c++17',
  optimisationLevel: '3',
  macros: [],
  flushSubnormals: false,
  preciseDivision: true,
  preciseSquareRoot: true,
  fuseMultiplyAdd: true,
  fastIntrinsics: false,
};

const FAST_MATH: Partial<CompileSettings> = {
  flushSubnormals: true,
  preciseDivision: false,
  preciseSquareRoot: false,
  fuseMultiplyAdd: true,
  fastIntrinsics: true,
};

type Rule = readonly [
  pattern: RegExp,
  apply: (match: RegExpExecArray, settings: CompileSettings) => Partial<CompileSettings> | string,
];

const isTrue = (word: string | undefined) => word === 'true';
const nothing: Rule[1] = () => ({});

const RULES: readonly Rule[] = [
  [/^-D([A-Za-z_]\w*)(\([\w, ]*\))?(=[^\n\r\\]*)?$/, (match, settings) => ({ macros: [...settings.macros, match[0]] })],
  [/^-U([A-Za-z_]\w*)$/, (match, settings) => ({ macros: [...settings.macros, match[0]] })],
  [
    /^(?:-O|--optimize[= ])([0-3])$/,
    ([, level]) => ({ optimisationLevel: level as CompileSettings['optimisationLevel'] }),
  ],
  [/^(?:--?use_fast_math|-ffast-math)$/, () => FAST_MATH],
  [/^--?ftz=(true|false)$/, ([, value]) => ({ flushSubnormals: isTrue(value) })],
  [/^--?prec-div=(true|false)$/, ([, value]) => ({ preciseDivision: isTrue(value) })],
  [/^--?prec-sqrt=(true|false)$/, ([, value]) => ({ preciseSquareRoot: isTrue(value) })],
  [/^--?fmad=(true|false)$/, ([, value]) => ({ fuseMultiplyAdd: isTrue(value) })],
  [/^-ffp-contract=(fast|off)$/, ([, value]) => ({ fuseMultiplyAdd: value === 'fast' })],
  [/^(?:-std=|--std[= ])((?:c|gnu)\+\+(?:11|14|17|20|23))$/, ([, standard]) => ({ languageStandard: standard! })],
  [
    /^--?maxrregcount[= ](\d+)$/,
    ([, count]) =>
      Number(count) >= 16 && Number(count) <= 255
        ? { maximumRegisters: Number(count) }
        : 'the count must be between 16 and 255',
  ],
  // Always so here, or without meaning for device code.
  [/^(?:-lineinfo|--generate-line-info)$/, nothing],
  [/^(?:--?expt-relaxed-constexpr|--?expt-extended-lambda|--?extended-lambda)$/, nothing],
  [/^(?:-w|--disable-warnings|-Wall|-Wextra|-Wno-[\w-]+)$/, nothing],
];

/** Flags whose value nvcc also takes as the next word. */
const TAKES_VALUE = new Set(['-D', '-U', '-O', '-maxrregcount', '--maxrregcount', '-std', '--std', '--optimize']);

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^(-I|--include-path|-isystem|-iquote|-include)/, 'list the files in source.includes instead'],
  [/^(-arch|--gpu-architecture|-gencode|-code|--gpu-code)/, 'the device decides the architecture'],
  [/^(-G|--device-debug)$/, 'unoptimised code is not worth judging'],
  [/^(-l|-L|-rdc|--relocatable-device-code|-dc|-dlto)/, 'a kernel is one unit of device code; nothing is linked'],
  [/^(-X|--\w+-options|-mllvm|-fpass-plugin|-load|-fplugin)/, 'options are not passed on to other tools'],
];

/** Reads the flags, last one winning, or names the first that isn't allowed and says why. */
export function parseFlags(flags: readonly string[], parameterNames: readonly string[] = []): ParsedFlags {
  let settings = DEFAULTS;
  for (let index = 0; index < flags.length; index++) {
    const first = index;
    const flag = joinValue(flags, index);
    if (flag !== flags[index]) index++;
    const applied = applyRule(flag, settings, parameterNames);
    if (typeof applied === 'string') return { ok: false, flag, index: first, reason: applied };
    settings = { ...settings, ...applied };
  }
  return { ok: true, settings };
}

function joinValue(flags: readonly string[], index: number): string {
  const flag = flags[index]!;
  const next = flags[index + 1];
  if (!TAKES_VALUE.has(flag) || next === undefined) return flag;
  return flag.length === 2 ? flag + next : `${flag}=${next}`;
}

function applyRule(flag: string, settings: CompileSettings, parameterNames: readonly string[]) {
  const macro = /^-[DU](\w+)/.exec(flag)?.[1];
  if (macro !== undefined && parameterNames.includes(macro)) {
    return `\`${macro}\` is a parameter of this kernel, and its value comes from there`;
  }
  for (const [pattern, apply] of RULES) {
    const match = pattern.exec(flag);
    if (match) return apply(match, settings);
  }
  return REASONS.find(([pattern]) => pattern.test(flag))?.[1] ?? 'it is not one of the flags warpsmith knows';
}
