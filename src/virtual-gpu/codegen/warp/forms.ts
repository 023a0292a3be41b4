import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { CHUNKS, LANES, SCRATCH, WARP } from '../../layout.ts';
import type { FunctionBuilder, Local } from '../../wasm/function-builder.ts';
import type { KernelContext } from '../kernel-context.ts';
import { storeLanes, type WarpFormContext } from './context.ts';
import { emitShuffle, isStaticShuffle, shuffleMode } from './shuffle.ts';

type WarpEmitter = (context: WarpFormContext) => void;

const pushActiveBits = ({ b, masked }: WarpFormContext): void => {
  if (masked) b.get(0).memory('i32.load', WARP.activeBits);
  else b.i32(-1);
};

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
      b.i32(chunk * 4)
        .op('i32.shl')
        .op('i32.or');
    }
  }
  pushActiveBits(context);
  b.op('i32.and');
}

/** How each vote turns the bits (in a local) into a word or predicate, by mode. */
const VOTES: Record<string, (context: WarpFormContext, bits: Local) => void> = {
  ballot: ({ b }, bits) => b.get(bits),
  any: ({ b }, bits) => b.i32(0).get(bits).i32(0).op('i32.ne').op('i32.sub'),
  all: (context, bits) => {
    context.b.i32(0).get(bits);
    pushActiveBits(context);
    context.b.op('i32.eq').op('i32.sub');
  },
  uni: (context, bits) => {
    context.b.i32(0).get(bits).op('i32.eqz').get(bits);
    pushActiveBits(context);
    context.b.op('i32.eq').op('i32.or').op('i32.sub');
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
  VOTES[mode]!(context, bits);
  b.set(result);
  if (destination.kind === 'register') storeLanes(context, destination.name, () => b.get(result).op('i32x4.splat'));
};

const activeMask: WarpEmitter = (context) => {
  const [destination] = context.instruction.operands;
  if (destination?.kind !== 'register') return;
  storeLanes(context, destination.name, () => {
    pushActiveBits(context);
    context.b.op('i32x4.splat');
  });
};

/** Pushes one lane's word of an operand; `laneBytes` holds 4 · lane. */
function pushLaneWord(context: WarpFormContext, operand: PtxOperand, laneBytes: Local): void {
  const { b, kernel } = context;
  if (operand.kind === 'immediate') b.i32(Number(BigInt.asIntN(32, operand.value)));
  else if (operand.kind === 'register' && kernel.uniform.has(operand.name)) b.get(context.uniforms.local(operand.name));
  else if (operand.kind === 'register')
    b.get(0).get(laneBytes).op('i32.add').memory('i32.load', kernel.slotOf(operand.name));
}

/** shfl.sync.idx with one lane number for the warp, over the whole warp: a broadcast. */
function isBroadcast(instruction: PtxInstruction, kernel: KernelContext): boolean {
  const [destination, source, lane, clamp] = instruction.operands;
  return (
    shuffleMode(instruction) === 'idx' &&
    destination?.kind === 'register' &&
    source?.kind === 'register' &&
    !kernel.uniform.has(source.name) &&
    lane?.kind === 'register' &&
    kernel.uniform.has(lane.name) &&
    clamp?.kind === 'immediate' &&
    Number(clamp.value) === LANES - 1
  );
}

const broadcast: WarpEmitter = (context) => {
  const { b, kernel, instruction } = context;
  const [destination, source, lane] = instruction.operands as (PtxOperand & { kind: 'register' })[];
  const value = b.local('v128');
  b.get(0).get(context.uniforms.local(lane!.name)).i32(31).op('i32.and').i32(2).op('i32.shl').op('i32.add');
  b.memory('v128.load32_splat', kernel.slotOf(source!.name)).set(value);
  storeLanes(context, destination!.name, () => b.get(value));
};

/** Any shuffle, lane by lane: source lanes and range flags are worked out as in `shuffleSource`. */
const shuffleByLane: WarpEmitter = (context) => {
  const { b, instruction } = context;
  const mode = shuffleMode(instruction);
  const [destination, source, laneOperand, clamp] = instruction.operands as [
    PtxOperand,
    PtxOperand,
    PtxOperand,
    PtxOperand,
  ];
  const at = b.local('i32');
  const lane = b.local('i32');
  const amount = b.local('i32');
  const segment = b.local('i32');
  const from = b.local('i32');
  const inRange = b.local('i32');
  const fromBytes = b.local('i32');
  b.i32(0).set(at);
  b.loop(() => {
    b.get(at).i32(2).op('i32.shr_u').set(lane);
    pushLaneWord(context, laneOperand, at);
    b.i32(31).op('i32.and').set(amount);
    pushLaneWord(context, clamp, at);
    b.i32(8).op('i32.shr_u').i32(31).op('i32.and').set(segment);
    pushSourceLane(b, mode, { lane, amount, segment });
    b.set(from);
    b.get(from);
    b.get(lane).get(segment).op('i32.and');
    pushLaneWord(context, clamp, at);
    b.i32(31).op('i32.and').get(segment).i32(-1).op('i32.xor').op('i32.and').op('i32.or');
    b.op(mode === 'up' ? 'i32.ge_s' : 'i32.le_s').set(inRange);
    b.get(from).get(lane).get(inRange).op('select').i32(2).op('i32.shl').set(fromBytes);
    b.get(at);
    pushLaneWord(context, source, fromBytes);
    b.memory('i32.store', SCRATCH + 128);
    b.get(at)
      .i32(0)
      .get(inRange)
      .op('i32.sub')
      .memory('i32.store', SCRATCH + 256);
    b.get(at).i32(4).op('i32.add').tee(at);
    b.i32(LANES * 4)
      .op('i32.lt_u')
      .brIf(0);
  });
  const [value, predicate] = destination.kind === 'pair' ? [destination.first, destination.second] : [destination];
  if (value.kind === 'register')
    storeLanes(context, value.name, (chunk) => b.i32(SCRATCH + 128).memory('v128.load', chunk * 16));
  if (predicate?.kind === 'register')
    storeLanes(context, predicate.name, (chunk) => b.i32(SCRATCH + 256).memory('v128.load', chunk * 16));
};

function pushSourceLane(
  b: FunctionBuilder,
  mode: string,
  locals: { lane: Local; amount: Local; segment: Local },
): void {
  const { lane, amount, segment } = locals;
  if (mode === 'up') b.get(lane).get(amount).op('i32.sub');
  else if (mode === 'down') b.get(lane).get(amount).op('i32.add');
  else if (mode === 'bfly') b.get(lane).get(amount).op('i32.xor');
  else {
    b.get(lane).get(segment).op('i32.and');
    b.get(amount).get(segment).i32(-1).op('i32.xor').op('i32.and').op('i32.or');
  }
}

const shuffle: WarpEmitter = (context) => {
  const { instruction, kernel } = context;
  if (isStaticShuffle(context)) emitShuffle(context);
  else if (isBroadcast(instruction, kernel)) broadcast(context);
  else shuffleByLane(context);
};

export const WARP_FORMS: ReadonlyMap<string, WarpEmitter> = new Map([
  ['shfl', shuffle],
  ['vote', vote],
  ['activemask', activeMask],
]);

/** Code for a whole-warp instruction, if there is any; the others are left to JavaScript. */
export const warpEmitter = (instruction: PtxInstruction): WarpEmitter | undefined =>
  instruction.guard ? undefined : WARP_FORMS.get(instruction.opcode);
