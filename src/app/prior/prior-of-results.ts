import type { Kernel, ParameterValues } from '../../core/kernel.ts';
import { type Configuration, configurationAt } from '../../search/list-space.ts';
import type { KnownTimes } from '../../store/events.ts';
import { type KnownSetting, knownTimes, searchedKernels } from './known-times.ts';
import type { Searched } from './prior-of-store.ts';
import { readTuningResults } from './read-tuning-results.ts';

/**
 * What results of an auto-tuner know of kernels that have all their parameters among those of the file.
 *
 * @throws WarpsmithError as `readTuningResults`.
 */
export function priorOfResults(path: string, searched: Searched): KnownTimes | undefined {
  const { space, outcomes } = readTuningResults(path);
  const kernels = searchedKernels(searched).filter(({ file }) => Object.keys(file.parameters ?? {}).length > 0);
  const settings = outcomes.flatMap((outcome, index): KnownSetting[] => {
    const configuration = configurationAt(space, index);
    const time = outcome.kind === 'failed' ? null : outcome.timeNs;
    return kernels.flatMap((kernel) => {
      const parameters = settingOf(kernel, configuration);
      return parameters ? [{ kernel: kernel.file.name, parameters, time }] : [];
    });
  });
  return knownTimes({ source: path, kind: 'tuning-results', device: null, workload: null }, settings);
}

/** Undefined if the configuration lacks a parameter, or is of another kernel by its own `kernel`. */
function settingOf({ file }: Kernel, configuration: Configuration): ParameterValues | undefined {
  const names = Object.keys(file.parameters ?? {});
  const isOther = !names.includes('kernel') && (configuration.kernel ?? file.name) !== file.name;
  if (isOther || names.some((name) => typeof configuration[name] !== 'number')) return undefined;
  return Object.fromEntries(names.map((name) => [name, configuration[name] as number]));
}
