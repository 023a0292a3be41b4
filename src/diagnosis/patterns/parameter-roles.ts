/** What a kernel's parameter is for. Patterns know roles; kernel.json says them through the parameter's name. */
export type ParameterRole =
  | 'row-tile'
  | 'column-tile'
  | 'warps'
  | 'rows-per-warp'
  | 'items-per-thread'
  | 'ctas-per-sm'
  | 'vector-width'
  | 'stages'
  | 'padding'
  | 'unroll'
  | 'split'
  | 'cta-group';

/** The naming convention: a parameter whose name matches plays the role. */
const ROLE_NAMES: readonly (readonly [ParameterRole, RegExp])[] = [
  ['row-tile', /^(BLOCK|TILE)_M$|^ROWS_PER_CTA$/],
  ['column-tile', /^(BLOCK|TILE)_[NK]$/],
  ['warps', /^(NUM_)?WARPS(_PER_CTA)?$/],
  ['rows-per-warp', /^ROWS_PER_(WARP|THREAD)$|^THREAD_[MN]$/],
  ['items-per-thread', /^ITEMS(_PER_THREAD)?$/],
  ['ctas-per-sm', /^CTAS_PER_SM$/],
  ['vector-width', /^VECTOR_WIDTH$|^VEC(_WIDTH)?$/],
  ['stages', /^(NUM_)?STAGES$/],
  ['padding', /^(SMEM_)?PAD(DING)?$/],
  ['unroll', /^UNROLL(_\w+)?$/],
  ['split', /^(NUM_)?(KV_)?SPLITS?(_[KN])?$/],
  ['cta-group', /^(CTA_)?(GROUP|SWIZZLE)(_[MN]|_SIZE|_WIDTH)?$/],
];

/** The role of a parameter, or undefined when its name follows no convention. */
export const roleOf = (parameter: string): ParameterRole | undefined =>
  ROLE_NAMES.find(([, name]) => name.test(parameter))?.[0];
