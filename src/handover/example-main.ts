import { type DType, isFloating } from '../core/dtype.ts';
import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { Dimensions, Generator, ProblemFile, Workload } from '../core/problem.ts';
import { fillTemplate, type Values } from './fill-template.ts';
import { commentText, cppNames } from './launch-header/cpp-names.ts';

const CPP_TYPES: Readonly<Record<DType, string>> = {
  f16: '__half',
  bf16: '__nv_bfloat16',
  f32: 'float',
  f64: 'double',
  i8: 'std::int8_t',
  u8: 'std::uint8_t',
  i16: 'std::int16_t',
  u16: 'std::uint16_t',
  i32: 'std::int32_t',
  u32: 'std::uint32_t',
  i64: 'std::int64_t',
  u64: 'std::uint64_t',
};

/** How the example draws one input: C++ of element `i`'s value as a double. Small numbers; only shapes and ranges count. */
function elementOf(generator: Generator | undefined, dtype: DType, dimensions: Dimensions): string {
  if (generator?.kind === 'index-range') {
    const low = evaluateExpression(generator.low, dimensions);
    const high = evaluateExpression(generator.high, dimensions);
    return `static_cast<double>(${low} + static_cast<std::int64_t>(draw() * ${high - low}))`;
  }
  if (generator?.kind === 'permutation') return 'static_cast<double>(i)';
  // Row offsets that are all zero say that every row is empty.
  if (generator?.kind === 'csr') return '0.0';
  if (generator?.kind === 'constant') return String(generator.value);
  if (!isFloating(dtype)) return 'static_cast<double>(static_cast<int>(draw() * 16))';
  return generator?.kind === 'positive' ? '0.5 + draw()' : '2.0 * draw() - 1.0';
}

/** Conversions of the 16-bit types, which the toolkit's headers don't make by a cast. */
const CONVERSIONS = [
  { type: '__half', toFloat: '__half2float', fromFloat: '__float2half' },
  { type: '__nv_bfloat16', toFloat: '__bfloat162float', fromFloat: '__float2bfloat16' },
];

function bufferValues(problem: ProblemFile, dimensions: Dimensions): Values[] {
  const fields = cppNames();
  const sizes = cppNames(['workspace_bytes']);
  return Object.entries({ ...problem.inputs, ...problem.outputs }).map(([name, { dtype, generator, access }]) => {
    const element = elementOf(generator, dtype, dimensions);
    return {
      output: name,
      field: fields.of(name),
      size: sizes.of(name),
      type: CPP_TYPES[dtype],
      isInput: access !== 'out',
      isOutput: access !== 'in',
      element,
      parameter: /\bi\b/.test(element) ? 'std::size_t i' : 'std::size_t',
    };
  });
}

/** A `main` that allocates a workload's buffers, fills the inputs, launches, and checks the outputs for NaN. */
export function exampleMain(problem: ProblemFile, workload: Workload, name: string): string {
  const dimensionNames = cppNames();
  const buffers = bufferValues(problem, workload.dimensions);
  return fillTemplate('example.cu', {
    name,
    workload: commentText(workload.name),
    conversions: CONVERSIONS.filter(({ type }) => buffers.some((buffer) => buffer.type === type)),
    dimensions: Object.entries(workload.dimensions).map(([dimension, value]) => ({
      field: dimensionNames.of(dimension),
      value,
    })),
    buffers,
  });
}
