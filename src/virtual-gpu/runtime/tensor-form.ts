import { rememberedAt } from '../../core/once-for.ts';
import type { PtxInstruction } from '../../ptx/ast.ts';
import { has, typesOf } from '../../ptx/instruction-parts.ts';
import type { HalfFormat, TensorKernelForm } from './product-emitter.ts';
import { type TensorModel, tensorModel } from './tensor-model.ts';

const DEPTHS: ReadonlyMap<string, number> = new Map([
  ['m16n8k8', 8],
  ['m16n8k16', 16],
]);

/** Forms that are equal are the same object. */
const forms = new Map<string, TensorKernelForm>();

/** The kernel's form of an mma.sync of 16-bit elements of one kind with f32 accumulators; undefined for others. */
export function tensorFormOf(instruction: PtxInstruction, target: string): TensorKernelForm | undefined {
  if (instruction.opcode !== 'mma') return undefined;
  const [d, format, b, c] = typesOf(instruction);
  const k = instruction.modifiers.map((modifier) => DEPTHS.get(modifier)).find((depth) => depth !== undefined);
  if (k === undefined || d !== 'f32' || c !== 'f32' || b !== format) return undefined;
  if ((format !== 'f16' && format !== 'bf16') || has(instruction, 'sp') || has(instruction, 'sp::ordered_metadata'))
    return undefined;
  return halfForm(format, k, tensorModel(target));
}

/** The form of products of 16-bit elements that a model adds. */
export function halfForm(format: HalfFormat, k: number, { blockSize, fractionBits }: TensorModel): TensorKernelForm {
  const form = { format, k, block: blockSize[format]!, fractionBits };
  return rememberedAt(forms, JSON.stringify(form), () => form);
}
