import type { OpcodeForm } from './forms.ts';
import { registerType } from './forms.ts';

/** How a form is run: by all lanes, by some after a divergent branch, by some through a guard, on uniform operands. */
export const MODES = ['full', 'divergent', 'guarded', 'uniform'] as const;
export type Mode = (typeof MODES)[number];

/** Result registers hold this before the form runs, so that lanes that must not write are seen to. */
export const UNTOUCHED = 0xa5a5a5a5a5a5a5a5n;

export const WARP_LANES = 32;

/** The form with its operands named: sources %s0…, results %d0…. */
export const instantiate = (form: OpcodeForm): string =>
  form.text.replaceAll(/\$(\d)/g, '%s$1').replaceAll(/@(\d)/g, '%d$1');

/** Declarations of the registers that `instantiate` names. */
export const declarations = (form: OpcodeForm): string =>
  [
    ...form.results.map((type, i) => `.reg .${type} %d${i};`),
    ...form.sources.map((kind, i) => `.reg .${registerType(kind)} %s${i};`),
    '.reg .b32 %mask;',
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

/** Index of value `slot` of thread %index among the 64-bit words at a pointer; slots are `threads` words apart. */
const addressOf = (slot: number): string => `mad.lo.u32 %word, %threads, ${slot}, %index; mul.wide.u32 %w, %word, 8;`;

/**
 * PTX of one entry function that runs the form. Parameters: `in` (per thread: the sources, whether the lane is on, the
 * warp's mask of lanes that are), `out` (the results), the number of threads; in uniform mode also the sources, which
 * then do not come from memory.
 */
export function kernelText(name: string, form: OpcodeForm, mode: Mode): string {
  const uniform = mode === 'uniform';
  const parameters = ['.param .u64 in', '.param .u64 out', '.param .u32 threads'];
  if (uniform) parameters.push(...form.sources.map((_, i) => `.param .u64 source${i}`));
  const load = (slot: number, register: string, type: string): string =>
    `${addressOf(slot)} add.u64 %w, %in, %w; ld.global.u64 %w, [%w]; ${narrow(register, type)}`;
  const loads = form.sources.map((kind, i) =>
    uniform
      ? `ld.param.u64 %w, [source${i}]; ${narrow(`%s${i}`, registerType(kind))}`
      : load(i, `%s${i}`, registerType(kind)),
  );
  const poison = form.results.map((type, i) => `mov.b64 %w, ${UNTOUCHED}; ${narrow(`%d${i}`, type)}`);
  const stores = form.results.map(
    (type, i) => `${addressOf(i)} add.u64 %to, %out, %w; ${widen(`%d${i}`, type)} st.global.u64 [%to], %w;`,
  );
  return `
.visible .entry ${name}(${parameters.join(', ')})
{
  ${declarations(form)}
  .reg .pred %on; .reg .b32 %index, %threads, %word, %cta, %active; .reg .b64 %in, %out, %w, %to;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %threads, [threads];
  mov.u32 %cta, %ctaid.x; mov.u32 %index, %tid.x; mad.lo.u32 %index, %cta, ${WARP_LANES}, %index;
  ${loads.join('\n  ')}
  ${load(form.sources.length, '%active', 'b32')}
  ${load(form.sources.length + 1, '%mask', 'b32')}
  setp.ne.u32 %on, %active, 0;
  ${poison.join('\n  ')}
  ${body(form, mode)}
  ${stores.join('\n  ')}
  ret;
}
`;
}

function body(form: OpcodeForm, mode: Mode): string {
  const text = instantiate(form);
  if (mode === 'divergent') return `@!%on bra $skip; ${text} $skip:`;
  if (mode === 'guarded') return text.replaceAll(/(^|;\s*)(?=[a-z])/g, '$1@%on ');
  return text;
}

export const moduleText = (kernels: readonly string[]): string =>
  `.version 8.2\n.target sm_90a\n.address_size 64\n${kernels.join('\n')}`;
