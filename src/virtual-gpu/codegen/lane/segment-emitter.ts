import type { PtxGuard, PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { definitionsAndUses, runsAs } from '../../../ptx/instructions/properties.ts';
import { elementsOf } from '../../../ptx/operands.ts';
import { CHUNK_BYTES, LANES, WARP } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { Local } from '../../wasm/function-builder.ts';
import type { BlockFrame, BlockLocals } from '../block-frame.ts';
import { LaneMemory, SegmentMemory } from '../memory/lane-memory.ts';
import { LaneDecisions } from '../record-decisions.ts';
import type { LaneContext, PendingInstruction, Segment } from './context.ts';
import { laneEmitter } from './forms.ts';
import { LaneOperands } from './operands.ts';
import { LaneRegisters } from './registers.ts';

/** The temporary that pushing an operand may use. */
const OPERAND_SCRATCH = 4;

/** Emits one chunk loop: a straight line of lane-wise instructions run four lanes at a time. */
export class SegmentEmitter {
  #frame: BlockFrame;
  #pending: readonly PendingInstruction[];
  #memory: SegmentMemory;
  #decisions: LaneDecisions;
  /** The chunks that one turn of the loop runs side by side, instruction by instruction. */
  #chunks: readonly ChunkEmitter[];

  /** @param parts `isNeededAfter`: whether a register's value is read behind the segment. */
  constructor(parts: SegmentParts) {
    const { frame, pending } = parts;
    this.#frame = frame;
    this.#pending = pending;
    this.#memory = new SegmentMemory(frame, pending);
    this.#decisions = new LaneDecisions(frame);
    this.#chunks = framesOf(frame, pending).map(
      (own) => new ChunkEmitter({ ...parts, frame: own }, this.#memory, this.#decisions),
    );
  }

  emit(): void {
    const { b, locals, masked } = this.#frame;
    this.#memory.emitUniformChecks();
    b.i32(0).set(locals.chunk);
    b.loop(() => {
      b.get(locals.warp, locals.chunk).op('i32.add').tee(locals.at);
      b.get(locals.chunk).op('i32.add').set(locals.at2);
      for (const [i, chunk] of this.#chunks.entries()) if (i > 0) this.#moveOn(chunk.frame.locals, i);
      if (masked) {
        b.get(locals.at).memory('v128.load', WARP.mask).tee(locals.mask).op('v128.any_true');
        b.if(() => this.#emitBody());
      } else this.#emitBody();
      b.get(locals.chunk)
        .add(CHUNK_BYTES * this.#chunks.length)
        .tee(locals.chunk);
      b.i32(LANES * 4)
        .op('i32.lt_u')
        .brIf(0);
    });
    this.#memory.emitAccounts();
    this.#decisions.store();
  }

  /** Sets the places of a chunk that lies `further` chunks behind the first of this turn. */
  #moveOn(places: BlockLocals, further: number): void {
    const { b, locals } = this.#frame;
    const bytes = further * CHUNK_BYTES;
    b.get(locals.chunk).add(bytes).set(places.chunk);
    b.get(locals.at).add(bytes).set(places.at);
    b.get(locals.at2)
      .add(2 * bytes)
      .set(places.at2);
  }

  #emitBody(): void {
    this.#pending.forEach((pending, position) => {
      const [first, ...others] = this.#chunks as [ChunkEmitter, ...ChunkEmitter[]];
      first.emitInstruction(pending, position);
      const isShared = others.length > 0 && this.#memory.loadsOneValue(pending.instruction);
      for (const chunk of others) {
        if (isShared) chunk.copyResults(pending.instruction, position, first);
        else chunk.emitInstruction(pending, position);
      }
    });
  }
}

interface SegmentParts {
  readonly frame: BlockFrame;
  readonly pending: readonly PendingInstruction[];
  readonly isNeededAfter: (register: string) => boolean;
  readonly temporaries: readonly Local[];
}

/** Twice the code takes twice the time to compile; it pays from this many instructions on that wait for each other. */
const LONG_CHAIN = 24;

/**
 * One frame for each chunk of a turn, which are two if instructions wait for each other in a long chain. A sum of 64 products
 * takes 64 × 4 cycles. A processor looks ahead by some two hundred instructions, so the next chunk's sum lies too far behind
 * unless it stands between.
 */
function framesOf(frame: BlockFrame, pending: readonly PendingInstruction[]): BlockFrame[] {
  if (frame.masked || longestChain(pending) < LONG_CHAIN) return [frame];
  const { b, locals } = frame;
  return [frame, { ...frame, locals: { ...locals, chunk: b.local('i32'), at: b.local('i32'), at2: b.local('i32') } }];
}

/** The most instructions of which each needs the result of the one before. */
function longestChain(pending: readonly PendingInstruction[]): number {
  const lengths = new Map<string, number>();
  let longest = 0;
  for (const { instruction } of pending) {
    const { definitions, uses } = definitionsAndUses(instruction);
    const length = 1 + Math.max(0, ...uses.map((register) => lengths.get(register) ?? 0));
    for (const register of definitions) lengths.set(register, length);
    longest = Math.max(longest, length);
  }
  return longest;
}

/** Emits instructions for one chunk of a turn. */
class ChunkEmitter implements Segment {
  readonly frame: BlockFrame;
  readonly memory: LaneMemory;
  #temporaries: readonly Local[];
  #registers: LaneRegisters;
  #operands: LaneOperands;
  #decisions: LaneDecisions;
  /** Of the current instruction: its position in the segment, and the lanes that its guard leaves active. */
  #position = 0;
  #guard: Local | undefined;

  constructor(parts: SegmentParts, memory: SegmentMemory, decisions: LaneDecisions) {
    this.frame = parts.frame;
    this.#temporaries = parts.temporaries;
    this.#registers = new LaneRegisters(parts.frame, parts.pending, parts.isNeededAfter);
    this.#operands = new LaneOperands(parts.frame, this.#registers, parts.temporaries[OPERAND_SCRATCH]!);
    this.memory = new LaneMemory(this, memory);
    this.#decisions = decisions;
  }

  get activeMask(): Local | undefined {
    return this.#guard ?? (this.frame.masked ? this.frame.locals.mask : undefined);
  }

  pushWord(operand: PtxOperand, pending: PendingInstruction): void {
    this.#operands.pushWord(operand, pending);
  }

  pushPart(operand: PtxOperand, part: 0 | 1, pending: PendingInstruction): void {
    this.#operands.pushPart(operand, part, pending);
  }

  /** @param position of the instruction in the segment. */
  emitInstruction(pending: PendingInstruction, position: number): void {
    const { instruction } = pending;
    this.#position = position;
    const context = this.#contextOf(pending);
    this.#guard = instruction.guard && this.#emitGuard(instruction.guard, pending);
    if (runsAs(instruction) === 'access') return this.memory.emitAccess(context, pending);
    const emitter = laneEmitter(instruction, this.frame.kernel.helpers.fusedMultiplyAdd);
    if (!emitter) throw unsupported(instruction);
    emitter(context);
    this.#decisions.add(instruction, (register) => this.#registers.locals(register), this.activeMask);
  }

  /** What an unguarded instruction gave another chunk, when it gives all chunks the same. */
  copyResults(instruction: PtxInstruction, position: number, other: ChunkEmitter): void {
    for (const register of definitionsAndUses(instruction).definitions)
      other.#registers.locals(register).forEach((local, part) => {
        this.frame.b.get(local);
        this.#registers.set(register, part as 0 | 1, undefined, position);
      });
  }

  #emitGuard({ register, negated }: PtxGuard, pending: PendingInstruction): Local {
    const { b, masked, locals } = this.frame;
    const guard = b.local('v128');
    this.#operands.pushPredicate({ kind: 'register', name: register }, pending);
    if (negated) b.op('v128.not');
    if (masked) b.get(locals.mask).op('v128.and');
    b.set(guard);
    return guard;
  }

  #contextOf(pending: PendingInstruction): LaneContext {
    const { instruction } = pending;
    const operands = instruction.operands.flatMap(elementsOf);
    const operand = (index: number): PtxOperand => {
      const found = operands[index];
      if (!found) throw unsupported(instruction, `lacks operand ${index}`);
      return found;
    };
    return {
      b: this.frame.b,
      instruction,
      word: (index) => this.#operands.pushWord(operand(index), pending),
      part: (index, part) => this.#operands.pushPart(operand(index), part, pending),
      predicate: (index) => this.#operands.pushPredicate(operand(index), pending),
      setWord: (index = 0) => this.#set(destination(operands, index), 0),
      setPart: (part, index = 0) => this.#set(destination(operands, index), part),
      setPredicate: (index = 0) => this.#set(predicateDestination(instruction, index), 0),
      immediate: (index) => immediateOf(operand(index)),
      isScalar: (index) => this.#operands.isScalar(operand(index), pending),
      scalar: (index) => this.#operands.pushScalar(operand(index), pending),
      temporary: (slot) => this.#temporaries[slot]!,
      helper: (name) => this.frame.kernel.helpers.emit(this.frame.b, name),
    };
  }

  #set(register: string | undefined, part: 0 | 1): void {
    if (register === undefined) this.frame.b.op('drop');
    else this.#registers.set(register, part, this.#guard, this.#position);
  }
}

function destination(operands: PtxOperand[], index: number): string | undefined {
  const operand = operands[index];
  if (operand?.kind === 'register') return operand.name;
  if (operand?.kind === 'pair' && operand.first.kind === 'register') return operand.first.name;
  return undefined;
}

function predicateDestination(instruction: PtxInstruction, index: number): string | undefined {
  const operand = instruction.operands[0]!;
  const chosen = operand.kind === 'pair' ? (index === 0 ? operand.first : operand.second) : operand;
  return chosen.kind === 'register' ? chosen.name : undefined;
}

const immediateOf = (operand: PtxOperand): number | undefined =>
  operand.kind === 'immediate' ? Number(BigInt.asIntN(32, operand.value)) : undefined;
