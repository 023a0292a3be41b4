type Rows<V extends { readonly kind: string }, More extends readonly unknown[], R> = {
  readonly [K in V['kind']]: (value: Extract<V, { readonly kind: K }>, ...more: More) => R;
};

/** A function of a value that calls the row of a table for the value's kind. Every kind has a row. */
export const byKind =
  <V extends { readonly kind: string }, R, More extends readonly unknown[] = []>(rows: Rows<V, More, R>) =>
  (value: V, ...more: More): R =>
    (rows[value.kind as V['kind']] as (value: V, ...more: More) => R)(value, ...more);
