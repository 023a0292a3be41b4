import type { Asked } from '../use.ts';
import { describeError } from '../use.ts';

/** What stands in place of something that is not there yet, or can't be. */
export function Waiting({ asked: { error }, what }: { readonly asked: Asked<unknown>; readonly what: string }) {
  return error ? (
    <p class="notice bad" role="alert">
      {describeError(error)}
    </p>
  ) : (
    <p class="notice" role="status">
      {what} …
    </p>
  );
}
