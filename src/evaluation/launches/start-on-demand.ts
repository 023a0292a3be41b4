import { rememberedAt } from '../../core/once-for.ts';

/** Starts a value once for each key, and again if that failed. */
export function startOnDemand<K, V>(start: (key: K) => Promise<V>) {
  const running = new Map<K, Promise<V>>();
  const begin = (key: K): Promise<V> => {
    const starting = start(key);
    starting.catch(() => running.delete(key));
    return starting;
  };
  return {
    get: (key: K): Promise<V> => rememberedAt(running, key, () => begin(key)),
    /** The next that asks for it starts it again. */
    forget: (key: K): void => void running.delete(key),
    forgetAll: (): void => running.clear(),
    started: (): Promise<V[]> => Promise.all(running.values()),
  };
}
