/** Starts a value once for each key. */
export const startOnDemand = <K, V>(start: (key: K) => Promise<V>) => {
  const running = new Map<K, Promise<V>>();
  return {
    get(key: K): Promise<V> {
      const known = running.get(key) ?? start(key);
      running.set(key, known);
      return known;
    },
    started: (): Promise<V[]> => Promise.all(running.values()),
  };
};
