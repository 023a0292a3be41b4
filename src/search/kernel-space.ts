import { makeCandidate } from '../core/candidate.ts';
import type { Candidate, Kernel, ParameterDeclaration, ParameterValues } from '../core/kernel.ts';
import { failedLimit } from '../core/plan/limits.ts';
import { listValues } from '../core/plan/parameter-values.ts';
import { validAssignments } from '../core/plan/parameters.ts';
import type { Dimensions } from '../core/problem.ts';
import {
  type Configuration,
  configurationAt,
  dimensionOf,
  findConfiguration,
  placeConfigurations,
} from './list-space.ts';
import type { SearchSpace } from './strategy.ts';

export interface KernelSpace {
  readonly space: SearchSpace;
  candidateAt(index: number): Candidate;
  /** The place of a kernel's setting, by the kernel's name; undefined if it is not in the space. */
  find(kernel: string, parameters: ParameterValues): number | undefined;
  /** Undefined for a candidate of another kernel, or one that these dimensions rule out. */
  indexOf(candidate: Candidate): number | undefined;
}

/**
 * Every valid setting of every rung that takes these dimensions: one dimension `kernel`, and one for each parameter that
 * any of them has, `null` where a rung lacks it. Parameters of one name are one dimension.
 *
 * @throws WarpsmithError when a rung has too many settings or a constraint or limit can't be evaluated.
 */
export function kernelSpace(rungs: readonly Kernel[], dimensions: Dimensions): KernelSpace {
  const usable = rungs.filter(({ file }) => failedLimit(file, dimensions) === undefined);
  const names = kernelNames(usable);
  const ids = usable.map(kernelId);
  const choice = usable.some(({ file }) => Object.hasOwn(file.parameters ?? {}, 'kernel')) ? 'rung' : 'kernel';
  const configure = (place: number, parameters: ParameterValues): Configuration => ({
    ...parameters,
    [choice]: names[place]!,
  });
  const space = placeConfigurations(
    [{ name: choice, values: names, ordered: false }, ...parameterDimensions(usable)],
    usable.flatMap((kernel, place) =>
      validAssignments(kernel.file, dimensions).map((parameters) => configure(place, parameters)),
    ),
  );
  return {
    space,
    candidateAt(index) {
      const { [choice]: name, ...parameters } = configurationAt(space, index);
      return makeCandidate(usable[names.indexOf(String(name))]!, parameters as ParameterValues);
    },
    find(kernel, parameters) {
      const place = names.indexOf(kernel);
      return place < 0 ? undefined : findConfiguration(space, configure(place, parameters));
    },
    indexOf(candidate) {
      const place = ids.indexOf(kernelId(candidate.kernel));
      return place < 0 ? undefined : findConfiguration(space, configure(place, candidate.parameters));
    },
  };
}

/** The rungs' names; folders where two share a name. */
function kernelNames(kernels: readonly Kernel[]): string[] {
  const names = kernels.map(({ file }) => file.name);
  return kernels.map(({ file, folder }) =>
    names.filter((name) => name === file.name).length > 1 ? folder : file.name,
  );
}

/** Names a kernel by its content, whatever its parameters' values. */
const kernelId = (kernel: Kernel): string => makeCandidate(kernel, {}).id;

/** The values of a parameter; `null` alone where a rung lacks it. */
const listOf = (declaration: ParameterDeclaration | undefined): readonly (number | null)[] =>
  declaration ? listValues(declaration.values) : [null];

function parameterDimensions(kernels: readonly Kernel[]) {
  const names = new Set(kernels.flatMap(({ file }) => Object.keys(file.parameters ?? {})));
  return [...names].map((name) =>
    dimensionOf(name, new Set(kernels.flatMap(({ file }) => listOf(file.parameters?.[name])))),
  );
}
