import type { DeviceBuffer } from '../../core/device-values.ts';
import type { PtxFunction, PtxVariable } from '../../ptx/ast.ts';
import { instructionsOf } from '../../ptx/instruction-parts.ts';
import { leavesOf } from '../../ptx/operands.ts';
import { WINDOW } from '../../virtual-gpu/layout.ts';
import type { DeviceMemory } from '../../virtual-gpu/runtime/device-memory.ts';

/** Where a module's variables lie in device memory. */
export interface ModuleVariables {
  /** Offsets, by name. */
  readonly globals: Map<string, number>;
  readonly globalBuffers: DeviceBuffer[];
}

/** Whether a variable lies in device memory, and in this module. */
export const isGlobal = ({ space, external }: PtxVariable): boolean => space === 'global' && !external;

/**
 * Allocates those of the variables that lie in device memory, with their first contents.
 * @throws WarpsmithError `device-memory` if there is too little; `into` holds what was allocated.
 */
export function allocateVariables(
  memory: DeviceMemory,
  variables: readonly PtxVariable[],
  into: ModuleVariables,
): void {
  for (const variable of variables.filter(isGlobal)) {
    const block = memory.allocate({
      name: variable.name,
      bytes: Math.max(1, variable.sizeBytes),
      alignmentBytes: variable.alignmentBytes,
    });
    into.globals.set(variable.name, block.offset);
    into.globalBuffers.push(block);
    const contents = memory.contents(block).fill(0);
    if (variable.initialBytes) contents.set(variable.initialBytes);
  }
  for (const variable of variables) relocate(memory, variable, into);
}

function relocate(memory: DeviceMemory, variable: PtxVariable, { globals }: ModuleVariables): void {
  const at = globals.get(variable.name);
  if (at === undefined) return;
  const view = new DataView(memory.memory.buffer);
  for (const { offset, symbol, addend } of variable.relocations ?? []) {
    const target = globals.get(symbol);
    if (target !== undefined)
      view.setBigUint64(at + offset, (BigInt(WINDOW.global) << 32n) | BigInt(target + addend), true);
  }
}

/** The variables in device memory that a function names, and those whose addresses these hold. */
export function variablesOf(fn: PtxFunction, all: readonly PtxVariable[]): PtxVariable[] {
  const byName = new Map(all.filter(isGlobal).map((variable) => [variable.name, variable]));
  const leaves = instructionsOf(fn).flatMap(({ operands }) => operands.flatMap(leavesOf));
  const found = new Set<PtxVariable>();
  const open = leaves.flatMap((leaf) => (leaf.kind === 'symbol' ? [leaf.name] : []));
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const variable = byName.get(name);
    if (!variable || found.has(variable)) continue;
    found.add(variable);
    open.push(...(variable.relocations ?? []).map(({ symbol }) => symbol));
  }
  return [...found];
}

/** Whether a variable holds what it was given in the code, but for addresses. */
export function holdsFirstContents({ initialBytes, relocations = [] }: PtxVariable, contents: Uint8Array): boolean {
  const own = contents.slice();
  for (const { offset, sizeBytes } of relocations) own.fill(0, offset, offset + sizeBytes);
  const first = new Uint8Array(own.length);
  if (initialBytes) first.set(initialBytes);
  for (const { offset, sizeBytes } of relocations) first.fill(0, offset, offset + sizeBytes);
  return own.every((byte, i) => byte === first[i]);
}
