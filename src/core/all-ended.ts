/**
 * What all of them give, in their order.
 *
 * @throws as the first of them that failed, and only once all have ended: nothing still goes on behind the caller.
 */
export async function allEnded<T>(all: readonly Promise<T>[]): Promise<T[]> {
  const ended = await Promise.allSettled(all);
  return ended.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}
