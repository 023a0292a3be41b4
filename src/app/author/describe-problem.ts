import { join } from 'node:path';
import { byKind } from '../../core/by-kind.ts';
import { evaluateExpression } from '../../core/expressions/evaluate.ts';
import type { BufferDeclaration, DimensionDeclaration, Problem, ProblemFile, Tolerance } from '../../core/problem.ts';
import { unitRoundoff } from '../../evaluation/oracle/ulp.ts';
import { formatNs, formatParameters } from '../../reports/format.ts';
import { workAndBounds } from '../bounds.ts';
import { readUserText } from '../loading/read-user-file.ts';
import type { Bench } from './check-submission.ts';
import { LIMITS } from './submission.ts';

/** What an author needs to know before writing a kernel. */
export interface ProblemBrief {
  name: string;
  description: string;
  device: string;
  architecture: string;
  workload: string;
  dimensions: string[];
  buffers: string[];
  scalars: string[];
  limits: string[];
  tolerance: string[];
  bounds: string;
  rules: string[];
  kernelJson: string;
  expressions: string;
  /** The trusted implementation, in TypeScript or Python and float64; what a kernel must compute. */
  reference: string;
}

const EXPRESSIONS =
  'Numbers, names, + - * / %, comparisons, && || !, integer bit operators, a ? b : c, and ceilDiv floor ceil abs log2 sqrt pow ' +
  'min max. Names: the dimensions and scalars of the problem, the parameters of the kernel, device.smCount, kernel.ctasPerSm ' +
  '(resident CTAs per SM). "/" does not round.';

const EXAMPLE = `{
  "schemaVersion": 1,
  "name": "row_sum_warp",
  "description": "One warp sums one row.",
  "source": { "kind": "cuda", "files": ["kernel.cu"], "flags": ["-use_fast_math"] },
  "parameters": { "WARPS": { "values": [1, 2, 4, 8], "default": 4 } },
  "constraints": ["32 * WARPS <= 1024"],
  "limits": ["columns <= 65536"],
  "workspaces": { "partial": { "bytes": "4 * rows", "init": "zero" } },
  "steps": [
    { "function": "row_sum<4>", "when": "columns % 4 == 0", "grid": ["ceilDiv(rows, WARPS)"], "block": ["32 * WARPS"],
      "sharedBytes": 0, "arguments": [{ "buffer": "x" }, { "buffer": "y" }, { "buffer": "partial" },
      { "scalar": "rows", "dtype": "i32" }] }
  ]
}`;

const RULES = [
  'A kernel is a folder with kernel.json and the sources that it lists; device code only. Nothing else is taken: no host code, problem, reference, tolerance, seed or time.',
  'kernel.json says how to compile and launch. Its `problem` is set for you. Parameters become macros of the compiler (-DNAME=value).',
  'A kernel must be right at every shape that its `limits` admit, not only the timed one: shapes and inputs are drawn anew, in secret, for every submission.',
  'Each check runs twice, over poisoned outputs and workspaces, in another order of CTAs; inputs may not be written, nor anything outside the buffers.',
  'Every timed launch is verified, too. A kernel that is right when verified and wrong when timed counts against you; two end your turn for good.',
  'Includes: your own files and the CUDA headers (cuda_fp16.h, cuda_bf16.h, mma.h, cooperative_groups.h, cuda_pipeline.h, math.h …). No device heap, no printf, no launches from the device.',
  `At most ${LIMITS.files} files of ${LIMITS.fileBytes / 1024} KiB.`,
];

/** What the description needs. */
type Place = Pick<Bench, 'problem' | 'workload' | 'session'>;

/** The problem of a turn, as its author is told of it. */
export async function describeProblem(turn: Place): Promise<ProblemBrief> {
  const { problem, workload } = turn;
  const { file } = problem;
  const { device } = await turn.session();
  const { vetoNs, attainableNs } = workAndBounds(file, workload, device.spec);
  const determinism =
    file.determinism === 'bitwise' ? ['Two runs must agree to the bit: no floating-point atomics across CTAs.'] : [];
  return {
    name: file.name,
    description: file.description,
    device: `${device.identity.name} (${device.identity.id}); times are ${device.identity.kind === 'cuda' ? 'measured' : 'predicted by a model'}`,
    architecture: device.spec.architecture,
    workload: `${workload.name}: ${formatParameters(workload.dimensions)}, ${workload.cache} cache`,
    dimensions: Object.entries(file.dimensions).map(describeDimension),
    buffers: [
      ...Object.entries(file.inputs).map((entry) => describeBuffer(entry, turn)),
      ...Object.entries(file.outputs).map((entry) => describeBuffer(entry, turn)),
    ],
    scalars: Object.entries(file.scalars ?? {}).map(
      ([name, { dtype, value, description }]) => `${name}: ${dtype} = ${value}${description ? `; ${description}` : ''}`,
    ),
    limits: [...(file.limits ?? [])].map(String),
    tolerance: [...tolerances(file), ...determinism],
    bounds: [
      ...(vetoNs > 0 ? [`No kernel can take less than ${formatNs(vetoNs)} (a shorter time is refused)`] : []),
      `${formatNs(attainableNs)} is attainable at realistic peak rates.`,
    ].join('; '),
    rules: RULES,
    kernelJson: EXAMPLE,
    expressions: EXPRESSIONS,
    reference: await referenceText(problem),
  };
}

/** The same for reading. */
export function problemText(brief: ProblemBrief): string {
  const listed = (title: string, lines: readonly string[]): string =>
    lines.length > 0 ? [`${title}:`, ...lines.map((line) => `- ${line}`)].join('\n') : '';
  return [
    `${brief.name}: ${brief.description}`,
    `timed on ${brief.device}, ${brief.architecture}, ${brief.workload}`,
    brief.bounds,
    listed('dimensions', brief.dimensions),
    listed('buffers', brief.buffers),
    listed('scalars', brief.scalars),
    listed('every shape meets', brief.limits),
    listed('tolerance', brief.tolerance),
    listed('rules', brief.rules),
    `kernel.json, of another problem:\n${brief.kernelJson}`,
    `expressions: ${brief.expressions}`,
    brief.reference && `reference (TypeScript, float64):\n${brief.reference}`,
  ]
    .filter(Boolean)
    .join('\n');
}

function describeDimension([name, { description, minimum, maximum, values, default: value }]: [
  string,
  DimensionDeclaration,
]): string {
  const range = values
    ? `one of ${values.join(', ')}`
    : [minimum !== undefined && `≥ ${minimum}`, maximum !== undefined && `≤ ${maximum}`].filter(Boolean).join(', ');
  return `${name}: ${description} ${range}${value === undefined ? '' : `; ${value} by default`}`;
}

function describeBuffer([name, buffer]: [string, BufferDeclaration], { workload }: Pick<Place, 'workload'>): string {
  const { access, dtype, shape, strides, layout, alignmentBytes = 16, when, significant, description = '' } = buffer;
  const here = shape.map((extent) => evaluateExpression(extent, workload.dimensions, { path: name }));
  return [
    `${name} (${access}): ${dtype} [${shape.join(', ')}] = [${here.join(', ')}]`,
    strides ? `strides [${strides.join(', ')}]` : 'row-major',
    layout,
    `aligned to ${alignmentBytes} bytes`,
    when !== undefined && `there only if ${when}; else a null pointer`,
    significant &&
      `along axis ${significant.axis ?? 0} only the first ${significant.first} elements matter; others may hold anything`,
    description,
  ]
    .filter(Boolean)
    .join('; ');
}

const describeTolerance = byKind<Tolerance, string>({
  exact: () => 'every element equal to the reference',
  ulp: ({ maximumUlps }) => `every element within ${maximumUlps} units in the last place`,
  calibrated: ({ storage, accumulate, factor = 2, rmsFactor = 1.5 }) =>
    `errors at most ${factor} times (RMS ${rmsFactor} times) those of a naive run that accumulates in ${accumulate} and rounds to ${storage}: sums in ${accumulate} pass, sums in ${storage} fail`,
  allclose: ({ atol, rtol }) => `|got − want| ≤ ${atol} + ${rtol} · |want|`,
  conditioned: ({ constant, unit, terms, roundings = {} }) =>
    `errors at most ${constant} · ${unitRoundoff(unit)} · √n · (|y| + 3 · c) for n = ${terms} operations in ${unit}, y the element, c the root of the sum of its squared terms; long sums of one sign get more${Object.keys(roundings).length > 0 ? ', and so do rows in which the reference loses more where it rounds' : ''}`,
});

const tolerances = ({ comparison, outputs, originalKernel }: ProblemFile): string[] => [
  `Against ${originalKernel === undefined ? 'a float64 reference' : 'the results of the original kernel, in its own precision'}: ${describeTolerance(comparison)}. NaN fails where a number is right.`,
  ...Object.entries(outputs).flatMap(([name, { comparison: own }]) =>
    own ? [`${name}: ${describeTolerance(own)}`] : [],
  ),
];

/** Longer ones are cut: the description says what they compute. */
const LONGEST_REFERENCE = 8000;

async function referenceText({ folder, referenceFile }: Problem): Promise<string> {
  const request = { file: referenceFile ?? join(folder, 'reference.ts'), expected: 'the reference', hint: '' };
  const text = await readUserText(request).catch(() => '');
  return text.slice(0, LONGEST_REFERENCE);
}
