/**
 * What must not outlive this process: child process groups and temporary folders register here and are ended or removed
 * when the process exits, throws, or is told to stop.
 */

const callbacks = new Set<() => void>();
let installed = false;

/** Runs `callback` (synchronously, once) if this process ends before the returned function is called. */
export function onProcessEnd(callback: () => void): () => void {
  install();
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
  };
}

function runAll(): void {
  for (const callback of [...callbacks]) {
    callbacks.delete(callback);
    try {
      callback();
    } catch {
      // One failing clean-up must not keep the others from running.
    }
  }
}

function install(): void {
  if (installed) return;
  installed = true;
  process.on('exit', runAll);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, endBySignal);
}

/** A program with a handler of its own decides when to end; without one, end as the signal's default would. */
function endBySignal(signal: NodeJS.Signals): void {
  if (process.listeners(signal).some((listener) => listener !== endBySignal)) return;
  runAll();
  process.removeListener(signal, endBySignal);
  process.kill(process.pid, signal);
}
