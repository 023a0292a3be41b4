import { WarpsmithError } from '../../../core/errors.ts';
import type { CompleteRequest } from '../../../core/requests/request.ts';
import { parsePrice } from '../../../models/prices.ts';
import { checkEndpoint } from '../../../models/sdk-endpoint.ts';

/** The options of `optimize` that say who writes kernels. */
export type AuthorOptions = Pick<
  CompleteRequest<'optimize'>,
  'author' | 'model' | 'endpoint' | 'mode' | 'maximumTokens' | 'maximumCost' | 'price' | 'transcript'
>;

/** Options that mean nothing without an author, by their names in requests. */
const OF_AUTHORS = {
  model: '--model',
  endpoint: '--endpoint',
  maximumCost: '--max-cost',
  price: '--price',
  transcript: '--transcript',
} as const;

/**
 * Whether the options go together, before anything is opened.
 *
 * @throws WarpsmithError `conflicting-options`, `option-missing`, `bad-price`; as `checkEndpoint`.
 */
export function refuseAuthorConflicts(
  options: AuthorOptions & { readonly strategy: string; readonly objective: string; readonly replay?: string },
): void {
  const { author, model, price, maximumCost, transcript, strategy, objective, replay } = options;
  if (author === undefined) {
    const flag = Object.entries(OF_AUTHORS).find(
      ([name]) => options[name as keyof typeof OF_AUTHORS] !== undefined,
    )?.[1];
    if (flag !== undefined)
      throw missing(
        '--author',
        `${flag} is for runs whose kernels a model writes.`,
        `Add --author model, or leave ${flag} out.`,
      );
    return;
  }
  if (strategy !== 'guided') throw conflict('--strategy', strategy, 'An author takes the place of a strategy.');
  if (objective !== 'geometric-mean')
    throw conflict('--objective', objective, 'An author writes one kernel for all workloads.');
  if (replay !== undefined && transcript === undefined) {
    throw missing(
      '--transcript',
      'A recording holds no verdict on kernels that are written anew.',
      'Give the transcript of the run that was recorded, too.',
    );
  }
  if (model === undefined && transcript === undefined) {
    throw missing(
      '--model',
      '--author model needs a model.',
      'For example --model openai-compatible:NAME --endpoint http://localhost:8000/v1.',
    );
  }
  if (model !== undefined && transcript === undefined)
    checkEndpoint({ model, endpoint: options.endpoint, environment: process.env });
  if (price !== undefined) parsePrice(price);
  if (maximumCost !== undefined && price === undefined) {
    throw missing(
      '--price',
      '--max-cost needs to know what tokens cost.',
      'For example --price 3,15, per million tokens sent and answered.',
    );
  }
}

const conflict = (flag: string, received: string, message: string): WarpsmithError =>
  new WarpsmithError({
    code: 'conflicting-options',
    message,
    path: flag,
    received: `--author and ${flag} ${received}`,
    expected: 'one of them',
    hint: `Leave ${flag} out.`,
  });

const missing = (flag: string, message: string, hint: string): WarpsmithError =>
  new WarpsmithError({ code: 'option-missing', message, path: flag, received: 'nothing', expected: flag, hint });
