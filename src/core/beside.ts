/** Work that goes on beside other work. */
export interface Beside<T> {
  /** Waits for it. Rejects as it did. */
  result(): Promise<T>;
  /** Ends it if it still goes on, and waits until it has ended; never rejects. */
  end(): Promise<void>;
}

/**
 * Begins work now, whose result is asked for later, perhaps never.
 *
 * @param work ends when its signal is aborted.
 */
export function beside<T>(work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Beside<T> {
  const ending = new AbortController();
  const running = work(signal ? AbortSignal.any([signal, ending.signal]) : ending.signal);
  // Until somebody asks, a failure is nobody's.
  const ended = running.then(
    () => {},
    () => {},
  );
  return {
    result: () => running,
    async end() {
      ending.abort(new Error('what it was for has ended'));
      await ended;
    },
  };
}
