import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { PlannedBuffer } from '../../core/launch-plan.ts';
import { followersOf } from '../../core/plan/dimensions.ts';
import { expandBuffers } from '../../core/plan/expand-buffers.ts';
import type { Dimensions, Problem } from '../../core/problem.ts';
import type { RandomStream } from '../../stats/random.ts';
import { isDense } from '../launches/layout.ts';
import { SAMPLE_FLOP } from '../oracle/expected-rows.ts';

/** An independent part of a slot: some indices of the independent dimensions, e.g. one head of attention. */
export interface SlotPart {
  readonly dimensions: Dimensions;
  /** As the part has them. */
  readonly buffers: readonly PlannedBuffer[];
  /** Buffer → where the part begins in the slot's. */
  readonly offsets: ReadonlyMap<string, number>;
}

/**
 * A slot with larger inputs is compared in parts if it can be cut, because reading all of it takes longer than its samples.
 */
const MOST_UNCUT_BYTES = 16 * 1024 ** 2;

/**
 * A part that the stream chooses: one index of each of the problem's `independentDimensions`; of the last one as many as a
 * host computes quickly. They must be the outermost axes of every buffer that has them, so that a part is contiguous. The
 * whole slot if it can't be cut; undefined if that is too large.
 */
export function partOfSlot(problem: Problem, dimensions: Dimensions, stream: RandomStream): SlotPart | undefined {
  const whole = expandBuffers(problem.file, dimensions);
  const part = cutPart(problem, dimensions, whole, stream);
  if (part) return part;
  const inputBytes = whole.reduce((sum, { role, bytes }) => sum + (role === 'out' ? 0 : bytes), 0);
  if (inputBytes > MOST_UNCUT_BYTES) return undefined;
  return { dimensions, buffers: whole, offsets: new Map(whole.map(({ name }) => [name, 0])) };
}

interface Cut {
  readonly start: number;
  readonly count: number;
}

function cutPart(
  problem: Problem,
  dimensions: Dimensions,
  whole: readonly PlannedBuffer[],
  stream: RandomStream,
): SlotPart | undefined {
  const { dimensions: declared, independentDimensions = [] } = problem.file;
  const followers = (name: string) => followersOf(declared, dimensions, name);
  // Heads that share others' keys and values can't be cut apart from them.
  const names = independentDimensions.filter((name) => dimensions[name]! > 1 && followers(name).others.length === 0);
  if (names.length === 0 || !whole.every(isDense)) return undefined;
  const ones = Object.fromEntries(
    names.flatMap((name) => [name, ...followers(name).following].map((each) => [each, 1])),
  );
  const flop = Math.max(1, evaluateExpression(problem.file.flop, { ...dimensions, ...ones }));
  const cuts = new Map<string, Cut>();
  for (const [i, name] of names.entries()) {
    const most = i === names.length - 1 ? Math.floor(SAMPLE_FLOP / flop) : 1;
    const count = Math.max(1, Math.min(dimensions[name]!, most));
    const cut = { start: stream.bits(i) % (dimensions[name]! - count + 1), count };
    for (const each of [name, ...followers(name).following]) cuts.set(each, cut);
  }
  const counts = Object.fromEntries([...cuts].map(([name, { count }]) => [name, count]));
  const reduced = { ...dimensions, ...counts };
  const buffers = expandBuffers(problem.file, reduced);
  const offsets = new Map<string, number>();
  for (const [i, buffer] of buffers.entries()) {
    const offset = offsetOf(problem, whole[i]!, buffer, cuts);
    if (offset === undefined) return undefined;
    offsets.set(buffer.name, offset);
  }
  return { dimensions: reduced, buffers, offsets };
}

/** Bytes before the part; undefined if it is not contiguous. */
function offsetOf(
  { file }: Problem,
  whole: PlannedBuffer,
  part: PlannedBuffer,
  cuts: ReadonlyMap<string, Cut>,
): number | undefined {
  const { shape } = (file.inputs[whole.name] ?? file.outputs[whole.name])!;
  let [before, isInside] = [0, false];
  let rest = whole.bytes;
  for (const [axis, expression] of shape.entries()) {
    const extent = whole.shape[axis]!;
    const cut = cuts.get(String(expression).trim());
    if (!cut) {
      if (part.shape[axis] !== extent) return undefined;
      // An independent axis further in would have to be cut out of every index of this one.
      isInside ||= extent > 1;
      continue;
    }
    if (isInside) return undefined;
    rest /= extent;
    before += cut.start * rest;
    isInside = cut.count > 1;
  }
  return before;
}
