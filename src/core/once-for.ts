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
