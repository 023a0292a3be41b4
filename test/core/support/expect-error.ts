import { expect } from 'vitest';
import { type ErrorDetails, WarpsmithError } from '../../../src/core/errors.ts';

/** Details of the WarpsmithError that `action` throws; fails on anything else. */
export const detailsOf = (action: () => unknown): ErrorDetails => {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(WarpsmithError);
    return (error as WarpsmithError).details;
  }
  throw new Error('nothing was thrown');
};

/** The same for a promise. */
export const rejectionOf = async (promise: Promise<unknown>): Promise<ErrorDetails> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(WarpsmithError);
  return (error as WarpsmithError).details;
};
