import type { Problem, Workload } from '../../../core/problem.ts';
import { parsePrice, type TokenPrice } from '../../../models/prices.ts';
import { openEndpoint } from '../../../models/sdk-endpoint.ts';
import type { Author } from '../../../optimizer/authoring/author.ts';
import type { Surroundings } from '../../session.ts';
import type { AuthorOptions } from '../author-options.ts';
import { benchOfRun, refusedSubmission } from '../check-submission.ts';
import { describeProblem, problemText } from '../describe-problem.ts';
import type { RunAtHand } from '../run-at-hand.ts';
import type { RunTranscript } from '../run-transcript.ts';
import { createModelAuthor } from './model-author.ts';
import { openSpending } from './spending.ts';
import { openVirtualCheck } from './virtual-check.ts';

export interface ModelAuthorRequest extends Omit<RunAtHand, 'run'> {
  readonly options: AuthorOptions & Pick<Surroundings, 'signal'>;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly kept: RunTranscript;
}

/**
 * The model that writes a run's kernels. Answers that the run's transcript holds already come first; the endpoint is reached when
 * it is first asked.
 *
 * @throws WarpsmithError as `openEndpoint`.
 */
export async function openModelAuthor(request: ModelAuthorRequest): Promise<Author> {
  const { options, session, problem, workload, priors, seed, kept, closing } = request;
  const { mode, price, maximumTokens, maximumCost, signal } = options;
  const { recorded, goesOn, record, model: name } = kept;
  const endpoint = goesOn
    ? await openEndpoint({ model: name, endpoint: options.endpoint, environment: process.env })
    : { name, ask: () => Promise.reject(new Error('a replay asks no model')) };
  const virtual = openVirtualCheck({ session, problem, seed, signal });
  if (virtual) closing.use(virtual);
  const tokenPrice: TokenPrice | undefined = price === undefined ? undefined : parsePrice(price);
  const bench = benchOfRun(session, problem, workload);
  return createModelAuthor({
    endpoint,
    mode,
    problem,
    problemText: problemText(await describeProblem(bench)),
    priors,
    spending: openSpending({ maximumTokens, maximumCost, price: tokenPrice, discounts: name.startsWith('anthropic:') }),
    async check(candidate) {
      if (!session.compile) return undefined;
      const refused = await refusedSubmission(bench, candidate, signal);
      if (refused) return refused;
      const reason = await virtual?.check(candidate);
      return reason === undefined ? undefined : { code: 'wrong-on-virtual-gpu', reason };
    },
    recorded: recorded.exchanges,
    goesOn,
    record,
    signal,
  });
}
