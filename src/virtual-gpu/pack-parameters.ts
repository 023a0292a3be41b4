import type { PlannedArgument } from '../core/launch-plan.ts';
import { encode } from '../core/rounding.ts';
import type { PtxParameter } from '../ptx/ast.ts';
import { PARAMETER_BYTES, WINDOW } from './layout.ts';
import { encodeTensorMap } from './tensor-map.ts';

/**
 * Packs arguments, which fit the parameters, in the function's layout.
 * @param addressOf offset from the start of device memory's window of an argument's target; below 0 for a buffer in pages.
 */
export function packParameters(
  parameters: readonly PtxParameter[],
  values: readonly PlannedArgument[],
  addressOf: (argument: PlannedArgument) => number,
): Uint8Array {
  const bytes = new Uint8Array(PARAMETER_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, { offset }] of parameters.entries()) {
    const argument = values[index]!;
    if (argument.kind === 'scalar') bytes.set(encode([argument.value], argument.dtype), offset);
    else if (argument.kind === 'bytes') bytes.set(argument.bytes, offset);
    else if (argument.kind === 'tensor-map') bytes.set(encodeTensorMap(argument, addressOf(argument)), offset);
    else if (argument.kind !== 'null')
      view.setBigUint64(offset, (BigInt(WINDOW.global) << 32n) + BigInt(addressOf(argument)), true);
  }
  return bytes;
}
