import { PATTERN, WARP } from '../../layout.ts';
import { BLOCK, PHASE, PHASE_FLAGS, SHADOW, SHAPE, STEP } from '../../race-detector/shadow-layout.ts';
import type { FunctionBuilder, Local } from '../../wasm/function-builder.ts';
import type { ModuleBuilder } from '../../wasm/module-builder.ts';
import { chunkOffsets } from '../control/runtime-functions.ts';
import type { Imports, WatchFunctions } from '../kernel-context.ts';
import { definePhaseFunctions, SHADOW_MEMORY } from './phase-functions.ts';

/** @param unitBytes the kernel's smallest access to shared memory. */
export function defineWatchFunctions(module: ModuleBuilder, imports: Imports, unitBytes: number): WatchFunctions {
  const note = defineNote(module, unitBytes);
  return {
    whole: defineWhole(module, imports, note),
    partial: definePartial(module, imports, note),
    uniform: defineUniform(module, imports, note),
  };
}

const words = (count: number) => new Array<'i32'>(count).fill('i32');

/** (shape, address of the first active lane, warp) → the first phase that is left to JavaScript, or −1. */
function defineNote(module: ModuleBuilder, unitBytes: number): number {
  const { read, write } = definePhaseFunctions(module, unitBytes);
  const b = module.defineFunction({ parameters: words(3), results: ['i32'] });
  const [shape, first, warp] = [0, 1, 2];
  const [phase, index, block, at] = [b.local('i32'), b.local('i32'), b.local('i32'), b.local('i32')];
  b.i32(0).memory('i32.load', SHADOW.cta, SHADOW_MEMORY).tee(block);
  b.memory('i32.load', BLOCK.hasStrong, SHADOW_MEMORY);
  b.if(() => b.i32(0).op('return'));
  b.get(first).i32(Math.log2(unitBytes)).op('i32.shr_u').i32(2).op('i32.shl').get(block).op('i32.add').set(at);
  b.get(shape).i32(SHAPE.body).op('i32.add').set(phase);
  b.loop(() => {
    const pushArguments = () => b.get(phase).get(at).get(warp).memory('i32.load', WARP.warpIndex).get(block);
    const leaveUnless = (noted: number) => {
      pushArguments().call(noted).op('i32.eqz');
      b.if(() => b.get(index).op('return'));
    };
    b.get(phase).memory('i32.load', PHASE.flags, SHADOW_MEMORY).i32(PHASE_FLAGS.write).op('i32.and');
    b.if(
      () => leaveUnless(write),
      () => leaveUnless(read),
    );
    b.get(phase).memory('i32.load', PHASE.whole, SHADOW_MEMORY);
    b.get(phase).memory('i32.load', PHASE.partial, SHADOW_MEMORY).op('i32.add').i32(STEP.bytes).op('i32.mul');
    b.get(phase).op('i32.add').i32(PHASE.steps).op('i32.add').set(phase);
    b.get(index).i32(1).op('i32.add').tee(index);
    b.get(shape).memory('i32.load', SHAPE.phases, SHADOW_MEMORY).op('i32.lt_s').brIf(0);
  });
  b.i32(-1);
  return b.index;
}

/** Goes through the group's shapes. Falls through where none fits, or where the CTA is left to JavaScript. */
function eachShape(b: FunctionBuilder, shape: Local, note: (thenNext: number) => void): void {
  const group = 0;
  b.i32(0).memory('i32.load', SHADOW.cta, SHADOW_MEMORY);
  b.if(() => {
    b.get(group).i32(2).op('i32.shl').memory('i32.load', SHADOW.heads, SHADOW_MEMORY).tee(shape);
    b.if(() =>
      b.loop(() => {
        note(0);
        b.get(shape).memory('i32.load', SHAPE.next, SHADOW_MEMORY).tee(shape).brIf(0);
      }),
    );
  });
}

const [GROUP, PLACE, WARP_STATE, MASKED, GUARDED] = [0, 1, 2, 3, 4] as const;

function defineWhole(module: ModuleBuilder, imports: Imports, note: number): number {
  const b = module.defineFunction({ parameters: words(3), results: [] });
  const [first, shape, left] = [b.local('i32'), b.local('i32'), b.local('i32')];
  const all = b.local('v128');
  b.get(PLACE).memory('i32.load', PATTERN.addresses).tee(first).op('i32x4.splat').set(all);
  const deltas = chunkOffsets.map((offset) => {
    const delta = b.local('v128');
    b.get(PLACE)
      .memory('v128.load', PATTERN.addresses + offset)
      .get(all)
      .op('i32x4.sub')
      .set(delta);
    return delta;
  });
  const leave = () => b.get(GROUP).get(WARP_STATE).i32(0).get(left).call(imports.watchGroup);
  eachShape(b, shape, () => {
    pushFits(b, shape, deltas, () => b.i32(-1));
    b.if(() => {
      b.get(shape).get(first).get(WARP_STATE).call(note).tee(left).i32(0).op('i32.ge_s');
      b.if(leave);
      b.op('return');
    });
  });
  b.i32(-1).set(left);
  leave();
  return b.index;
}

/** Pushes whether the lanes lie to each other as in `shape`. */
function pushFits(b: FunctionBuilder, shape: Local, deltas: readonly Local[], pushBits: () => void): void {
  deltas.forEach((delta, i) => {
    b.get(delta)
      .get(shape)
      .memory('v128.load', SHAPE.deltas + chunkOffsets[i]!, SHADOW_MEMORY)
      .op('v128.xor');
    if (i > 0) b.op('v128.or');
  });
  b.op('v128.any_true');
  pushBits();
  b.get(shape).memory('i32.load', SHAPE.bits, SHADOW_MEMORY).op('i32.xor').op('i32.or').op('i32.eqz');
}

function definePartial(module: ModuleBuilder, imports: Imports, note: number): number {
  const b = module.defineFunction({ parameters: words(5), results: [] });
  const [bits, first, shape, left] = [b.local('i32'), b.local('i32'), b.local('i32'), b.local('i32')];
  const masks = chunkOffsets.map((offset, chunk) => emitMask(b, offset, chunk, bits));
  b.get(bits).op('i32.eqz');
  b.if(() => b.op('return'));
  const all = b.local('v128');
  b.get(PLACE).get(bits).op('i32.ctz').i32(2).op('i32.shl').op('i32.add');
  b.memory('i32.load', PATTERN.addresses).tee(first).op('i32x4.splat').set(all);
  const deltas = chunkOffsets.map((offset, chunk) => {
    const delta = b.local('v128');
    b.get(PLACE)
      .memory('v128.load', PATTERN.addresses + offset)
      .get(all)
      .op('i32x4.sub')
      .get(masks[chunk]!)
      .op('v128.and')
      .set(delta);
    return delta;
  });
  const leave = () => b.get(GROUP).get(WARP_STATE).get(MASKED).get(left).call(imports.watchGroup);
  eachShape(b, shape, () => {
    pushFits(b, shape, deltas, () => b.get(bits));
    b.if(() => {
      b.get(shape).get(first).get(WARP_STATE).call(note).tee(left).i32(0).op('i32.ge_s');
      b.if(leave);
      b.op('return');
    });
  });
  b.i32(-1).set(left);
  leave();
  return b.index;
}

/** A local with the active lanes of a chunk, whose bits are added to `bits`. */
function emitMask(b: FunctionBuilder, offset: number, chunk: number, bits: Local): Local {
  const mask = b.local('v128');
  b.i32x4(-1).set(mask);
  const narrow = (when: Local, base: Local, field: number) => {
    b.get(when);
    b.if(() => b.get(mask).get(base).memory('v128.load', field).op('v128.and').set(mask));
  };
  narrow(MASKED, WARP_STATE, WARP.mask + offset);
  narrow(GUARDED, PLACE, PATTERN.mask + offset);
  b.get(mask)
    .op('i32x4.bitmask')
    .i32(chunk * 4)
    .op('i32.shl')
    .get(bits)
    .op('i32.or')
    .set(bits);
  return mask;
}

function defineUniform(module: ModuleBuilder, imports: Imports, note: number): number {
  const b = module.defineFunction({ parameters: words(4), results: [] });
  const [bits, shape, left] = [b.local('i32'), b.local('i32'), b.local('i32')];
  b.get(WARP_STATE).memory('i32.load', WARP.activeBits).i32(-1).get(MASKED).op('select').set(bits);
  const leave = () => b.get(GROUP).get(PLACE).get(WARP_STATE).get(MASKED).get(left).call(imports.watchUniform);
  eachShape(b, shape, () => {
    b.get(bits).get(shape).memory('i32.load', SHAPE.bits, SHADOW_MEMORY).op('i32.eq');
    b.if(() => {
      b.get(shape).get(PLACE).get(WARP_STATE).call(note).tee(left).i32(0).op('i32.ge_s');
      b.if(leave);
      b.op('return');
    });
  });
  b.i32(-1).set(left);
  leave();
  return b.index;
}
