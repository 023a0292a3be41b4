/**
 * Child process groups and temporary folders register here. They are ended or removed when this process exits, throws, or
 * gets a signal to stop.
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

/** A program with its own handler decides when to end; without one, ends as the signal's default does. */
function endBySignal(signal: NodeJS.Signals): void {
  if (process.listeners(signal).some((listener) => listener !== endBySignal)) return;
  runAll();
  process.removeListener(signal, endBySignal);
  process.kill(process.pid, signal);
}
