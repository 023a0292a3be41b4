/** From parent to child: a request, or that nobody waits for it any longer. */
export type WorkerMessage = { id: number; message: unknown } | { id: number; isUnwanted: true };

/** An exception on its way to the parent. */
export interface WorkerFailure {
  name: string;
  message: string;
  code?: string;
  stack?: string;
}

/** From child to parent. */
export type WorkerReply =
  | { kind: 'ready' }
  | { kind: 'done'; id: number; value: unknown }
  | { kind: 'failed'; id: number; error: WorkerFailure };

/**
 * The child's side of a worker process: answers each message with what `handler` returns, one after the other unless asked to
 * work on them side by side. Its signal fires once nobody waits for the answer. The process ends when its parent is gone.
 */
export function serveWorker(
  handler: (message: never, signal: AbortSignal) => unknown,
  { sideBySide = false }: { readonly sideBySide?: boolean } = {},
): void {
  let previous: Promise<void> = Promise.resolve();
  const wanted = new Map<number, AbortController>();
  const reply = (message: WorkerReply): void => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  };
  const answer = async (id: number, message: unknown, { signal }: AbortController): Promise<void> => {
    try {
      signal.throwIfAborted();
      reply({ kind: 'done', id, value: await handler(message as never, signal) });
    } catch (error) {
      reply({ kind: 'failed', id, error: failureOf(error) });
    }
    wanted.delete(id);
  };
  process.on('message', (sent: WorkerMessage) => {
    if ('isUnwanted' in sent) {
      wanted.get(sent.id)?.abort();
      return;
    }
    const controller = new AbortController();
    wanted.set(sent.id, controller);
    const before = sideBySide ? Promise.resolve() : previous;
    previous = before.then(() => answer(sent.id, sent.message, controller));
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  reply({ kind: 'ready' });
}

/** An exception as it travels. */
export function failureOf(error: unknown): WorkerFailure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  return {
    name: error.name,
    message: error.message,
    code: typeof code === 'string' ? code : undefined,
    stack: error.stack,
  };
}
