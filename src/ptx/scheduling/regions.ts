import { sum } from '../../core/values.ts';
import type { ControlFlowGraph, PtxInstruction } from '../ast.ts';
import { machineCodeOf } from '../instructions/machine-code.ts';
import { controlOf, definitionsAndUses, synchronisationOf } from '../instructions/properties.ts';

/**
 * ptxas turns a branch around a few instructions into guards. Longer bodies stay branches; the figure is where the two
 * halves of a fit agreed best, among 0, 8 and 16.
 */
const MOST_GUARDED = 8;

/** An instruction where ptxas has it: perhaps under a guard that was a branch. */
export interface PlacedInstruction {
  readonly instruction: PtxInstruction;
  /** Its results may keep what they were, because some lanes do not run it. */
  readonly keeps: boolean;
}

/** Straight code that ptxas schedules as one piece. */
export interface Region {
  readonly instructions: readonly PlacedInstruction[];
  readonly successors: readonly number[];
}

interface Draft {
  instructions: PlacedInstruction[];
  successors: number[];
  alive: boolean;
}

const isBranch = ({ instruction }: PlacedInstruction): boolean => controlOf(instruction) === 'branch';
const isJump = ({ instructions, successors }: Draft, index: number): boolean =>
  successors.length === 1 && successors[0] !== index && instructions.every(isBranch);

/** The blocks of a function as ptxas schedules them: without blocks that only jump, and with small branches as guards. */
export function formRegions(cfg: ControlFlowGraph): Region[] {
  const drafts = cfg.blocks.map(
    ({ instructions, successors }): Draft => ({
      instructions: instructions.map((instruction) => ({ instruction, keeps: instruction.guard !== undefined })),
      successors: unique(successors),
      alive: true,
    }),
  );
  for (const draft of drafts) draft.successors = unique(draft.successors.map((target) => landing(drafts, target)));
  dropUnreachable(drafts);
  const useCounts = countUses(drafts.flatMap(({ instructions }) => instructions));
  while (drafts.some((draft, index) => draft.alive && growRegion(drafts, index, useCounts)));
  return renumber(drafts);
}

const unique = (values: readonly number[]): number[] => [...new Set(values)];

/** Where a jump ends that leads over blocks that only jump. */
function landing(drafts: readonly Draft[], start: number): number {
  const passed = new Set<number>();
  let index = start;
  while (!passed.has(index) && isJump(drafts[index]!, index)) {
    passed.add(index);
    index = drafts[index]!.successors[0]!;
  }
  return index;
}

function dropUnreachable(drafts: readonly Draft[]): void {
  const reached = new Set([0]);
  const pending = [0];
  for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
    for (const next of drafts[index]!.successors) {
      if (reached.has(next)) continue;
      reached.add(next);
      pending.push(next);
    }
  }
  drafts.forEach((draft, index) => {
    draft.alive = reached.has(index);
  });
}

function countUses(instructions: readonly PlacedInstruction[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { instruction } of instructions) {
    for (const name of definitionsAndUses(instruction).uses) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

const predecessorCount = (drafts: readonly Draft[], index: number): number =>
  drafts.filter(({ alive, successors }) => alive && successors.includes(index)).length;

/** Joins a region with what follows it alone; false if nothing can be joined. */
function growRegion(drafts: readonly Draft[], index: number, useCounts: ReadonlyMap<string, number>): boolean {
  const draft = drafts[index]!;
  const [first, second] = draft.successors;
  if (first === undefined) return false;
  if (second === undefined) return joinFollower(drafts, index, first);
  if (draft.successors.length > 2) return false;
  return guardOne(drafts, index, [first, second], useCounts) || guardOne(drafts, index, [second, first], useCounts);
}

function joinFollower(drafts: readonly Draft[], index: number, next: number): boolean {
  if (next === index || next === 0 || predecessorCount(drafts, next) !== 1) return false;
  const [draft, follower] = [drafts[index]!, drafts[next]!];
  draft.instructions = [...withoutBranches(draft), ...follower.instructions];
  draft.successors = follower.successors;
  follower.alive = false;
  return true;
}

const withoutBranches = ({ instructions }: Draft): PlacedInstruction[] =>
  instructions.filter((placed) => !isBranch(placed));

/** Takes one side of a branch in, under a guard: the only one, or both where each is small and they meet again. */
function guardOne(
  drafts: readonly Draft[],
  index: number,
  [side, other]: readonly [number, number],
  useCounts: ReadonlyMap<string, number>,
): boolean {
  const draft = drafts[index]!;
  if (side === index || !canBeGuarded(drafts, side)) return false;
  const [meet] = drafts[side]!.successors;
  if (meet === other && meet !== side) {
    draft.instructions = [...withoutBranches(draft), ...guarded(withoutBranches(drafts[side]!), useCounts)];
    draft.successors = [other];
    drafts[side]!.alive = false;
    return true;
  }
  if (other === index || !canBeGuarded(drafts, other) || drafts[other]!.successors[0] !== meet) return false;
  // Each value is written on one side or the other: none keeps what it was.
  draft.instructions = [drafts[index]!, drafts[side]!, drafts[other]!].flatMap(withoutBranches);
  draft.successors = [meet!];
  drafts[side]!.alive = false;
  drafts[other]!.alive = false;
  return true;
}

function canBeGuarded(drafts: readonly Draft[], index: number): boolean {
  const { instructions, successors } = drafts[index]!;
  if (successors.length !== 1 || predecessorCount(drafts, index) !== 1) return false;
  const length = sum(instructions.map(({ instruction }) => Math.max(1, machineCodeOf(instruction).instructions)));
  if (length > MOST_GUARDED + 1) return false;
  return instructions.every(
    (placed) =>
      isBranch(placed) ||
      (controlOf(placed.instruction) === 'next' && synchronisationOf(placed.instruction) === 'none'),
  );
}

/** Values that only these instructions use end here, guard or not. */
function guarded(body: readonly PlacedInstruction[], useCounts: ReadonlyMap<string, number>): PlacedInstruction[] {
  const own = countUses(body);
  const isLocal = (name: string): boolean => own.get(name) === useCounts.get(name);
  return body.map((placed) => {
    const staysInside = definitionsAndUses(placed.instruction).definitions.every(isLocal);
    return staysInside ? placed : { ...placed, keeps: true };
  });
}

function renumber(drafts: readonly Draft[]): Region[] {
  const kept = drafts.flatMap(({ alive }, index) => (alive ? [index] : []));
  const newIndex = new Map(kept.map((old, index) => [old, index]));
  return kept.map((old) => ({
    instructions: drafts[old]!.instructions,
    successors: drafts[old]!.successors.map((target) => newIndex.get(target)!),
  }));
}
