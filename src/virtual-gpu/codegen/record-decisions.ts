import type { PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { typeOf } from '../../ptx/instruction-parts.ts';
import { instructionClass } from '../../ptx/instructions/properties.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { boundIn } from '../decisions/decision-sites.ts';
import { CHUNKS, DECISION } from '../layout.ts';
import type { FunctionBuilder, Local } from '../wasm/function-builder.ts';
import type { BlockFrame } from './block-frame.ts';

/** Records a decision that is the same for the whole warp. Its result has just been computed. */
export function recordUniformDecision(frame: BlockFrame, instruction: PtxInstruction): void {
  const { b, kernel, uniforms } = frame;
  const record = kernel.decisionRecord(instruction);
  if (record === undefined) return;
  const result = uniforms.local(resultOf(instruction));
  if (isPredicate(instruction)) b.get(result);
  else {
    const { value } = constantOf(instruction);
    b.get(result);
    if (isWide(instruction)) b.i64(value).op('i64.eq');
    else b.i32(Number(BigInt.asIntN(32, value))).op('i32.eq');
  }
  b.i32(1).memory('i32.store8', record);
}

/** Lanes of one decision in a chunk loop that went each way. */
interface Tally {
  readonly record: number;
  /** Converged warp: minus the number of chunks in which each lane's decision was true. Otherwise, masks of lanes. */
  readonly trues: Local;
  readonly falses: Local | undefined;
}

/** Records the decisions of one chunk loop: sums in locals, which are zero when the block begins, then one store for each. */
export class LaneDecisions {
  readonly #frame: BlockFrame;
  readonly #tallies = new Map<PtxInstruction, Tally>();

  constructor(frame: BlockFrame) {
    this.#frame = frame;
  }

  /** @param resultLocals of the instruction's destination, just computed; @param active - the lanes that it is for, if not all. */
  add(
    instruction: PtxInstruction,
    resultLocals: (register: string) => readonly Local[],
    active: Local | undefined,
  ): void {
    const { b, kernel } = this.#frame;
    const record = kernel.decisionRecord(instruction);
    if (record === undefined) return;
    const result = resultLocals(resultOf(instruction));
    const { trues, falses } = this.#tallyOf(instruction, record, active !== undefined);
    if (active === undefined || falses === undefined) {
      b.get(trues);
      pushOutcome(b, instruction, result);
      b.op('i32x4.add').set(trues);
      return;
    }
    const outcome = b.local('v128');
    pushOutcome(b, instruction, result);
    b.set(outcome);
    b.get(outcome, active).op('v128.and').get(trues).op('v128.or').set(trues);
    b.get(active, outcome).op('v128.andnot').get(falses).op('v128.or').set(falses);
  }

  #tallyOf(instruction: PtxInstruction, record: number, isPartial: boolean): Tally {
    const { b } = this.#frame;
    const known = this.#tallies.get(instruction);
    if (known) return known;
    const tally = { record, trues: b.local('v128'), falses: isPartial ? b.local('v128') : undefined };
    this.#tallies.set(instruction, tally);
    return tally;
  }

  /** After the loop. */
  store(): void {
    const { b } = this.#frame;
    for (const { record, trues, falses } of this.#tallies.values()) {
      storeIfAny(b, record + DECISION.wasTrue, () => b.get(trues));
      storeIfAny(b, record + DECISION.wasFalse, () => {
        if (falses !== undefined) b.get(falses);
        else b.get(trues).i32x4(-CHUNKS).op('i32x4.ne');
      });
    }
  }
}

function storeIfAny(b: FunctionBuilder, address: number, push: () => void): void {
  b.i32(0);
  push();
  b.op('v128.any_true').i32(0).memory('i32.load8_u', address).op('i32.or').memory('i32.store8', address);
}

/** Pushes the mask of lanes for which a condition holds, or a bound limits the value. */
function pushOutcome(b: FunctionBuilder, instruction: PtxInstruction, result: readonly Local[]): void {
  if (isPredicate(instruction)) {
    b.get(result[0]!);
    return;
  }
  const { value } = constantOf(instruction);
  if (!isWide(instruction)) {
    b.get(result[0]!)
      .i32x4(Number(BigInt.asIntN(32, value)))
      .op('i32x4.eq');
    return;
  }
  for (const part of result) b.get(part).i64(value).op('i64x2.splat', 'i64x2.eq');
  b.shuffle32([0, 2, 4, 6]);
}

const isPredicate = (instruction: PtxInstruction): boolean => instructionClass(instruction) === 'predicate';

const isWide = (instruction: PtxInstruction): boolean => sizeOfPtxType(typeOf(instruction)) === 8;

const constantOf = (instruction: PtxInstruction): Extract<PtxOperand, { kind: 'immediate' }> =>
  instruction.operands[boundIn(instruction)] as Extract<PtxOperand, { kind: 'immediate' }>;

/** The register that holds a decision's result. */
function resultOf({ operands }: PtxInstruction): string {
  const [destination] = operands;
  const register = destination?.kind === 'pair' ? destination.first : destination;
  if (register?.kind !== 'register') throw new Error('a decision without a result');
  return register.name;
}
