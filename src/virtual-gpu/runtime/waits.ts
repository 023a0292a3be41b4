import type { Dim3 } from '../../core/launch-plan.ts';
import type { PtxInstruction } from '../../ptx/ast.ts';
import { fullName, spaceOf, typeOf } from '../../ptx/instruction-parts.ts';
import { sizeOfPtxType } from '../../ptx/types.ts';
import { SHARED, WINDOW } from '../layout.ts';
import type { Arrival } from './barriers.ts';
import { atSource } from './fault.ts';
import type { DeviceRange } from './memories.ts';
import type { WarpContext } from './warp-context.ts';

/** What threads of a CTA do while a launch does not come to its end. */
export interface Wait {
  /** After `thread (0, 0, 0) of CTA (0, 0, 0)`: `waits at kernel.cu:7 for …`. */
  readonly what: string;
  readonly cta: Dim3;
  /** The first of them, as `(0, 0, 0)`. */
  readonly thread: string;
  readonly threads: number;
}

/** So many different waits are told. */
const MOST_TOLD = 4;

/** `thread (0, 0, 0) of CTA (0, 0, 0) polls flag[0] …, and so do 31 more threads; …`. */
export function tellWaits(waits: readonly Wait[]): string {
  const same = Map.groupBy(waits, ({ what }) => what);
  const told = [...same.values()].slice(0, MOST_TOLD).map((all) => {
    const [{ what, cta, thread }] = all as [Wait, ...Wait[]];
    const more = all.reduce((sum, { threads }) => sum + threads, 0) - 1;
    const others = more > 0 ? `, and so ${more === 1 ? 'does 1 more thread' : `do ${more} more threads`}` : '';
    return `thread ${thread} of CTA (${cta.join(', ')}) ${what}${others}`;
  });
  const left = same.size - told.length;
  return [...told, ...(left > 0 ? [`others wait elsewhere, at ${left} more places`] : [])].join('; ');
}

/** `waits at kernel.cu:7 for barrier 1, which 32 of 64 threads have reached`. */
export function waitAtBarrier({ id, threads, expected }: Arrival, { source }: PtxInstruction): string {
  return `waits${atSource(source)} for barrier ${id}, which ${threads} of ${expected} threads have reached`;
}

/** `polls flag[3] at kernel.cu:7, which holds 0`. */
export function waitInLoop(context: WarpContext, lane: number, memory: PolledMemory): string {
  const { instruction } = context;
  const polled = polledPlace(context, lane, memory);
  const place = `${atSource(instruction.source)} (${fullName(instruction)})`;
  if (!polled) return `polls${place}`;
  return `polls ${polled.name}${place}, which holds ${polled.value}`;
}

/** Where polled values lie. */
export interface PolledMemory {
  readonly ranges: readonly DeviceRange[];
  readonly device: DataView;
  /** Memory of the CTA. */
  readonly own: DataView;
  readonly sharedBytes: number;
}

/** Undefined where the address is not at hand: some registers lie in memory only while their block runs. */
function polledPlace(
  context: WarpContext,
  lane: number,
  memory: PolledMemory,
): { name: string; value: bigint } | undefined {
  const { instruction } = context;
  const operand = instruction.operands.find(({ kind }) => kind === 'address');
  if (operand?.kind !== 'address') return undefined;
  const { low, high } = context.address(operand, lane);
  const bytes = sizeOfPtxType(typeOf(instruction));
  const space = spaceOf(instruction);
  if (space === 'global' || (space === 'generic' && high === WINDOW.global)) {
    const range = memory.ranges.find(({ start, bytes: size }) => low >= start && low + bytes <= start + size);
    if (!range) return undefined;
    const name = `${range.name}[${(low - range.start) / bytes}]`;
    return { name, value: read(memory.device, low, bytes) };
  }
  if (space !== 'shared' && high !== WINDOW.shared) return undefined;
  const offset = context.ownOffset({ low, high }, space);
  if (offset === undefined || offset + bytes > memory.sharedBytes) return undefined;
  return { name: `shared memory at byte ${offset}`, value: read(memory.own, SHARED + offset, bytes) };
}

function read(view: DataView, offset: number, bytes: number): bigint {
  let value = 0n;
  for (let byte = bytes - 1; byte >= 0; byte--) value = (value << 8n) | BigInt(view.getUint8(offset + byte));
  return BigInt.asIntN(bytes * 8, value);
}
