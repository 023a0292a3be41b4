import process from 'node:process';
import { format } from 'node:util';
import { type LineMessage, MessageReader, writeMessage } from './line-messages.ts';

/**
 * The child's side of a line process: answers messages on stdin one after the other with `handler`'s results on stdout. All
 * other output of the program goes to stderr. The process ends when its parent closes stdin.
 */
export function serveLines(handler: (message: LineMessage) => LineMessage | Promise<LineMessage>): void {
  const { stdin, stdout, stderr } = process;
  const reader = new MessageReader();
  let previous: Promise<void> = Promise.resolve();
  stdin.on('data', (chunk: Buffer) => {
    for (const message of reader.push(chunk)) {
      previous = previous.then(async () => writeMessage(stdout, await handler(message)));
    }
  });
  stdin.once('end', () => process.kill(process.pid, 'SIGKILL'));
  globalThis.console = plainConsole((text) => stderr.write(`${text}\n`));
}

const METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;

/** Node's own console would hand its streams to whoever looks. */
const plainConsole = (print: (text: string) => void): Console =>
  Object.fromEntries(
    METHODS.map((name) => [name, (...values: unknown[]) => print(format(...values))]),
  ) as unknown as Console;
