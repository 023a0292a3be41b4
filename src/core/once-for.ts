/** The same function, which computes its result for an object when it is first asked for. */
export function onceFor<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const results = new WeakMap<K, V>();
  return (key) => {
    const known = results.get(key);
    if (known !== undefined || results.has(key)) return known as V;
    const result = compute(key);
    results.set(key, result);
    return result;
  };
}

/** The value under a key, computed when it is first asked for. There are at most so many: one more, and all are forgotten. */
export function rememberedAt<K, V>(values: Map<K, V>, key: K, compute: () => V, most = Number.POSITIVE_INFINITY): V {
  const known = values.get(key);
  if (known !== undefined) return known;
  const value = compute();
  if (values.size >= most) values.clear();
  values.set(key, value);
  return value;
}
