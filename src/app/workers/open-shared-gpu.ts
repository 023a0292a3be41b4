import { allEnded } from '../../core/all-ended.ts';
import type { EvaluationRequest } from '../../core/evaluation.ts';
import type { Candidate } from '../../core/kernel.ts';
import { LocalPool, type Seat } from '../../evaluation/pool/local-pool.ts';
import { openSession, type Session, type SessionOptions } from '../session.ts';

/**
 * Opens a GPU several times, so that one candidate is verified while another is timed. All of it is in this process, where what checks expect
 * is worked out once.
 *
 * @param device id of a GPU.
 * @param times candidates that are judged at a time. @throws WarpsmithError as `openSession`.
 */
export async function openSharedGpu(device: string, times: number, options: SessionOptions): Promise<Session> {
  await using stack = new AsyncDisposableStack();
  const open = async (beside?: Session): Promise<Session> =>
    stack.use(await openSession({ ...options, device, beside }));
  const first = await open();
  const others = await allEnded(Array.from({ length: times - 1 }, () => open(first)));
  const sessions = [first, ...others];
  const pool = new LocalPool(sessions.map(seatOf));
  const owned = stack.move();
  return {
    device: first.device,
    toolchain: first.toolchain,
    evaluator: pool,
    environment: first.environment,
    drawSeed: first.drawSeed,
    peaks: first.peaks,
    libraryBaselines: first.libraryBaselines,
    async [Symbol.asyncDispose]() {
      await pool.close();
      await owned.disposeAsync();
    },
  };
}

const seatOf = ({ device, evaluator }: Session): Seat => ({
  device: device.identity,
  evaluate: (request: EvaluationRequest) => evaluator.evaluate(request),
  prepare(candidates: readonly Candidate[]) {
    evaluator.prepare?.(candidates);
    return evaluator.prepare !== undefined;
  },
  close: async () => {},
});
