import type { Problem, Workload } from '../../../core/problem.ts';
import { parsePrice, type TokenPrice } from '../../../models/prices.ts';
import { openEndpoint } from '../../../models/sdk-endpoint.ts';
import type { Author } from '../../../optimizer/authoring/author.ts';
import type { Priors } from '../../../store/events.ts';
import type { Session, Surroundings } from '../../session.ts';
import type { AuthorOptions } from '../author-options.ts';
import { checkSubmission } from '../check-submission.ts';
import { describeProblem, problemText } from '../describe-problem.ts';
import type { RunTranscript } from '../run-transcript.ts';
import { createModelAuthor } from './model-author.ts';
import { openSpending } from './spending.ts';
import { openVirtualCheck } from './virtual-check.ts';

export interface ModelAuthorRequest {
  readonly options: AuthorOptions & Pick<Surroundings, 'signal'>;
  readonly session: Session;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly priors: Priors;
  readonly seed: number;
  readonly kept: RunTranscript;
  /** Takes what is to be closed when the run ends. */
  readonly closing: AsyncDisposableStack;
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
  const place = { problem, workload, session: async () => session, inTurn: <T>(work: () => Promise<T>) => work() };
  return createModelAuthor({
    endpoint,
    mode,
    problem,
    problemText: problemText(await describeProblem(place)),
    priors,
    spending: openSpending({ maximumTokens, maximumCost, price: tokenPrice, discounts: name.startsWith('anthropic:') }),
    async check(candidate) {
      if (!session.compile) return undefined;
      const { compiles, problem: wrong, diagnostics } = await checkSubmission(place, candidate, signal);
      if (!compiles || wrong !== null) {
        return { code: 'does-not-compile', reason: [wrong, ...diagnostics].filter(Boolean).join('\n') };
      }
      const reason = await virtual?.check(candidate);
      return reason === undefined ? undefined : { code: 'wrong-on-virtual-gpu', reason };
    },
    recorded: recorded.exchanges,
    goesOn,
    record,
    signal,
  });
}
