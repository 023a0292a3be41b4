import { byKind } from '../../core/by-kind.ts';
import type { ParameterValues } from '../../core/kernel.ts';
import type { LaunchPlan, PlannedArgument, PlannedLaunch, PlannedPlace, PlannedStep } from '../../core/launch-plan.ts';
import type { Dimensions } from '../../core/problem.ts';
import * as doc from '../document.ts';
import { formatCount, formatFigure, formatParameters } from '../format.ts';

/** A kernel's plan on one workload, or why the kernel does not take it. */
export interface CheckedPlan {
  workload: { name: string; dimensions: Dimensions };
  /** The limit or constraint that fails, if the kernel does not take the workload. */
  refused: string | null;
  plan: LaunchPlan | null;
}

export interface CheckedKernel {
  name: string;
  folder: string;
  parameters: ParameterValues;
  /** The device for which plans are expanded, with one CTA per SM if they use `kernel.ctasPerSm`. */
  assumedDevice: string;
  /** Parameter assignments that meet every constraint that needs no dimensions; `null` where they are too many to count. */
  validConfigurationCount: number | null;
  remedies: readonly string[];
  plans: CheckedPlan[];
}

export interface CheckReport {
  schemaVersion: 1;
  kind: 'check';
  problem: { name: string; folder: string; start: string; rungs: readonly string[] };
  kernels: CheckedKernel[];
}

const argumentText = byKind<PlannedArgument, string>({
  buffer: ({ buffer, offsetBytes }) => (offsetBytes === 0 ? buffer : `${buffer} + ${offsetBytes} B`),
  null: () => 'null',
  scalar: ({ dtype, value }) => `${dtype} ${formatFigure(value)}`,
  bytes: ({ bytes }) => `${bytes.length} bytes by value`,
  pointers: ({ targets }) => `pointers [${targets.map(({ buffer }) => buffer).join(', ')}]`,
  'tensor-map': ({ buffer, boxDim }) => `tensor map of ${buffer}, box ${boxDim.join('×')}`,
});

const dim3 = (dim: readonly number[]): string => `(${dim.join(', ')})`;

function launchText(launch: PlannedLaunch): string {
  const { functionName, grid, block, dynamicSharedBytes, cluster, carveOut } = launch;
  return [
    `${functionName} grid ${dim3(grid)} block ${dim3(block)}`,
    ...(dynamicSharedBytes > 0 ? [`${dynamicSharedBytes} B dynamic shared`] : []),
    ...(cluster ? [`cluster ${dim3(cluster)}`] : []),
    ...(launch.cooperative ? ['cooperative'] : []),
    ...(launch.programmaticDependent ? ['programmatic dependent'] : []),
    ...(carveOut === undefined ? [] : [`carve-out ${carveOut} %`]),
    `arguments (${launch.arguments.map(argumentText).join(', ')})`,
  ].join(', ');
}

const placeText = ({ buffer, offsetBytes }: PlannedPlace): string =>
  offsetBytes === 0 ? buffer : `${buffer} + ${offsetBytes}`;

const memoryText = (step: Exclude<PlannedStep, PlannedLaunch>): string =>
  step.kind === 'memset'
    ? `memset ${step.buffer} to byte ${step.byteValue}`
    : `copy ${formatFigure(step.bytes)} B from ${placeText(step.from)} to ${placeText(step.to)}`;

const stepText = (step: PlannedStep): string => (step.kind === 'launch' ? launchText(step) : memoryText(step));

/** `attention<64> (128, 8, 1) × (128, 1, 1)`: grid and block. */
const stepInShort = (step: PlannedStep): string =>
  step.kind === 'launch' ? `${step.functionName} ${dim3(step.grid)} × ${dim3(step.block)}` : memoryText(step);

/** A line for each workload; buffers and arguments are folded. */
const planParts = (plans: readonly CheckedPlan[]): doc.Part => [
  doc.table('Launch plans', plans, [
    doc.names('workload', ({ workload }) => workload.name),
    doc.words('grid × block', ({ plan, refused }) =>
      plan ? plan.steps.map(stepInShort).join('; ') : `not taken by this kernel: ${refused ?? ''}`,
    ),
  ]),
  doc.fold('Buffers and arguments', [plans.map(planInFull)]),
];

function planInFull({ workload, refused, plan }: CheckedPlan): doc.Part {
  const title = `${workload.name} (${formatParameters(workload.dimensions)})`;
  if (!plan) return doc.text(`${title}: not taken by this kernel: ${refused ?? ''}`);
  const buffers = plan.buffers.map(
    ({ name, role, dtype, shape, bytes }) => `${name} ${role} ${dtype}[${shape.join(', ')}] ${formatFigure(bytes)} B`,
  );
  return [
    doc.heading(title),
    doc.list([...buffers, ...plan.steps.map((step, index) => `step ${index}: ${stepText(step)}`)]),
  ];
}

/** What `check` found. */
export const checkDocument = ({ problem, kernels }: CheckReport): doc.Document =>
  doc.documentOf(
    `${problem.name} is valid: starts from ${problem.start}; rungs ${problem.rungs.join(', ')}`,
    [doc.text('Plans are expanded with one CTA per SM; nothing was compiled or run.')],
    [
      ...kernels.map(({ name, parameters, assumedDevice, validConfigurationCount, remedies, plans }) => {
        const answers = remedies.length > 0 ? `; answers ${remedies.join(', ')}` : '';
        const count =
          validConfigurationCount === null
            ? 'more configurations than can be counted'
            : formatCount(validConfigurationCount, 'configuration');
        const title = `${name} is valid: ${count}${answers}`;
        const set = `parameters: ${formatParameters(parameters) || 'none'}; planned for ${assumedDevice}`;
        return doc.section(name, title, [doc.text(set), planParts(plans)]);
      }),
      doc.section('audit', 'Whether its checks see wrong kernels is not looked at here:', [
        doc.codeBlock('sh', `warpsmith audit ${problem.folder}`),
      ]),
    ],
  );
