import type { PtxInstruction } from '../../../src/ptx/ast.ts';
import { select, selectBySign, setPredicate, setValue } from './compare.ts';
import { convert } from './convert.ts';
import { FLOAT_OPERATIONS, isFloating } from './floating.ts';
import { INTEGER_OPERATIONS } from './integer.ts';
import {
  inputsOf,
  type LaneInputs,
  type LaneOperation,
  type LaneState,
  passesGuard,
  type RegisterTypes,
  writeResults,
} from './lane.ts';
import { activeLanes, WARP_OPERATIONS } from './warp.ts';

/** Packs source elements low first, then splits the whole over the destinations. */
const move: LaneOperation = (inputs) => {
  let whole = 0n;
  let shift = 0n;
  for (const { value, bits } of inputs.elements(1)) {
    whole |= BigInt.asUintN(bits, value) << shift;
    shift += BigInt(bits);
  }
  // A lone immediate keeps all its bits: the destination cuts it.
  if (inputs.elements(1).length === 1) whole = inputs.unsigned(1);
  let taken = 0n;
  return inputs.destinationBits.map((bits) => {
    const part = BigInt.asUintN(bits, whole >> taken);
    taken += BigInt(bits);
    return part;
  });
};

const OPERATIONS: ReadonlyMap<string, LaneOperation> = new Map<string, LaneOperation>([
  ['mov', move],
  ['cvt', convert],
  ['setp', setPredicate],
  ['set', setValue],
  ['selp', select],
  ['slct', selectBySign],
]);

/** The operation of one lane; floating-point types first, since opcodes such as `add` serve both. */
function laneOperation(instruction: PtxInstruction): LaneOperation | undefined {
  const { opcode } = instruction;
  const type = instruction.modifiers.at(-1) ?? '';
  return (
    OPERATIONS.get(opcode) ??
    (isFloating(type) ? FLOAT_OPERATIONS.get(opcode) : undefined) ??
    INTEGER_OPERATIONS.get(opcode)
  );
}

/**
 * The specification the virtual GPU is tested against, written from the PTX ISA. Its results were compared with an
 * NVIDIA H200 (driver 580, ptxas 13.0) on all forms of test/virtual-gpu/opcodes/forms.ts, 256 inputs each, by full
 * warps: equal bits, apart from NaN payloads and approximate functions, which were within their bounds.
 *
 * Executes one instruction for the lanes in `active` (by lane number), guards included. Memory, barriers and control
 * flow are not here.
 * @throws Error for an opcode that is not in the tables.
 */
export function executeWarp(
  instruction: PtxInstruction,
  types: RegisterTypes,
  active: ReadonlyMap<number, LaneState>,
): void {
  const executing = new Map([...active].filter(([, state]) => passesGuard(instruction, state)));
  const warpOperation = WARP_OPERATIONS.get(instruction.opcode);
  if (warpOperation) {
    const results = warpOperation(activeLanes(instruction, types, executing), instruction);
    for (const [lane, values] of results) writeResults(instruction, types, executing.get(lane)!, values);
    return;
  }
  for (const state of executing.values()) executeLane(instruction, types, state);
}

/** Executes one instruction for one lane, whatever its guard. @throws Error for an unknown opcode. */
export function executeLane(instruction: PtxInstruction, types: RegisterTypes, state: LaneState): void {
  const operation = laneOperation(instruction);
  if (!operation) throw new Error(`the interpreter does not know ${instruction.text}`);
  const inputs: LaneInputs = inputsOf(instruction, types, state);
  const results = operation(inputs);
  state.carry = inputs.carry;
  writeResults(instruction, types, state, results);
}
