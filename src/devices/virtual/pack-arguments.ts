import type { DeviceFailure } from '../../core/device-values.ts';
import type { PlannedArgument } from '../../core/launch-plan.ts';
import type { PtxParameter } from '../../ptx/ast.ts';
import { packParameters } from '../../virtual-gpu/pack-parameters.ts';
import { refuseArguments } from '../match-arguments.ts';

/**
 * Packs the launch's arguments in the layout of the function's parameters.
 * @param addressOf offset in device memory of a buffer, or of the device array of a pointer list.
 */
export function packArguments(
  functionName: string,
  parameters: readonly PtxParameter[],
  values: readonly PlannedArgument[],
  addressOf: (argument: PlannedArgument) => number,
): { ok: true; bytes: Uint8Array } | DeviceFailure {
  const refusal = refuseArguments(functionName, parameters, values);
  if (refusal) return refusal;
  return { ok: true, bytes: packParameters(parameters, values, addressOf) };
}
