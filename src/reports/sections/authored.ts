import {
  codeBlock,
  figures,
  fold,
  list,
  names,
  note,
  type Part,
  type Section,
  section,
  table,
  titledList,
  words,
} from '../document.ts';
import { formatFigure, formatRatio } from '../format.ts';
import type { RunView } from '../run-view.ts';
import type { AuthoredView, WrittenRow } from '../view/authored.ts';
import { unifiedDiff } from './changes.ts';
import { evaluationLink } from './run-words.ts';

/** `12,345 tokens in 3 requests, 0.0123`; `about` where an endpoint did not count. */
export function describeTokens(cost: Pick<AuthoredView, 'tokens' | 'money' | 'requests'>): string {
  const { tokens, money, requests } = cost;
  const about = tokens.isEstimate ? 'about ' : '';
  const cached = tokens.cacheRead > 0 ? `, ${formatFigure(tokens.cacheRead)} of them from a cache` : '';
  const price = money === null ? '' : `, ${money.toFixed(4)} in money`;
  const asked = requests === 1 ? '1 request' : `${requests} requests`;
  return `${about}${formatFigure(tokens.input)} tokens sent${cached}, ${formatFigure(tokens.output)} answered, in ${asked}${price}`;
}

const hoped = ({ predictedRatio }: WrittenRow): string => (predictedRatio === null ? '–' : formatRatio(predictedRatio));
const got = ({ ratioToParent, status }: WrittenRow): string =>
  ratioToParent === null ? status : formatRatio(ratioToParent);

/** What an author wrote, hoped and got; nothing where nobody wrote. */
export function authoredSection({ authored }: RunView): Section[] {
  if (!authored) return [];
  const { author, written, refused, redirections } = authored;
  return section('authored', 'What the author wrote', [
    note(
      `${author}: ${describeTokens(authored)}. Hypotheses and hoped ratios are the author's; the other columns are not.`,
    ),
    table('Written kernels', written, [
      names('Evaluation', ({ evaluationId }) => evaluationLink(evaluationId)),
      names('Kernel', ({ kernel }) => kernel),
      names('From', ({ parent }) => parent),
      words('Hypothesis', ({ hypothesis }) => hypothesis, 1),
      figures('Hoped', hoped),
      figures('× parent', got),
      words('Decision', ({ decision }) => decision ?? '–'),
    ]),
    written.map(diffOf),
    titledList('Refused without an evaluation', refusedLines(refused)),
    titledList(
      'No further',
      redirections.map(({ step, reason }) => `${reason}: ${step}`),
    ),
  ]);
}

/** A line for each reason: `no-answer, 3 requests (5, 6, 7): …`, as the first of them was told. */
function refusedLines(refused: AuthoredView['refused']): string[] {
  return [...Map.groupBy(refused, ({ code }) => code)].map(([code, of]) => {
    const numbers = of.map(({ request }) => request);
    const shown = numbers.slice(0, MOST_NUMBERS).join(', ');
    const which = numbers.length > MOST_NUMBERS ? `${shown}, …` : shown;
    const count = numbers.length === 1 ? `request ${which}` : `${numbers.length} requests (${which})`;
    return `${code}, ${count}: ${of[0]!.reason.split('\n')[0]}`;
  });
}

const MOST_NUMBERS = 6;

function diffOf({ evaluationId, kernel, parent, diff }: WrittenRow): Part {
  if (!diff || diff.files.length === 0) return null;
  return fold(`${evaluationId}: ${parent} → ${kernel}`, [codeBlock('diff', unifiedDiff(parent, kernel, diff.files))]);
}

/** The same of one evaluation, for `show`. */
export function writtenParts(row: WrittenRow): Part {
  return [
    list([
      `hypothesis: ${row.hypothesis || 'none'}`,
      row.levers.length > 0 && `changes: ${row.levers.join('; ')}`,
      `hoped ${hoped(row)} the speed of ${row.parent}, got ${got(row)}`,
      `cost: ${describeTokens(row.cost)}`,
    ]),
    diffOf(row),
  ];
}
