import type { PtxInstruction } from '../../ptx/ast.ts';
import { spaceOf } from '../../ptx/instruction-parts.ts';
import { definitionsAndUses, namedLanesOf, runsAs, synchronisationOf } from '../../ptx/instructions/properties.ts';
import type { Runs } from '../../ptx/instructions/row.ts';
import { registersOf } from '../../ptx/operands.ts';
import { HELD_BACK, LAUNCH, WARP } from '../layout.ts';
import { isMarkedStrong } from '../race-detector/watched-access.ts';
import { unsupported } from '../unsupported.ts';
import type { FunctionBuilder, Local } from '../wasm/function-builder.ts';
import type { BlockFrame } from './block-frame.ts';
import type { JitBlock } from './control/blocks.ts';
import { emitTerminator } from './control/terminators.ts';
import type { KernelContext } from './kernel-context.ts';
import type { PendingInstruction } from './lane/context.ts';
import { laneEmitter } from './lane/forms.ts';
import { SegmentEmitter } from './lane/segment-emitter.ts';
import { isVectorAccess } from './memory/plan.ts';
import { emitUniform } from './uniform/emit.ts';
import { UniformRegisters } from './uniform/registers.ts';
import { callOut, callSite, checkOfEarlyRead, checkOfMask, emitWarp } from './warp/emit.ts';

const TEMPORARY_COUNT = 6;

/** Emits an instruction at a position in its block. */
type Room = (emitter: BlockEmitter, instruction: PtxInstruction, position: number) => void;

/** The code generator of an instruction, by how a warp runs it. */
const ROOMS: Readonly<Record<Runs, Room>> = {
  lane: (emitter, instruction, position) => {
    if (emitter.isUniform(instruction)) emitUniform(emitter.frame, instruction);
    else if (laneEmitter(instruction, emitter.frame.kernel.helpers.fusedMultiplyAdd)) emitter.enqueue(instruction);
    else {
      emitter.flush(position);
      callOut(emitter.frame, instruction);
    }
  },
  access: (emitter, instruction, position) => {
    if (emitter.isUniform(instruction)) emitUniform(emitter.frame, instruction);
    else if (isVectorAccess(instruction, emitter.frame.kernel) && !givesOlderValues(emitter.frame, instruction))
      emitter.enqueue(instruction);
    else {
      emitter.flush(position);
      callOut(emitter.frame, instruction);
    }
  },
  warp: (emitter, instruction, position) => {
    emitter.flush(position);
    emitLaneMeeting(emitter.frame, instruction);
    emitWarp(emitter.frame, instruction);
  },
  order: (emitter, instruction, position) => {
    emitter.flush(position + 1);
    emitLaneMeeting(emitter.frame, instruction);
    // Fences matter only to the race detector.
    if (emitter.frame.kernel.watching && synchronisationOf(instruction) === 'memory')
      callOut(emitter.frame, instruction);
  },
  control: (_, instruction) => {
    throw unsupported(instruction, 'does not end its block');
  },
};

/** While races are looked for, JavaScript executes volatile and ordered accesses, which may give older values. */
const givesOlderValues = ({ kernel }: BlockFrame, instruction: PtxInstruction): boolean =>
  kernel.watching && isMarkedStrong(instruction) && !OTHER_SPACES.has(spaceOf(instruction));

const OTHER_SPACES: ReadonlySet<string> = new Set(['local', 'const', 'param']);

/** Lanes of a warp meet: asks after lanes whose mask is not that of the lanes here, and tells the race detector. */
function emitLaneMeeting(frame: BlockFrame, instruction: PtxInstruction): void {
  const { b, kernel, locals } = frame;
  const meeting = synchronisationOf(instruction);
  if (meeting !== 'warp' && meeting !== 'warpgroup') return;
  if (meeting === 'warp') emitMaskCheck(frame, instruction);
  if (kernel.watch) b.get(locals.warp).call(kernel.watch.lanesMeet);
}

/**
 * Code that is not watched only asks whether somebody waits for lanes that wait elsewhere. A mask that differs from lane to lane came
 * from the lanes that are here.
 */
function emitMaskCheck(frame: BlockFrame, instruction: PtxInstruction): void {
  const { b, kernel, masked, uniforms } = frame;
  const mask = namedLanesOf(instruction);
  const isUniform = mask?.kind === 'register' && kernel.uniform.has(mask.name);
  const check = mask && checkOfMask(instruction, mask);
  if (!check || (mask.kind !== 'immediate' && !isUniform) || instruction.guard) {
    if (check && kernel.watching) emitCheck(frame, check);
    return;
  }
  const namesAll = mask.kind === 'immediate' && BigInt.asIntN(32, mask.value) === -1n;
  if (!masked && (namesAll || !kernel.watching)) return;
  if (mask.kind === 'register') b.get(uniforms.local(mask.name));
  else b.i32(Number(BigInt.asIntN(32, mask.value)));
  if (masked) b.get(frame.locals.warp).load(WARP.activeBits);
  else b.i32(-1);
  b.op('i32.xor');
  // Of what is not watched, only missing lanes matter.
  if (!kernel.watching) b.get(frame.locals.warp).load(WARP.activeBits).i32(-1).op('i32.xor', 'i32.and');
  b.if(() => emitCheck(frame, check));
}

/** Lanes that must wait for others go back to before the block, and their warp gives way. */
function emitCheck(frame: BlockFrame, check: PtxInstruction): void {
  const { b, masked, locals } = frame;
  callOut(frame, check);
  if (!masked) return;
  b.get(locals.warp).load(WARP.yields).i32(HELD_BACK).op('i32.eq');
  b.if(() => b.i32(0).op('return'));
}

/** Emits the function of one block, for a converged warp or (masked) for the lanes in its mask. */
export class BlockEmitter {
  readonly frame: BlockFrame;
  #temporaries: Local[];
  #pending: PendingInstruction[] = [];
  /** Position of each register's last use in the block. */
  #lastUses = new Map<string, number>();

  constructor(b: FunctionBuilder, kernel: KernelContext, block: JitBlock, masked: boolean) {
    const locals = {
      warp: 0,
      chunk: b.local('i32'),
      at: b.local('i32'),
      at2: b.local('i32'),
      mask: b.local('v128'),
    };
    this.frame = { b, kernel, block, masked, locals, uniforms: new UniformRegisters(b, kernel, locals.warp) };
    this.#temporaries = Array.from({ length: TEMPORARY_COUNT }, () => b.local('v128'));
    block.instructions.forEach((instruction, position) => {
      for (const register of definitionsAndUses(instruction).uses) this.#lastUses.set(register, position);
    });
  }

  emit(): void {
    const { body } = this.frame.block;
    const { earlyReads } = this.frame.kernel;
    this.#giveWay();
    body.forEach((instruction, position) => {
      const early = earlyReads.get(instruction);
      if (early) {
        this.flush(position);
        callSite(this.frame, checkOfEarlyRead(instruction, early));
      }
      const runs = runsAs(instruction);
      if (!runs) throw unsupported(instruction);
      ROOMS[runs](this, instruction, position);
    });
    this.flush(body.length);
    this.#storeUniforms();
    emitTerminator(this.frame);
  }

  /** A warp that waits for others of its CTA lets them run; where CTAs take turns, so does one that waits for others, or is about to draw work. */
  #giveWay(): void {
    const { b, block, kernel, locals } = this.frame;
    if (block.instructions.some((instruction) => kernel.spins.has(instruction))) {
      b.get(locals.warp).i32(1).store(WARP.yields);
      return;
    }
    const leadsToDraw = this.#leadsToDraw();
    if (leadsToDraw) b.i32(0).i32(1).store(LAUNCH.drawsNext);
    if (!leadsToDraw && !block.instructions.some((instruction) => kernel.polls.has(instruction))) return;
    b.get(locals.warp).loadAt(LAUNCH.givesWay).store(WARP.yields);
  }

  /** Whether the next block begins with drawing work, in code that is counted. */
  #leadsToDraw(): boolean {
    const { block, kernel } = this.frame;
    if (!kernel.counting || block.terminator.kind !== 'jump') return false;
    const [first] = kernel.blocks[block.terminator.target]?.instructions ?? [];
    return first !== undefined && kernel.draws.has(first);
  }

  isUniform(instruction: PtxInstruction): boolean {
    const { definitions } = definitionsAndUses(instruction);
    return definitions.length > 0 && definitions.every((register) => this.frame.uniforms.has(register));
  }

  /** Lets a lane-wise instruction wait for its chunk loop. */
  enqueue(instruction: PtxInstruction): void {
    const uniforms = new Map<string, Local>();
    const registers = registersOf(instruction.operands);
    if (instruction.guard) registers.push(instruction.guard.register);
    for (const register of registers)
      if (this.frame.uniforms.has(register)) uniforms.set(register, this.frame.uniforms.local(register));
    this.#pending.push({ instruction, uniforms });
  }

  /** Emits the pending lane-wise instructions; `position` is the first instruction after them. */
  flush(position: number): void {
    if (this.#pending.length === 0) return;
    const liveOut = this.frame.kernel.liveness.liveOut[this.frame.block.index]!;
    const segment = new SegmentEmitter({
      frame: this.frame,
      pending: this.#pending,
      isNeededAfter: (register) => liveOut.has(register) || (this.#lastUses.get(register) ?? -1) >= position,
      temporaries: this.#temporaries,
    });
    this.#pending = [];
    segment.emit();
  }

  /** Stores uniform registers that later blocks read in the warp's state. */
  #storeUniforms(): void {
    const { kernel, block, uniforms } = this.frame;
    const liveOut = kernel.liveness.liveOut[block.index]!;
    const defined = new Set(block.body.flatMap((i) => definitionsAndUses(i).definitions));
    uniforms.storeUsed((register) => liveOut.has(register) && defined.has(register));
  }
}
