import type { DeviceBuffer, DeviceFailure } from '../../core/device-values.ts';
import type { PlannedArgument } from '../../core/launch-plan.ts';
import type { PtxParameter } from '../../ptx/ast.ts';
import { packParameters } from '../../virtual-gpu/pack-parameters.ts';
import { refuseTensorMap, unsupportedTensorMap } from '../../virtual-gpu/tensor-map.ts';
import { failure } from '../failure.ts';
import { refuseArguments } from '../match-arguments.ts';

/** The memory one launch may touch, in the order in which its ranges are numbered. */
export interface LaunchBuffers {
  buffers: DeviceBuffer[];
  /** Numbers of the buffers to which a parameter or variable points; none for scalars. */
  byName: Record<string, number[]>;
}

/**
 * @param named the plan's buffers.
 * @param pointerArrays one per `pointers` argument, in order.
 * @param globals the module's variables in device memory, named as in the code.
 */
export function launchBuffers(
  parameters: readonly PtxParameter[],
  values: readonly PlannedArgument[],
  named: ReadonlyMap<string, DeviceBuffer>,
  pointerArrays: readonly DeviceBuffer[],
  globals: readonly DeviceBuffer[],
): LaunchBuffers {
  const buffers = [...named.values(), ...pointerArrays, ...globals];
  const byName: Record<string, number[]> = {};
  const add = (name: string, buffer: DeviceBuffer | undefined): void => {
    const index = buffer === undefined ? -1 : buffers.indexOf(buffer);
    if (index >= 0) byName[name] = [index];
  };
  let arrays = 0;
  parameters.forEach((parameter, i) => {
    const value = values[i];
    if (value?.kind === 'buffer' || value?.kind === 'tensor-map') add(parameter.name, named.get(value.buffer));
    if (value?.kind === 'pointers') add(parameter.name, pointerArrays[arrays++]);
  });
  for (const variable of globals) add(variable.name, variable);
  return { buffers, byName };
}

/**
 * Packs the launch's arguments in the layout of the function's parameters.
 * @param addressOf offset in device memory's window of a buffer, or of the device array of a pointer list.
 */
export function packArguments(
  functionName: string,
  parameters: readonly PtxParameter[],
  values: readonly PlannedArgument[],
  addressOf: (argument: PlannedArgument) => number,
): { ok: true; bytes: Uint8Array } | DeviceFailure {
  const refusal = refuseArguments(functionName, parameters, values) ?? refuseMaps(functionName, values, addressOf);
  if (refusal) return refusal;
  return { ok: true, bytes: packParameters(parameters, values, addressOf) };
}

/** The first tensor map that the driver would not encode, or that a virtual GPU can't use. */
function refuseMaps(
  functionName: string,
  values: readonly PlannedArgument[],
  addressOf: (argument: PlannedArgument) => number,
): DeviceFailure | undefined {
  for (const [index, map] of values.entries()) {
    if (map.kind !== 'tensor-map') continue;
    const refusal = refuseTensorMap(map, addressOf(map));
    if (refusal !== undefined)
      return failure(
        'launch-failed',
        `argument ${index} of ${functionName}: no tensor map of ${map.buffer}: ${refusal}`,
      );
    const lacking = unsupportedTensorMap(map);
    if (lacking !== undefined)
      return failure(
        'unsupported',
        `argument ${index} of ${functionName}: virtual GPUs have no tensor maps with ${lacking}`,
      );
  }
  return undefined;
}
