/** Starts a value once for each key, and again if that failed. */
export function startOnDemand<K, V>(start: (key: K) => Promise<V>) {
  const running = new Map<K, Promise<V>>();
  return {
    get(key: K): Promise<V> {
      const known = running.get(key);
      if (known) return known;
      const starting = start(key);
      running.set(key, starting);
      starting.catch(() => running.delete(key));
      return starting;
    },
    started: (): Promise<V[]> => Promise.all(running.values()),
  };
}
