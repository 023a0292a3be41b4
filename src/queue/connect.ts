import { Redis } from 'ioredis';
import { type QueueAccess, queueFailure } from './queue-access.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Between attempts to reach a queue that is gone. */
const MOST_RETRY_MS = 2_000;

const retryStrategy = (attempt: number): number => Math.min(attempt * 100, MOST_RETRY_MS);

/** ECONNRESET, ENOTFOUND, EAI_AGAIN …, but none of a certificate or of a program's mistake. */
const NETWORK_CODE = /^E(?!RR_)/;
const CLOSED = /^(Connection is closed|Command aborted due to connection close)/;

function isLostConnection(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return (typeof code === 'string' && NETWORK_CODE.test(code)) || CLOSED.test(error.message);
}

/**
 * Tells errors, each text once: a command that is refused is refused again with every look. Lost connections come back by
 * themselves; whoever waits for one looks at how long it is gone.
 */
export function errorTeller(tell: (text: string) => void): (error: Error) => void {
  const told = new Set<string>();
  return (error) => {
    if (isLostConnection(error) || told.has(error.message)) return;
    told.add(error.message);
    tell(`the queue reports: ${error.message}`);
  };
}

/** A connection that waits for the queue to come back when it is lost. The caller disconnects it. */
export function openConnection({ connection }: QueueAccess, onError: (error: Error) => void): Redis {
  const redis = new Redis({ ...connection, maxRetriesPerRequest: null, retryStrategy });
  redis.on('error', onError);
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
