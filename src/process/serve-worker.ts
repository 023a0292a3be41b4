/** From parent to child. */
export interface WorkerMessage {
  id: number;
  message: unknown;
}

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
 * The child's side of a worker process: answers each message with what `handler` returns, one after the other. The
 * process ends when its parent is gone.
 */
export function serveWorker(handler: (message: never) => unknown): void {
  let previous: Promise<void> = Promise.resolve();
  const reply = (message: WorkerReply): void => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  };
  process.on('message', ({ id, message }: WorkerMessage) => {
    previous = previous.then(async () => {
      try {
        reply({ kind: 'done', id, value: await handler(message as never) });
      } catch (error) {
        reply({ kind: 'failed', id, error: failureOf(error) });
      }
    });
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  reply({ kind: 'ready' });
}

function failureOf(error: unknown): WorkerFailure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { code } = error as NodeJS.ErrnoException;
  return {
    name: error.name,
    message: error.message,
    code: typeof code === 'string' ? code : undefined,
    stack: error.stack,
  };
}
