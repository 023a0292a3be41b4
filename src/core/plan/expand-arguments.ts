import { type DType, isFloating, sizeOfDType } from '../dtype.ts';
import { WarpsmithError } from '../errors.ts';
import { evaluateExpression } from '../expressions/evaluate.ts';
import type { Expression } from '../expressions/syntax-tree.ts';
import type { ArgumentDeclaration } from '../kernel.ts';
import type { PlannedArgument, PlannedBuffer } from '../launch-plan.ts';
import { suggestName } from '../nearest-name.ts';
import { encode, roundTo } from '../rounding.ts';
import { evaluateInteger } from './plan-error.ts';
import type { Scope } from './scope.ts';

export interface ArgumentContext {
  readonly buffers: ReadonlyMap<string, PlannedBuffer>;
  /** Outputs that are not wanted at these dimensions: null pointers. */
  readonly absent?: ReadonlySet<string>;
  readonly scope: Scope;
  readonly path: string;
  readonly file?: string | undefined;
}

/**
 * One kernel argument with its expressions evaluated; scalars are rounded to their dtype.
 *
 * @throws WarpsmithError for an unknown buffer, an offset outside it, or an integer that does not fit its dtype.
 */
export function expandArgument(argument: ArgumentDeclaration, context: ArgumentContext): PlannedArgument {
  if ('buffer' in argument && context.absent?.has(argument.buffer)) return { kind: 'null' };
  if ('buffer' in argument) return { kind: 'buffer', ...expandReference(argument, context) };
  if ('null' in argument) return { kind: 'null' };
  if ('scalar' in argument) {
    const value = expandScalar(argument.scalar, argument.dtype, { ...context, path: `${context.path}.scalar` });
    return { kind: 'scalar', dtype: argument.dtype, value };
  }
  if ('struct' in argument) return expandStruct(argument.struct, context);
  if ('bytes' in argument) return { kind: 'bytes', bytes: bytesOfHex(argument.bytes), alignmentBytes: 1 };
  if ('pointers' in argument) {
    const targets = argument.pointers.map((target, index) =>
      expandReference(target, { ...context, path: `${context.path}.pointers[${index}]` }),
    );
    return { kind: 'pointers', targets };
  }
  return expandTensorMap(argument.tensorMap, { ...context, path: `${context.path}.tensorMap` });
}

const place = (context: Pick<ArgumentContext, 'path' | 'file'>): { path: string; file?: string } => ({
  path: context.path,
  file: context.file,
});

function bufferNamed(name: string, context: ArgumentContext): PlannedBuffer {
  const buffer = context.buffers.get(name);
  if (buffer) return buffer;
  throw new WarpsmithError({
    code: 'unknown-buffer',
    message: `There is no buffer or workspace \`${name}\`.`,
    ...place(context),
    path: `${context.path}.buffer`,
    received: name,
    expected: `one of ${[...context.buffers.keys()].join(', ')}`,
    hint: suggestName(name, context.buffers.keys(), 'Buffers'),
  });
}

/** A place in a buffer; at its very end, too. */
export function expandReference(
  reference: { buffer: string; offsetBytes?: Expression },
  context: ArgumentContext,
): { buffer: string; offsetBytes: number } {
  const buffer = bufferNamed(reference.buffer, context);
  const offsetBytes = evaluateInteger(
    {
      expression: reference.offsetBytes ?? 0,
      scope: context.scope,
      ...place(context),
      path: `${context.path}.offsetBytes`,
    },
    { what: `The offset into buffer \`${buffer.name}\``, minimum: 0, maximum: buffer.bytes },
  );
  return { buffer: buffer.name, offsetBytes };
}

/** A number of this dtype. */
export function expandScalar(
  expression: Expression,
  dtype: DType,
  context: Pick<ArgumentContext, 'scope' | 'path' | 'file'>,
): number {
  const value = evaluateExpression(expression, context.scope, place(context));
  const rounded = roundTo(dtype)(value);
  const isInteger = !isFloating(dtype);
  if (!isInteger && Number.isFinite(rounded)) return rounded;
  if (isInteger && rounded === value) return rounded;
  throw new WarpsmithError({
    code: 'scalar-does-not-fit',
    message: `${value} is not a value of ${dtype}.`,
    ...place(context),
    received: typeof expression === 'number' ? String(expression) : `${expression} = ${value}`,
    expected: isInteger ? `an integer within the range of ${dtype}` : `a number within the range of ${dtype}`,
    hint: isInteger ? 'Round with floor(…), or pass it as f32.' : 'Pass it as f32.',
  });
}

/** C layout: each field at the next multiple of its size, the whole padded to the largest. */
function expandStruct(
  fields: readonly { dtype: DType; value: Expression }[],
  context: ArgumentContext,
): PlannedArgument {
  const alignmentBytes = Math.max(...fields.map(({ dtype }) => sizeOfDType(dtype)));
  const bytes: number[] = [];
  fields.forEach(({ dtype, value }, index) => {
    padTo(bytes, sizeOfDType(dtype));
    const fieldContext = { ...context, path: `${context.path}.struct[${index}].value` };
    bytes.push(...encode([expandScalar(value, dtype, fieldContext)], dtype));
  });
  padTo(bytes, alignmentBytes);
  return { kind: 'bytes', bytes: Uint8Array.from(bytes), alignmentBytes };
}

function padTo(bytes: number[], alignmentBytes: number): void {
  while (bytes.length % alignmentBytes !== 0) bytes.push(0);
}

export const bytesOfHex = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

type TensorMapDeclaration = Extract<ArgumentDeclaration, { tensorMap: object }>['tensorMap'];

function expandTensorMap(map: TensorMapDeclaration, context: ArgumentContext): PlannedArgument {
  const rank = map.globalDim.length;
  const integers = (key: string, values: readonly Expression[], count: number, maximum: number): number[] => {
    if (values.length !== count) throw wrongRank(key, values.length, count, context);
    return values.map((expression, axis) =>
      evaluateInteger(
        { expression, scope: context.scope, ...place(context), path: `${context.path}.${key}[${axis}]` },
        { what: `${key}[${axis}] of the tensor map`, minimum: 1, maximum },
      ),
    );
  };
  return {
    kind: 'tensor-map',
    buffer: bufferNamed(map.buffer, context).name,
    dtype: map.dtype,
    // Limits of cuTensorMapEncodeTiled. Source: CUDA Driver API, tensor map object management.
    globalDim: integers('globalDim', map.globalDim, rank, 2 ** 32),
    globalStridesBytes: integers('globalStridesBytes', map.globalStridesBytes, rank - 1, 2 ** 40 - 16),
    boxDim: integers('boxDim', map.boxDim, rank, 256),
    elementStrides: integers('elementStrides', map.elementStrides ?? new Array<number>(rank).fill(1), rank, 8),
    swizzle: map.swizzle ?? 'none',
    interleave: map.interleave ?? 'none',
    l2Promotion: map.l2Promotion ?? 'none',
    fill: map.fill ?? 'zeros',
  };
}

const wrongRank = (key: string, received: number, expected: number, context: ArgumentContext): Error =>
  new WarpsmithError({
    code: 'tensor-map-rank',
    message: `\`${key}\` has ${received} entries; the tensor map has ${expected === 0 ? 'one axis' : `${expected} to describe`}.`,
    ...place(context),
    path: `${context.path}.${key}`,
    received: `${received} entries`,
    expected: `${expected} entries`,
    hint: 'globalDim, boxDim and elementStrides have one entry per axis, globalStridesBytes one fewer.',
  });
