import { WarpsmithError } from '../../core/errors.ts';
import type { CompleteRequest } from '../../core/requests/request.ts';
import { parsePrice } from '../../models/prices.ts';
import { checkEndpoint } from '../../models/sdk-endpoint.ts';
import { commandWords } from './command/command-words.ts';

/** The options of `optimize` that say who writes kernels. */
export type AuthorOptions = Pick<
  CompleteRequest<'optimize'>,
  | (
      | 'author'
      | 'onlyAuthors'
      | 'model'
      | 'endpoint'
      | 'mode'
      | 'maximumTokens'
      | 'maximumCost'
      | 'price'
      | 'transcript'
    )
  | ('stepEvaluations' | 'stepMinutes' | 'showRungs' | 'contain' | 'agentOffline' | 'agentEnvironment' | 'agentReads')
>;

/** The author that is a model; any other is a command. */
export const MODEL = 'model';

const commandsOf = (author: readonly string[]): readonly string[] => author.filter((who) => who !== MODEL);

/** Options that mean nothing without an author, by their names in requests. */
const OF_MODELS = {
  model: '--model',
  endpoint: '--endpoint',
  maximumCost: '--max-cost',
  price: '--price',
} as const;
const OF_AUTHORS = {
  ...OF_MODELS,
  transcript: '--transcript',
  onlyAuthors: '--only-authors',
  showRungs: '--show-rungs',
} as const;
const OF_COMMANDS = {
  agentOffline: '--agent-offline',
  agentEnvironment: '--agent-env',
  agentReads: '--agent-read',
} as const;

/**
 * Whether the options go together, before anything is opened.
 *
 * @throws WarpsmithError `conflicting-options`, `option-missing`, `bad-price`; as `checkEndpoint`.
 */
export function refuseAuthorConflicts(
  options: AuthorOptions & { readonly strategy: string; readonly objective: string; readonly replay?: string },
): void {
  const { author = [], model, price, maximumCost, transcript, strategy, objective, replay } = options;
  const given = (flags: Readonly<Record<string, string>>): string | undefined =>
    Object.entries(flags).find(([name]) => options[name as keyof AuthorOptions] !== undefined)?.[1];
  const commands = commandsOf(author);
  if (commands.length === 0) refuseStray(given(OF_COMMANDS), 'a coding agent', `--author 'my-agent --quiet'`);
  if (commands.length === author.length) {
    const flag = given(author.length === 0 ? OF_AUTHORS : OF_MODELS);
    const isOfModels = Object.values<string | undefined>(OF_MODELS).includes(flag);
    refuseStray(flag, isOfModels ? 'a model' : 'an author', `--author ${MODEL}`);
  }
  if (author.length === 0) return;
  if (author.length > commands.length + 1) throw twoModels();
  for (const command of commands) commandWords(command);
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
  if (commands.length === author.length) return;
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

function refuseStray(flag: string | undefined, who: string, example: string): void {
  if (flag === undefined) return;
  throw missing(
    '--author',
    `${flag} is for runs whose kernels ${who} writes.`,
    `Add ${example}, or leave ${flag} out.`,
  );
}

const twoModels = (): WarpsmithError =>
  new WarpsmithError({
    code: 'conflicting-options',
    message: 'A run asks one model.',
    path: '--author',
    received: `${MODEL} more than once`,
    expected: `${MODEL} once, beside any commands`,
    hint: 'Leave the others out.',
  });

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
