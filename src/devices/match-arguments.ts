import type { ArgumentMismatch, DeviceFailure } from '../core/device-values.ts';
import { sizeOfDType } from '../core/dtype.ts';
import type { PlannedArgument } from '../core/launch-plan.ts';
import { failure } from './failure.ts';

/** A parameter of a compiled function. */
export interface FunctionParameter {
  readonly sizeBytes: number;
  /** PTX type, where known. */
  readonly type?: string;
}

/** A buffer of a launch plan. */
export function bufferNamed<B>(buffers: ReadonlyMap<string, B>, name: string): B {
  const buffer = buffers.get(name);
  if (buffer === undefined) throw new Error(`the launch plan names buffer ${name}, which was not allocated`);
  return buffer;
}

/** Size an argument takes in the parameter block. */
export function argumentBytes(argument: PlannedArgument): number {
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

/** The first mistake in a launch's arguments, if any: their number, or the size of one. */
export function refuseArguments(
  functionName: string,
  parameters: readonly FunctionParameter[],
  values: readonly PlannedArgument[],
): DeviceFailure | undefined {
  if (parameters.length !== values.length)
    return mismatched(
      `${functionName} takes ${parameters.length} parameters, the launch passes ${values.length} arguments. Make the step's "arguments" match the function's parameter list.`,
      { functionName, received: `${values.length} arguments`, expected: `${parameters.length} arguments` },
    );
  for (const [index, { sizeBytes, type }] of parameters.entries()) {
    const argument = values[index]!;
    const bytes = argumentBytes(argument);
    if (bytes === sizeBytes) continue;
    const suffix = type === undefined ? '' : ` (.${type})`;
    return mismatched(
      `argument ${index} of ${functionName} has ${bytes} bytes (${describe(argument)}), the function's parameter has ${sizeBytes}${suffix}. Check the step's "arguments" and their dtypes.`,
      {
        functionName,
        argumentIndex: index,
        received: `${bytes} bytes (${describe(argument)})`,
        expected: `${sizeBytes} bytes${suffix}`,
      },
    );
  }
  return undefined;
}

const mismatched = (message: string, mismatch: ArgumentMismatch): DeviceFailure => ({
  ...failure('invalid', message),
  mismatch,
});

function describe(argument: PlannedArgument): string {
  if (argument.kind === 'scalar') return `scalar ${argument.dtype}`;
  if (argument.kind === 'buffer') return `buffer ${argument.buffer}`;
  return argument.kind;
}
