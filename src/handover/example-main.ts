import type { DType } from '../core/dtype.ts';
import { isFloating } from '../core/dtype.ts';
import { evaluateExpression } from '../core/expressions/evaluate.ts';
import type { BufferDeclaration, Dimensions, Generator, ProblemFile, Workload } from '../core/problem.ts';
import { CppNames, commentText } from './launch-header/cpp-names.ts';

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
const elementOf = (generator: Generator | undefined, dtype: DType, dimensions: Dimensions): string => {
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
};

/** Conversions of the 16-bit types that are used, which the toolkit's headers don't make by a cast. */
const conversions = (dtypes: readonly DType[]): string[] =>
  (
    [
      ['f16', '__half', '__half2float', '__float2half'],
      ['bf16', '__nv_bfloat16', '__bfloat162float', '__float2bfloat16'],
    ] as const
  )
    .filter(([dtype]) => dtypes.includes(dtype))
    .flatMap(([, type, toFloat, fromFloat]) => [
      `inline double as_double(${type} value) { return ${toFloat}(value); }`,
      'template <>',
      `inline ${type} from_double<${type}>(double value) { return ${fromFloat}(static_cast<float>(value)); }`,
    ]);

/** A main that allocates a workload's buffers, fills the inputs, launches, and looks whether the outputs are numbers. */
export const exampleMain = (problem: ProblemFile, workload: Workload, name: string): string => {
  const dimensionNames = new CppNames();
  const bufferNames = new CppNames();
  const sizeNames = new CppNames(['workspace_bytes']);
  const dimensions = Object.entries(workload.dimensions).map(
    ([dimension, value]) => `  dimensions.${dimensionNames.of(dimension)} = ${value};`,
  );
  const inputs = Object.entries(problem.inputs).map(([input, declaration]) => ({ name: input, declaration }));
  const outputs = Object.entries(problem.outputs).map(([output, declaration]) => ({ name: output, declaration }));
  const all = [...inputs, ...outputs].map((buffer) => ({
    ...buffer,
    field: bufferNames.of(buffer.name),
    size: sizeNames.of(buffer.name),
  }));
  const isInput = ({ declaration }: { declaration: BufferDeclaration }) => declaration.access !== 'out';
  const isOutput = ({ declaration }: { declaration: BufferDeclaration }) => declaration.access !== 'in';
  return [
    `// Runs ${name} once on ${commentText(workload.name)} with made-up inputs. See README.md for how to compile it.`,
    `#include "${name}_launch.hpp"`,
    '',
    '#include <cuda_bf16.h>',
    '#include <cuda_fp16.h>',
    '',
    '#include <cstdio>',
    '#include <cstdlib>',
    '#include <vector>',
    '',
    'namespace {',
    '',
    'std::string why;',
    '',
    'void require(cudaError_t error, const char* what) {',
    '  if (error == cudaSuccess) return;',
    '  std::fprintf(stderr, "%s: %s %s\\n", what, cudaGetErrorString(error), why.c_str());',
    '  std::exit(1);',
    '}',
    '',
    '// Uniform in [0, 1): the same numbers in every run.',
    'double draw() {',
    '  static std::uint64_t state = 1;',
    '  state = state * 6364136223846793005ull + 1442695040888963407ull;',
    '  return static_cast<double>(state >> 11) / 9007199254740992.0;',
    '}',
    '',
    'template <typename T>',
    'double as_double(T value) { return static_cast<double>(value); }',
    'template <typename T>',
    'T from_double(double value) { return static_cast<T>(value); }',
    ...conversions(all.map(({ declaration }) => declaration.dtype)),
    '',
    '// Device memory of elements made by `element`.',
    'template <typename T, typename Element>',
    'void* filled(std::size_t bytes, Element element) {',
    '  std::vector<T> host(bytes / sizeof(T));',
    '  for (std::size_t i = 0; i < host.size(); ++i) host[i] = from_double<T>(element(i));',
    '  void* device = nullptr;',
    '  require(cudaMalloc(&device, bytes), "cudaMalloc");',
    '  require(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");',
    '  return device;',
    '}',
    '',
    '// How many elements are NaN or infinite.',
    'template <typename T>',
    'std::size_t count_not_finite(const void* device, std::size_t bytes) {',
    '  std::vector<T> host(bytes / sizeof(T));',
    '  require(cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");',
    '  std::size_t count = 0;',
    '  for (const T& value : host) count += std::isfinite(as_double(value)) ? 0 : 1;',
    '  if (!host.empty()) std::printf("first element %g\\n", as_double(host[0]));',
    '  return count;',
    '}',
    '',
    '}  // namespace',
    '',
    'int main() {',
    `  ${name}::Dimensions dimensions;`,
    ...dimensions,
    `  ${name}::Sizes sizes;`,
    `  require(${name}::sizes(dimensions, &sizes, &why), "sizes");`,
    '',
    `  ${name}::Buffers buffers;`,
    ...all.flatMap((buffer) => {
      const { field, size, declaration } = buffer;
      const type = CPP_TYPES[declaration.dtype];
      if (isInput(buffer)) {
        const element = elementOf(declaration.generator, declaration.dtype, workload.dimensions);
        const parameter = /\bi\b/.test(element) ? 'std::size_t i' : 'std::size_t';
        return [`  buffers.${field} = filled<${type}>(sizes.${size}, [](${parameter}) { return ${element}; });`];
      }
      return [
        `  require(cudaMalloc(&buffers.${field}, sizes.${size}), "cudaMalloc");`,
        '  // All bits set are NaN in every floating type: what the kernel leaves out is found.',
        `  require(cudaMemset(buffers.${field}, 0xff, sizes.${size}), "cudaMemset");`,
      ];
    }),
    '  void* workspace = nullptr;',
    '  if (sizes.workspace_bytes > 0) require(cudaMalloc(&workspace, sizes.workspace_bytes), "cudaMalloc");',
    '',
    '  cudaStream_t stream;',
    '  require(cudaStreamCreate(&stream), "cudaStreamCreate");',
    `  require(${name}::prepare(dimensions, workspace, stream, &why), "prepare");`,
    `  require(${name}::launch(dimensions, buffers, workspace, sizes.workspace_bytes, stream, &why), "launch");`,
    '  require(cudaStreamSynchronize(stream), "the kernel");',
    '',
    '  std::size_t not_finite = 0;',
    ...all
      .filter(isOutput)
      .flatMap(({ name: output, field, size, declaration }) => [
        `  std::printf("${output}: ");`,
        `  not_finite += count_not_finite<${CPP_TYPES[declaration.dtype]}>(buffers.${field}, sizes.${size});`,
      ]),
    '  std::printf("%zu elements are not finite\\n", not_finite);',
    '  return not_finite == 0 ? 0 : 1;',
    '}',
    '',
  ].join('\n');
};
