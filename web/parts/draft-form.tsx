import type { DevicesReport, Draft, OpenedKernel, ShownLaunch } from '../../src/server/wire.ts';
import { getJson } from '../api.ts';
import { useAsked } from '../use.ts';

interface DraftFormProps {
  readonly opened: OpenedKernel;
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly reset: () => void;
  /** For these shapes; none until the draft has been looked at. */
  readonly launches: readonly ShownLaunch[];
  readonly openLaunch: () => void;
}

/** What a draft is judged on: kernel, device, shapes, parameters, and how it is launched. */
export function DraftForm({ opened, draft, change, reset, launches, openLaunch }: DraftFormProps) {
  const targets = useAsked((signal) => getJson<{ targets: string[] }>('/targets', signal), []).value?.targets ?? [];
  const devices = useAsked((signal) => getJson<DevicesReport>('/devices', signal), []).value?.devices ?? [];
  const kernels = targets.filter((target) => target.includes('/'));
  return (
    <div class="panel fields">
      <label>
        Kernel
        <select
          value={opened.target}
          onChange={(event) => {
            location.hash = `/playground?target=${encodeURIComponent(event.currentTarget.value)}`;
          }}
        >
          {(kernels.includes(opened.target) ? kernels : [opened.target, ...kernels]).map((target) => (
            <option key={target} value={target}>
              {target.split('/').slice(-2).join('/')}
            </option>
          ))}
        </select>
      </label>
      <label>
        Virtual GPU
        <select value={draft.device} onChange={(event) => change({ device: event.currentTarget.value })}>
          {devices
            .filter(({ kind }) => kind === 'virtual')
            .map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
        </select>
      </label>
      <label>
        Shapes
        <input
          value={draft.workload}
          list="workloads"
          autocomplete="off"
          onChange={(event) => change({ workload: event.currentTarget.value.trim() })}
        />
        <datalist id="workloads">
          {opened.workloads.map(({ name, dimensions }) => (
            <option key={name} value={name}>
              {shapeText(dimensions)}
            </option>
          ))}
        </datalist>
      </label>
      {Object.entries(opened.parameters ?? {}).map(([name, parameter]) => (
        <label key={name} title={parameter.description}>
          {name}
          <input
            type="number"
            value={draft.parameters[name] ?? parameter.default}
            onChange={(event) =>
              change({ parameters: { ...draft.parameters, [name]: Number(event.currentTarget.value) } })
            }
          />
        </label>
      ))}
      <button type="button" onClick={reset}>
        Start over
      </button>
      <p class="note">
        Launched by{' '}
        <button type="button" class="link" onClick={openLaunch}>
          kernel.json
        </button>
        {launches.length > 0 && ` as ${launches.map(describeLaunch).join('; then ')}`}
      </p>
    </div>
  );
}

const describeLaunch = ({ functionName, grid, block, dynamicSharedBytes }: ShownLaunch): string =>
  `${functionName}, grid ${grid.join(' × ')}, block ${block.join(' × ')}${dynamicSharedBytes > 0 ? `, ${dynamicSharedBytes} B dynamic shared memory` : ''}`;

const shapeText = (dimensions: Readonly<Record<string, number>>): string =>
  Object.entries(dimensions)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
