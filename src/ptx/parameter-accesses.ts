import type { PtxFunction, PtxInstruction, PtxModule, PtxOperand } from './ast.ts';
import { buildControlFlowGraph } from './control-flow.ts';
import { inlineCalls } from './inline-calls.ts';
import { spaceOf } from './instruction-parts.ts';
import { memoryActionOf } from './instructions/properties.ts';
import { type Origins, OriginTracer } from './pointer-origins.ts';

/** An instruction that reads or writes memory other than parameters, and where its address comes from. */
export interface MemoryAccess {
  readonly how: 'read' | 'write' | 'both';
  readonly instruction: PtxInstruction;
  readonly origins: Origins;
}

/** Accesses of a function and of all that it calls, in the order of the code. @throws UnsupportedPtxError as {@link inlineCalls} does. */
export function memoryAccesses(
  module: PtxModule,
  symbol: string,
): { fn: PtxFunction; accesses: readonly MemoryAccess[] } {
  const fn = inlineCalls(module, symbol);
  const globals = new Set(module.variables.filter(({ space }) => space === 'global').map(({ name }) => name));
  const tracer = new OriginTracer(fn, globals);
  const accesses = fn.body.flatMap((statement) =>
    statement.kind === 'instruction'
      ? addressesOf(statement.instruction).map(({ address, how }) => ({
          how,
          instruction: statement.instruction,
          origins: tracer.of(address),
        }))
      : [],
  );
  return { fn, accesses };
}

/** Whether an address may lead to what a parameter points to. */
export const leadsTo = (origins: Origins, parameter: string): boolean =>
  [...origins].some((alternative) => alternative.split('+').includes(parameter));

function addressesOf(instruction: PtxInstruction): { address: PtxOperand; how: MemoryAccess['how'] }[] {
  const { operands } = instruction;
  const action = memoryActionOf(instruction);
  // The parameter itself, not the memory behind it.
  if (spaceOf(instruction) === 'param') return [];
  if (action === 'copy') return operands[1] ? [{ address: operands[1], how: 'read' }] : [];
  if (action === 'load') return [{ address: operands.at(-1)!, how: 'read' }];
  if (action === 'matrix-load') return [{ address: operands[1]!, how: 'read' }];
  if (action === 'store' || action === 'matrix-store') return [{ address: operands[0]!, how: 'write' }];
  const address = operands.find(({ kind }) => kind === 'address');
  return (action === 'atomic' || action === 'reduction') && address ? [{ address, how: 'both' }] : [];
}

/** Instructions that a thread may come to before it has waited for the launch before (`griddepcontrol.wait`). */
export function instructionsBeforeWait(fn: PtxFunction): ReadonlySet<PtxInstruction> {
  const { blocks } = buildControlFlowGraph(fn);
  const found = new Set<PtxInstruction>();
  const seen = new Set([0]);
  const open = [0];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { instructions, successors } = blocks[at]!;
    const wait = instructions.findIndex(({ text, guard }) => text === 'griddepcontrol.wait' && guard === undefined);
    for (const instruction of wait < 0 ? instructions : instructions.slice(0, wait)) found.add(instruction);
    for (const next of wait < 0 ? successors : []) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return found;
}
