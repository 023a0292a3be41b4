import type { PtxFunction, PtxInstruction, PtxOperand } from '../../../src/ptx/ast.ts';
import { executeLane } from '../../support/ptx-interpreter/index.ts';
import { type LaneState, passesGuard } from '../../support/ptx-interpreter/lane.ts';

/** What one thread, run alone from start to end, does. */
export interface ThreadRun {
  /** 32-bit words it stores, by address. */
  stored: Map<bigint, bigint>;
  /** Instructions executed, those switched off by a guard included. */
  instructions: number;
}

const MAXIMUM_INSTRUCTIONS = 100_000;

/**
 * Runs one thread of a function one instruction after the other: registers, branches, jump tables, `ret`,
 * `ld.param`, special registers and `st.global.u32`. No warps, hence nothing to diverge: the reference for control flow.
 */
export function runThread(
  fn: PtxFunction,
  parameters: Readonly<Record<string, bigint>>,
  specials: Readonly<Record<string, number>>,
): ThreadRun {
  const labels = new Map<string, number>();
  fn.body.forEach((statement, index) => {
    if (statement.kind === 'label') labels.set(statement.name, index);
  });
  const state: LaneState = { registers: new Map(), carry: 0n };
  const stored = new Map<bigint, bigint>();
  let instructions = 0;
  for (let at = 0; at < fn.body.length; at++) {
    const statement = fn.body[at]!;
    if (statement.kind === 'label') continue;
    const { instruction } = statement;
    if (++instructions > MAXIMUM_INSTRUCTIONS) throw new Error('the thread does not end');
    if (!passesGuard(instruction, state)) continue;
    if (instruction.opcode === 'ret') break;
    const target = branchTarget(instruction, state);
    if (target !== undefined) at = labels.get(target)!;
    else if (instruction.opcode === 'st')
      stored.set(addressOf(instruction.operands[0]!, state), read(instruction.operands[1]!, state));
    else if (!readFixedValue(instruction, parameters, specials, state)) executeLane(instruction, fn.registers, state);
  }
  return { stored, instructions };
}

const read = (operand: PtxOperand, state: LaneState): bigint =>
  operand.kind === 'register' ? state.registers.get(operand.name)! : (operand as { value: bigint }).value;

function addressOf(operand: PtxOperand, state: LaneState): bigint {
  if (operand.kind !== 'address' || operand.base?.kind !== 'register') throw new Error('a store needs an address');
  return read(operand.base, state) + BigInt(operand.offset);
}

function branchTarget({ opcode, operands }: PtxInstruction, state: LaneState): string | undefined {
  if (opcode === 'bra') return (operands[0] as { name: string }).name;
  if (opcode !== 'brx') return undefined;
  const table = operands[1] as { elements: { name: string }[] };
  return table.elements[Number(read(operands[0]!, state))]!.name;
}

/** Moves from special registers and loads of parameters. */
function readFixedValue(
  { opcode, operands }: PtxInstruction,
  parameters: Readonly<Record<string, bigint>>,
  specials: Readonly<Record<string, number>>,
  state: LaneState,
): boolean {
  const [destination, source] = operands;
  if (destination?.kind !== 'register') return false;
  if (opcode === 'mov' && source?.kind === 'special') {
    state.registers.set(destination.name, BigInt(specials[source.name]!));
    return true;
  }
  if (opcode !== 'ld' || source?.kind !== 'address' || source.base?.kind !== 'symbol') return false;
  state.registers.set(destination.name, parameters[source.base.name]!);
  return true;
}
