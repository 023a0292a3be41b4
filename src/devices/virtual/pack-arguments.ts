import type { DeviceFailure } from '../../core/device.ts';
import type { PlannedArgument } from '../../core/launch-plan.ts';
import { encode } from '../../core/rounding.ts';
import type { PtxParameter } from '../../ptx/ast.ts';
import { PARAMETER_BYTES, WINDOW } from '../../virtual-gpu/layout.ts';
import { refuseArguments } from '../match-arguments.ts';

/**
 * Lays the launch's arguments out as the function's parameters.
 * @param addressOf offset in device memory of a buffer, or of the device array made for a pointer list.
 */
export function packArguments(
  functionName: string,
  parameters: readonly PtxParameter[],
  values: readonly PlannedArgument[],
  addressOf: (argument: PlannedArgument) => number,
): { ok: true; bytes: Uint8Array } | DeviceFailure {
  const refusal = refuseArguments(functionName, parameters, values);
  if (refusal) return refusal;
  const bytes = new Uint8Array(PARAMETER_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, { offset }] of parameters.entries()) {
    const argument = values[index]!;
    if (argument.kind === 'scalar') bytes.set(encode([argument.value], argument.dtype), offset);
    else if (argument.kind === 'bytes') bytes.set(argument.bytes, offset);
    else if (argument.kind !== 'null')
      view.setBigUint64(offset, (BigInt(WINDOW.global) << 32n) | BigInt(addressOf(argument)), true);
  }
  return { ok: true, bytes };
}
