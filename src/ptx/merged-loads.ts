import { type Alignments, alignmentsOf } from './alignments.ts';
import type { PtxInstruction } from './ast.ts';
import { spaceOf, typeOf, vectorLength } from './instruction-parts.ts';
import { definitionsAndUses, memoryActionOf, synchronisationOf } from './instructions/properties.ts';
import { sizeOfPtxType } from './types.ts';

/** Neighbouring loads that ptxas makes one of. */
export interface WideLoad {
  /** The one at the lowest address. */
  readonly first: PtxInstruction;
  readonly loads: readonly PtxInstruction[];
  /** Of a lane, all loads together. */
  readonly bytes: number;
}

/** Of a merged load: two halves stay two loads of 2 bytes (ptxas 13.0). */
const LEAST_BYTES = 8;
const MOST_BYTES = 16;
/** Elements of a merged load, and how many of them must be wanted: the widest that is possible first, whose fourth may be one too many. */
const WIDTHS = [
  { elements: 4, fewest: 3 },
  { elements: 2, fewest: 2 },
] as const;

/** Loads at one value of a register, by offset. */
interface Neighbours {
  readonly bytes: number;
  readonly alignment: number;
  readonly byOffset: Map<number, PtxInstruction>;
}

/**
 * Loads from shared memory that ptxas merges: of one type, side by side, in one block with no store or barrier between them, at an
 * address that is known to be a multiple of their width. `ptxas -arch=sm_90a` makes 8 loads of 16 bytes of the 32 of 4 bytes in a
 * row of gemm's tiles; and none where the address is only known to be even.
 */
export function mergedLoads(
  blocks: readonly { readonly instructions: readonly PtxInstruction[] }[],
): ReadonlyMap<PtxInstruction, WideLoad> {
  const alignments = alignmentsOf(blocks.flatMap(({ instructions }) => instructions));
  const merged = new Map<PtxInstruction, WideLoad>();
  for (const { instructions } of blocks)
    for (const neighbours of neighboursIn(instructions, alignments))
      for (const wide of wideLoadsOf(neighbours)) for (const load of wide.loads) merged.set(load, wide);
  return merged;
}

function neighboursIn(instructions: readonly PtxInstruction[], alignments: Alignments): Neighbours[] {
  const all: Neighbours[] = [];
  const open = new Map<string, Neighbours>();
  const writes = new Map<string, number>();
  for (const [index, instruction] of instructions.entries()) {
    if (mayChangeShared(instruction)) open.clear();
    const place = isPlainLoad(instruction) ? placeOf(instruction, alignments) : undefined;
    if (place) {
      const { name, alignment, offset } = place;
      const key = `${typeOf(instruction)} ${name} ${writes.get(name)}`;
      const known = open.get(key);
      const own = known ?? { bytes: sizeOfPtxType(typeOf(instruction)), alignment, byOffset: new Map() };
      if (!known) {
        open.set(key, own);
        all.push(own);
      }
      own.byOffset.set(offset, instruction);
    }
    for (const name of definitionsAndUses(instruction).definitions) writes.set(name, index);
  }
  return all;
}

function placeOf({ operands }: PtxInstruction, alignments: Alignments) {
  const address = operands[1];
  const base = address?.kind === 'address' ? address.base : undefined;
  if (address?.kind !== 'address' || !base) return undefined;
  if (base.kind === 'register') return { name: base.name, alignment: alignments(base.name), offset: address.offset };
  // A variable, which ptxas places itself.
  return base.kind === 'symbol'
    ? { name: base.name, alignment: MOST_BYTES, offset: base.offset + address.offset }
    : undefined;
}

const isPlainLoad = (instruction: PtxInstruction): boolean =>
  memoryActionOf(instruction) === 'load' &&
  spaceOf(instruction) === 'shared' &&
  !instruction.guard &&
  vectorLength(instruction) === 1 &&
  !instruction.modifiers.some((modifier) => ['volatile', 'relaxed', 'acquire', 'shared::cluster'].includes(modifier));

function mayChangeShared(instruction: PtxInstruction): boolean {
  if (!['none', 'active-lanes'].includes(synchronisationOf(instruction))) return true;
  const action = memoryActionOf(instruction);
  return (
    !['none', 'load', 'matrix', 'matrix-load'].includes(action) && ['shared', 'generic'].includes(spaceOf(instruction))
  );
}

function wideLoadsOf({ bytes, alignment, byOffset }: Neighbours): WideLoad[] {
  const left = new Map(byOffset);
  return WIDTHS.flatMap(({ elements, fewest }) => {
    const width = elements * bytes;
    if (width < LEAST_BYTES || width > MOST_BYTES || alignment < width) return [];
    const starts = new Set([...left.keys()].map((offset) => Math.floor(offset / width) * width));
    return [...starts].flatMap((start) => {
      const offsets = Array.from({ length: elements }, (_, i) => start + i * bytes).filter((offset) =>
        left.has(offset),
      );
      if (offsets.length < fewest) return [];
      const loads = offsets.map((offset) => left.get(offset)!);
      for (const offset of offsets) left.delete(offset);
      return [{ first: loads[0]!, loads, bytes: width }];
    });
  });
}
