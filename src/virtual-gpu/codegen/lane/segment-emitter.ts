import type { PtxGuard, PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { runsAs } from '../../../ptx/instructions/properties.ts';
import { elementsOf } from '../../../ptx/operands.ts';
import { CHUNK_BYTES, LANES, WARP } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { Local } from '../../wasm/function-builder.ts';
import type { BlockFrame } from '../block-frame.ts';
import { LaneMemory } from '../memory/lane-memory.ts';
import { LaneDecisions } from '../record-decisions.ts';
import type { LaneContext, PendingInstruction, Segment } from './context.ts';
import { laneEmitter } from './forms.ts';
import { LaneOperands } from './operands.ts';
import { LaneRegisters } from './registers.ts';

/** The temporary that pushing an operand may use. */
const OPERAND_SCRATCH = 4;

/** Emits one chunk loop: a straight line of lane-wise instructions run four lanes at a time. */
export class SegmentEmitter implements Segment {
  readonly frame: BlockFrame;
  #pending: readonly PendingInstruction[];
  #temporaries: readonly Local[];
  #registers: LaneRegisters;
  #operands: LaneOperands;
  #memory: LaneMemory;
  #decisions: LaneDecisions;
  /** Of the current instruction: its position in the segment, and the lanes that its guard leaves active. */
  #position = 0;
  #guard: Local | undefined;

  /** @param parts `isNeededAfter`: whether a register's value is read behind the segment. */
  constructor(parts: {
    frame: BlockFrame;
    pending: readonly PendingInstruction[];
    isNeededAfter: (register: string) => boolean;
    temporaries: readonly Local[];
  }) {
    this.frame = parts.frame;
    this.#pending = parts.pending;
    this.#temporaries = parts.temporaries;
    this.#registers = new LaneRegisters(parts.frame, parts.pending, parts.isNeededAfter);
    this.#operands = new LaneOperands(parts.frame, this.#registers, parts.temporaries[OPERAND_SCRATCH]!);
    this.#memory = new LaneMemory(this, parts.pending);
    this.#decisions = new LaneDecisions(parts.frame);
  }

  emit(): void {
    const { b, locals, masked } = this.frame;
    this.#memory.emitUniformChecks();
    b.i32(0).set(locals.chunk);
    b.loop(() => {
      b.get(locals.warp).get(locals.chunk).op('i32.add').tee(locals.at);
      b.get(locals.chunk).op('i32.add').set(locals.at2);
      if (masked) {
        b.get(locals.at).memory('v128.load', WARP.mask).tee(locals.mask).op('v128.any_true');
        b.if(() => this.#emitBody());
      } else this.#emitBody();
      b.get(locals.chunk).i32(CHUNK_BYTES).op('i32.add').tee(locals.chunk);
      b.i32(LANES * 4)
        .op('i32.lt_u')
        .brIf(0);
    });
    this.#memory.emitAccounts();
    this.#decisions.store();
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

  #emitBody(): void {
    this.#pending.forEach((pending, position) => {
      this.#position = position;
      this.#emitInstruction(pending);
    });
  }

  #emitInstruction(pending: PendingInstruction): void {
    const { instruction } = pending;
    const context = this.#contextOf(pending);
    this.#guard = instruction.guard && this.#emitGuard(instruction.guard, pending);
    if (runsAs(instruction) === 'access') return this.#memory.emitAccess(context, pending);
    const emitter = laneEmitter(instruction, this.frame.kernel.helpers.fusedMultiplyAdd);
    if (!emitter) throw unsupported(instruction);
    emitter(context);
    this.#decisions.add(instruction, (register) => this.#registers.locals(register), this.activeMask);
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
