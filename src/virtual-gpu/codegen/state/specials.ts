import { LAUNCH, WARP } from '../../layout.ts';

/** Place of a special register with one value per warp: in the launch area or in the warp's state. */
export interface UniformSpecial {
  area: 'launch' | 'warp';
  offset: number;
  /** 64 bits. */
  isWide?: true;
}

/** Time counts instructions of the warp, so that it does not depend on the host. */
const CLOCK: UniformSpecial = { area: 'warp', offset: WARP.clock };
const CLOCK_HIGH: UniformSpecial = { area: 'warp', offset: WARP.clock + 4 };
const CLOCK_WIDE: UniformSpecial = { ...CLOCK, isWide: true };

const CLOCK_SPECIALS = [
  ['%clock', CLOCK],
  ['%clock_hi', CLOCK_HIGH],
  ['%clock64', CLOCK_WIDE],
  ['%globaltimer', CLOCK_WIDE],
  ['%globaltimer_lo', CLOCK],
  ['%globaltimer_hi', CLOCK_HIGH],
] as const;

export const CLOCKS: ReadonlySet<string> = new Set(CLOCK_SPECIALS.map(([name]) => name));

export const UNIFORM_SPECIALS: ReadonlyMap<string, UniformSpecial> = new Map<string, UniformSpecial>([
  ...CLOCK_SPECIALS,
  ['%smid', { area: 'launch', offset: LAUNCH.smIndex }],
  ['%nsmid', { area: 'launch', offset: LAUNCH.smCount }],
  ['%nwarpid', { area: 'launch', offset: LAUNCH.warpsPerSm }],
  ['%gridid', { area: 'launch', offset: LAUNCH.gridId, isWide: true }],
  ['%ntid.x', { area: 'launch', offset: LAUNCH.blockX }],
  ['%ntid.y', { area: 'launch', offset: LAUNCH.blockY }],
  ['%ntid.z', { area: 'launch', offset: LAUNCH.blockZ }],
  ['%nctaid.x', { area: 'launch', offset: LAUNCH.gridX }],
  ['%nctaid.y', { area: 'launch', offset: LAUNCH.gridY }],
  ['%nctaid.z', { area: 'launch', offset: LAUNCH.gridZ }],
  ['%ctaid.x', { area: 'launch', offset: LAUNCH.ctaX }],
  ['%ctaid.y', { area: 'launch', offset: LAUNCH.ctaY }],
  ['%ctaid.z', { area: 'launch', offset: LAUNCH.ctaZ }],
  ['%cluster_nctaid.x', { area: 'launch', offset: LAUNCH.clusterX }],
  ['%cluster_nctaid.y', { area: 'launch', offset: LAUNCH.clusterY }],
  ['%cluster_nctaid.z', { area: 'launch', offset: LAUNCH.clusterZ }],
  ['%cluster_ctaid.x', { area: 'launch', offset: LAUNCH.ctaInClusterX }],
  ['%cluster_ctaid.y', { area: 'launch', offset: LAUNCH.ctaInClusterY }],
  ['%cluster_ctaid.z', { area: 'launch', offset: LAUNCH.ctaInClusterZ }],
  ['%clusterid.x', { area: 'launch', offset: LAUNCH.clusterIndexX }],
  ['%clusterid.y', { area: 'launch', offset: LAUNCH.clusterIndexY }],
  ['%clusterid.z', { area: 'launch', offset: LAUNCH.clusterIndexZ }],
  ['%nclusterid.x', { area: 'launch', offset: LAUNCH.clustersX }],
  ['%nclusterid.y', { area: 'launch', offset: LAUNCH.clustersY }],
  ['%nclusterid.z', { area: 'launch', offset: LAUNCH.clustersZ }],
  ['%cluster_ctarank', { area: 'launch', offset: LAUNCH.clusterRank }],
  ['%cluster_nctarank', { area: 'launch', offset: LAUNCH.clusterCtas }],
  ['%envreg1', { area: 'launch', offset: LAUNCH.gridBarrierHigh }],
  ['%envreg2', { area: 'launch', offset: LAUNCH.gridBarrierLow }],
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
