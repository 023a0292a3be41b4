import { join } from 'node:path';
import type { Problem, Workload } from '../../../core/problem.ts';
import { parsePrice, type TokenPrice } from '../../../models/prices.ts';
import { openEndpoint } from '../../../models/sdk-endpoint.ts';
import type { Author } from '../../../optimizer/authoring/author.ts';
import type { Priors } from '../../../store/events.ts';
import { RUN_FILES, type RunFolder } from '../../../store/run-folder.ts';
import {
  addToTranscript,
  beginTranscript,
  type Exchange,
  readTranscript,
  TRANSCRIPT_VERSION,
  type TranscriptHeader,
} from '../../../store/transcript.ts';
import type { Session, Surroundings } from '../../session.ts';
import { checkSubmission } from '../check-submission.ts';
import { describeProblem, problemText } from '../describe-problem.ts';
import type { AuthorOptions } from './author-options.ts';
import { createModelAuthor } from './model-author.ts';
import { openSpending } from './spending.ts';
import { openVirtualCheck } from './virtual-check.ts';

export interface ModelAuthorRequest {
  readonly options: AuthorOptions & Pick<Surroundings, 'signal'>;
  readonly session: Session;
  readonly run: RunFolder;
  readonly problem: Problem;
  readonly workload: Workload;
  readonly priors: Priors;
  readonly seed: number;
  /** Takes what is to be closed when the run ends. */
  readonly closing: AsyncDisposableStack;
}

/**
 * The model that writes a run's kernels. Answers that the run's transcript holds already come first; the endpoint is reached when
 * it is first asked.
 *
 * @throws WarpsmithError as `openEndpoint`; `damaged-transcript`.
 */
export async function openModelAuthor(request: ModelAuthorRequest): Promise<Author> {
  const { options, session, run, problem, workload, priors, seed, closing } = request;
  const { model, transcript, mode, price, maximumTokens, maximumCost, signal } = options;
  const path = join(run.path, RUN_FILES.transcript);
  const replayed = transcript === undefined ? undefined : readTranscript(transcript);
  const name = replayed?.header.model ?? model!;
  const endpoint = replayed
    ? { name, ask: () => Promise.reject(new Error('a replay asks no model')) }
    : await openEndpoint({ model: name, endpoint: options.endpoint, environment: process.env });
  const recorded = keptIn(run, path, {
    header: {
      schemaVersion: TRANSCRIPT_VERSION,
      model: name,
      problem: problem.file.name,
      device: session.device.identity.id,
      seed,
      priors,
    },
    exchanges: replayed?.exchanges ?? [],
  });
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
    recorded,
    goesOn: replayed === undefined,
    record: (exchange) => addToTranscript(path, exchange),
    signal,
  });
}

/** What the run's own transcript holds: of a resumed run, its earlier answers; of a replay, all of them. */
function keptIn(
  run: RunFolder,
  path: string,
  begun: { header: TranscriptHeader; exchanges: readonly Exchange[] },
): readonly Exchange[] {
  if (run.log.history.length > 0) return readTranscript(path).exchanges;
  beginTranscript(path, begun.header);
  for (const exchange of begun.exchanges) addToTranscript(path, exchange);
  return begun.exchanges;
}
