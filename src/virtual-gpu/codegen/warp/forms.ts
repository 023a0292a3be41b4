import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { namedLanesOf } from '../../../ptx/instructions/properties.ts';
import { CHUNKS, WARP } from '../../layout.ts';
import type { Local } from '../../wasm/function-builder.ts';
import { storeLanes, type WarpFormContext } from './context.ts';
import { shuffle } from './shuffle.ts';

type WarpEmitter = (context: WarpFormContext) => void;

function pushActiveBits({ b, masked }: WarpFormContext): void {
  if (masked) b.get(0).load(WARP.activeBits);
  else b.i32(-1);
}

/** Pushes the lanes whose predicate holds, as bits; inactive lanes count as false. */
function pushPredicateBits(context: WarpFormContext, operand: PtxOperand): void {
  const { b, kernel } = context;
  if (operand.kind !== 'register') {
    const holds = operand.kind === 'immediate' && operand.value !== 0n;
    if (holds) pushActiveBits(context);
    else b.i32(0);
    return;
  }
  if (kernel.uniform.has(operand.name)) b.i32(0).get(context.uniforms.local(operand.name)).op('i32.sub');
  else {
    const slot = kernel.slotOf(operand.name);
    b.i32(0);
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      b.get(0)
        .memory('v128.load', slot + chunk * 16)
        .op('i32x4.bitmask');
      b.i32(chunk * 4).op('i32.shl', 'i32.or');
    }
  }
  pushActiveBits(context);
  b.op('i32.and');
}

/** How each vote turns the bits (in a local) into a word or predicate, by mode. */
const VOTES: Record<string, (context: WarpFormContext, bits: Local) => void> = {
  ballot: ({ b }, bits) => b.get(bits),
  any: ({ b }, bits) => b.i32(0).get(bits).i32(0).op('i32.ne', 'i32.sub'),
  all: (context, bits) => {
    context.b.i32(0).get(bits);
    pushActiveBits(context);
    context.b.op('i32.eq', 'i32.sub');
  },
  uni: (context, bits) => {
    context.b.i32(0).get(bits).op('i32.eqz').get(bits);
    pushActiveBits(context);
    context.b.op('i32.eq', 'i32.or', 'i32.sub');
  },
};

const vote: WarpEmitter = (context) => {
  const { b, instruction } = context;
  const [destination, predicate] = instruction.operands as [PtxOperand, PtxOperand];
  const mode = instruction.modifiers.find((m) => m in VOTES)!;
  const bits = b.local('i32');
  const result = b.local('i32');
  pushPredicateBits(context, predicate);
  b.set(bits);
  const mask = namedLanesOf(instruction);
  if (mask?.kind === 'register' && !context.kernel.uniform.has(mask.name)) {
    voteByMask(context, { mode, bits, mask: mask.name });
    return;
  }
  VOTES[mode]!(context, bits);
  b.set(result);
  if (destination.kind === 'register') storeLanes(context, destination.name, () => b.get(result).op('i32x4.splat'));
};

/** How a lane's own mask and the votes among it become a word or predicate; all vectors of four lanes. */
const VOTES_BY_MASK: Record<string, (context: WarpFormContext, named: Local, votes: Local) => void> = {
  ballot: ({ b }, _, votes) => b.get(votes),
  any: ({ b }, _, votes) => b.get(votes).i32x4(0).op('i32x4.ne'),
  all: ({ b }, named, votes) => b.get(votes, named).op('i32x4.eq'),
  uni: ({ b }, named, votes) => b.get(votes, named).op('i32x4.eq').get(votes).i32x4(0).op('i32x4.eq', 'v128.or'),
};

/** Lanes of several masks vote at once, each among those of its own: masks come from `match`, or name the lanes of a branch. */
function voteByMask(context: WarpFormContext, { mode, bits, mask }: { mode: string; bits: Local; mask: string }): void {
  const { b, kernel, instruction } = context;
  const [destination] = instruction.operands;
  if (destination?.kind !== 'register') return;
  const [named, votes] = b.locals('v128', 2);
  storeLanes(context, destination.name, (chunk) => {
    b.get(0).memory('v128.load', kernel.slotOf(mask) + chunk * 16);
    pushActiveBits(context);
    b.op('i32x4.splat', 'v128.and').tee(named).get(bits).op('i32x4.splat', 'v128.and').set(votes);
    VOTES_BY_MASK[mode]!(context, named, votes);
  });
}

const activeMask: WarpEmitter = (context) => {
  const [destination] = context.instruction.operands;
  if (destination?.kind !== 'register') return;
  storeLanes(context, destination.name, () => {
    pushActiveBits(context);
    context.b.op('i32x4.splat');
  });
};

/** Code for whole-warp instructions, by opcode. */
export const WARP_FORMS: ReadonlyMap<string, WarpEmitter> = new Map([
  ['shfl', shuffle],
  ['vote', vote],
  ['activemask', activeMask],
]);

/** Code for a whole-warp instruction, if there is any; JavaScript executes the others. */
export const warpEmitter = (instruction: PtxInstruction): WarpEmitter | undefined =>
  instruction.guard ? undefined : WARP_FORMS.get(instruction.opcode);
