import type { LaunchPlan, PlannedArgument, PlannedLaunch, PlannedStep } from '../core/launch-plan.ts';
import { formatFigure, formatParameters } from './format.ts';
import { type Paint, plainPaint } from './paint.ts';

/** A kernel's plan on one workload, or why it takes none. Structurally what `check` reports. */
export interface CheckedPlanView {
  workload: { name: string; dimensions: Readonly<Record<string, number>> };
  refused: string | null;
  plan: LaunchPlan | null;
}

export interface CheckView {
  problem: { name: string; folder: string; start: string; rungs: readonly string[] };
  kernels: readonly {
    name: string;
    folder: string;
    parameters: Readonly<Record<string, number>>;
    assumedDevice: string;
    validConfigurationCount: number;
    remedies: readonly string[];
    plans: readonly CheckedPlanView[];
  }[];
}

const ARGUMENT_TEXT: { [K in PlannedArgument['kind']]: (argument: Extract<PlannedArgument, { kind: K }>) => string } = {
  buffer: ({ buffer, offsetBytes }) => (offsetBytes === 0 ? buffer : `${buffer} + ${offsetBytes} B`),
  null: () => 'null',
  scalar: ({ dtype, value }) => `${dtype} ${formatFigure(value)}`,
  bytes: ({ bytes }) => `${bytes.length} bytes by value`,
  pointers: ({ targets }) => `pointers [${targets.map(({ buffer }) => buffer).join(', ')}]`,
  'tensor-map': ({ buffer, boxDim }) => `tensor map of ${buffer}, box ${boxDim.join('×')}`,
};

const argumentText = (argument: PlannedArgument): string =>
  (ARGUMENT_TEXT[argument.kind] as (argument: PlannedArgument) => string)(argument);

const dim3 = (dim: readonly number[]): string => `(${dim.join(', ')})`;

function launchText(launch: PlannedLaunch): string {
  const extras = [
    launch.dynamicSharedBytes > 0 ? `${launch.dynamicSharedBytes} B dynamic shared` : '',
    launch.cluster ? `cluster ${dim3(launch.cluster)}` : '',
    launch.cooperative ? 'cooperative' : '',
    launch.programmaticDependent ? 'programmatic dependent' : '',
    launch.carveOut === undefined ? '' : `carve-out ${launch.carveOut} %`,
  ].filter((text) => text !== '');
  const head = [`${launch.functionName} grid ${dim3(launch.grid)} block ${dim3(launch.block)}`, ...extras].join(', ');
  return `${head}, arguments (${launch.arguments.map(argumentText).join(', ')})`;
}

const stepText = (step: PlannedStep): string =>
  step.kind === 'launch' ? launchText(step) : `memset ${step.buffer} to byte ${step.byteValue}`;

function planLines({ workload, refused, plan }: CheckedPlanView): string[] {
  const title = `${workload.name} (${formatParameters(workload.dimensions)})`;
  if (!plan) return [`${title}: not taken by this kernel: ${refused ?? ''}`];
  const buffers = plan.buffers.map(
    ({ name, role, dtype, shape, bytes }) => `${name} ${role} ${dtype}[${shape.join(', ')}] ${formatFigure(bytes)} B`,
  );
  return [
    `${title}`,
    ...buffers.map((text) => `  ${text}`),
    ...plan.steps.map((step, index) => `  step ${index}: ${stepText(step)}`),
  ];
}

/** What `check` found, for a terminal. */
export function checkTerminal(view: CheckView, paint: Paint = plainPaint): string {
  const { problem } = view;
  const lines = [
    `${paint('bold', problem.name)} is valid: starts from ${problem.start}; rungs ${problem.rungs.join(', ')}`,
  ];
  lines.push('Plans are expanded with one CTA per SM; nothing was compiled or run.');
  for (const kernel of view.kernels) {
    const remedies = kernel.remedies.length > 0 ? `; answers ${kernel.remedies.join(', ')}` : '';
    lines.push(
      '',
      `${paint('bold', kernel.name)} is valid: ${formatFigure(kernel.validConfigurationCount)} configurations${remedies}`,
    );
    lines.push(`  parameters: ${formatParameters(kernel.parameters) || 'none'}; planned for ${kernel.assumedDevice}`);
    for (const plan of kernel.plans) lines.push(...planLines(plan).map((line) => `  ${line}`));
  }
  lines.push('', 'Whether its checks see wrong kernels is not looked at here:', `  warpsmith audit ${problem.folder}`);
  return `${lines.join('\n')}\n`;
}
