/** The rank of the CTA in addresses of its shared memory, in code that can tell. */
import { CLUSTER_RANK_SHIFT, LAUNCH } from '../../layout.ts';
import type { FunctionBuilder, Local } from '../../wasm/function-builder.ts';

const pushRank = (b: FunctionBuilder): FunctionBuilder => b.loadAt(LAUNCH.clusterRank);

/** Pushes what such an address holds beside the offset, as an i32. */
export const pushOwnRank = (b: FunctionBuilder): FunctionBuilder => pushRank(b).i32(CLUSTER_RANK_SHIFT).op('i32.shl');

/** Takes the own rank out of an address, an i32; another CTA's stays, and fails the check of bounds. */
export function dropOwnRank(b: FunctionBuilder, address: Local): void {
  b.get(address);
  b.get(address).i32(CLUSTER_RANK_SHIFT).op('i32.shr_u');
  pushRank(b).op('i32.eq');
  pushOwnRank(b).op('i32.mul', 'i32.sub').set(address);
}

/** The same for four lanes. */
export function dropOwnRanks(b: FunctionBuilder, addresses: Local): void {
  b.get(addresses);
  b.get(addresses).i32(CLUSTER_RANK_SHIFT).op('i32x4.shr_u');
  pushRank(b).op('i32x4.splat', 'i32x4.eq');
  pushOwnRank(b).op('i32x4.splat', 'v128.and', 'i32x4.sub').set(addresses);
}
