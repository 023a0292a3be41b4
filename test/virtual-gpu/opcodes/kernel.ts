import type { OpcodeForm } from './forms.ts';
import { registerType } from './forms.ts';

/** How a form is run: by all lanes, by some after a divergent branch, by some through a guard, on uniform operands. */
export const MODES = ['full', 'divergent', 'guarded', 'uniform'] as const;
export type Mode = (typeof MODES)[number];

/** Result registers hold this before the form runs, so that lanes that must not write are seen to. */
export const UNTOUCHED = 0xa5a5a5a5a5a5a5a5n;

export const WARP_LANES = 32;

/** Result register `r` in a mode. */
export const resultRegister = (mode: Mode, r: number): string => `%${mode}${r}`;

/** Source register `s`: uniform mode has its own. */
export const sourceRegister = (mode: Mode, s: number): string => (mode === 'uniform' ? `%u${s}` : `%s${s}`);

/** Register with the set of lanes that execute in a mode. */
export const maskRegister = (mode: Mode): string =>
  mode === 'divergent' || mode === 'guarded' ? '%activeMask' : '%allLanes';

/** The form with its operands named for a mode. */
export const instantiate = (form: OpcodeForm, mode: Mode): string =>
  form.text
    .replaceAll(/\$(\d)/g, (_, s) => sourceRegister(mode, Number(s)))
    .replaceAll(/@(\d)/g, (_, r) => resultRegister(mode, Number(r)))
    .replaceAll('%mask', maskRegister(mode));

/** Declarations of all registers that `instantiate` names. */
export const declarations = (form: OpcodeForm): string =>
  [
    ...MODES.flatMap((mode) => form.results.map((type, r) => `.reg .${type} ${resultRegister(mode, r)};`)),
    ...form.sources.map((kind, s) => `.reg .${registerType(kind)} %s${s}, %u${s};`),
    '.reg .b32 %activeMask, %allLanes;',
  ].join(' ');

/** Puts the 64-bit value in %w into a register. */
function narrow(register: string, type: string): string {
  const conversions: Record<string, string> = {
    pred: `setp.ne.b64 ${register}, %w, 0;`,
    b16: `cvt.u16.u64 ${register}, %w;`,
    b32: `cvt.u32.u64 ${register}, %w;`,
    b64: `mov.b64 ${register}, %w;`,
  };
  return conversions[type]!;
}

/** Puts a register, zero-extended, into %w. */
function widen(register: string, type: string): string {
  const conversions: Record<string, string> = {
    pred: `selp.b64 %w, 1, 0, ${register};`,
    b16: `cvt.u64.u16 %w, ${register};`,
    b32: `cvt.u64.u32 %w, ${register};`,
    b64: `mov.b64 %w, ${register};`,
  };
  return conversions[type]!;
}

/** Byte offset, in %w, of thread %index's word in slot `slot`; slots are `threads` 64-bit words apart. */
const offsetOf = (slot: number): string => `mad.lo.u32 %word, %threads, ${slot}, %index; mul.wide.u32 %w, %word, 8;`;

/** Statements that run the form in a mode. */
function body(form: OpcodeForm, mode: Mode): string {
  const text = instantiate(form, mode);
  if (mode === 'divergent') return `@!%on bra $skip; ${text} $skip:`;
  if (mode === 'guarded') return text.replaceAll(/(^|;\s*)(?=[a-z])/g, '$1@%on ');
  return text;
}

/**
 * PTX of an entry function that runs the form in each of `modes`. Parameters: `in` (per thread: the sources, whether
 * the lane is on, its warp's set of lanes that are), `out` (the results of each mode in turn), the number of threads,
 * and the sources of uniform mode.
 */
export function kernelText(name: string, form: OpcodeForm, modes: readonly Mode[]): string {
  const parameters = ['.param .u64 in', '.param .u64 out', '.param .u32 threads'];
  parameters.push(...form.sources.map((_, s) => `.param .u64 source${s}`));
  const load = (slot: number, register: string, type: string): string =>
    `${offsetOf(slot)} add.u64 %w, %in, %w; ld.global.u64 %w, [%w]; ${narrow(register, type)}`;
  const types = form.sources.map(registerType);
  const outputs = modes.flatMap((mode) => form.results.map((type, r) => ({ register: resultRegister(mode, r), type })));
  return `
.visible .entry ${name}(${parameters.join(', ')})
{
  ${declarations(form)}
  .reg .pred %on; .reg .b32 %index, %threads, %word, %cta, %active; .reg .b64 %in, %out, %w, %to;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %threads, [threads];
  mov.u32 %cta, %ctaid.x; mov.u32 %index, %tid.x; mad.lo.u32 %index, %cta, ${WARP_LANES}, %index;
  ${types.map((type, s) => load(s, `%s${s}`, type)).join('\n  ')}
  ${types.map((type, s) => uniformSource(s, type)).join('\n  ')}
  ${load(form.sources.length, '%active', 'b32')}
  ${load(form.sources.length + 1, '%activeMask', 'b32')}
  mov.b32 %allLanes, -1;
  setp.ne.u32 %on, %active, 0;
  ${outputs.map(({ register, type }) => `mov.b64 %w, ${UNTOUCHED}; ${narrow(register, type)}`).join('\n  ')}
  ${modes.map((mode) => body(form, mode)).join('\n  ')}
  ${outputs.map(({ register, type }, slot) => `${offsetOf(slot)} add.u64 %to, %out, %w; ${widen(register, type)} st.global.u64 [%to], %w;`).join('\n  ')}
  ret;
}
`;
}

/** Straight from the parameter, so that the value stays warp-uniform; predicates have no other way than a comparison. */
function uniformSource(s: number, type: string): string {
  const loads: Record<string, string> = {
    pred: `ld.param.u64 %w, [source${s}]; setp.ne.b64 %u${s}, %w, 0;`,
    b16: `ld.param.u16 %u${s}, [source${s}];`,
    b32: `ld.param.u32 %u${s}, [source${s}];`,
    b64: `ld.param.u64 %u${s}, [source${s}];`,
  };
  return loads[type]!;
}

export const moduleText = (kernels: readonly string[]): string =>
  `.version 8.2\n.target sm_90a\n.address_size 64\n${kernels.join('\n')}`;
