import { availableParallelism } from 'node:os';
import { LocalPool } from '../../evaluation/pool/local-pool.ts';
import { openTemporaryFolder } from '../../process/temporary-folder.ts';
import { drawSeed } from '../seed.ts';
import type { Session, SessionOptions } from '../session.ts';
import { refuseMixed } from './chosen-devices.ts';
import { LocalSeat } from './local-seat.ts';

/**
 * Opens a worker process for each of these devices, and the evaluator that shares requests out among them.
 *
 * @param devices ids; the same virtual one several times, or GPUs of one model.
 * @throws WarpsmithError `mixed-devices`; as `openSession`.
 */
export async function openLocalPool(devices: readonly string[], options: SessionOptions): Promise<Session> {
  const { toolchain, runTimeoutSeconds, fresh } = options;
  const threads = options.threads ?? Math.max(1, Math.floor(availableParallelism() / devices.length));
  // Every GPU measures candidates beside the best, which another one's process has compiled.
  const shared = openTemporaryFolder();
  const worker = { threads, toolchain, runTimeoutSeconds, fresh, codeFolder: shared.path };
  const seats = devices.map((device) => new LocalSeat({ ...worker, device }));
  const pool = new LocalPool(seats);
  const close = async (): Promise<void> => {
    await pool.close();
    await shared[Symbol.asyncDispose]();
  };
  try {
    const descriptions = await Promise.all(seats.map((seat) => seat.open()));
    refuseMixed(descriptions.map(({ device }) => device));
    const { device: identity, spec, toolchain: compiler, environment } = descriptions[0]!;
    return {
      device: { identity, spec },
      toolchain: { identity: compiler },
      evaluator: pool,
      environment,
      drawSeed,
      peaks: identity.kind === 'cuda' ? async () => (await seats[0]!.peaks()) ?? undefined : undefined,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
