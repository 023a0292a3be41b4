import type { PtxInstruction } from '../../ptx/ast.ts';
import { spaceOf } from '../../ptx/instruction-parts.ts';
import { definitionsAndUses, memoryActionOf, runsAs, synchronisationOf } from '../../ptx/instructions/properties.ts';
import { elementsOf, registersOf } from '../../ptx/operands.ts';
import { CHUNK_BYTES, CONTROL, LANES, PARAMETERS, PC, WARP } from '../layout.ts';
import { unsupported } from '../unsupported.ts';
import type { FunctionBuilder, Local } from '../wasm/function-builder.ts';
import { EXIT, type JitBlock, programCounterOf } from './control/blocks.ts';
import type { KernelContext } from './kernel-context.ts';
import { laneEmitter } from './lane/forms.ts';
import { type BlockLocals, type PendingInstruction, SegmentEmitter } from './lane/segment-emitter.ts';
import { UNIFORM_SPECIALS } from './state/specials.ts';
import { type UniformContext, uniformEmitter } from './uniform/forms.ts';
import type { WarpFormContext } from './warp/context.ts';
import { warpEmitter } from './warp/forms.ts';

const isVectorAccess = (i: PtxInstruction, kernel: KernelContext): boolean => {
  if (runsAs(i) !== 'access') return false;
  if (spaceOf(i) !== 'generic') return true;
  const address = i.operands[memoryActionOf(i) === 'store' ? 0 : i.operands.length - 1]!;
  return address.kind === 'address' && address.base?.kind === 'symbol' && kernel.symbols.has(address.base.name);
};

const TEMPORARY_COUNT = 6;

/** Emits the function of one block, for a converged warp or (masked) for the lanes in its mask. */
export class BlockEmitter {
  readonly b: FunctionBuilder;
  readonly kernel: KernelContext;
  readonly block: JitBlock;
  readonly masked: boolean;
  #locals: BlockLocals;
  #temporaries: Local[];
  #pending: PendingInstruction[] = [];
  #knownLastUses: ReadonlyMap<string, number> | undefined;
  /** Scalar local that holds the current value of each uniform register used so far. */
  #uniforms = new Map<string, Local>();

  constructor(b: FunctionBuilder, kernel: KernelContext, block: JitBlock, masked: boolean) {
    this.b = b;
    this.kernel = kernel;
    this.block = block;
    this.masked = masked;
    this.#locals = {
      warp: 0,
      chunk: b.local('i32'),
      at: b.local('i32'),
      at2: b.local('i32'),
      mask: b.local('v128'),
    };
    this.#temporaries = Array.from({ length: TEMPORARY_COUNT }, () => b.local('v128'));
  }

  emit(): void {
    this.block.body.forEach((instruction, position) => {
      this.#emitInstruction(instruction, position);
    });
    this.#flush(this.block.body.length);
    this.#storeUniforms();
    this.#emitTerminator();
  }

  #emitInstruction(instruction: PtxInstruction, position: number): void {
    if (runsAs(instruction) === 'order') {
      // Lanes of a chunk loop end before it.
      this.#flush(position + 1);
      if (this.kernel.watching && synchronisationOf(instruction) === 'memory') this.#emitWarpOperation(instruction);
      return;
    }
    const { definitions } = definitionsAndUses(instruction);
    if (definitions.length > 0 && definitions.every((register) => this.kernel.uniform.has(register)))
      return this.#emitUniform(instruction);
    if (laneEmitter(instruction, this.kernel.helpers.fusedMultiplyAdd) || isVectorAccess(instruction, this.kernel))
      return this.#enqueue(instruction);
    this.#flush(position);
    const emit = warpEmitter(instruction);
    if (emit) return emit(this.#warpFormContext(instruction));
    this.#emitWarpOperation(instruction);
  }

  #warpFormContext(instruction: PtxInstruction): WarpFormContext {
    return {
      b: this.b,
      kernel: this.kernel,
      instruction,
      masked: this.masked,
      uniformLocal: (register) => this.#uniformLocal(register),
    };
  }

  #enqueue(instruction: PtxInstruction): void {
    const uniforms = new Map<string, Local>();
    const registers = registersOf(instruction.operands);
    if (instruction.guard) registers.push(instruction.guard.register);
    for (const register of registers)
      if (this.kernel.uniform.has(register)) uniforms.set(register, this.#uniformLocal(register));
    this.#pending.push({ instruction, uniforms });
  }

  /** Runs the waiting lane-wise instructions; `position` is the first instruction after them. */
  #flush(position: number): void {
    if (this.#pending.length === 0) return;
    const liveOut = this.kernel.liveness.liveOut[this.block.index]!;
    const lastUses = this.#lastUses();
    const segment = new SegmentEmitter({
      b: this.b,
      kernel: this.kernel,
      locals: this.#locals,
      masked: this.masked,
      blockIndex: this.block.index,
      pending: this.#pending,
      isNeededAfter: (register) => liveOut.has(register) || (lastUses.get(register) ?? -1) >= position,
      temporaries: this.#temporaries,
    });
    this.#pending = [];
    segment.emit();
  }

  /** Position of each register's last use in the block. */
  #lastUses(): ReadonlyMap<string, number> {
    if (this.#knownLastUses) return this.#knownLastUses;
    const lastUses = new Map<string, number>();
    this.block.instructions.forEach((instruction, position) => {
      for (const register of definitionsAndUses(instruction).uses) lastUses.set(register, position);
    });
    this.#knownLastUses = lastUses;
    return lastUses;
  }

  #localType(register: string): 'i32' | 'i64' {
    return this.kernel.kindOf(register) === 'double-word' ? 'i64' : 'i32';
  }

  #uniformLocal(register: string): Local {
    const known = this.#uniforms.get(register);
    if (known !== undefined) return known;
    const type = this.#localType(register);
    const local = this.b.local(type);
    this.b.get(this.#locals.warp).memory(`${type}.load`, this.kernel.slotOf(register)).set(local);
    this.#uniforms.set(register, local);
    return local;
  }

  #emitUniform(instruction: PtxInstruction): void {
    const operands = instruction.operands.flatMap(elementsOf);
    const push = (index: number, type: 'i32' | 'i64') => {
      const operand = operands[index]!;
      if (operand.kind === 'register') this.b.get(this.#uniformLocal(operand.name));
      else if (operand.kind === 'immediate') this.#pushConstant(operand.value, type);
      else if (operand.kind === 'symbol') this.#pushConstant(this.#symbol(operand.name) + BigInt(operand.offset), type);
      else if (operand.kind === 'special') this.#pushSpecial(operand.name, type);
      else throw unsupported(instruction);
    };
    const context: UniformContext = {
      b: this.b,
      instruction,
      word: (index) => push(index, 'i32'),
      double: (index) => push(index, 'i64'),
      predicate: (index) => {
        push(index, 'i32');
        const operand = operands[index]!;
        if (operand.kind === 'register' && operand.negated) this.b.op('i32.eqz');
      },
      set: (index = 0) => {
        const operand = operands[index]!;
        if (operand.kind !== 'register') {
          this.b.op('drop');
          return;
        }
        // Every definition gets a local of its own: lane code emitted later still sees the value it saw in order.
        const local = this.b.local(this.#localType(operand.name));
        this.b.set(local);
        this.#uniforms.set(operand.name, local);
      },
      immediate: (index) => {
        const operand = operands[index]!;
        return operand.kind === 'immediate' ? Number(BigInt.asIntN(32, operand.value)) : undefined;
      },
      parameterOffset: (index) => {
        const operand = operands[index]!;
        if (operand.kind !== 'address' || operand.base?.kind !== 'symbol') throw unsupported(instruction);
        return PARAMETERS + Number(this.#symbol(operand.base.name)) + operand.base.offset + operand.offset;
      },
    };
    uniformEmitter(instruction)!(context);
  }

  #pushConstant(value: bigint, type: 'i32' | 'i64'): void {
    if (type === 'i64') this.b.i64(value);
    else this.b.i32(Number(BigInt.asIntN(32, value)));
  }

  #pushSpecial(name: string, type: 'i32' | 'i64'): void {
    const special = UNIFORM_SPECIALS.get(name)!;
    if (special.area === 'launch') this.b.i32(0);
    else this.b.get(this.#locals.warp);
    this.b.memory(special.isWide ? `${type}.load` : 'i32.load', special.offset);
  }

  #symbol(name: string): bigint {
    const address = this.kernel.symbols.get(name);
    if (!address) throw new Error(`${name} has no address`);
    return address.value;
  }

  /** Uniform registers that later blocks read go to the warp's state. */
  #storeUniforms(): void {
    const liveOut = this.kernel.liveness.liveOut[this.block.index]!;
    const defined = new Set(this.block.body.flatMap((i) => definitionsAndUses(i).definitions));
    for (const [register, local] of this.#uniforms) {
      if (liveOut.has(register) && defined.has(register)) this.#storeUniform(register, local);
    }
  }

  #storeUniform(register: string, local: Local): void {
    this.b
      .get(this.#locals.warp)
      .get(local)
      .memory(`${this.#localType(register)}.store`, this.kernel.slotOf(register));
  }

  /** Calls out with every uniform operand's value in the warp's state. */
  #emitWarpOperation(instruction: PtxInstruction): void {
    const { kernel, b } = this;
    const registers = registersOf(instruction.operands);
    if (instruction.guard) registers.push(instruction.guard.register);
    for (const register of new Set(registers))
      if (kernel.uniform.has(register)) this.#storeUniform(register, this.#uniformLocal(register));
    const site = kernel.addSite(instruction, this.block.index);
    b.i32(site.index)
      .get(this.#locals.warp)
      .i32(this.masked ? 1 : 0)
      .call(kernel.imports.warpOperation);
  }

  #emitTerminator(): void {
    const { terminator } = this.block;
    switch (terminator.kind) {
      case 'jump':
        this.#go(terminator.target);
        return;
      case 'branch':
        this.#branch(terminator.instruction, terminator.taken, terminator.fallThrough);
        return;
      case 'switch':
        this.#switch(terminator.instruction, terminator.targets);
        return;
      case 'barrier':
        this.#barrier(terminator.instruction, terminator.next);
        return;
      case 'trap': {
        const site = this.kernel.addSite(terminator.instruction, this.block.index);
        this.b
          .i32(site.index)
          .get(this.#locals.warp)
          .i32(this.masked ? 1 : 0);
        this.b.call(this.kernel.imports.warpOperation).op('unreachable');
      }
    }
  }

  /** What a converged block returns to go to `target`. */
  #control(target: number): number {
    return target === EXIT ? CONTROL.exited : target;
  }

  #go(target: number): void {
    if (!this.masked) {
      this.b.i32(this.#control(target));
      return;
    }
    this.b
      .get(this.#locals.warp)
      .i32(programCounterOf(target, this.kernel.blocks))
      .call(this.kernel.runtime.setProgramCounters)
      .i32(0);
  }

  #branch(instruction: PtxInstruction, taken: number, fallThrough: number): void {
    const { b, kernel } = this;
    const { register, negated } = instruction.guard!;
    if (kernel.uniform.has(register)) {
      b.get(this.#uniformLocal(register));
      if (negated) b.op('i32.eqz');
      if (!this.masked) b.if(() => b.i32(this.#control(taken)).op('return')).i32(this.#control(fallThrough));
      else {
        const target = b.local('i32');
        b.set(target);
        b.get(this.#locals.warp);
        b.i32(programCounterOf(taken, kernel.blocks)).i32(programCounterOf(fallThrough, kernel.blocks));
        b.get(target).op('select').call(kernel.runtime.setProgramCounters).i32(0);
      }
      return;
    }
    b.get(this.#locals.warp)
      .i32(kernel.slotOf(register))
      .i32(negated ? -1 : 0)
      .i32(programCounterOf(taken, kernel.blocks))
      .i32(programCounterOf(fallThrough, kernel.blocks))
      .i32(this.block.index)
      .call(this.masked ? kernel.runtime.splitMasked : kernel.runtime.split);
    if (this.masked) return;
    // `split` returns 1 when all lanes took the branch, 0 when none did, −1 when they parted.
    const outcome = b.local('i32');
    b.tee(outcome).i32(1).op('i32.eq');
    b.if(() => b.i32(this.#control(taken)).op('return'));
    b.get(outcome).op('i32.eqz');
    b.if(() => b.i32(this.#control(fallThrough)).op('return'));
    b.i32(CONTROL.diverged);
  }

  /** Gives every lane the target its index names; an index past the end, which PTX leaves undefined, means the first. */
  #switch(instruction: PtxInstruction, targets: readonly number[]): void {
    const { b, kernel } = this;
    const [index] = instruction.operands;
    if (index?.kind !== 'register') throw unsupported(instruction, 'has no register as index');
    const counters = targets.map((target) => programCounterOf(target, kernel.blocks));
    const [at, value, chosen] = [b.local('i32'), b.local('v128'), b.local('v128')];
    b.get(this.#locals.warp).set(at);
    b.loop(() => {
      if (kernel.uniform.has(index.name)) b.get(this.#uniformLocal(index.name)).op('i32x4.splat').set(value);
      else b.get(at).memory('v128.load', kernel.slotOf(index.name)).set(value);
      b.i32x4(counters[0]!).set(chosen);
      counters.slice(1).forEach((counter, i) => {
        b.i32x4(counter).get(chosen);
        b.get(value)
          .i32x4(i + 1)
          .op('i32x4.eq')
          .op('v128.bitselect')
          .set(chosen);
      });
      b.get(at).get(chosen);
      if (this.masked)
        b.get(at).memory('v128.load', WARP.programCounters).get(at).memory('v128.load', WARP.mask).op('v128.bitselect');
      b.memory('v128.store', WARP.programCounters);
      b.get(at).i32(CHUNK_BYTES).op('i32.add').tee(at);
      b.get(this.#locals.warp)
        .i32(LANES * 4)
        .op('i32.add')
        .op('i32.lt_u')
        .brIf(0);
    });
    b.get(this.#locals.warp)
      .i32(this.masked ? 1 : 0)
      .i32(this.block.index)
      .call(kernel.runtime.countParting);
    b.i32(CONTROL.diverged);
  }

  /** Which barrier it is follows from the block after it. */
  #barrier(instruction: PtxInstruction, next: number): void {
    const { b, kernel } = this;
    for (const register of registersOf(instruction.operands))
      if (kernel.uniform.has(register)) this.#storeUniform(register, this.#uniformLocal(register));
    if (this.masked) {
      b.get(this.#locals.warp)
        .i32(next | PC.waiting)
        .call(kernel.runtime.setProgramCounters)
        .i32(0);
      return;
    }
    b.get(this.#locals.warp).i32(next).memory('i32.store', WARP.nextBlock).i32(CONTROL.barrier);
  }
}
