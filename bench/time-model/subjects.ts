import type { CompiledCode } from '../../src/core/compiled-code.ts';
import type { DeviceSpec } from '../../src/core/device-spec.ts';
import type { LoadedModule } from '../../src/core/device-values.ts';
import type { LaunchPlan } from '../../src/core/launch-plan.ts';
import { planLaunches } from '../../src/evaluation/launches/plan-launches.ts';
import { DECLARED } from '../../src/evaluation/oracle/check.ts';
import { drawInputs } from '../../src/evaluation/oracle/draw-inputs.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { compileCuda } from '../../test/support/launch/compile-cuda.ts';
import { planLaunch } from '../../test/support/launch/launch-kernel.ts';
import { type CorpusKernel, corpusKernels, type RungSetting, rungSettings } from '../kernels-and-settings.ts';

/** A kernel with one setting on one workload, ready to be compiled for a GPU and for a virtual one. */
export interface Subject {
  /** The problem, or `corpus`. */
  readonly problem: string;
  readonly kernel: string;
  readonly parameters: Readonly<Record<string, number>>;
  readonly workload: string;
  compile(toolchain: Toolchain, architecture: string): Promise<CompiledCode>;
  plan(spec: DeviceSpec, module: LoadedModule): LaunchPlan;
  /** Bytes of its inputs, by buffer. */
  inputs(plan: LaunchPlan): ReadonlyMap<string, Uint8Array>;
}

export const keyOf = ({ kernel, parameters, workload }: Subject): string =>
  [kernel, JSON.stringify(parameters), workload].join(' ');

/** The same inputs on every machine. */
const SEED = 1;

/** Settings of every rung, enough of each that a problem has `perProblem` where it has so many, and the corpus. */
export async function allSubjects(perProblem: number): Promise<Subject[]> {
  const rungs = await rungSettings(perProblem);
  const byProblem = Map.groupBy(rungs, ({ kernel }) => kernel.split('/')[0]!);
  const chosen = [...byProblem.values()].flatMap((settings) => inTurns(settings).slice(0, perProblem));
  return [...chosen.map(ofRung), ...corpusSubjects()];
}

/** Kernels that nobody wrote for one of our problems, with the inputs of their tests. */
export const corpusSubjects = (): Subject[] => corpusKernels().map(ofCorpus);

/** One setting of each rung, then the next one of each. */
function inTurns(settings: readonly RungSetting[]): RungSetting[] {
  const rungs = [...Map.groupBy(settings, ({ kernel }) => kernel).values()];
  const most = Math.max(...rungs.map(({ length }) => length));
  return Array.from({ length: most }, (_, turn) => rungs.flatMap((rung) => rung[turn] ?? [])).flat();
}

export function ofRung({ kernel, problem, candidate, workload }: RungSetting): Subject {
  const { dimensions } = workload;
  return {
    problem: kernel.split('/')[0]!,
    kernel,
    parameters: candidate.parameters,
    workload: workload.name,
    async compile(toolchain, architecture) {
      const compiled = await toolchain.compile({ candidate, architecture });
      if (!compiled.ok) throw new Error(compiled.message);
      return compiled.code;
    },
    plan: (spec, module) => planLaunches({ problem, candidate, dimensions, spec, module }),
    inputs: ({ buffers }) => drawInputs({ problem, buffers, dimensions, seed: SEED, generatorSet: DECLARED }).bytes,
  };
}

function ofCorpus({ kernel, entry, source }: CorpusKernel): Subject {
  const bytes = new Map(
    Object.entries(entry.buffers).map(([name, data]) => [
      name,
      new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
    ]),
  );
  return {
    problem: 'corpus',
    kernel,
    parameters: {},
    workload: 'test',
    compile: (toolchain, architecture) => compileCuda(toolchain, source, [entry.kernel], entry.file, architecture),
    plan: () => ({
      buffers: [...bytes].map(([name, { length }]) => ({
        name,
        role: 'inout' as const,
        dtype: 'u8' as const,
        shape: [length],
        strides: [1],
        bytes: length,
        alignmentBytes: 256,
      })),
      steps: [
        planLaunch({
          functionName: entry.kernel,
          grid: entry.grid,
          block: entry.block,
          dynamicSharedBytes: entry.sharedBytes ?? 0,
          cooperative: entry.cooperative ?? false,
          arguments: entry.args,
        }),
      ],
    }),
    inputs: () => bytes,
  };
}
