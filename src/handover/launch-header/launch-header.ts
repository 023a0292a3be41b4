import type { ComparedSizes } from '../../core/compared-sizes.ts';
import { sizeOfDType } from '../../core/dtype.ts';
import { namesInExpression } from '../../core/expressions/evaluate.ts';
import type { Expression } from '../../core/expressions/syntax-tree.ts';
import type { Candidate } from '../../core/kernel.ts';
import { BUFFER_ALIGNMENT_BYTES, WORKSPACE_ALIGNMENT_BYTES } from '../../core/launch-plan.ts';
import { usesName } from '../../core/plan/declared-steps.ts';
import { describeAllowed } from '../../core/plan/dimensions.ts';
import { DEVICE_NAMES } from '../../core/plan/scope.ts';
import type { BufferDeclaration, DimensionDeclaration, ProblemFile } from '../../core/problem.ts';
import { fillTemplate, type Values } from '../fill-template.ts';
import { constraintsOnCalls, listedConditions, sizeConditions } from '../size-conditions.ts';
import { commentText } from './cpp-names.ts';
import { HeaderScope } from './header-scope.ts';
import { writeStarting } from './starting-contents.ts';
import { argumentLimits, LARGEST_INTEGER, launchedFunctions, writeSteps } from './steps.ts';

export interface LaunchHeaderRequest {
  readonly problem: ProblemFile;
  readonly candidate: Candidate;
  /** C++ namespace, and the stem of the file names. */
  readonly name: string;
  /** Where its results were compared: other sizes are refused. Absent if no size is to be refused. */
  readonly compared?: ComparedSizes | undefined;
  /** Where the candidate comes from, for the comment at the top. */
  readonly provenance: readonly string[];
}

const [SM_COUNT, CTAS_PER_SM] = DEVICE_NAMES;

/**
 * A C++11 header over the CUDA runtime API that launches a candidate: sizes, plan, launch. It needs nothing of
 * warpsmith; the kernel itself is bound by {@link launchUnit}.
 */
export function launchHeader(request: LaunchHeaderRequest): string {
  const { name, provenance, candidate, problem } = request;
  const scope = new HeaderScope(problem, candidate);
  // Steps come first: they say which arrays of pointers there are.
  const steps = writeSteps(scope);
  const { count, bytes } = argumentLimits(candidate.kernel.file);
  return fillTemplate('launch.hpp', {
    name,
    provenance: provenance.map(commentText),
    problem: commentText(problem.description),
    kernel: commentText(candidate.kernel.file.name),
    usesTensorMaps: usesName(candidate.kernel.file, '"tensorMap"'),
    usesResidency: usesName(candidate.kernel.file, CTAS_PER_SM),
    dimensions: dimensionValues(scope),
    buffers: bufferValues(scope),
    maximumArguments: count,
    maximumArgumentBytes: bytes,
    functions: launchedFunctions(candidate.kernel.file)
      .map((text, index) => `${index}: ${commentText(text)}`)
      .join(', '),
    workspaces: workspacesOf(scope).map(([workspace, { init }]) => ({ field: scope.workspaceField(workspace), init })),
    pointerTables: scope.pointerTables.map(({ path }, index) => ({ path, index })),
    members: memberValues(scope),
    verification: [...verification(scope), ...comparedSizes(scope, request.compared)],
    measuring: measuring(scope),
    steps,
    zeroed: workspacesWith(scope, 'zero'),
    kept: workspacesWith(scope, 'once'),
    starting: writeStarting(scope),
    workspaceAlignment: Math.max(WORKSPACE_ALIGNMENT_BYTES, ...workspacesOf(scope).map(([, w]) => alignmentOf(w))),
  });
}

const dimensionValues = (scope: HeaderScope): Values[] =>
  Object.entries(scope.problem.dimensions).map(([name, declaration]) => ({
    field: scope.dimensionField(name),
    initial: typeof declaration.default === 'number' ? declaration.default : 0,
    comment: `${commentText(declaration.description).replace(/\.$/, '')}: ${describeAllowed(declaration)}.`,
  }));

const bufferValues = (scope: HeaderScope): Values[] =>
  Object.entries({ ...scope.problem.inputs, ...scope.problem.outputs }).map(([name, buffer]) => {
    const list = (values: readonly Expression[]): string =>
      values.map((value) => commentText(String(value))).join(', ');
    const strides = buffer.strides ? `, strides [${list(buffer.strides)}]` : '';
    const alignment = buffer.alignmentBytes ?? BUFFER_ALIGNMENT_BYTES;
    return {
      type: buffer.access === 'in' ? 'const void*' : 'void*',
      field: scope.bufferField(name),
      size: scope.sizeField(name),
      alignment,
      literal: scope.text(name),
      comment: `${buffer.dtype} [${list(buffer.shape)}]${strides}, ${buffer.access}, ${alignment}-byte aligned`,
    };
  });

type Workspace = NonNullable<Candidate['kernel']['file']['workspaces']>[string];

const workspacesOf = (scope: HeaderScope): [string, Workspace][] =>
  Object.entries(scope.candidate.kernel.file.workspaces ?? {});

const alignmentOf = ({ alignmentBytes }: Workspace): number => alignmentBytes ?? WORKSPACE_ALIGNMENT_BYTES;

const workspacesWith = (scope: HeaderScope, init: Workspace['init']): Values[] =>
  workspacesOf(scope)
    .filter(([, workspace]) => workspace.init === init)
    .map(([name]) => ({ ...scope.buffer(name) }));

/** Dimensions, scalars, parameters, device facts: in the order in which one may need another. */
function memberValues(scope: HeaderScope): Values[] {
  const { problem, candidate } = scope;
  const member = (name: string, value: string, comment?: string): Values => ({
    member: scope.name(name),
    value,
    comment: comment === undefined ? '' : `  // ${comment}`,
  });
  const fact = (name: string, field: string): Values[] =>
    usesName(candidate.kernel.file, name) ? [member(name, `static_cast<double>(facts.${field})`, name)] : [];
  return [
    ...Object.keys(problem.dimensions).map((name) =>
      member(name, `static_cast<double>(given.${scope.dimensionField(name)})`),
    ),
    ...Object.entries(problem.scalars ?? {}).map(([name, { dtype, value }]) =>
      member(name, `round_to_${dtype}(${scope.expression(value)})`, commentText(String(value))),
    ),
    ...Object.entries(candidate.parameters).map(([name, value]) =>
      member(name, scope.expression(value), 'parameter, baked in'),
    ),
    ...fact(SM_COUNT, 'sm_count'),
    ...fact(CTAS_PER_SM, 'ctas_per_sm'),
  ];
}

function verification(scope: HeaderScope): string[] {
  const { problem, candidate } = scope;
  const dimensions = Object.entries(problem.dimensions).map(([name, declaration]) => {
    const field = `dimensions.${scope.dimensionField(name)}`;
    const expected = scope.text(describeAllowed(declaration));
    return `check.dimension(${allows(field, declaration)}, ${scope.text(name)}, ${field}, ${expected});`;
  });
  const scalars = Object.entries(problem.scalars ?? {}).map(
    ([name, { value }]) => `check.holds(${scope.name(name)}, ${scope.place(value, `scalars.${name}.value`)});`,
  );
  const { file } = candidate.kernel;
  const conditions = [
    ...listedConditions(problem.limits, 'problem.json limits'),
    ...listedConditions(file.limits, 'limits'),
    ...constraintsOnCalls(file, problem),
  ];
  return [
    ...dimensions,
    'if (check.failed()) return;',
    ...scalars,
    ...conditions.flatMap(({ condition, ...texts }) => writeCondition(condition, texts, scope)),
  ];
}

const comparedSizes = (scope: HeaderScope, compared: ComparedSizes | undefined): string[] =>
  sizeConditions(scope.problem, compared).flatMap(({ condition, ...texts }) =>
    writeCondition(condition, { path: 'compared sizes', ...texts }, scope),
  );

function allows(field: string, declaration: DimensionDeclaration): string {
  if (declaration.values) return declaration.values.map((value) => `${field} == ${value}`).join(' || ');
  const least = `${field} >= ${declaration.minimum ?? 1}`;
  const most = declaration.maximum ?? Number.MAX_SAFE_INTEGER;
  return `${least} && ${field} <= ${most}${most > 2 ** 31 - 1 ? 'LL' : ''}`;
}

function writeCondition(
  condition: Expression,
  { path, refusal, hint = '' }: { readonly path: string; readonly refusal: string; readonly hint?: string },
  scope: HeaderScope,
): string[] {
  const values = namesInExpression(condition).map(
    (name, index) => `${scope.text(`${index === 0 ? '' : ', '}${name} = `)} + Check::print(${scope.name(name)}.value)`,
  );
  const described = values.length === 0 ? '' : ` + " (" + ${values.join(' + ')} + ")"`;
  const advice = hint === '' ? '' : ` + ${scope.text(`; ${hint}`)}`;
  return [
    `if (!check.holds(${scope.checked(condition, path)}))`,
    `  check.refuse_text(std::string(${scope.text(refusal)})${described}${advice});`,
  ];
}

function measuring(scope: HeaderScope): string[] {
  return [
    ...Object.entries(scope.problem.inputs).flatMap(([name, buffer]) => sizeOf(name, buffer, `inputs.${name}`, scope)),
    ...Object.entries(scope.problem.outputs).flatMap(([name, buffer]) =>
      sizeOf(name, buffer, `outputs.${name}`, scope),
    ),
    ...workspacesOf(scope).flatMap(([name, workspace]) => {
      const field = scope.workspaceField(name);
      const size = scope.integer(workspace.bytes, `workspaces.${name}.bytes`, '1', LARGEST_INTEGER);
      return [
        `layout.${field}_bytes = ${size};`,
        `layout.${field}_offset = round_up(layout.total, ${alignmentOf(workspace)});`,
        `layout.total = layout.${field}_offset + layout.${field}_bytes;`,
      ];
    }),
    ...scope.pointerTables.flatMap(({ count }, index) => [
      `layout.pointers_${index} = round_up(layout.total, ${WORKSPACE_ALIGNMENT_BYTES});`,
      `layout.total = layout.pointers_${index} + ${8 * count};`,
    ]),
    'layout.sizes.workspace_bytes = static_cast<std::size_t>(layout.total);',
  ];
}

/** Elements from the first to just after the last, in bytes. */
function sizeOf(name: string, buffer: BufferDeclaration, path: string, scope: HeaderScope): string[] {
  const extent = (expression: Expression, key: string, least: number): string =>
    `check.extent(${scope.checked(expression, `${path}.${key}`)}, ${least})`;
  const shape = buffer.shape.map((expression, axis) => extent(expression, `shape[${axis}]`, 1));
  const spans = buffer.strides?.map(
    (stride, axis) => `(${shape[axis]} - 1) * ${extent(stride, `strides[${axis}]`, 0)}`,
  );
  const elements = spans ? `(${['Number(1)', ...spans].join(' + ')})` : shape.join(' * ');
  const bytes = `${elements} * ${sizeOfDType(buffer.dtype)}`;
  const size = `check.bytes(${bytes}, ${scope.text(path)})`;
  const wanted = buffer.when === undefined ? size : `(${scope.expression(buffer.when)}).value != 0 ? ${size} : 0`;
  return [`layout.sizes.${scope.sizeField(name)} = ${wanted};`];
}
