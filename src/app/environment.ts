import { cpus, release } from 'node:os';
import type { Device } from '../core/device.ts';
import type { Toolchain } from '../toolchains/toolchain.ts';
import { packageVersion } from './package-version.ts';

/** Names and versions of the software that results depend on, for the log and the report. No paths. */
export function describeEnvironment({
  device: { identity, spec },
  toolchain,
}: {
  device: Pick<Device, 'identity' | 'spec'>;
  toolchain: Pick<Toolchain, 'identity'>;
}): Readonly<Record<string, string>> {
  const processors = cpus();
  return {
    warpsmith: packageVersion(),
    node: process.versions.node,
    v8: process.versions.v8,
    system: `${process.platform} ${process.arch} ${release()}`,
    processor: `${processors.length} × ${processors[0]?.model.trim() || 'unknown'}`,
    compiler: `${toolchain.identity.name} ${toolchain.identity.version}`,
    device: `${identity.name} (${identity.id}), ${spec.architecture}`,
    ...(identity.driver === undefined ? {} : { driver: identity.driver }),
  };
}
