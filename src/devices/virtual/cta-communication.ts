import type { PtxFunction, PtxInstruction, PtxOperand } from '../../ptx/ast.ts';
import { definitionsAndUses } from '../../ptx/def-use.ts';

/** How a kernel touches device memory, from its code alone. */
export interface MemoryUse {
  /** Atomics, volatile or ordered accesses, or fences: CTAs may talk to each other. */
  communicates: boolean;
  /** Names of parameters through which the kernel may read or write; `*` = an unknown address. */
  reads: ReadonlySet<string>;
  writes: ReadonlySet<string>;
}

const ORDERED: ReadonlySet<string> = new Set(['volatile', 'acquire', 'release', 'relaxed', 'mmio']);

const isSharedOrLocal = (i: PtxInstruction): boolean =>
  i.modifiers.some((m) => m.startsWith('shared') || m === 'local' || m === 'const' || m === 'param');

/**
 * Follows pointer parameters through the code to every load and store. Kernels whose CTAs may influence each other
 * run on one thread in a fixed CTA order, so that results do not depend on the number of threads.
 */
export function memoryUse(fn: PtxFunction): MemoryUse {
  const instructions = fn.body.flatMap((s) => (s.kind === 'instruction' ? [s.instruction] : []));
  const origins = traceOrigins(fn, instructions);
  const reads = new Set<string>();
  const writes = new Set<string>();
  let communicates = false;
  for (const i of instructions) {
    if (i.opcode === 'membar' || i.opcode === 'fence') communicates ||= !i.modifiers.includes('cta');
    if (isSharedOrLocal(i)) continue;
    if (i.opcode === 'atom' || i.opcode === 'red') communicates = true;
    if (i.opcode !== 'ld' && i.opcode !== 'st') continue;
    if (i.modifiers.some((m) => ORDERED.has(m))) communicates = true;
    const address = i.operands[i.opcode === 'st' ? 0 : i.operands.length - 1]!;
    for (const name of originsOf(address, origins)) (i.opcode === 'st' ? writes : reads).add(name);
  }
  return { communicates, reads, writes };
}

/** Parameters each register's value may derive from, to a fixed point. */
function traceOrigins(fn: PtxFunction, instructions: readonly PtxInstruction[]): Map<string, Set<string>> {
  const origins = new Map<string, Set<string>>();
  const parameters = new Set(fn.parameters.map((p) => p.name));
  for (let changed = true; changed; ) {
    changed = false;
    for (const i of instructions) {
      const { definitions, uses } = definitionsAndUses(i);
      const incoming = new Set<string>();
      if (i.opcode === 'ld' && i.modifiers.includes('param')) {
        const base = i.operands.at(-1);
        if (base?.kind === 'address' && base.base?.kind === 'symbol' && parameters.has(base.base.name))
          incoming.add(base.base.name);
      } else if (i.opcode === 'ld' || i.opcode === 'atom') incoming.add('*');
      else for (const use of uses) for (const name of origins.get(use) ?? []) incoming.add(name);
      for (const register of definitions) {
        const known = origins.get(register) ?? new Set<string>();
        const before = known.size;
        for (const name of incoming) known.add(name);
        origins.set(register, known);
        changed ||= known.size > before;
      }
    }
  }
  return origins;
}

/** `*` only when no parameter is known to contribute: a loaded index into a parameter's buffer is that buffer's. */
function originsOf(address: PtxOperand, origins: ReadonlyMap<string, Set<string>>): string[] {
  const base = address.kind === 'address' ? address.base : null;
  if (base?.kind !== 'register') return ['*'];
  const names = [...(origins.get(base.name) ?? [])];
  const known = names.filter((name) => name !== '*');
  return known.length > 0 ? known : ['*'];
}
