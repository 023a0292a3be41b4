import { PATTERN, WARP } from '../../layout.ts';
import { BLOCK, PHASE, PHASE_FLAGS, SHADOW, SHAPE, STEP } from '../../race-detector/shadow-layout.ts';
import { type FunctionBuilder, i32s, type Local } from '../../wasm/function-builder.ts';
import type { ModuleBuilder } from '../../wasm/module-builder.ts';
import { chunkOffsets } from '../control/runtime-functions.ts';
import type { Imports } from '../kernel-context.ts';
import { emitActiveLanes, GROUP, HOW, ifHow, PLACE, pushMasked, WARP_STATE, WATCH_PARAMETERS } from './active-lanes.ts';
import { definePhaseFunctions, SHADOW_MEMORY } from './phase-functions.ts';

/** (shape, address of the first active lane, warp) → the first phase that is left to JavaScript, or −1. */
function defineNote(module: ModuleBuilder, unitBytes: number): number {
  const { read, write } = definePhaseFunctions(module, unitBytes);
  const b = module.defineFunction({ parameters: i32s(3), results: ['i32'] });
  const [shape, first, warp] = [0, 1, 2];
  const [phase, index, block, at] = b.locals('i32', 4);
  b.loadAt(SHADOW.cta, SHADOW_MEMORY).tee(block);
  b.load(BLOCK.hasStrong, SHADOW_MEMORY);
  b.if(() => b.i32(0).op('return'));
  b.get(first).i32(Math.log2(unitBytes)).op('i32.shr_u').i32(2).op('i32.shl').get(block).op('i32.add').set(at);
  b.get(shape).add(SHAPE.body).set(phase);
  b.loop(() => {
    const pushArguments = () => b.get(phase, at, warp).load(WARP.warpIndex).get(block);
    const leaveUnless = (noted: number) => {
      pushArguments().call(noted).op('i32.eqz');
      b.if(() => b.get(index).op('return'));
    };
    b.get(phase).load(PHASE.flags, SHADOW_MEMORY).i32(PHASE_FLAGS.write).op('i32.and');
    b.if(
      () => leaveUnless(write),
      () => leaveUnless(read),
    );
    b.get(phase).load(PHASE.whole, SHADOW_MEMORY);
    b.get(phase).load(PHASE.partial, SHADOW_MEMORY).op('i32.add').i32(STEP.bytes).op('i32.mul');
    b.get(phase).op('i32.add').add(PHASE.steps).set(phase);
    b.get(index).add(1).tee(index);
    b.get(shape).load(SHAPE.phases, SHADOW_MEMORY).op('i32.lt_s').brIf(0);
  });
  b.i32(-1);
  return b.index;
}

/**
 * (group, place, warp, how): notes a group's accesses to shared memory, or leaves them to JavaScript. One function for all ways: V8 copies
 * small ones into each block that calls them, which takes it longer than to compile the block.
 * @param unitBytes the kernel's smallest access to shared memory.
 */
export function defineSharedWatch(module: ModuleBuilder, imports: Imports, unitBytes: number): number {
  const note = defineNote(module, unitBytes);
  const b = module.defineFunction({ parameters: WATCH_PARAMETERS, results: [] });
  module.exportFunction('watchShared', b);
  return new WatchFunction(b, imports, note).emit();
}

class WatchFunction {
  readonly #b: FunctionBuilder;
  readonly #imports: Imports;
  readonly #note: number;
  /** Active lanes, and the address of the first. */
  readonly #bits: Local;
  readonly #first: Local;
  readonly #shape: Local;
  /** The phase from which JavaScript goes on; −1 where no shape fits. */
  readonly #left: Local;
  readonly #deltas: readonly Local[];

  constructor(b: FunctionBuilder, imports: Imports, note: number) {
    this.#b = b;
    this.#imports = imports;
    this.#note = note;
    this.#bits = b.local('i32');
    this.#first = b.local('i32');
    this.#shape = b.local('i32');
    this.#left = b.local('i32');
    this.#deltas = chunkOffsets.map(() => b.local('v128'));
  }

  emit(): number {
    const b = this.#b;
    ifHow(
      b,
      HOW.uniform,
      () => this.#placeOne(),
      () => this.#placeLanes(),
    );
    b.i32(-1).set(this.#left);
    b.loadAt(SHADOW.cta, SHADOW_MEMORY);
    b.if(() => {
      b.get(GROUP).i32(2).op('i32.shl').load(SHADOW.heads, SHADOW_MEMORY).tee(this.#shape);
      b.if(() => b.loop(() => this.#tryShape()));
    });
    this.#leave();
    return b.index;
  }

  #placeOne(): void {
    const b = this.#b;
    b.get(PLACE).set(this.#first);
    b.i32(-1).set(this.#bits);
    ifHow(b, HOW.masked, () => b.get(WARP_STATE).load(WARP.activeBits).set(this.#bits));
  }

  /** Finds the lanes' distances from the first, 0 of those that are not active. */
  #placeLanes(): void {
    const b = this.#b;
    const masks = emitActiveLanes(b, this.#bits);
    b.get(this.#bits).op('i32.eqz');
    b.if(() => b.op('return'));
    const all = b.local('v128');
    b.get(PLACE, this.#bits).op('i32.ctz').i32(2).op('i32.shl', 'i32.add');
    b.load(PATTERN.addresses).tee(this.#first).op('i32x4.splat').set(all);
    for (const [chunk, offset] of chunkOffsets.entries())
      b.get(PLACE)
        .memory('v128.load', PATTERN.addresses + offset)
        .get(all)
        .op('i32x4.sub')
        .get(masks[chunk]!)
        .op('v128.and')
        .set(this.#deltas[chunk]!);
  }

  /** In the loop over shapes. */
  #tryShape(): void {
    const b = this.#b;
    this.#pushFits();
    b.if(() => {
      b.get(this.#shape, this.#first, WARP_STATE).call(this.#note).tee(this.#left).i32(0).op('i32.ge_s');
      b.if(() => this.#leave());
      b.op('return');
    });
    b.get(this.#shape).load(SHAPE.next, SHADOW_MEMORY).tee(this.#shape).brIf(0);
  }

  /** Pushes whether the lanes lie to each other as in the shape. */
  #pushFits(): void {
    const b = this.#b;
    for (const [chunk, delta] of this.#deltas.entries()) {
      b.get(delta, this.#shape)
        .memory('v128.load', SHAPE.deltas + chunkOffsets[chunk]!, SHADOW_MEMORY)
        .op('v128.xor');
      if (chunk > 0) b.op('v128.or');
    }
    b.op('v128.any_true').get(this.#bits);
    b.get(this.#shape).load(SHAPE.bits, SHADOW_MEMORY).op('i32.xor', 'i32.or', 'i32.eqz');
  }

  #leave(): void {
    const b = this.#b;
    ifHow(
      b,
      HOW.uniform,
      () => {
        b.get(GROUP, PLACE, WARP_STATE);
        pushMasked(b).get(this.#left).call(this.#imports.watchUniform);
      },
      () => {
        b.get(GROUP, WARP_STATE);
        pushMasked(b).get(this.#left).call(this.#imports.watchGroup);
      },
    );
  }
}
