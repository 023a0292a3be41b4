import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { typesOf } from '../../../ptx/instruction-parts.ts';
import { definitionsAndUses, runsAs } from '../../../ptx/instructions/properties.ts';
import { elementsOf } from '../../../ptx/operands.ts';
import { sizeOfPtxType } from '../../../ptx/types.ts';
import { CHUNK_BYTES, LANES, WARP } from '../../layout.ts';
import { unsupported } from '../../unsupported.ts';
import type { FunctionBuilder, Local } from '../../wasm/function-builder.ts';
import type { KernelContext } from '../kernel-context.ts';
import { LaneMemory } from '../memory/lane-memory.ts';
import { LANE_CONSTANTS, LANE_SPECIALS, UNIFORM_SPECIALS } from '../state/specials.ts';
import type { LaneContext } from './context.ts';
import { laneEmitter } from './forms.ts';
import type { HelperName } from './helpers.ts';

/** A lane-wise instruction waiting for its chunk loop, with the scalar locals its uniform operands are in. */
export interface PendingInstruction {
  instruction: PtxInstruction;
  uniforms: ReadonlyMap<string, Local>;
}

/** Locals a block's function always has. */
export interface BlockLocals {
  /** Parameter 0: address of the warp's state. */
  warp: Local;
  /** Byte offset of the chunk: 0, 16, …, 112. */
  chunk: Local;
  /** warp + chunk, and warp + 2·chunk for 64-bit slots. */
  at: Local;
  at2: Local;
  /** Mask of the chunk's active lanes (masked variant). */
  mask: Local;
}

/**
 * Emits one chunk loop: a straight line of lane-wise instructions run four lanes at a time. Values stay in
 * wasm locals within the loop body; what is needed later goes to the warp's state right after its last write.
 */
export class SegmentEmitter {
  readonly b: FunctionBuilder;
  readonly kernel: KernelContext;
  readonly locals: BlockLocals;
  readonly masked: boolean;
  readonly memory: LaneMemory;
  readonly blockIndex: number;
  #pending: readonly PendingInstruction[];
  #isNeededAfter: (register: string) => boolean;
  /** Locals of registers that are in wasm locals already; double words have two. */
  #registers = new Map<string, Local[]>();
  #lastDefinition = new Map<string, number>();
  #definitionCount = new Map<string, number>();
  #temporaries: Local[];
  #position = 0;
  #guard: Local | undefined;

  constructor(parts: {
    b: FunctionBuilder;
    kernel: KernelContext;
    locals: BlockLocals;
    masked: boolean;
    blockIndex: number;
    pending: readonly PendingInstruction[];
    isNeededAfter: (register: string) => boolean;
    temporaries: Local[];
  }) {
    this.b = parts.b;
    this.kernel = parts.kernel;
    this.locals = parts.locals;
    this.masked = parts.masked;
    this.blockIndex = parts.blockIndex;
    this.#pending = parts.pending;
    this.#isNeededAfter = parts.isNeededAfter;
    this.#temporaries = parts.temporaries;
    this.memory = new LaneMemory(this);
  }

  emit(): void {
    const { b, locals } = this;
    this.#pending.forEach(({ instruction }, position) => {
      for (const register of definitionsAndUses(instruction).definitions) this.#lastDefinition.set(register, position);
    });
    this.memory.plan(this.#pending);
    this.memory.emitUniformChecks();
    b.i32(0).set(locals.chunk);
    b.loop(() => {
      b.get(locals.warp).get(locals.chunk).op('i32.add').tee(locals.at);
      b.get(locals.chunk).op('i32.add').set(locals.at2);
      if (this.masked) {
        b.get(locals.at).memory('v128.load', WARP.mask).tee(locals.mask).op('v128.any_true');
        b.if(() => this.#emitBody());
      } else this.#emitBody();
      b.get(locals.chunk).i32(CHUNK_BYTES).op('i32.add').tee(locals.chunk);
      b.i32(LANES * 4)
        .op('i32.lt_u')
        .brIf(0);
    });
    this.memory.emitAccounts();
  }

  /** Mask local that applies to the current instruction; undefined when all lanes take part. */
  get activeMask(): Local | undefined {
    return this.#guard ?? (this.masked ? this.locals.mask : undefined);
  }

  #emitBody(): void {
    this.#pending.forEach((pending, position) => {
      this.#position = position;
      this.#emitInstruction(pending);
    });
  }

  #emitInstruction(pending: PendingInstruction): void {
    const { instruction } = pending;
    const context = this.contextOf(pending);
    this.#guard = instruction.guard ? this.#emitGuard(context, instruction) : undefined;
    if (runsAs(instruction) === 'access') this.memory.emitAccess(context, pending);
    else {
      const emitter = laneEmitter(instruction, this.kernel.helpers.fusedMultiplyAdd);
      if (!emitter) throw unsupported(instruction);
      emitter(context);
    }
  }

  #emitGuard(context: LaneContext, instruction: PtxInstruction): Local {
    const { b } = this;
    const guard = b.local('v128');
    this.#pushPredicate({ kind: 'register', name: instruction.guard!.register }, context as OperandContext);
    if (instruction.guard!.negated) b.op('v128.not');
    if (this.masked) b.get(this.locals.mask).op('v128.and');
    b.set(guard);
    return guard;
  }

  contextOf(pending: PendingInstruction): LaneContext {
    const { instruction, uniforms } = pending;
    const operands = instruction.operands.flatMap(elementsOf);
    const operand = (index: number): PtxOperand => {
      const found = operands[index];
      if (!found) throw unsupported(instruction, `lacks operand ${index}`);
      return found;
    };
    const context: OperandContext = {
      b: this.b,
      instruction,
      uniforms,
      word: (index) => this.pushWord(operand(index), context),
      part: (index, part) => this.pushPart(operand(index), part, context),
      predicate: (index) => this.#pushPredicate(operand(index), context),
      setWord: (index = 0) => this.#set(destination(operands, index), 0),
      setPart: (part, index = 0) => this.#set(destination(operands, index), part),
      setPredicate: (index = 0) => this.#set(predicateDestination(instruction, index), 0),
      immediate: (index) => immediateOf(operand(index)),
      isScalar: (index) => this.#isScalar(operand(index), context),
      scalar: (index) => this.#pushScalar(operand(index), context),
      temporary: (slot) => this.#temporaries[slot]!,
      helper: (name: HelperName) => this.kernel.helpers.emit(this.b, name),
    };
    return context;
  }

  /** Which definition of a register is current, so that accesses through it can be grouped. */
  definitionCount(register: string): number {
    return this.#definitionCount.get(register) ?? 0;
  }

  pushWord(operand: PtxOperand, context: OperandContext): void {
    const { b } = this;
    switch (operand.kind) {
      case 'register': {
        const uniform = context.uniforms.get(operand.name);
        if (uniform !== undefined) b.get(uniform).op('i32x4.splat');
        else b.get(this.#registerLocals(operand.name)[0]!);
        return;
      }
      case 'immediate': {
        // 16-bit values are held zero-extended, negative literals included.
        const bits = isHalfWord(context.instruction) ? 16 : 32;
        b.i32x4(Number(BigInt.asUintN(bits, operand.value)) | 0);
        return;
      }
      case 'symbol':
        b.i32x4(Number(BigInt.asIntN(32, this.#symbolValue(operand, context.instruction))));
        return;
      case 'special':
        this.#pushSpecial(operand.name, context.instruction);
        return;
      default:
        throw unsupported(context.instruction, `has a ${operand.kind} operand the virtual GPU does not take`);
    }
  }

  pushPart(operand: PtxOperand, part: 0 | 1, context: OperandContext): void {
    const { b } = this;
    switch (operand.kind) {
      case 'register': {
        const uniform = context.uniforms.get(operand.name);
        if (uniform !== undefined) b.get(uniform).op('i64x2.splat');
        else b.get(this.#registerLocals(operand.name)[part]!);
        return;
      }
      case 'immediate':
        b.i64x2(operand.value);
        return;
      case 'symbol':
        b.i64x2(this.#symbolValue(operand, context.instruction));
        return;
      case 'special':
        this.#pushWideSpecial(operand.name, context.instruction);
        return;
      default:
        throw unsupported(context.instruction, `has a ${operand.kind} operand the virtual GPU does not take`);
    }
  }

  #symbolValue(operand: PtxOperand & { kind: 'symbol' }, instruction: PtxInstruction): bigint {
    const address = this.kernel.symbols.get(operand.name);
    if (!address) throw unsupported(instruction, `names ${operand.name}, which has no address`);
    return address.value + BigInt(operand.offset);
  }

  #pushPredicate(operand: PtxOperand, context: OperandContext): void {
    const { b } = this;
    if (operand.kind === 'immediate') {
      b.i32x4(operand.value === 0n ? 0 : -1);
      return;
    }
    if (operand.kind !== 'register') throw unsupported(context.instruction, `has a ${operand.kind} as predicate`);
    const uniform = context.uniforms.get(operand.name);
    if (uniform !== undefined) b.i32(0).get(uniform).op('i32.sub').op('i32x4.splat');
    else b.get(this.#registerLocals(operand.name)[0]!);
    if (operand.negated) b.op('v128.not');
  }

  #pushWideSpecial(name: string, instruction: PtxInstruction): void {
    const special = UNIFORM_SPECIALS.get(name);
    if (!special?.isWide) throw unsupported(instruction, `reads ${name}, which is not implemented on the virtual GPU`);
    if (special.area === 'launch') this.b.i32(0);
    else this.b.get(this.locals.warp);
    this.b.memory('v128.load64_splat', special.offset);
  }

  #pushSpecial(name: string, instruction: PtxInstruction): void {
    const { b, locals } = this;
    const stored = LANE_SPECIALS.get(name);
    if (stored !== undefined) {
      b.get(locals.at).memory('v128.load', stored);
      return;
    }
    const uniform = UNIFORM_SPECIALS.get(name);
    if (uniform) {
      if (uniform.area === 'launch') b.i32(0);
      else b.get(locals.warp);
      b.memory('v128.load32_splat', uniform.offset);
      return;
    }
    const constants = LANE_CONSTANTS.get(name);
    if (!constants) throw unsupported(instruction, `reads ${name}, which is not implemented on the virtual GPU`);
    this.#pushLaneConstants(constants);
  }

  /** The chunk's four of 32 constants. */
  #pushLaneConstants(value: (lane: number) => number): void {
    const { b, locals } = this;
    const chosen = this.#temporaries[4]!;
    b.i32x4(value(0), value(1), value(2), value(3)).set(chosen);
    for (let lane = 4; lane < LANES; lane += 4) {
      b.i32x4(value(lane), value(lane + 1), value(lane + 2), value(lane + 3)).get(chosen);
      b.get(locals.chunk)
        .i32(lane * 4)
        .op('i32.eq')
        .op('i32x4.splat')
        .i32x4(0)
        .op('i32x4.ne');
      b.op('v128.bitselect').set(chosen);
    }
    b.get(chosen);
  }

  #isScalar(operand: PtxOperand, context: OperandContext): boolean {
    return operand.kind === 'immediate' || (operand.kind === 'register' && context.uniforms.has(operand.name));
  }

  #pushScalar(operand: PtxOperand, context: OperandContext): void {
    if (operand.kind === 'immediate') this.b.i32(Number(BigInt.asIntN(32, operand.value)));
    else if (operand.kind === 'register') this.b.get(context.uniforms.get(operand.name)!);
  }

  /** The locals of a register, loaded from the warp's state at the first use in the loop body. */
  #registerLocals(register: string): Local[] {
    const known = this.#registers.get(register);
    if (known) return known;
    const { b, locals, kernel } = this;
    const created = this.#newLocals(register);
    const slot = kernel.slotOf(register);
    const base = created.length === 2 ? locals.at2 : locals.at;
    created.forEach((local, part) => {
      b.get(base)
        .memory('v128.load', slot + part * 16)
        .set(local);
    });
    return created;
  }

  #newLocals(register: string): Local[] {
    const count = this.kernel.kindOf(register) === 'double-word' ? 2 : 1;
    const created = Array.from({ length: count }, () => this.b.local('v128'));
    this.#registers.set(register, created);
    return created;
  }

  /** Pops a value into a register, keeping the old value where a guard is off. */
  #set(register: string | undefined, part: 0 | 1): void {
    const { b, locals } = this;
    if (register === undefined) {
      b.op('drop');
      return;
    }
    if (this.#guard !== undefined) {
      const old = this.#registerLocals(register);
      b.get(old[part]!);
      this.#pushMaskFor(this.#guard, old.length, part);
      b.op('v128.bitselect');
    }
    const target = this.#registers.get(register) ?? this.#newLocals(register);
    b.set(target[part]!);
    if (part === target.length - 1) this.#definitionCount.set(register, this.definitionCount(register) + 1);
    if (this.#lastDefinition.get(register) !== this.#position || !this.#isNeededAfter(register)) return;
    const base = target.length === 2 ? locals.at2 : locals.at;
    const offset = this.kernel.slotOf(register) + part * 16;
    b.get(base).get(target[part]!);
    if (this.masked) {
      b.get(base).memory('v128.load', offset);
      this.#pushMaskFor(locals.mask, target.length, part);
      b.op('v128.bitselect');
    }
    b.memory('v128.store', offset);
  }

  #pushMaskFor(mask: Local, parts: number, part: number): void {
    this.b.get(mask);
    if (parts === 2) this.b.op(part === 0 ? 'i64x2.extend_low_i32x4_s' : 'i64x2.extend_high_i32x4_s');
  }
}

/** True when the operands (of a conversion: the source) are 16 bits wide. */
function isHalfWord(instruction: PtxInstruction): boolean {
  const type = typesOf(instruction).at(-1);
  return type !== undefined && sizeOfPtxType(type) === 2;
}

/** A LaneContext that also knows which registers are scalars here. */
export interface OperandContext extends LaneContext {
  readonly uniforms: ReadonlyMap<string, Local>;
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

function immediateOf(operand: PtxOperand): number | undefined {
  return operand.kind === 'immediate' ? Number(BigInt.asIntN(32, operand.value)) : undefined;
}
