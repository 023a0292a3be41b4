import type { ArgumentMismatch } from '../../core/device.ts';
import { sizeOfDType } from '../../core/dtype.ts';
import type { PlannedArgument } from '../../core/launch-plan.ts';
import { encode } from '../../core/rounding.ts';
import type { PtxParameter } from '../../ptx/ast.ts';
import { PARAMETER_BYTES, WINDOW } from '../../virtual-gpu/layout.ts';

export type PackedArguments =
  | { ok: true; bytes: Uint8Array }
  | { ok: false; message: string; mismatch: ArgumentMismatch };

/** Size an argument takes in the parameter block. */
function sizeOf(argument: PlannedArgument): number {
  switch (argument.kind) {
    case 'buffer':
    case 'null':
    case 'pointers':
      return 8;
    case 'scalar':
      return sizeOfDType(argument.dtype);
    case 'bytes':
      return argument.bytes.length;
    case 'tensor-map':
      return 128;
  }
}

/**
 * Lays the launch's arguments out as the function's parameters.
 * @param addressOf offset in device memory of a buffer, or of the device array made for a pointer list.
 */
export function packArguments(
  functionName: string,
  parameters: readonly PtxParameter[],
  values: readonly PlannedArgument[],
  addressOf: (argument: PlannedArgument) => number,
): PackedArguments {
  if (parameters.length !== values.length)
    return {
      ok: false,
      message: `${functionName} takes ${parameters.length} parameters, the launch passes ${values.length} arguments. Make the step's "arguments" match the function's parameter list.`,
      mismatch: {
        functionName,
        received: `${values.length} arguments`,
        expected: `${parameters.length} arguments`,
      },
    };
  const bytes = new Uint8Array(PARAMETER_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, parameter] of parameters.entries()) {
    const argument = values[index]!;
    if (sizeOf(argument) !== parameter.sizeBytes)
      return {
        ok: false,
        message: `argument ${index} of ${functionName} has ${sizeOf(argument)} bytes (${describe(argument)}), the function's parameter has ${parameter.sizeBytes} (.${parameter.type}). Check the step's "arguments" and their dtypes.`,
        mismatch: {
          functionName,
          argumentIndex: index,
          received: `${sizeOf(argument)} bytes (${describe(argument)})`,
          expected: `${parameter.sizeBytes} bytes (.${parameter.type})`,
        },
      };
    if (argument.kind === 'scalar') bytes.set(encode([argument.value], argument.dtype), parameter.offset);
    else if (argument.kind === 'bytes') bytes.set(argument.bytes, parameter.offset);
    else if (argument.kind !== 'null')
      view.setBigUint64(parameter.offset, (BigInt(WINDOW.global) << 32n) | BigInt(addressOf(argument)), true);
  }
  return { ok: true, bytes };
}

function describe(argument: PlannedArgument): string {
  if (argument.kind === 'scalar') return `scalar ${argument.dtype}`;
  if (argument.kind === 'buffer') return `buffer ${argument.buffer}`;
  return argument.kind;
}
