import { formatFigure } from '../../src/reports/format.ts';
import type { DeviceSpec, DevicesReport } from '../../src/server/wire.ts';
import { getJson } from '../api.ts';
import { Waiting } from '../parts/notices.tsx';
import { useAsked } from '../use.ts';

type Devices = DevicesReport & { readonly specs: readonly DeviceSpec[] };

/** What kernels can be judged on here, with the figures that predictions rest on. */
export function DevicesPage() {
  const asked = useAsked((signal) => getJson<Devices>('/devices', signal), []);
  return (
    <>
      <h1>Devices</h1>
      {asked.value ? <DeviceList {...asked.value} /> : <Waiting asked={asked} what="Looking for devices" />}
    </>
  );
}

function DeviceList({ devices, specs }: Devices) {
  return (
    <ul class="cards">
      {devices.map(({ id, name, kind, available }) => (
        <li key={id} class="panel">
          <h2>{name}</h2>
          <p class="note">
            <code>{id}</code>, {kind === 'virtual' ? 'predicts times' : 'measures times'}
            {!available && ', not available now'}
          </p>
          <Figures spec={specs.find((spec) => id === `virtual:${spec.id}`)} />
        </li>
      ))}
    </ul>
  );
}

function Figures({ spec }: { readonly spec: DeviceSpec | undefined }) {
  if (!spec) return null;
  return (
    <dl>
      <dt>Architecture</dt>
      <dd>{spec.architecture}</dd>
      {FIGURES.map(([term, of, unit]) => (
        <>
          <dt>{term}</dt>
          <dd>
            {formatFigure(of(spec))} {unit}
          </dd>
        </>
      ))}
    </dl>
  );
}

const FIGURES: readonly (readonly [term: string, of: (spec: DeviceSpec) => number, unit: string])[] = [
  ['SMs', ({ smCount }) => smCount.value, ''],
  ['Warps per SM', ({ maximumWarpsPerSm }) => maximumWarpsPerSm.value, ''],
  ['Shared memory per CTA', ({ sharedBytesPerCta }) => sharedBytesPerCta.value / 1024, 'KiB'],
];
