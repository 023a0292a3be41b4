import { LAUNCH, WARP } from '../layout.ts';

/** Special registers with one value per warp: where they lie, in the launch area or in the warp's state. */
export const UNIFORM_SPECIALS: ReadonlyMap<string, { area: 'launch' | 'warp'; offset: number }> = new Map([
  ['%ntid.x', { area: 'launch', offset: LAUNCH.blockX }],
  ['%ntid.y', { area: 'launch', offset: LAUNCH.blockY }],
  ['%ntid.z', { area: 'launch', offset: LAUNCH.blockZ }],
  ['%nctaid.x', { area: 'launch', offset: LAUNCH.gridX }],
  ['%nctaid.y', { area: 'launch', offset: LAUNCH.gridY }],
  ['%nctaid.z', { area: 'launch', offset: LAUNCH.gridZ }],
  ['%ctaid.x', { area: 'launch', offset: LAUNCH.ctaX }],
  ['%ctaid.y', { area: 'launch', offset: LAUNCH.ctaY }],
  ['%ctaid.z', { area: 'launch', offset: LAUNCH.ctaZ }],
  ['%dynamic_smem_size', { area: 'launch', offset: LAUNCH.dynamicSharedBytes }],
  ['%total_smem_size', { area: 'launch', offset: LAUNCH.totalSharedBytes }],
  ['%warpid', { area: 'warp', offset: WARP.warpIndex }],
]);

/** Special registers kept as one word per lane in the warp's state. */
export const LANE_SPECIALS: ReadonlyMap<string, number> = new Map([
  ['%tid.x', WARP.threadX],
  ['%tid.y', WARP.threadY],
  ['%tid.z', WARP.threadZ],
]);

/** Special registers computed from the lane number: constant vectors, by lane. */
export const LANE_CONSTANTS: ReadonlyMap<string, (lane: number) => number> = new Map([
  ['%laneid', (lane) => lane],
  ['%lanemask_eq', (lane) => (1 << lane) | 0],
  ['%lanemask_lt', (lane) => ((1 << lane) - 1) | 0],
  ['%lanemask_le', (lane) => (lane === 31 ? -1 : (2 << lane) - 1) | 0],
  ['%lanemask_ge', (lane) => ~((1 << lane) - 1)],
  ['%lanemask_gt', (lane) => (lane === 31 ? 0 : ~((2 << lane) - 1))],
]);
