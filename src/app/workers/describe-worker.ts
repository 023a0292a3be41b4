import type { Requirements } from '../../evaluation/pool/job.ts';
import { codeFingerprint } from '../../process/code-fingerprint.ts';
import { packageVersion } from '../package-version.ts';
import type { Session } from '../session.ts';
import type { WorkerDescription } from './protocol.ts';

/** What results of a session depend on, beside the job. */
const offersOf = ({ device: { identity }, toolchain }: Session): Requirements => ({
  device: identity.name,
  warpsmith: packageVersion(),
  code: codeFingerprint(),
  compiler: `${toolchain.identity.name} ${toolchain.identity.version}`,
  driver: identity.driver ?? null,
});

export const describeWorker = (session: Session): WorkerDescription => ({
  device: session.device.identity,
  spec: session.device.spec,
  toolchain: session.toolchain.identity,
  environment: session.environment,
  offers: offersOf(session),
});
