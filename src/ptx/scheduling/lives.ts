import type { PtxInstruction } from '../ast.ts';
import { isInequality, isMove, mayStartAtZero, scratchRegisters } from '../instructions/machine-code.ts';
import { definitionsAndUses } from '../instructions/properties.ts';
import type { Places } from './places.ts';
import type { Region } from './regions.ts';

/** An instruction with the places that it writes and reads, by number. */
export interface Step {
  readonly instruction: PtxInstruction;
  readonly writes: readonly number[];
  readonly reads: readonly number[];
  /** What it writes may keep what it was. */
  readonly keeps: boolean;
  /** Registers that its machine code needs for itself. */
  readonly scratch: number;
}

/** A region with the places that are alive around it. */
export interface LiveRegion {
  readonly steps: readonly Step[];
  readonly successors: readonly number[];
  readonly liveIn: ReadonlySet<number>;
  readonly liveOut: ReadonlySet<number>;
}

export interface Lives {
  readonly regions: readonly LiveRegion[];
  /** 32-bit registers of each place. */
  readonly widths: readonly number[];
}

/** Numbers the places and follows their lives backwards through the regions. */
export function followLives(regions: readonly Region[], places: Places): Lives {
  const freshSums = findFreshSums(regions);
  const numbers = new Map<string, number>();
  const widths: number[] = [];
  const numberOf = (place: string): number => {
    const known = numbers.get(place);
    if (known !== undefined) return known;
    numbers.set(place, numbers.size);
    widths.push(places.widthOf(place));
    return numbers.size - 1;
  };
  const steps = regions.map(({ instructions }) =>
    instructions.map(({ instruction, keeps }): Step => {
      const { definitions, uses } = namedBy(instruction, freshSums.has(instruction));
      const read = uses.map((name) => places.placeOf(name)).filter((place) => place !== undefined);
      return {
        instruction,
        // An alias is made of what it stands for, and written nowhere.
        writes: definitions.filter((name) => places.placeOf(name) === name).map(numberOf),
        reads: [...new Set(read)].map(numberOf),
        keeps,
        scratch: scratchRegisters(instruction),
      };
    }),
  );
  const lives = liveAround(steps, regions);
  return { regions: regions.map(({ successors }, i) => ({ steps: steps[i]!, successors, ...lives[i]! })), widths };
}

/** Reads of `wgmma` without those of accumulators that it overwrites: `scale-d` is false. */
function namedBy(
  instruction: PtxInstruction,
  startsAtZero: boolean,
): { definitions: readonly string[]; uses: readonly string[] } {
  const named = definitionsAndUses(instruction);
  if (!startsAtZero) return named;
  return { ...named, uses: named.uses.filter((name) => !named.definitions.includes(name)) };
}

/** The `wgmma` that start their sums at zero, because their predicate compares two equal constants. */
function findFreshSums(regions: readonly Region[]): ReadonlySet<PtxInstruction> {
  const freshSums = new Set<PtxInstruction>();
  const writers = new Map<string, PtxInstruction | null>();
  const all = regions.flatMap(({ instructions }) => instructions.map(({ instruction }) => instruction));
  for (const instruction of all) {
    for (const name of definitionsAndUses(instruction).definitions)
      writers.set(name, writers.has(name) ? null : instruction);
  }
  const constantOf = (operand: PtxInstruction['operands'][number] | undefined): bigint | undefined => {
    if (operand?.kind === 'immediate') return operand.value;
    const writer = operand?.kind === 'register' ? writers.get(operand.name) : undefined;
    const value = writer && isMove(writer) ? writer.operands[1] : undefined;
    return value?.kind === 'immediate' ? value.value : undefined;
  };
  for (const instruction of all) {
    if (!mayStartAtZero(instruction)) continue;
    const predicates = instruction.operands.flatMap((operand) => (operand.kind === 'register' ? [operand.name] : []));
    const comparison = predicates.map((name) => writers.get(name)).find((writer) => writer && isInequality(writer));
    const [left, right] = (comparison?.operands.slice(1) ?? []).map(constantOf);
    if (left !== undefined && left === right) freshSums.add(instruction);
  }
  return freshSums;
}

interface Around {
  readonly liveIn: ReadonlySet<number>;
  readonly liveOut: ReadonlySet<number>;
}

function liveAround(steps: readonly (readonly Step[])[], regions: readonly Region[]): Around[] {
  const liveIn = steps.map(() => new Set<number>());
  const liveOut = steps.map(() => new Set<number>());
  const predecessors = steps.map((): number[] => []);
  regions.forEach(({ successors }, index) => {
    for (const next of successors) predecessors[next]!.push(index);
  });
  const summaries = steps.map(summarise);
  const pending = steps.map((_, index) => index);
  for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
    const { readFirst, overwritten } = summaries[index]!;
    const [into, out] = [liveIn[index]!, liveOut[index]!];
    const before = into.size;
    for (const next of regions[index]!.successors) for (const place of liveIn[next]!) out.add(place);
    for (const place of readFirst) into.add(place);
    for (const place of out) if (!overwritten.has(place)) into.add(place);
    if (into.size > before) pending.push(...predecessors[index]!);
  }
  return steps.map((_, index) => ({ liveIn: liveIn[index]!, liveOut: liveOut[index]! }));
}

function summarise(steps: readonly Step[]): { readFirst: Set<number>; overwritten: Set<number> } {
  const readFirst = new Set<number>();
  const overwritten = new Set<number>();
  for (const { reads, writes, keeps } of steps) {
    for (const place of reads) if (!overwritten.has(place)) readFirst.add(place);
    if (!keeps) for (const place of writes) overwritten.add(place);
  }
  return { readFirst, overwritten };
}

/** Most registers alive at once if a region runs in the order of the PTX. */
export function peakInOrder({ steps, liveOut }: LiveRegion, widths: readonly number[]): number {
  const live = new Set(liveOut);
  let count = 0;
  for (const place of live) count += widths[place]!;
  let peak = count;
  for (const { reads, writes, keeps, scratch } of steps.toReversed()) {
    // A written value needs a register even if nothing reads it.
    const unread = writes.reduce((sum, place) => sum + (live.has(place) ? 0 : widths[place]!), 0);
    peak = Math.max(peak, count + unread + scratch);
    if (!keeps) for (const place of writes) if (live.delete(place)) count -= widths[place]!;
    for (const place of reads) {
      if (live.has(place)) continue;
      live.add(place);
      count += widths[place]!;
    }
    peak = Math.max(peak, count);
  }
  return peak;
}
