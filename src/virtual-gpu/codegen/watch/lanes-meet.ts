import { WARP } from '../../layout.ts';
import { BLOCK, SHADOW, STATE } from '../../race-detector/shadow-layout.ts';
import type { ModuleBuilder } from '../../wasm/module-builder.ts';
import { SHADOW_MEMORY } from './phase-functions.ts';

/**
 * (warp): the lanes of a warp meet at an instruction with `.sync`. Its clock advances, and what they did before is ordered with what others
 * of them do after. What it knows of other warps stays.
 */
export function defineLanesMeet(module: ModuleBuilder): number {
  const b = module.defineFunction({ parameters: ['i32'], results: [] });
  const [block, time, warp, state] = b.locals('i32', 4);
  const header = (field: number) => b.loadAt(field, SHADOW_MEMORY);
  header(SHADOW.block).tee(block).op('i32.eqz');
  // Nobody looks for races.
  b.if(() => b.op('return'));
  b.i32(0);
  header(SHADOW.time).add(1).tee(time).store(SHADOW.time, SHADOW_MEMORY);
  b.get(0).load(WARP.warpIndex).set(warp);
  b.get(warp).i32(BLOCK.stateBytes).op('i32.mul').get(block).op('i32.add').set(state);
  for (const field of [STATE.time, STATE.met, STATE.metForDevice])
    b.get(state, time).store(BLOCK.states + field, SHADOW_MEMORY);
  b.get(state, state)
    .load(BLOCK.states + STATE.writesAfter, SHADOW_MEMORY)
    .store(BLOCK.states + STATE.readsAfter, SHADOW_MEMORY);
  header(SHADOW.warps).add(1).get(warp).op('i32.mul').i32(2).op('i32.shl').get(block).op('i32.add');
  b.get(time).store(BLOCK.rows, SHADOW_MEMORY);
  return b.index;
}
