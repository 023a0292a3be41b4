import { parentPort } from 'node:worker_threads';
import { type ErrorDetails, WarpsmithError } from '../core/errors.ts';
import { memoryOf } from './memory-of.ts';

export interface TaskRequest {
  readonly id: number;
  readonly task: string;
  readonly take: unknown;
}

/** A mistake of the user comes back as a value, because an exception would lose what it says. */
export type TaskReply = { readonly id: number } & (
  | { readonly ok: true; readonly give: unknown }
  | { readonly ok: false; readonly details: ErrorDetails; readonly exitCode: number }
  | { readonly ok: false; readonly mistake: string }
);

/** A thread's side of `task-threads.ts`: answers each request by the task of its name, one after the other. */
export function serveTasks(tasks: Readonly<Record<string, (take: never) => unknown>>): void {
  parentPort!.on('message', (request: TaskRequest) => {
    const reply = answer(tasks, request);
    parentPort!.postMessage(reply, 'give' in reply ? [...memoryOf(reply.give)] : []);
  });
}

function answer(tasks: Readonly<Record<string, (take: never) => unknown>>, { id, task, take }: TaskRequest): TaskReply {
  try {
    return { id, ok: true, give: tasks[task]!(take as never) };
  } catch (error) {
    if (error instanceof WarpsmithError) return { id, ok: false, details: error.details, exitCode: error.exitCode };
    return { id, ok: false, mistake: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
