import { fullName } from '../../ptx/instruction-parts.ts';
import { LANES } from '../layout.ts';
import { KernelFault } from './fault.ts';
import type { LanePlace, WarpContext } from './warp-context.ts';

/** Opcode of the check that stands before an instruction whose mask names lanes. */
export const MASK_CHECK = 'check-mask';

/** A lane that a mask names and that does not come. */
interface Absent {
  readonly lane: number;
  readonly place: Extract<LanePlace, { kind: 'elsewhere' }>;
}

/**
 * Every lane that executes a `.sync` instruction must be named in its own mask, and every named lane that has not exited must come.
 * Source: PTX ISA, shfl.sync and bar.warp.sync; CUDA programming guide, warp shuffle functions. Code that is not watched stops only
 * where lanes would wait for each other.
 */
export function checkMask(context: WarpContext): void {
  const { operands, lanes, bits, watcher } = context;
  let missing = 0;
  for (const lane of lanes) {
    const mask = context.word(operands[0]!, lane);
    if (watcher && ((mask >>> lane) & 1) === 0) refuseOwnLane(context, mask, lane);
    missing |= mask & ~bits;
  }
  if (missing !== 0) lookFor(context, missing);
}

function lookFor(context: WarpContext, missing: number): void {
  const absent: Absent[] = [];
  let isHeldBack = false;
  for (let lane = 0; lane < LANES; lane++) {
    if (((missing >>> lane) & 1) === 0) continue;
    const place = context.placeOfLane(lane);
    if (place.kind === 'barrier') refuseBarrier(context, lane, place);
    isHeldBack ||= place.kind === 'mbarrier';
    if (place.kind === 'elsewhere' && !isSameMeeting(context, place)) absent.push({ lane, place });
  }
  if (absent.length > 0 && context.watcher) refuseAbsent(context, absent);
  if (isHeldBack) context.holdBack();
}

/** `bar.warp.sync` may be another one in the code, with the same mask. */
const isSameMeeting = ({ instruction }: WarpContext, { meets }: Absent['place']): boolean =>
  meets === 'bar' && fullName(instruction).startsWith('bar.');

const hex = (mask: number): string => `0x${(mask >>> 0).toString(16).padStart(8, '0')}`;

function refuseOwnLane(context: WarpContext, mask: number, lane: number): never {
  const { instruction } = context;
  throw context.fault(
    'barrier',
    `executes ${fullName(instruction)} with the mask ${hex(mask)}, which does not name the thread itself, lane ${lane} of its warp: ` +
      'a mask must name each thread that comes,',
    lane,
  );
}

function refuseBarrier(
  context: WarpContext,
  lane: number,
  { instruction }: Extract<LanePlace, { kind: 'barrier' }>,
): never {
  throw new KernelFault(
    'barrier',
    `thread ${context.threadOf(lane)} waits at a barrier while other threads of its warp wait for it: the mask of their ` +
      'shuffle, vote or __syncwarp() names it',
    { instruction, lane },
  );
}

function refuseAbsent(context: WarpContext, absent: readonly Absent[]): never {
  const { instruction, operands, lanes } = context;
  const [{ lane: first, place }] = absent as [Absent];
  const more = absent.length > 1 ? ` and ${absent.length - 1} more of its warp` : '';
  const where = place.source ? `: they are at ${place.source.file}:${place.source.line}` : '';
  const [lane] = lanes as [number];
  throw context.fault(
    'barrier',
    `executes ${fullName(instruction)} with the mask ${hex(context.word(operands[0]!, lane))}, which names thread ` +
      `(${context.coordinatesOf(first).join(', ')})${more} that do not come${where}. ` +
      'All threads that a mask names must execute the instruction together, or have exited:',
    lane,
  );
}
