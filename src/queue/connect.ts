import { Redis } from 'ioredis';
import { type QueueAccess, queueFailure } from './queue-access.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Between attempts to reach a queue that is gone. */
const MOST_RETRY_MS = 2_000;

const retryStrategy = (attempt: number): number => Math.min(attempt * 100, MOST_RETRY_MS);

/** A connection that waits for the queue to come back when it is lost. The caller disconnects it. */
export function openConnection({ connection }: QueueAccess): Redis {
  const redis = new Redis({ ...connection, maxRetriesPerRequest: null, retryStrategy });
  // It connects again by itself; how long it was gone is looked at elsewhere.
  redis.on('error', () => {});
  return redis;
}

/**
 * Makes sure that the queue answers, takes our password, and takes nothing from those who have none.
 *
 * @throws WarpsmithError `queue-unreachable`, `queue-refuses` or `queue-open-to-all`.
 */
export async function checkQueue(access: QueueAccess): Promise<void> {
  const refusal = await ping(access.connection);
  if (refusal !== undefined) {
    const isRefused = /WRONGPASS|NOAUTH|without any password|NOPERM/.test(refusal);
    throw isRefused
      ? queueFailure(
          'queue-refuses',
          access,
          `The queue at ${access.shown} refuses the login: ${refusal}.`,
          'Set requirepass, or a user with a password, and WARPSMITH_QUEUE_PASSWORD.',
        )
      : queueFailure(
          'queue-unreachable',
          access,
          `The queue at ${access.shown} does not answer: ${refusal}.`,
          'Check the address, and that Redis or Valkey runs there.',
        );
  }
  const { username: _, password: __, ...withoutLogin } = access.connection;
  if ((await ping(withoutLogin)) !== undefined) return;
  throw queueFailure(
    'queue-open-to-all',
    access,
    `The queue at ${access.shown} lets in everybody, without a password.`,
    'Set requirepass (or ACL users) in its configuration.',
  );
}

/** Why it does not answer; undefined if it does. */
async function ping(connection: QueueAccess['connection']): Promise<string | undefined> {
  const redis = new Redis({
    ...connection,
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: () => null,
  });
  let trouble: string | undefined;
  redis.on('error', (error) => {
    trouble = error.message;
  });
  try {
    await redis.connect();
    await redis.ping();
    return trouble;
  } catch (error) {
    return trouble ?? (error as Error).message;
  } finally {
    redis.disconnect();
  }
}
