/** Runs what it is given one after the other, in the order of the calls. */
export function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let queue: Promise<unknown> = Promise.resolve();
  return (work) => {
    const outcome = queue.then(work);
    queue = outcome.catch(() => undefined);
    return outcome;
  };
}
