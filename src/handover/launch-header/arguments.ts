import { type DType, sizeOfDType } from '../../core/dtype.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type { ArgumentDeclaration } from '../../core/kernel.ts';
import { roundUp } from '../../core/values.ts';
import type { HeaderScope } from './header-scope.ts';

const POINTER_BYTES = 8;
/** Size and alignment of a CUtensorMap. Source: CUDA Driver API, tensor map object management. */
const TENSOR_MAP = { bytes: 128, alignmentBytes: 64 };

/** Where an argument's bytes lie among those of its launch. */
export interface PlacedArgument {
  readonly argument: ArgumentDeclaration;
  readonly offsetBytes: number;
  readonly bytes: number;
}

/** The arguments of a launch one behind the other, each naturally aligned or better. */
export function placeArguments(declarations: readonly ArgumentDeclaration[]): {
  placed: PlacedArgument[];
  bytes: number;
} {
  let end = 0;
  const placed = declarations.map((argument) => {
    const { bytes, alignmentBytes } = extentOf(argument);
    const offsetBytes = roundUp(end, alignmentBytes);
    end = offsetBytes + bytes;
    return { argument, offsetBytes, bytes };
  });
  return { placed, bytes: end };
}

function extentOf(argument: ArgumentDeclaration): { bytes: number; alignmentBytes: number } {
  if ('scalar' in argument) return { bytes: sizeOfDType(argument.dtype), alignmentBytes: POINTER_BYTES };
  if ('struct' in argument) return { bytes: structOf(argument.struct).bytes, alignmentBytes: POINTER_BYTES };
  // Raw bytes may be a struct of any alignment.
  if ('bytes' in argument) return { bytes: argument.bytes.length / 2, alignmentBytes: 16 };
  if ('tensorMap' in argument) return TENSOR_MAP;
  return { bytes: POINTER_BYTES, alignmentBytes: POINTER_BYTES };
}

/** C layout: each field at the next multiple of its size, the whole padded to the largest. */
function structOf(fields: Extract<ArgumentDeclaration, { struct: unknown }>['struct']) {
  const alignmentBytes = Math.max(...fields.map(({ dtype }) => sizeOfDType(dtype)));
  let end = 0;
  const offsets = fields.map(({ dtype }) => {
    const offset = roundUp(end, sizeOfDType(dtype));
    end = offset + sizeOfDType(dtype);
    return offset;
  });
  return { offsets, bytes: roundUp(end, alignmentBytes) };
}

/** Tensor-map enumerators of cuda.h by what kernel.json calls them. */
const TENSOR_MAP_TYPES: Readonly<Record<string, string>> = {
  u8: 'CU_TENSOR_MAP_DATA_TYPE_UINT8',
  i8: 'CU_TENSOR_MAP_DATA_TYPE_UINT8',
  u16: 'CU_TENSOR_MAP_DATA_TYPE_UINT16',
  i16: 'CU_TENSOR_MAP_DATA_TYPE_UINT16',
  u32: 'CU_TENSOR_MAP_DATA_TYPE_UINT32',
  i32: 'CU_TENSOR_MAP_DATA_TYPE_INT32',
  u64: 'CU_TENSOR_MAP_DATA_TYPE_UINT64',
  i64: 'CU_TENSOR_MAP_DATA_TYPE_INT64',
  f16: 'CU_TENSOR_MAP_DATA_TYPE_FLOAT16',
  bf16: 'CU_TENSOR_MAP_DATA_TYPE_BFLOAT16',
  f32: 'CU_TENSOR_MAP_DATA_TYPE_FLOAT32',
  f64: 'CU_TENSOR_MAP_DATA_TYPE_FLOAT64',
};
const enumerator = (prefix: string, value: string | undefined): string =>
  `CU_TENSOR_MAP_${prefix}_${(value ?? 'none').toUpperCase()}`;
const promotion = (value: string | undefined): string =>
  `CU_TENSOR_MAP_L2_PROMOTION_${value === undefined || value === 'none' ? 'NONE' : `L2_${value}`}`;
const fillOf = (value: string | undefined): string =>
  `CU_TENSOR_MAP_FLOAT_OOB_FILL_${value === 'nan' ? 'NAN_REQUEST_ZERO_FMA' : 'NONE'}`;

/** C++ that writes one argument of `step`; `path` is its JSON path in kernel.json. */
export function writeArgument({ argument, offsetBytes }: PlacedArgument, path: string, scope: HeaderScope): string[] {
  if ('buffer' in argument) {
    const { base, bytes } = scope.buffer(argument.buffer);
    const offset = offsetOf(argument.offsetBytes, `${path}.offsetBytes`, bytes, scope);
    const isOptional = scope.problem.outputs[argument.buffer]?.when !== undefined;
    const pointer = isOptional ? `(${bytes} > 0 ? ${base} : nullptr)` : base;
    return [`put_pointer(step, ${offsetBytes}, ${pointer}, ${offset});`];
  }
  if ('null' in argument) return [`put_pointer(step, ${offsetBytes}, nullptr, 0);`];
  if ('scalar' in argument) return [writeScalar(argument.scalar, argument.dtype, offsetBytes, `${path}.scalar`, scope)];
  if ('struct' in argument) {
    const { offsets } = structOf(argument.struct);
    return argument.struct.map(({ dtype, value }, field) =>
      writeScalar(value, dtype, offsetBytes + offsets[field]!, `${path}.struct[${field}].value`, scope),
    );
  }
  if ('bytes' in argument) {
    const bytes = (argument.bytes.match(/../g) ?? []).map((pair) => `0x${pair}`).join(', ');
    const count = argument.bytes.length / 2;
    return [
      `static const unsigned char raw_${offsetBytes}[${count}] = {${bytes}};`,
      `std::memcpy(step.arguments + ${offsetBytes}, raw_${offsetBytes}, ${count});`,
    ];
  }
  if ('pointers' in argument) return writePointers(argument.pointers, offsetBytes, path, scope);
  return writeTensorMap(argument.tensorMap, offsetBytes, `${path}.tensorMap`, scope);
}

const offsetOf = (expression: Expression | undefined, path: string, bytes: string, scope: HeaderScope): string =>
  expression === undefined || expression === 0
    ? '0'
    : scope.integer(expression, path, '0', `static_cast<double>(${bytes})`);

function writeScalar(
  expression: Expression,
  dtype: DType,
  offsetBytes: number,
  path: string,
  scope: HeaderScope,
): string {
  const checked = scope.scalar(scope.expression(expression), dtype, scope.place(expression, path));
  return `put_${dtype}(step, ${offsetBytes}, ${checked});`;
}

function writePointers(
  pointers: readonly { buffer: string; offsetBytes?: Expression }[],
  offsetBytes: number,
  path: string,
  scope: HeaderScope,
): string[] {
  const targets = pointers.map((target, index) => {
    const { base, bytes } = scope.buffer(target.buffer);
    return `place_at(${base}, ${offsetOf(target.offsetBytes, `${path}.pointers[${index}].offsetBytes`, bytes, scope)})`;
  });
  const table = scope.pointerTable(path, pointers.length);
  return [
    `const void* const targets_${offsetBytes}[${pointers.length}] = {${targets.join(', ')}};`,
    `if (check.failed()) return cudaErrorInvalidValue;`,
    `error = visitor.pointers(static_cast<void**>(${table}), targets_${offsetBytes}, ${pointers.length});`,
    `if (error != cudaSuccess) return error;`,
    `put_pointer(step, ${offsetBytes}, ${table}, 0);`,
  ];
}

function writeTensorMap(
  map: Extract<ArgumentDeclaration, { tensorMap: unknown }>['tensorMap'],
  offsetBytes: number,
  path: string,
  scope: HeaderScope,
): string[] {
  const rank = map.globalDim.length;
  const list = (key: string, values: readonly Expression[], most: number): string =>
    `const std::int64_t ${key}_${offsetBytes}[] = {${[
      ...values.map((value, axis) => scope.integer(value, `${path}.${key}[${axis}]`, '1', String(most))),
      // An array needs an element: a map of one axis has no strides.
      ...(values.length === 0 ? ['0'] : []),
    ].join(', ')}};`;
  const arrays = ['globalDim', 'globalStridesBytes', 'boxDim', 'elementStrides'].map((key) => `${key}_${offsetBytes}`);
  return [
    list('globalDim', map.globalDim, 2 ** 32),
    list('globalStridesBytes', map.globalStridesBytes, 2 ** 40 - 16),
    list('boxDim', map.boxDim, 256),
    list('elementStrides', map.elementStrides ?? new Array<number>(rank).fill(1), 8),
    `if (check.failed()) return cudaErrorInvalidValue;`,
    `if (visitor.encodes_tensor_maps())`,
    `  put_tensor_map(step, ${offsetBytes}, ${scope.buffer(map.buffer).base}, ${scope.text(path)}, check,`,
    `                 ${TENSOR_MAP_TYPES[map.dtype]}, ${rank}, ${arrays.join(', ')},`,
    `                 ${enumerator('INTERLEAVE', map.interleave)}, ${enumerator('SWIZZLE', map.swizzle)},`,
    `                 ${promotion(map.l2Promotion)}, ${fillOf(map.fill)});`,
  ];
}
