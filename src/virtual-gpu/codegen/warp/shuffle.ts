import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { CHUNKS, LANES, SCRATCH } from '../../layout.ts';
import type { FunctionBuilder, Local } from '../../wasm/function-builder.ts';
import type { KernelContext } from '../kernel-context.ts';
import { storeLanes, type WarpFormContext } from './context.ts';

const MODES: ReadonlySet<string> = new Set(['up', 'down', 'bfly', 'idx']);

const shuffleMode = (instruction: PtxInstruction): string => instruction.modifiers.find((m) => MODES.has(m))!;

/** True when the lane operand and clamp are immediates, so that every lane's source is known. */
function isStaticShuffle({ instruction, kernel }: WarpFormContext): boolean {
  const [, source, lane, clamp] = instruction.operands;
  if (source?.kind !== 'register' || kernel.uniform.has(source.name)) return false;
  return lane?.kind === 'immediate' && clamp?.kind === 'immediate';
}

/**
 * The lane each lane reads, and whether that lane was in range.
 * Source: PTX ISA, shfl.sync: segment mask in bits 8–12 of c, clamp in bits 0–4.
 */
function shuffleSource(mode: string, lane: number, b: number, c: number): { source: number; inRange: boolean } {
  const operand = b & 31;
  const clamp = c & 31;
  const segmentMask = (c >>> 8) & 31;
  const limit = (lane & segmentMask) | (clamp & ~segmentMask & 31);
  const first = lane & segmentMask;
  const source =
    mode === 'up'
      ? lane - operand
      : mode === 'down'
        ? lane + operand
        : mode === 'bfly'
          ? lane ^ operand
          : first | (operand & ~segmentMask & 31);
  const inRange = mode === 'up' ? source >= limit : source <= limit;
  return { source: inRange ? source : lane, inRange };
}

const immediateValue = (operand: PtxOperand): number => (operand.kind === 'immediate' ? Number(operand.value) : 0);

/** Emits a shuffle with a fixed lane map as SIMD shuffles between the chunks of a slot. */
function shuffleByMap(context: WarpFormContext): void {
  const { b, kernel, instruction } = context;
  const mode = shuffleMode(instruction);
  const [destination, source, laneOperand, clamp] = instruction.operands as [
    PtxOperand,
    PtxOperand & { kind: 'register' },
    PtxOperand,
    PtxOperand,
  ];
  const map = Array.from({ length: LANES }, (_, lane) =>
    shuffleSource(mode, lane, immediateValue(laneOperand), immediateValue(clamp)),
  );
  const ofChunk = (chunk: number) => map.slice(chunk * 4, chunk * 4 + 4);
  const results = Array.from({ length: CHUNKS }, (_, chunk) => {
    const local = b.local('v128');
    pushLanes(
      b,
      kernel,
      source.name,
      ofChunk(chunk).map((m) => m.source),
    );
    b.set(local);
    return local;
  });
  const [value, predicate] = destination.kind === 'pair' ? [destination.first, destination.second] : [destination];
  if (value.kind === 'register') storeLanes(context, value.name, (chunk) => b.get(results[chunk]!));
  if (predicate?.kind === 'register')
    storeLanes(context, predicate.name, (chunk) => {
      const [x, y, z, w] = ofChunk(chunk).map((m) => (m.inRange ? -1 : 0)) as [number, number, number, number];
      b.i32x4(x, y, z, w);
    });
}

/** Pushes four words of a slot from any lanes; one shuffle suffices if they lie in at most two chunks. */
function pushLanes(b: FunctionBuilder, kernel: KernelContext, register: string, lanes: number[]): void {
  const slot = kernel.slotOf(register);
  const chunks = [...new Set(lanes.map((lane) => lane >> 2))];
  if (chunks.length <= 2) {
    const [first, second = first] = chunks as [number, number?];
    b.get(0).memory('v128.load', slot + first! * 16);
    b.get(0).memory('v128.load', slot + second! * 16);
    const pick = lanes.map((lane) => (lane >> 2 === first ? lane & 3 : 4 + (lane & 3)));
    b.shuffle32(pick as [number, number, number, number]);
    return;
  }
  for (const _ of lanes) b.get(0);
  b.memory('v128.load32_zero', slot + lanes[0]! * 4);
  for (let i = 1; i < 4; i++) b.memoryLane('v128.load32_lane', slot + lanes[i]! * 4, i);
}

/** Pushes one lane's word of an operand; `laneBytes` holds 4 · lane. */
function pushLaneWord(context: WarpFormContext, operand: PtxOperand, laneBytes: Local): void {
  const { b, kernel } = context;
  if (operand.kind === 'immediate') b.i32(Number(BigInt.asIntN(32, operand.value)));
  else if (operand.kind === 'register' && kernel.uniform.has(operand.name)) b.get(context.uniforms.local(operand.name));
  else if (operand.kind === 'register') b.get(0, laneBytes).op('i32.add').load(kernel.slotOf(operand.name));
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

function broadcast(context: WarpFormContext): void {
  const { b, kernel, instruction } = context;
  const [destination, source, lane] = instruction.operands as (PtxOperand & { kind: 'register' })[];
  const value = b.local('v128');
  b.get(0, context.uniforms.local(lane!.name)).i32(31).op('i32.and').i32(2).op('i32.shl', 'i32.add');
  b.memory('v128.load32_splat', kernel.slotOf(source!.name)).set(value);
  storeLanes(context, destination!.name, () => b.get(value));
}

/** Where a shuffle by lane stores the fetched words, and whether their lanes were in range (−1 or 0). */
const FETCHED = SCRATCH + 128;
const IN_RANGE = SCRATCH + 256;

/** Any shuffle, lane by lane; computes source lanes and range flags like `shuffleSource`. */
function shuffleByLane(context: WarpFormContext): void {
  const { b, instruction } = context;
  const at = b.local('i32');
  const locals = laneLocals(b);
  b.i32(0).set(at);
  b.loop(() => {
    fetchLane(context, at, locals);
    b.get(at).add(4).tee(at);
    b.i32(LANES * 4)
      .op('i32.lt_u')
      .brIf(0);
  });
  const destination = instruction.operands[0]!;
  const [value, predicate] = destination.kind === 'pair' ? [destination.first, destination.second] : [destination];
  const storeWords = (register: string, address: number): void =>
    storeLanes(context, register, (chunk) => b.i32(address).memory('v128.load', chunk * 16));
  if (value.kind === 'register') storeWords(value.name, FETCHED);
  if (predicate?.kind === 'register') storeWords(predicate.name, IN_RANGE);
}

const LANE_LOCALS = ['lane', 'amount', 'segment', 'from', 'inRange', 'fromBytes'] as const;
type LaneLocals = Readonly<Record<(typeof LANE_LOCALS)[number], Local>>;

const laneLocals = (b: FunctionBuilder): LaneLocals =>
  Object.fromEntries(LANE_LOCALS.map((name) => [name, b.local('i32')])) as LaneLocals;

/** One lane's word and range flag; `at` holds 4 · lane. */
function fetchLane(context: WarpFormContext, at: Local, locals: LaneLocals): void {
  const { b, instruction } = context;
  const mode = shuffleMode(instruction);
  const [, source, laneOperand, clamp] = instruction.operands as [PtxOperand, PtxOperand, PtxOperand, PtxOperand];
  const { lane, amount, segment, from, inRange, fromBytes } = locals;
  b.get(at).i32(2).op('i32.shr_u').set(lane);
  pushLaneWord(context, laneOperand, at);
  b.i32(31).op('i32.and').set(amount);
  pushLaneWord(context, clamp, at);
  b.i32(8).op('i32.shr_u').i32(31).op('i32.and').set(segment);
  pushSourceLane(b, mode, locals);
  b.set(from);
  b.get(from);
  b.get(lane, segment).op('i32.and');
  pushLaneWord(context, clamp, at);
  b.i32(31).op('i32.and').get(segment).i32(-1).op('i32.xor', 'i32.and', 'i32.or');
  b.op(mode === 'up' ? 'i32.ge_s' : 'i32.le_s').set(inRange);
  b.get(from, lane, inRange).op('select').i32(2).op('i32.shl').set(fromBytes);
  b.get(at);
  pushLaneWord(context, source, fromBytes);
  b.store(FETCHED);
  b.get(at).i32(0).get(inRange).op('i32.sub').store(IN_RANGE);
}

function pushSourceLane(b: FunctionBuilder, mode: string, { lane, amount, segment }: LaneLocals): void {
  if (mode === 'up') b.get(lane, amount).op('i32.sub');
  else if (mode === 'down') b.get(lane, amount).op('i32.add');
  else if (mode === 'bfly') b.get(lane, amount).op('i32.xor');
  else {
    b.get(lane, segment).op('i32.and');
    b.get(amount, segment).i32(-1).op('i32.xor', 'i32.and', 'i32.or');
  }
}

/** `shfl` in every mode. */
export function shuffle(context: WarpFormContext): void {
  const { instruction, kernel } = context;
  if (isStaticShuffle(context)) shuffleByMap(context);
  else if (isBroadcast(instruction, kernel)) broadcast(context);
  else shuffleByLane(context);
}
