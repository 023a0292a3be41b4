import { z } from 'zod';
import { WarpsmithError } from './errors.ts';
import { printableSchema } from './schemas/common-schema.ts';

const word = z.string().regex(/^[a-z0-9][a-z0-9-]*$/, { error: 'lower-case letters, digits and hyphens' });

const price = z
  .strictObject({
    gpu: word.describe('What `--gpu-price` calls it, e.g. `h100-sxm`.'),
    names: z.array(printableSchema).min(1).describe('What the driver calls it, for `--gpu-price auto`.'),
    provider: word.describe('Who rents it out, e.g. `lambda`.'),
    kind: z
      .enum(['gpu-cloud', 'marketplace', 'hyperscaler', 'own'])
      .describe(
        'gpu-cloud: the provider’s own data centres; marketplace: other people’s machines; own: what yours cost.',
      ),
    perHour: z.number().positive().describe('Price of one GPU for an hour, on demand.'),
    source: printableSchema.describe('Where the price was read, e.g. a URL.'),
    date: z.iso.date().describe('When it was read.'),
  })
  .meta({ id: 'GpuPrice' });

export const gpuPricesSchema = z.strictObject({
  $schema: z.string().optional(),
  schemaVersion: z.literal(1),
  currency: printableSchema.describe('Of every price, e.g. USD.'),
  prices: z.array(price).min(1).describe('In order of preference: the first that fits is taken.'),
});

/** What GPUs cost an hour, and when. */
export type GpuPrices = z.infer<typeof gpuPricesSchema>;
export type GpuPrice = z.infer<typeof price>;

export const AUTO = 'auto';

/**
 * The first price that fits.
 *
 * @param asked a GPU, or `auto` for the run's own, and from whom: `h200`, `auto@lambda`. @param driverName the run's GPU, for `auto`.
 * @throws WarpsmithError `no-gpu-price`, naming those that there are.
 */
export function findGpuPrice(
  { prices }: GpuPrices,
  { asked, driverName, file }: { readonly asked: string; readonly driverName?: string; readonly file: string },
): GpuPrice {
  const [gpu = '', from] = asked.split('@');
  const isFrom = ({ provider, kind }: GpuPrice): boolean => from === undefined || from === provider || from === kind;
  const isGpu = (row: GpuPrice): boolean =>
    gpu === AUTO ? driverName !== undefined && row.names.some((name) => sameName(name, driverName)) : row.gpu === gpu;
  const found = prices.find((row) => isGpu(row) && isFrom(row));
  if (found) return found;
  const of = gpu === AUTO ? (driverName ?? 'a GPU whose name the driver does not tell') : gpu;
  throw new WarpsmithError({
    code: 'no-gpu-price',
    message: `There is no price of ${of}${from === undefined ? '' : ` from ${from}`}.`,
    file,
    path: '--gpu-price',
    received: asked,
    expected: `one of ${[...new Set(prices.map((row) => `${row.gpu}@${row.provider}`))].join(', ')}`,
    hint: 'Give the price itself, e.g. --gpu-price 3.50, or a file of your own with --prices.',
  });
}

const sameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** `3.99 USD an hour for h100-sxm (runpod-secure, https://…, 2026-11-09)`. */
export const describeGpuPrice = ({ gpu, provider, perHour, source, date }: GpuPrice, currency: string): string =>
  `${perHour} ${currency} an hour for ${gpu} (${provider}, read on ${date} at ${source})`;
