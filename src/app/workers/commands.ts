import { WarpsmithError } from '../../core/errors.ts';
import { answerJob, candidateHere, type Requirements, requestOf } from '../../evaluation/pool/job.ts';
import { codeFingerprint } from '../../process/code-fingerprint.ts';
import { loadProblem } from '../loading/load-problem.ts';
import { agreeTo } from '../loading/trust.ts';
import { packageVersion } from '../package-version.ts';
import { openSession, type Session } from '../session.ts';
import { hashOfFiles, refuseOtherFiles } from './problem-files.ts';
import type { WorkerAnswer, WorkerCommand, WorkerCommands, WorkerDescription } from './protocol.ts';

type Handlers = {
  [C in WorkerCommand]: (message: WorkerCommands[C]['message']) => Promise<WorkerCommands[C]['reply']>;
};

/** Answers what a worker process is asked. */
export function createCommandHandler(): <C extends WorkerCommand>(asked: {
  command: C;
  message: WorkerCommands[C]['message'];
}) => Promise<WorkerAnswer<C>> {
  let session: Session | undefined;
  const handlers: Handlers = {
    async open(options) {
      session = await openSession(options);
      return describeWorker(session);
    },
    peaks: async () => (await session?.peaks?.()) ?? null,
    async prepare({ candidates, folder }) {
      session?.evaluator.prepare?.(candidates.map((candidate) => candidateHere(candidate, folder)));
      return null;
    },
    async judge({ job, folder }) {
      const problem = await loadProblem(folder, { dtype: job.problem.dtype ?? undefined });
      refuseOtherFiles(job, hashOfFiles(problem), folder);
      // Whoever sent the job has agreed to these files.
      agreeTo(folder);
      return await answerJob(job, requestOf(job, problem), (request) => session!.evaluator.evaluate(request));
    },
  };
  return async ({ command, message }) => {
    try {
      return { ok: true, value: await handlers[command](message) };
    } catch (error) {
      if (!(error instanceof WarpsmithError)) throw error;
      return { ok: false, error: error.details, exitCode: error.exitCode };
    }
  };
}

/** What results of a session depend on, beside the job. */
const offersOf = ({ device: { identity }, toolchain }: Session): Requirements => ({
  device: identity.name,
  warpsmith: packageVersion(),
  code: codeFingerprint(),
  compiler: `${toolchain.identity.name} ${toolchain.identity.version}`,
  driver: identity.driver ?? null,
});

const describeWorker = (session: Session): WorkerDescription => ({
  device: session.device.identity,
  spec: session.device.spec,
  toolchain: session.toolchain.identity,
  environment: session.environment,
  offers: offersOf(session),
});
