/** Code for the usual case of whole-warp instructions. It pushes whether the case was a usual one: if not, JavaScript executes them. */
import type { PtxOperand } from '../../../ptx/ast.ts';
import { elementsOf } from '../../../ptx/operands.ts';
import { tensorFormOf } from '../../runtime/tensor-form.ts';
import type { WarpFormContext } from './context.ts';

/** False, and no code, where none of the cases is a usual one. */
type Attempt = (context: WarpFormContext) => boolean;

/** Byte offset of a register from the warp's state; undefined for other operands, and registers that hold one value for the warp. */
function placeOf({ kernel }: WarpFormContext, operand: PtxOperand | undefined): number | undefined {
  if (operand?.kind !== 'register' || kernel.uniform.has(operand.name)) return undefined;
  return kernel.slotOf(operand.name);
}

/** mma.sync: calls the kernel of its form, which takes the addresses of A, B, C and D. */
const multiply: Attempt = (context) => {
  const { b, kernel, instruction, locals } = context;
  const form = tensorFormOf(instruction, kernel.target);
  const [d = [], ...factors] = instruction.operands.map(elementsOf);
  const places = [...factors.flat(), ...d].map((operand) => placeOf(context, operand));
  const product = form && kernel.imports.products.get(form);
  if (product === undefined || places.includes(undefined)) return false;
  for (const place of places) b.get(locals.warp).i32(place!).op('i32.add');
  b.call(product);
  return true;
};

const ATTEMPTS: ReadonlyMap<string, Attempt> = new Map([['mma', multiply]]);

/** Pushes whether the instruction was executed; false, and no code, if it is one for JavaScript. */
export const attempt: Attempt = (context) => {
  const { instruction, masked } = context;
  if (masked || instruction.guard) return false;
  return ATTEMPTS.get(instruction.opcode)?.(context) ?? false;
};
