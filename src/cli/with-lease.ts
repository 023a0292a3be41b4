import { EXIT, messageOf, WarpsmithError } from '../core/errors.ts';
import { RELEASE } from '../core/requests/options.ts';
import { longFlag, type RequestOf } from '../core/requests/request.ts';
import { type AskedTerms, Lease, type Release } from '../process/lease.ts';
import type { CliContext } from './context.ts';
import { linesTo } from './output.ts';

/** The part of a request that says how a rented GPU is released. */
export type ReleaseRequest = Pick<RequestOf<'worker'>, keyof typeof RELEASE>;

/** What a command did, and how long the GPU had been idle by its end. */
export interface Worked {
  readonly exitCode: number;
  readonly idleMs?: number;
}

const DEFAULT_AFTER_MINUTES = 5;
const DEFAULT_TIMEOUT_SECONDS = 120;
const MS_PER_MINUTE = 60_000;
/** An interrupted command has so long to save what it has found, but no more than a share of its time. */
const GRACE_MS = 60_000;
const GRACE_SHARE = 0.1;

/**
 * Runs a command's work, then releases the GPU if the request says how. A failed release is told, and counts more than the
 * command's own exit code: a GPU that nobody uses costs money.
 *
 * @throws what `work` throws, after the release; WarpsmithError `option-missing`, `lease-held`, `no-lease`.
 */
export async function withLease(
  request: ReleaseRequest,
  context: CliContext,
  work: () => Promise<Worked>,
): Promise<number> {
  const terms = termsOf(request);
  if (!terms) return (await work()).exitCode;
  const say = linesTo(context.streams);
  const lease = await Lease.take(terms, () =>
    say('The process that was to release the GPU has been ended: nothing releases it now.'),
  );
  say(announce(terms));
  try {
    const { exitCode, idleMs = 0 } = await work();
    return (await release(lease, terms, { idleMs, ...context })) ? exitCode : EXIT.notReleased;
  } catch (error) {
    if (terms.afterMs > 0) say(`The command has failed: ${messageOf(error)}`);
    if (await release(lease, terms, { idleMs: 0, ...context })) throw error;
    return EXIT.notReleased;
  }
}

/** @throws WarpsmithError `option-missing`. */
function termsOf(request: ReleaseRequest): AskedTerms | undefined {
  const { releaseCommand, releaseAfterMinutes, deadlineMinutes, releaseTimeoutSeconds } = request;
  if (releaseCommand === undefined) {
    const given = Object.entries(RELEASE).find(([field]) => request[field as keyof typeof RELEASE] !== undefined);
    if (given) throw commandMissing(longFlag(given[1]));
    return undefined;
  }
  const deadlineMs = deadlineMinutes === undefined ? null : deadlineMinutes * MS_PER_MINUTE;
  return {
    command: releaseCommand,
    commandTimeoutMs: (releaseTimeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000,
    afterMs: (releaseAfterMinutes ?? DEFAULT_AFTER_MINUTES) * MS_PER_MINUTE,
    deadlineMs,
    graceMs: deadlineMs === null ? 0 : Math.min(GRACE_MS, GRACE_SHARE * deadlineMs),
  };
}

function announce({ command, afterMs, deadlineMs }: AskedTerms): string {
  const after = afterMs === 0 ? 'when the work has ended' : `${afterMs / MS_PER_MINUTE} min after the work has ended`;
  const deadline = deadlineMs === null ? '' : `, at ${timeOf(Date.now() + deadlineMs)} at the latest`;
  return `The GPU is released ${after}${deadline}, by ${command[0]}.`;
}

/** Local date and time, to the minute. */
function timeOf(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** @returns false if the release failed. Someone who keeps the GPU with Ctrl-C has no failure. */
async function release(
  lease: Lease,
  { command }: AskedTerms,
  { idleMs, signal, streams }: CliContext & { readonly idleMs: number },
): Promise<boolean> {
  const say = linesTo(streams);
  const atMs = await lease.end({ idleMs });
  // `onLost` has told it.
  if (atMs === undefined) return false;
  const waits = atMs - Date.now() > 1000;
  if (waits) say(`The GPU is released at ${timeOf(atMs)} by ${command[0]}. Ctrl-C keeps it.`);
  const outcome = waits ? await untilReleased(lease, { signal, say }) : await lease.released();
  if (outcome === 'kept' || outcome === 'left') return true;
  if (outcome?.failed === null) {
    say(`The GPU is released: ${command[0]} exited with 0.`);
    return true;
  }
  if (outcome) say(`The GPU is NOT released: ${command[0]} ${outcome.failed}. Release it by hand.`);
  return false;
}

/** The release, unless Ctrl-C keeps the GPU. Another signal ends only this process, and the GPU is released all the same. */
function untilReleased(
  lease: Lease,
  { signal, say }: Pick<CliContext, 'signal'> & { readonly say: (text: string) => void },
): Promise<Release | 'kept' | 'left' | undefined> {
  return new Promise((resolve) => {
    const onInterrupt = (): void => {
      // The other listeners may exit.
      if (!lease.keep()) return say('The release has begun, and goes on.');
      say('Kept: nothing releases the GPU now.');
      resolve('kept');
    };
    process.prependOnceListener('SIGINT', onInterrupt);
    signal.addEventListener('abort', () => resolve('left'), { once: true });
    void lease.released().then((outcome) => {
      process.off('SIGINT', onInterrupt);
      resolve(outcome);
    });
  });
}

const commandMissing = (flag: string): WarpsmithError =>
  new WarpsmithError({
    code: 'option-missing',
    message: `${flag} needs a command that releases the GPU.`,
    path: '--release-command',
    received: 'nothing',
    expected: '--release-command as well',
    hint: 'For example --release-command \'["runpodctl", "stop", "pod", "abc123"]\'.',
  });
