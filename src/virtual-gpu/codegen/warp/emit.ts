import type { PtxInstruction, PtxOperand } from '../../../ptx/ast.ts';
import type { EarlyRead } from '../../../ptx/early-reads.ts';
import { registersOf } from '../../../ptx/operands.ts';
import { watchedAccess } from '../../race-detector/watched-access.ts';
import { MASK_CHECK } from '../../runtime/lane-masks.ts';
import type { BlockFrame } from '../block-frame.ts';
import { newGroup } from '../memory/plan.ts';
import { attempt } from './attempts.ts';
import { warpEmitter } from './forms.ts';

/** Emits an instruction that the lanes of a warp execute together, or a call to JavaScript. */
export function emitWarp(frame: BlockFrame, instruction: PtxInstruction): void {
  const emit = warpEmitter(instruction);
  if (emit) {
    emit({ ...frame, instruction });
    return;
  }
  const { b } = frame;
  if (attempt({ ...frame, instruction })) b.op('i32.eqz').if(() => callSite(frame, instruction));
  else callOut(frame, instruction);
}

/** Calls JavaScript with every uniform operand's value in the warp's state. */
export function callOut(frame: BlockFrame, instruction: PtxInstruction): void {
  const registers = registersOf(instruction.operands);
  if (instruction.guard) registers.push(instruction.guard.register);
  frame.uniforms.store(registers);
  callSite(frame, instruction);
}

/** The call itself. */
export function callSite(frame: BlockFrame, instruction: PtxInstruction): void {
  const { b, kernel, block, locals, masked } = frame;
  const site = kernel.addSite(instruction, block.index, landingOf(frame, instruction));
  b.i32(site.index)
    .get(locals.warp)
    .i32(masked ? 1 : 0)
    .call(kernel.imports.warpOperation);
}

function landingOf(frame: BlockFrame, instruction: PtxInstruction): number | undefined {
  const access = frame.kernel.watching && instruction.opcode === 'cp' ? watchedAccess(instruction) : undefined;
  if (!access || access.isAsync) return undefined;
  const group = newGroup(frame, 'shared', [{ instruction, isStore: true, offset: 0, bytes: access.bytes }]);
  // What all lanes copy lands together, whatever the guard was.
  group.guarded = false;
  return group.index;
}

/** Asks JavaScript whether products are still on their way to a register that `instruction` reads. */
export const checkOfEarlyRead = (
  { text, ptxLine, source }: PtxInstruction,
  { products }: EarlyRead,
): PtxInstruction => ({
  ...{ opcode: 'wgmma', modifiers: ['early_read'], text, ptxLine, source },
  operands: [...products].map((product) => ({
    kind: 'immediate',
    type: 'integer',
    value: BigInt(product.ptxLine),
  })),
});

/** Asks JavaScript whether the lanes that a mask names are those that execute `instruction`. */
export const checkOfMask = ({ guard, text, ptxLine, source }: PtxInstruction, mask: PtxOperand): PtxInstruction => ({
  ...{ opcode: MASK_CHECK, modifiers: [], operands: [mask], guard, text, ptxLine, source },
});
