import type { Context } from 'hono';
import type { z } from 'zod';
import { WarpsmithError } from '../../core/errors.ts';

/** The JSON of a request. @throws WarpsmithError `bad-request` if it has another shape. */
export async function readBody<S extends z.ZodType>(context: Context, schema: S): Promise<z.infer<S>> {
  const body: unknown = await context.req.json().catch(() => undefined);
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new WarpsmithError({
    code: 'bad-request',
    message: 'The request has another shape than expected.',
    path: issue?.path.join('.'),
    received: JSON.stringify(body)?.slice(0, 80) ?? 'no JSON',
    expected: issue?.message,
  });
}
