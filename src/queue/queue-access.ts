import type { RedisOptions } from 'ioredis';
import { EXIT, WarpsmithError } from '../core/errors.ts';
import { Seal } from './seal.ts';

/** Where the queue is, and how to get in. */
export interface QueueAccess {
  /** Address without password, for messages and logs. */
  readonly shown: string;
  readonly connection: RedisOptions;
  readonly seal: Seal;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PASSWORD = 'WARPSMITH_QUEUE_PASSWORD';
const KEY = 'WARPSMITH_QUEUE_KEY';
const FEWEST_KEY_CHARACTERS = 32;
const DEFAULT_PORT = 6379;
const EXAMPLE = 'redis://host:6379';

/**
 * Reads the address of a queue, and its password and key from the environment: others on a machine can read command lines.
 *
 * @throws WarpsmithError `bad-queue-address`, `password-in-address`, `queue-password-missing` or `queue-key-missing`.
 */
export function queueAccess(address: string, environment: Environment): QueueAccess {
  const url = URL.parse(address);
  if (!url || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') throw badAddress(address);
  if (url.password !== '') throw passwordInAddress(url);
  const database = url.pathname.replace('/', '');
  if (!/^\d*$/.test(database)) throw badAddress(address);
  const shown = `${url.protocol}//${url.username === '' ? '' : `${url.username}@`}${url.host}${url.pathname.replace(/^\/$/, '')}`;
  return {
    shown,
    connection: {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? DEFAULT_PORT : Number(url.port),
      username: url.username === '' ? undefined : decodeURIComponent(url.username),
      password: required(
        environment,
        PASSWORD,
        'queue-password-missing',
        'The queue takes jobs only from those who log in.',
      ),
      db: Number(database),
      ...(url.protocol === 'rediss:' && { tls: {} }),
    },
    seal: new Seal(keyOf(environment)),
  };
}

function keyOf(environment: Environment): string {
  const key = required(
    environment,
    KEY,
    'queue-key-missing',
    'Jobs and answers are signed, so that a worker runs nothing else.',
  );
  if (key.length >= FEWEST_KEY_CHARACTERS) return key;
  throw new WarpsmithError({
    code: 'queue-key-missing',
    message: `${KEY} is too short.`,
    path: KEY,
    received: `${key.length} characters`,
    expected: `at least ${FEWEST_KEY_CHARACTERS}`,
    hint: 'For example the output of `openssl rand -hex 32`.',
  });
}

function required(environment: Environment, name: string, code: string, why: string): string {
  const value = environment[name];
  if (value !== undefined && value !== '') return value;
  throw new WarpsmithError({
    code,
    message: `${why} ${name} is not set.`,
    path: name,
    received: 'nothing',
    expected: `the same ${name} for the coordinator and every worker`,
    hint: `Set it in the environment; it is never logged.`,
  });
}

const badAddress = (received: string): WarpsmithError =>
  new WarpsmithError({
    code: 'bad-queue-address',
    message: `"${received}" is not the address of a queue.`,
    path: '--queue',
    received,
    expected: `${EXAMPLE}, or rediss:// for TLS; with a number of a database, if it is not 0`,
    hint: `Redis 6.2 or Valkey 8 and later; for example --queue ${EXAMPLE}.`,
  });

const passwordInAddress = (url: URL): WarpsmithError =>
  new WarpsmithError({
    code: 'password-in-address',
    message: 'The address of the queue holds a password, which everybody on this machine can read.',
    path: '--queue',
    received: `${url.protocol}//${url.username}:…@${url.host}`,
    expected: `the address without it, and ${PASSWORD} in the environment`,
    hint: 'Change the password: it may lie in a history of commands.',
  });

/** A queue that could not be used, and why. Exit code 3. */
export const queueFailure = (code: string, access: QueueAccess, message: string, hint: string): WarpsmithError =>
  new WarpsmithError(
    { code, message, path: '--queue', received: access.shown, expected: 'a queue that answers', hint },
    EXIT.deviceOrToolMissing,
  );
