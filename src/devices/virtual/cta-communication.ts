import type { PtxFunction, PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { memoryActionOf, runsAs, synchronisationOf } from '../../ptx/instructions/properties.ts';
import { type Origins, OriginTracer, reachableBuffers } from '../../ptx/pointer-origins.ts';

/** How a kernel touches device memory, from its code alone. */
export interface MemoryUse {
  /** Whether it has atomics, volatile or ordered accesses, or fences, by which CTAs may communicate. */
  communicates: boolean;
  /** Where the addresses of reads and writes come from. */
  reads: readonly Origins[];
  writes: readonly Origins[];
}

const ORDERED: ReadonlySet<string> = new Set(['volatile', 'acquire', 'release', 'relaxed', 'mmio']);

/** Fences that order nothing between CTAs of different clusters. */
const OWN_CTA: ReadonlySet<string> = new Set(['cta', 'mbarrier_init']);

const isOutsideDeviceMemory = ({ modifiers }: PtxInstruction): boolean =>
  modifiers.some((m) => m.startsWith('shared') || m === 'local' || m === 'const' || m.startsWith('param'));

/**
 * Follows pointers through the code to every load and store.
 * @param globals names of the variables that lie in device memory.
 */
export function memoryUse(fn: PtxFunction, globals: ReadonlySet<string>): MemoryUse {
  const tracer = new OriginTracer(fn, globals);
  const reads: Origins[] = [];
  const writes: Origins[] = [];
  let communicates = false;
  for (const statement of fn.body) {
    if (statement.kind !== 'instruction') continue;
    const { instruction } = statement;
    communicates ||= mayCommunicate(instruction);
    const { read, written } = accessedAddresses(instruction);
    if (read) reads.push(tracer.of(read));
    if (written) writes.push(tracer.of(written));
  }
  return { communicates, reads, writes };
}

function mayCommunicate(instruction: PtxInstruction): boolean {
  const { modifiers } = instruction;
  if (synchronisationOf(instruction) === 'memory')
    return !modifiers.some((modifier) => OWN_CTA.has(modifier) || modifier.startsWith('proxy'));
  if (modifiers[0] === 'reduce') return true;
  if (isOutsideDeviceMemory(instruction)) return false;
  const action = memoryActionOf(instruction);
  if (action === 'atomic' || action === 'reduction') return true;
  return runsAs(instruction) === 'access' && modifiers.some((m) => ORDERED.has(m));
}

/** Address operands of plain accesses that may go to device memory. */
function accessedAddresses(instruction: PtxInstruction): { read?: PtxOperand; written?: PtxOperand } {
  const { modifiers, operands } = instruction;
  const action = memoryActionOf(instruction);
  // cp.async.….shared.global [to], [from], or the other way round.
  if (action === 'copy' && modifiers.includes('global') && operands[1]) {
    const isOutgoing = modifiers.find((m) => m === 'global' || m.startsWith('shared')) === 'global';
    return isOutgoing ? { written: operands[0]! } : { read: operands[1] };
  }
  if (isOutsideDeviceMemory(instruction)) return {};
  if (action === 'store' || action === 'discard') return { written: operands[0]! };
  return action === 'load' ? { read: operands.at(-1)! } : {};
}

/**
 * Whether CTAs may influence each other, so that results could depend on their distribution over threads: they communicate,
 * or some may read what others write. Does not cover several CTAs that write to one place.
 * @param buffersOf the launch's buffers behind a parameter or variable; none for scalars.
 */
export function mayDependOnOrder(use: MemoryUse, buffersOf: (name: string) => readonly number[]): boolean {
  if (use.communicates) return true;
  const written = reachableByAll(use.writes, buffersOf);
  const read = reachableByAll(use.reads, buffersOf);
  if (written === undefined) return true;
  if (written.size === 0) return false;
  return read === undefined || [...read].some((buffer) => written.has(buffer));
}

function reachableByAll(
  accesses: readonly Origins[],
  buffersOf: (name: string) => readonly number[],
): Set<number> | undefined {
  const all = new Set<number>();
  for (const origins of accesses) {
    const reachable = reachableBuffers(origins, buffersOf);
    if (reachable === undefined) return undefined;
    for (const buffer of reachable) all.add(buffer);
  }
  return all;
}
