import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import { CHUNKS, LANES } from '../../layout.ts';
import type { FunctionBuilder } from '../../wasm/function-builder.ts';
import type { KernelContext } from '../kernel-context.ts';
import { storeLanes, type WarpFormContext } from './context.ts';

const MODES: ReadonlySet<string> = new Set(['up', 'down', 'bfly', 'idx']);

export const shuffleMode = (instruction: PtxInstruction): string => instruction.modifiers.find((m) => MODES.has(m))!;

/** True when the lane operand and clamp are immediates, so that every lane's source is known. */
export function isStaticShuffle({ instruction, kernel }: WarpFormContext): boolean {
  const [, source, lane, clamp] = instruction.operands;
  if (source?.kind !== 'register' || kernel.uniform.has(source.name)) return false;
  return lane?.kind === 'immediate' && clamp?.kind === 'immediate';
}

/**
 * The lane each lane reads, and whether that lane was in range.
 * Source: PTX ISA, shfl.sync: segment mask in bits 8–12 of c, clamp in bits 0–4.
 */
export function shuffleSource(mode: string, lane: number, b: number, c: number): { source: number; inRange: boolean } {
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
export function emitShuffle(context: WarpFormContext): void {
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

/** Pushes four words of a slot, from any lanes: one shuffle where they lie in at most two chunks. */
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
