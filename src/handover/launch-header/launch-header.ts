import { sizeOfDType } from '../../core/dtype.ts';
import { namesInExpression } from '../../core/expressions/evaluate.ts';
import type { Candidate } from '../../core/kernel.ts';
import { describeAllowed } from '../../core/plan/dimensions.ts';
import { DEVICE_NAMES } from '../../core/plan/scope.ts';
import type { BufferDeclaration, DimensionDeclaration, Expression, ProblemFile } from '../../core/problem.ts';
import { CppNames, commentText } from './cpp-names.ts';
import { HeaderScope } from './header-scope.ts';
import { ARGUMENT_WRITERS, LAUNCHING, NUMBERS, TENSOR_MAPS } from './runtime-text.ts';
import { argumentLimits, launchedFunctions, writeSteps } from './steps.ts';

export interface LaunchHeaderRequest {
  readonly problem: ProblemFile;
  readonly candidate: Candidate;
  /** C++ namespace; also what files are named by. */
  readonly name: string;
  /** Where the candidate comes from, for the comment at the top. */
  readonly provenance: readonly string[];
}

/** What cudaMalloc guarantees. */
const DEFAULT_WORKSPACE_ALIGNMENT = 256;
const DEFAULT_BUFFER_ALIGNMENT = 16;
const [SM_COUNT, CTAS_PER_SM] = DEVICE_NAMES;
const LARGEST_INTEGER = '9007199254740991.0';

/**
 * A C++11 header over the CUDA runtime API that launches a candidate: sizes, plan, launch. It needs nothing of
 * warpsmith; the kernel itself is bound by {@link launchUnit}.
 */
export const launchHeader = (request: LaunchHeaderRequest): string => {
  const scope = new HeaderScope(request.problem, request.candidate);
  // Steps come first: they say which arrays of pointers there are.
  const steps = writeSteps(scope);
  const usesTensorMaps = scope.uses('"tensorMap"');
  const parts = [
    preamble(request, usesTensorMaps),
    `namespace ${request.name} {\n`,
    dimensionsStruct(scope),
    buffersStruct(scope),
    sizesStruct(scope),
    launchStruct(scope),
    NUMBERS,
    ARGUMENT_WRITERS,
    ...(usesTensorMaps ? [TENSOR_MAPS] : []),
    LAUNCHING,
    layoutStruct(scope),
    scopeStruct(scope, steps),
    entryPoints(scope),
    `}  // namespace ${request.name}\n`,
  ];
  return parts.join('\n');
};

const preamble = ({ name, provenance, candidate, problem }: LaunchHeaderRequest, usesTensorMaps: boolean): string =>
  [
    ...provenance.map((line) => `// ${commentText(line)}`),
    '//',
    `// ${commentText(problem.description)}`,
    '//',
    `// Launches ${commentText(candidate.kernel.file.name)}: include this header anywhere, and compile ${name}_launch.cu with nvcc into the program.`,
    `//   ${name}::Dimensions   the sizes of one call`,
    `//   ${name}::takes()      whether the kernel takes them`,
    `//   ${name}::sizes()      bytes of every buffer, and of the workspace`,
    `//   ${name}::prepare()    once for each workspace, before its first launch`,
    `//   ${name}::launch()     puts everything on a stream`,
    '// Each returns cudaErrorInvalidValue for what the kernel does not take, and says why in the text given.',
    '#pragma once',
    '',
    '#include <cuda_runtime.h>',
    ...(usesTensorMaps ? ['#include <cuda.h>'] : []),
    '',
    ...['cfloat', 'cmath', 'cstddef', 'cstdint', 'cstdio', 'cstring', 'string'].map((header) => `#include <${header}>`),
    '',
  ].join('\n');

const fieldNames = (names: readonly string[]): Map<string, string> => {
  const given = new CppNames();
  return new Map(names.map((name) => [name, given.of(name)]));
};

const dimensionsStruct = ({ problem }: HeaderScope): string => {
  const names = fieldNames(Object.keys(problem.dimensions));
  const fields = Object.entries(problem.dimensions).map(([name, declaration]) => {
    const comment = `${commentText(declaration.description).replace(/\.$/, '')}: ${describeAllowed(declaration)}.`;
    return `  std::int64_t ${names.get(name)} = ${declaration.default ?? 0};  // ${comment}`;
  });
  return ['struct Dimensions {', ...fields, '};', ''].join('\n');
};

const buffersOf = (problem: ProblemFile): [string, BufferDeclaration][] => [
  ...Object.entries(problem.inputs),
  ...Object.entries(problem.outputs),
];

const buffersStruct = (scope: HeaderScope): string => {
  const fields = buffersOf(scope.problem).map(([name, buffer]) => {
    const type = buffer.access === 'in' ? 'const void*' : 'void*';
    const shape = buffer.shape.map((extent) => commentText(String(extent))).join(', ');
    const strides = buffer.strides ? `, strides [${buffer.strides.map((s) => commentText(String(s))).join(', ')}]` : '';
    const alignment = buffer.alignmentBytes ?? DEFAULT_BUFFER_ALIGNMENT;
    const comment = `${buffer.dtype} [${shape}]${strides}, ${buffer.access}, ${alignment}-byte aligned`;
    return `  ${type} ${scope.bufferField(name)} = nullptr;  // ${comment}`;
  });
  return ['// Device pointers.', 'struct Buffers {', ...fields, '};', ''].join('\n');
};

const sizesStruct = (scope: HeaderScope): string =>
  [
    '// In bytes.',
    'struct Sizes {',
    ...buffersOf(scope.problem).map(([name]) => `  std::size_t ${scope.sizeField(name)} = 0;`),
    '  std::size_t workspace_bytes = 0;  // device memory for launch(), aligned as cudaMalloc aligns it',
    '};',
    '',
  ].join('\n');

const launchStruct = (scope: HeaderScope): string => {
  const { count, bytes } = argumentLimits(scope.candidate.kernel.file);
  const functions = launchedFunctions(scope.candidate.kernel.file);
  return [
    `const int kMaximumArguments = ${count};`,
    `const int kMaximumArgumentBytes = ${bytes};`,
    '',
    '// One launch with everything evaluated.',
    'struct Launch {',
    '  int function;  // index for function()',
    '  const char* name;',
    '  dim3 grid;',
    '  dim3 block;',
    '  dim3 cluster;',
    '  bool has_cluster;',
    '  bool cooperative;',
    '  bool programmatic_dependent;',
    '  int carve_out_percent;  // -1: the driver decides',
    '  std::size_t shared_bytes;  // dynamic',
    '  int argument_count;',
    '  std::size_t argument_offset[kMaximumArguments];',
    '  std::size_t argument_bytes[kMaximumArguments];',
    '  alignas(64) unsigned char arguments[kMaximumArgumentBytes];',
    '};',
    '',
    '// What a plan depends on beside the dimensions.',
    'struct Device {',
    '  int sm_count = 1;',
    '  int ctas_per_sm = 1;',
    '  std::int64_t shared_bytes_per_cta = 0;',
    '};',
    '',
    `// ${functions.map((name, index) => `${index}: ${commentText(name)}`).join(', ')}. Defined beside the kernel.`,
    'const void* function(int index);',
    'namespace detail {',
    'cudaError_t write_pointers(void** at, const void* const* targets, int count, cudaStream_t stream);',
    '}',
    '',
  ].join('\n');
};

const layoutStruct = (scope: HeaderScope): string => {
  const { workspaces = {} } = scope.candidate.kernel.file;
  return [
    'namespace detail {',
    '',
    '// Where everything lies.',
    'struct Layout {',
    '  Sizes sizes;',
    ...Object.entries(workspaces).flatMap(([name, { init }]) => [
      `  std::int64_t ${scope.workspaceField(name)}_offset = 0;  // in the workspace; ${init}`,
      `  std::int64_t ${scope.workspaceField(name)}_bytes = 0;`,
    ]),
    ...scope.pointerTables.map(({ path }, index) => `  std::int64_t pointers_${index} = 0;  // ${path}`),
    '  std::int64_t total = 0;',
    '};',
    '',
    '}  // namespace detail',
    '',
  ].join('\n');
};

const scopeStruct = (scope: HeaderScope, steps: readonly string[]): string =>
  [
    'namespace detail {',
    '',
    "// The names of kernel.json's expressions.",
    'struct Scope {',
    '  Device device;',
    ...members(scope),
    '',
    ...constructorOf(scope),
    '',
    '  // What the kernel takes.',
    '  void verify(Check& check, const Dimensions& dimensions) const {',
    ...verification(scope).map((line) => `    ${line}`),
    '  }',
    '',
    '  void measure(Check& check, Layout& layout) const {',
    ...measuring(scope).map((line) => `    ${line}`),
    '  }',
    '',
    '  template <typename Visitor>',
    '  cudaError_t steps(Check& check, const Layout& layout, const Buffers& buffers, void* workspace,',
    '                    Visitor& visitor) const {',
    '    cudaError_t error = cudaSuccess;',
    '    bool after_launch = false;',
    '    int launches = 0;',
    '    static_cast<void>(layout);',
    '    static_cast<void>(buffers);',
    '    static_cast<void>(workspace);',
    ...zeroing(scope, 'zero', 'visitor').map((line) => `    ${line}`),
    ...steps.map((line) => (line === '' ? '' : `    ${line}`)),
    '    static_cast<void>(after_launch);',
    '    if (launches == 0) check.refuse_text("no step of kernel.json applies to these dimensions");',
    '    return check.failed() ? cudaErrorInvalidValue : cudaSuccess;',
    '  }',
    '};',
    '',
    '}  // namespace detail',
    '',
  ].join('\n');

interface Member {
  readonly name: string;
  readonly value: string;
  readonly comment: string;
}

/** Dimensions, scalars, parameters, device facts: in the order in which one may need another. */
const membersOf = (scope: HeaderScope): Member[] => {
  const { problem, candidate } = scope;
  const fields = fieldNames(Object.keys(problem.dimensions));
  const fact = (name: string, field: string): Member[] =>
    scope.uses(name) ? [{ name: scope.name(name), value: `static_cast<double>(facts.${field})`, comment: name }] : [];
  return [
    ...Object.keys(problem.dimensions).map((name) => ({
      name: scope.name(name),
      value: `static_cast<double>(given.${fields.get(name)})`,
      comment: '',
    })),
    ...Object.entries(problem.scalars ?? {}).map(([name, { dtype, value }]) => ({
      name: scope.name(name),
      value: `round_to_${dtype}(${scope.expression(value)})`,
      comment: commentText(String(value)),
    })),
    ...Object.entries(candidate.parameters).map(([name, value]) => ({
      name: scope.name(name),
      value: scope.expression(value),
      comment: 'parameter, baked in',
    })),
    ...fact(SM_COUNT, 'sm_count'),
    ...fact(CTAS_PER_SM, 'ctas_per_sm'),
  ];
};

const members = (scope: HeaderScope): string[] =>
  membersOf(scope).map(({ name, comment }) => `  Number ${name};${comment === '' ? '' : `  // ${comment}`}`);

const constructorOf = (scope: HeaderScope): string[] => [
  '  Scope(const Dimensions& given, const Device& facts)',
  '      : device(facts)',
  ...membersOf(scope).map(({ name, value }) => `      , ${name}(${value})`),
  '  {',
  '    static_cast<void>(given);',
  '  }',
];

const verification = (scope: HeaderScope): string[] => {
  const { problem, candidate } = scope;
  const fields = fieldNames(Object.keys(problem.dimensions));
  const dimensions = Object.entries(problem.dimensions).map(([name, declaration]) => {
    const field = `dimensions.${fields.get(name)}`;
    const expected = scope.text(describeAllowed(declaration));
    return `check.dimension(${allows(field, declaration)}, ${scope.text(name)}, ${field}, ${expected});`;
  });
  const scalars = Object.entries(problem.scalars ?? {}).map(
    ([name, { value }]) =>
      `check.holds(${scope.name(name)}, ${scope.text(`scalars.${name}.value`)}, ${scope.text(String(value))});`,
  );
  const conditions = [
    ...(problem.limits ?? []).map((limit, index) => ({ condition: limit, path: `problem.json limits[${index}]` })),
    ...(candidate.kernel.file.limits ?? []).map((limit, index) => ({ condition: limit, path: `limits[${index}]` })),
    ...(candidate.kernel.file.constraints ?? [])
      .map((constraint, index) => ({ condition: constraint, path: `constraints[${index}]` }))
      // The others hold: the candidate's parameters are what they are.
      .filter(({ condition }) => namesInExpression(condition).some((name) => Object.hasOwn(problem.dimensions, name))),
  ];
  return [
    ...dimensions,
    'if (check.failed()) return;',
    ...scalars,
    ...conditions.flatMap(({ condition, path }) => writeCondition(condition, path, scope)),
  ];
};

const allows = (field: string, declaration: DimensionDeclaration): string => {
  if (declaration.values) return declaration.values.map((value) => `${field} == ${value}`).join(' || ');
  const least = `${field} >= ${declaration.minimum ?? 1}`;
  const most = declaration.maximum ?? Number.MAX_SAFE_INTEGER;
  return `${least} && ${field} <= ${most}${most > 2 ** 31 - 1 ? 'LL' : ''}`;
};

const writeCondition = (condition: Expression, path: string, scope: HeaderScope): string[] => {
  const values = namesInExpression(condition).map(
    (name, index) => `${scope.text(`${index === 0 ? '' : ', '}${name} = `)} + Check::print(${scope.name(name)}.value)`,
  );
  const described = values.length === 0 ? '' : ` + " (" + ${values.join(' + ')} + ")"`;
  const text = scope.text(`${path}: ${condition} does not hold`);
  return [
    `if (!check.holds(${scope.expression(condition)}, ${scope.text(path)}, ${scope.text(String(condition))}))`,
    `  check.refuse_text(std::string(${text})${described});`,
  ];
};

const measuring = (scope: HeaderScope): string[] => {
  const { workspaces = {} } = scope.candidate.kernel.file;
  return [
    ...Object.entries(scope.problem.inputs).flatMap(([name, buffer]) => sizeOf(name, buffer, `inputs.${name}`, scope)),
    ...Object.entries(scope.problem.outputs).flatMap(([name, buffer]) =>
      sizeOf(name, buffer, `outputs.${name}`, scope),
    ),
    ...Object.entries(workspaces).flatMap(([name, { bytes, alignmentBytes }]) => {
      const field = scope.workspaceField(name);
      const size = scope.integer(bytes, `workspaces.${name}.bytes`, '1', LARGEST_INTEGER);
      const alignment = alignmentBytes ?? DEFAULT_WORKSPACE_ALIGNMENT;
      return [
        `layout.${field}_bytes = ${size};`,
        `layout.${field}_offset = round_up(layout.total, ${alignment});`,
        `layout.total = layout.${field}_offset + layout.${field}_bytes;`,
      ];
    }),
    ...scope.pointerTables.flatMap(({ count }, index) => [
      `layout.pointers_${index} = round_up(layout.total, ${DEFAULT_WORKSPACE_ALIGNMENT});`,
      `layout.total = layout.pointers_${index} + ${8 * count};`,
    ]),
    'layout.sizes.workspace_bytes = static_cast<std::size_t>(layout.total);',
  ];
};

/** Elements from the first to just after the last, in bytes. */
const sizeOf = (name: string, buffer: BufferDeclaration, path: string, scope: HeaderScope): string[] => {
  const extent = (expression: Expression, key: string, least: number): string =>
    `check.extent(${scope.expression(expression)}, ${scope.text(`${path}.${key}`)}, ${scope.text(String(expression))}, ${least})`;
  const shape = buffer.shape.map((expression, axis) => extent(expression, `shape[${axis}]`, 1));
  const spans = buffer.strides?.map(
    (stride, axis) => `(${shape[axis]} - 1) * ${extent(stride, `strides[${axis}]`, 0)}`,
  );
  const elements = spans ? `(${['Number(1)', ...spans].join(' + ')})` : shape.join(' * ');
  const bytes = `${elements} * ${sizeOfDType(buffer.dtype)}`;
  return [`layout.sizes.${scope.sizeField(name)} = check.bytes(${bytes}, ${scope.text(path)});`];
};

const zeroing = (scope: HeaderScope, init: 'zero' | 'once', visitor: string): string[] =>
  Object.entries(scope.candidate.kernel.file.workspaces ?? {})
    .filter(([, workspace]) => workspace.init === init)
    .flatMap(([name]) => {
      const { base, bytes } = scope.buffer(name);
      return [
        `error = ${visitor}.memset(${base}, 0, static_cast<std::size_t>(${bytes}));`,
        'if (error != cudaSuccess) return error;',
      ];
    });

const entryPoints = (scope: HeaderScope): string => {
  const once = zeroing(scope, 'once', 'enqueuer');
  const alignments = Object.values(scope.candidate.kernel.file.workspaces ?? {}).map(
    ({ alignmentBytes }) => alignmentBytes ?? DEFAULT_WORKSPACE_ALIGNMENT,
  );
  const workspaceAlignment = Math.max(DEFAULT_WORKSPACE_ALIGNMENT, ...alignments);
  const aligned = buffersOf(scope.problem).map(([name, { alignmentBytes = DEFAULT_BUFFER_ALIGNMENT }]) => {
    return `  check.aligned(buffers.${scope.bufferField(name)}, ${alignmentBytes}, ${scope.text(name)});`;
  });
  return [
    '// Shows every step of a call to a visitor with launch(const Launch&), memset(void*, int, std::size_t) and',
    '// pointers(void**, const void* const*, int); nothing is launched, and pointers are not looked at.',
    'template <typename Visitor>',
    'inline cudaError_t plan(const Dimensions& dimensions, const Device& device, const Buffers& buffers, void* workspace,',
    '                        Visitor& visitor, std::string* why = nullptr) {',
    '  detail::Check check(why);',
    '  const detail::Scope scope(dimensions, device);',
    '  detail::Layout layout;',
    '  scope.verify(check, dimensions);',
    '  if (!check.failed()) scope.measure(check, layout);',
    '  if (check.failed()) return cudaErrorInvalidValue;',
    '  return scope.steps(check, layout, buffers, workspace, visitor);',
    '}',
    '',
    '// Whether the kernel takes a call of these dimensions, as far as its limits say.',
    'inline bool takes(const Dimensions& dimensions, std::string* why = nullptr) {',
    '  detail::Check check(why);',
    '  detail::Scope(dimensions, Device()).verify(check, dimensions);',
    '  return !check.failed();',
    '}',
    '',
    '// What the current device is to a plan.',
    'inline cudaError_t current_device(const Dimensions& dimensions, Device* device, std::string* why = nullptr) {',
    '  int ordinal = 0;',
    '  int shared_bytes = 0;',
    '  cudaError_t error = cudaGetDevice(&ordinal);',
    '  if (error == cudaSuccess)',
    '    error = cudaDeviceGetAttribute(&device->sm_count, cudaDevAttrMultiProcessorCount, ordinal);',
    '  if (error == cudaSuccess)',
    '    error = cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal);',
    '  if (error != cudaSuccess) return detail::explain(error, "device", why);',
    '  device->shared_bytes_per_cta = shared_bytes;',
    '  device->ctas_per_sm = 1;',
    ...(scope.uses(CTAS_PER_SM)
      ? [
          '  detail::Residency residency = {0};',
          '  error = plan(dimensions, *device, Buffers(), nullptr, residency, why);',
          '  if (residency.ctas_per_sm > 1) device->ctas_per_sm = residency.ctas_per_sm;',
          '  return error;',
        ]
      : ['  static_cast<void>(dimensions);', '  return cudaSuccess;']),
    '}',
    '',
    '// Bytes of every buffer and of the workspace.',
    'inline cudaError_t sizes(const Dimensions& dimensions, Sizes* sizes, std::string* why = nullptr) {',
    '  Device device;',
    '  const cudaError_t error = current_device(dimensions, &device, why);',
    '  if (error != cudaSuccess) return error;',
    '  detail::Check check(why);',
    '  const detail::Scope scope(dimensions, device);',
    '  detail::Layout layout;',
    '  scope.verify(check, dimensions);',
    '  if (!check.failed()) scope.measure(check, layout);',
    '  if (check.failed()) return cudaErrorInvalidValue;',
    '  *sizes = layout.sizes;',
    '  return cudaSuccess;',
    '}',
    '',
    `// ${once.length === 0 ? 'Nothing of this workspace needs it; it is there so that callers need not know.' : 'Zeroes what the kernel keeps from launch to launch.'}`,
    'inline cudaError_t prepare(const Dimensions& dimensions, void* workspace, cudaStream_t stream,',
    '                           std::string* why = nullptr) {',
    ...(once.length === 0
      ? ['dimensions', 'workspace', 'stream', 'why'].map((name) => `  static_cast<void>(${name});`)
      : [
          '  Device device;',
          '  cudaError_t error = current_device(dimensions, &device, why);',
          '  if (error != cudaSuccess) return error;',
          '  detail::Check check(why);',
          '  const detail::Scope scope(dimensions, device);',
          '  detail::Layout layout;',
          '  scope.verify(check, dimensions);',
          '  if (!check.failed()) scope.measure(check, layout);',
          '  if (check.failed()) return cudaErrorInvalidValue;',
          '  detail::Enqueuer enqueuer(stream, why);',
          '  using detail::place_at;',
          ...once.map((line) => `  ${line}`),
        ]),
    '  return cudaSuccess;',
    '}',
    '',
    '// Puts the whole launch sequence on a stream. The workspace has at least sizes().workspace_bytes bytes.',
    'inline cudaError_t launch(const Dimensions& dimensions, const Buffers& buffers, void* workspace,',
    '                          std::size_t workspace_bytes, cudaStream_t stream, std::string* why = nullptr) {',
    '  Device device;',
    '  cudaError_t error = current_device(dimensions, &device, why);',
    '  if (error != cudaSuccess) return error;',
    '  detail::Check check(why);',
    '  const detail::Scope scope(dimensions, device);',
    '  detail::Layout layout;',
    '  scope.verify(check, dimensions);',
    '  if (!check.failed()) scope.measure(check, layout);',
    ...aligned,
    `  if (layout.total > 0) check.aligned(workspace, ${workspaceAlignment}, "workspace");`,
    '  if (static_cast<std::size_t>(layout.total) > workspace_bytes)',
    '    check.refuse_text("the workspace has " + detail::Check::print(static_cast<double>(workspace_bytes)) +',
    '                      " bytes; expected " + detail::Check::print(static_cast<double>(layout.total)));',
    '  if (check.failed()) return cudaErrorInvalidValue;',
    '  detail::Reader reader;',
    '  error = scope.steps(check, layout, buffers, workspace, reader);',
    '  if (error != cudaSuccess) return error;',
    '  detail::Enqueuer enqueuer(stream, why);',
    '  return scope.steps(check, layout, buffers, workspace, enqueuer);',
    '}',
    '',
  ].join('\n');
};
