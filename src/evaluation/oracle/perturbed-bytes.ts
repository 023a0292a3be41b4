import type { PlannedBuffer } from '../../core/launch-plan.ts';
import type { ReferenceTensors } from '../../core/problem.ts';
import { encode } from '../../core/rounding.ts';
import { spreadElements } from '../launches/layout.ts';
import { decodeInputs } from './expectations.ts';
import { devicePerturbation, perturbationOf, perturbInputs } from './perturbed-inputs.ts';

/** What the perturbed runs of a device reference begin with. */
export interface InputsToPerturb {
  /** Bytes of every `in` and `inout` buffer in its layout. */
  readonly inputs: ReadonlyMap<string, Uint8Array>;
  /** Their elements, if somebody has decoded them. */
  readonly tensors?: ReferenceTensors | undefined;
}

/** The inputs of the n-th perturbed run of a device reference, as the device gets them. */
export function perturbedBytes(
  buffers: readonly PlannedBuffer[],
  { inputs, tensors = decodeInputs(buffers, inputs) }: InputsToPerturb,
  run: number,
): Map<string, Uint8Array> {
  const perturbation = perturbationOf(buffers, run, devicePerturbation(buffers));
  return encodeInputs(buffers, perturbInputs(tensors, perturbation));
}

/** The elements of every input as the device has them, in its buffer's layout. */
export const encodeInputs = (buffers: readonly PlannedBuffer[], tensors: ReferenceTensors): Map<string, Uint8Array> =>
  new Map(
    buffers
      .filter(({ name }) => name in tensors)
      .map((buffer) => [buffer.name, spreadElements(buffer, encode(tensors[buffer.name]!, buffer.dtype), 0)]),
  );
