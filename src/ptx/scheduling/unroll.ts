import type { PtxInstruction } from '../ast.ts';
import { isIntegerSum } from '../instructions/machine-code.ts';
import { controlOf, instructionClass } from '../instructions/properties.ts';
import type { LiveRegion, Lives, Step } from './lives.ts';

/** ptxas repeats short innermost loops whose number of rounds it does not know. */
const COPIES = 4;
/** Longest loop that it repeats, in instructions. Among 24, 48, 96 and 200 the first three hardly differ on the fit half. */
const MOST_INSTRUCTIONS = 96;

/** A loop as ptxas repeats it. */
export interface RepeatedLoop {
  /** Indices of its first and last region. */
  readonly header: number;
  readonly latch: number;
  readonly copies: number;
  readonly region: LiveRegion;
  readonly widths: readonly number[];
  /** Whether the number of rounds is a constant. Otherwise each copy may be the last, and loads can't move up past that test. */
  readonly isCounted: boolean;
}

/** Each short innermost loop without barriers as one region of several rounds, and the widths of its places. */
export function unrollLoops({ regions, widths }: Lives): RepeatedLoop[] {
  const lastRound = regions.map((_, header) =>
    regions.findLastIndex(({ successors }, index) => index >= header && successors.includes(header)),
  );
  return regions.flatMap((_, header) => {
    const latch = lastRound[header]!;
    if (latch < 0 || lastRound.slice(header + 1, latch + 1).some((inner) => inner >= 0)) return [];
    const steps = bodyOf(regions.slice(header, latch + 1));
    const canRepeat = steps.length > 0 && steps.length <= MOST_INSTRUCTIONS && !steps.some(isFence);
    if (!canRepeat) return [];
    const isCounted = countsToConstant(regions.slice(header, latch + 1));
    return [{ header, latch, copies: COPIES, isCounted, ...repeat(steps, regions[header]!, regions[latch]!, widths) }];
  });
}

/** Whether the last branch compares a register that grows by a constant with a constant. */
function countsToConstant(regions: readonly LiveRegion[]): boolean {
  const instructions = regions.flatMap(({ steps }) => steps.map(({ instruction }) => instruction));
  const exit = instructions.findLast((one) => one.guard && controlOf(one) === 'branch');
  const names = ({ operands }: PtxInstruction, index: number): string | undefined =>
    operands[index]?.kind === 'register' ? operands[index].name : undefined;
  const test = instructions.find((one) => one.opcode === 'setp' && names(one, 0) === exit?.guard?.register);
  if (!exit || test?.operands[2]?.kind !== 'immediate') return false;
  return instructions.some(
    (one) => isIntegerSum(one) && names(one, 0) === names(test, 1) && one.operands[2]?.kind === 'immediate',
  );
}

const isFence = ({ instruction }: Step): boolean =>
  ['barrier', 'async-copy'].includes(instructionClass(instruction) ?? '');

/** What lies between the first and the last block runs in some rounds only. */
const bodyOf = (regions: readonly LiveRegion[]): Step[] =>
  regions.flatMap(({ steps }, index) =>
    steps
      .filter(({ instruction }) => controlOf(instruction) === 'next')
      .map((step) => (index === 0 || index === regions.length - 1 ? step : { ...step, keeps: true })),
  );

/** Values of one round get places of their own in each. */
function repeat(steps: readonly Step[], header: LiveRegion, latch: LiveRegion, widths: readonly number[]) {
  const ofOneRound = new Set(steps.flatMap(({ writes }) => writes).filter((place) => !header.liveIn.has(place)));
  const allWidths = [...widths];
  const rounds = Array.from({ length: COPIES }, (_, round): Step[] => {
    if (round === COPIES - 1) return [...steps];
    const renamed = new Map<number, number>();
    for (const place of ofOneRound) renamed.set(place, allWidths.push(widths[place]!) - 1);
    const rename = (places: readonly number[]): number[] => places.map((place) => renamed.get(place) ?? place);
    return steps.map((step) => ({ ...step, writes: rename(step.writes), reads: rename(step.reads) }));
  });
  const liveOut = new Set([...latch.liveOut, ...header.liveIn]);
  const region = { steps: rounds.flat(), successors: latch.successors, liveIn: header.liveIn, liveOut };
  return { region, widths: allWidths };
}
