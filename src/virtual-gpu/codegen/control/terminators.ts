import type { PtxInstruction } from '../../../ptx/ast.ts';
import { registersOf } from '../../../ptx/operands.ts';
import { CHUNK_BYTES, CONTROL, LANES, PC, WARP } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { BlockFrame } from '../block-frame.ts';
import { callSite } from '../warp/emit.ts';
import { EXIT, programCounterOf, type Terminator } from './blocks.ts';

type TerminatorOf<K extends Terminator['kind']> = Extract<Terminator, { kind: K }>;

/** Emits the end of a block: a converged block returns the next block, a masked one sets program counters. */
const TERMINATORS: { readonly [K in Terminator['kind']]: (frame: BlockFrame, terminator: TerminatorOf<K>) => void } = {
  jump: (frame, { target }) => go(frame, target),
  branch: (frame, { instruction, taken, fallThrough }) => {
    if (frame.uniforms.has(instruction.guard!.register)) branchTogether(frame, instruction, taken, fallThrough);
    else branchByLane(frame, instruction, taken, fallThrough);
  },
  switch: (frame, { instruction, targets }) => switchByLane(frame, instruction, targets),
  barrier: (frame, { instruction, next }) => waitAtBarrier(frame, instruction, next),
  trap: (frame, { instruction }) => {
    callSite(frame, instruction);
    frame.b.op('unreachable');
  },
};

export function emitTerminator(frame: BlockFrame): void {
  const { terminator } = frame.block;
  (TERMINATORS[terminator.kind] as (frame: BlockFrame, terminator: Terminator) => void)(frame, terminator);
}

/** What a converged block returns to go to `target`. */
const controlFor = (target: number): number => (target === EXIT ? CONTROL.exited : target);

function go({ b, kernel, masked, locals }: BlockFrame, target: number): void {
  if (!masked) {
    b.i32(controlFor(target));
    return;
  }
  b.get(locals.warp).i32(programCounterOf(target, kernel.blocks)).call(kernel.runtime.setProgramCounters).i32(0);
}

/** All lanes take the same way. */
function branchTogether(frame: BlockFrame, { guard }: PtxInstruction, taken: number, fallThrough: number): void {
  const { b, kernel, masked, locals, uniforms } = frame;
  b.get(uniforms.local(guard!.register));
  if (guard!.negated) b.op('i32.eqz');
  if (!masked) {
    b.if(() => b.i32(controlFor(taken)).op('return')).i32(controlFor(fallThrough));
    return;
  }
  const target = b.pop('i32');
  b.get(locals.warp);
  b.i32(programCounterOf(taken, kernel.blocks)).i32(programCounterOf(fallThrough, kernel.blocks));
  b.get(target).op('select').call(kernel.runtime.setProgramCounters).i32(0);
}

/** Lanes may part. */
function branchByLane(frame: BlockFrame, { guard }: PtxInstruction, taken: number, fallThrough: number): void {
  const { b, kernel, masked, locals, block } = frame;
  b.get(locals.warp)
    .i32(kernel.slotOf(guard!.register))
    .i32(guard!.negated ? -1 : 0)
    .i32(programCounterOf(taken, kernel.blocks))
    .i32(programCounterOf(fallThrough, kernel.blocks))
    .i32(block.index)
    .call(masked ? kernel.runtime.splitMasked : kernel.runtime.split);
  if (masked) return;
  // `split` returns 1 if all lanes took the branch, 0 if none did, −1 if they diverged.
  const outcome = b.local('i32');
  b.tee(outcome).i32(1).op('i32.eq');
  b.if(() => b.i32(controlFor(taken)).op('return'));
  b.get(outcome).op('i32.eqz');
  b.if(() => b.i32(controlFor(fallThrough)).op('return'));
  b.i32(CONTROL.diverged);
}

/** Gives every lane the target of its index. An index past the end, which PTX leaves undefined, gives the first target. */
function switchByLane(frame: BlockFrame, instruction: PtxInstruction, targets: readonly number[]): void {
  const { b, kernel, masked, locals, uniforms } = frame;
  const [index] = instruction.operands;
  if (index?.kind !== 'register') throw unsupported(instruction, 'has no register as index');
  const counters = targets.map((target) => programCounterOf(target, kernel.blocks));
  const [at, value, chosen] = [b.local('i32'), b.local('v128'), b.local('v128')];
  b.get(locals.warp).set(at);
  b.loop(() => {
    if (uniforms.has(index.name)) b.get(uniforms.local(index.name)).op('i32x4.splat').set(value);
    else b.get(at).memory('v128.load', kernel.slotOf(index.name)).set(value);
    b.i32x4(counters[0]!).set(chosen);
    counters.slice(1).forEach((counter, i) => {
      b.i32x4(counter).get(chosen);
      b.get(value)
        .i32x4(i + 1)
        .op('i32x4.eq', 'v128.bitselect')
        .set(chosen);
    });
    b.get(at, chosen);
    if (masked)
      b.get(at).memory('v128.load', WARP.programCounters).get(at).memory('v128.load', WARP.mask).op('v128.bitselect');
    b.memory('v128.store', WARP.programCounters);
    b.get(at).add(CHUNK_BYTES).tee(at);
    b.get(locals.warp)
      .add(LANES * 4)
      .op('i32.lt_u')
      .brIf(0);
  });
  b.get(locals.warp)
    .i32(masked ? 1 : 0)
    .i32(frame.block.index)
    .call(kernel.runtime.countParting);
  b.i32(CONTROL.diverged);
}

/** Which barrier it is follows from the block after it. */
function waitAtBarrier(frame: BlockFrame, instruction: PtxInstruction, next: number): void {
  const { b, kernel, masked, locals, uniforms } = frame;
  uniforms.store(registersOf(instruction.operands));
  if (masked) {
    b.get(locals.warp)
      .i32(next | PC.waiting)
      .call(kernel.runtime.setProgramCounters)
      .i32(0);
    return;
  }
  b.get(locals.warp).i32(next).store(WARP.nextBlock).i32(CONTROL.barrier);
}
