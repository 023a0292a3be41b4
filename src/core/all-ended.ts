/**
 * What all of them give, in their order.
 *
 * @throws as the first of them that failed, and only once all have ended: nothing still goes on behind the caller.
 */
export async function allEnded<T extends readonly unknown[] | []>(
  all: T,
): Promise<{ -readonly [Place in keyof T]: Awaited<T[Place]> }> {
  const ended: readonly PromiseSettledResult<unknown>[] = await Promise.allSettled(all);
  const values = ended.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
  return values as { -readonly [Place in keyof T]: Awaited<T[Place]> };
}
