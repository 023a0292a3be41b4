import { cpus, release } from 'node:os';
import { packageVersion } from './package-version.ts';
import type { Session } from './session.ts';

/** What a result may depend on, for the log and the report. Names and versions, no paths. */
export function describeEnvironment({ device, toolchain }: Session): Readonly<Record<string, string>> {
  const processors = cpus();
  return {
    warpsmith: packageVersion(),
    node: process.versions.node,
    v8: process.versions.v8,
    system: `${process.platform} ${process.arch} ${release()}`,
    processor: `${processors.length} × ${processors[0]?.model.trim() || 'unknown'}`,
    compiler: `${toolchain.identity.name} ${toolchain.identity.version}`,
    device: `${device.identity.name} (${device.identity.id}), ${device.spec.architecture}`,
  };
}
