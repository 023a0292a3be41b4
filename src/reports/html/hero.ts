import {
  describeBounds,
  formatInterval,
  formatParameters,
  formatRatio,
  formatRatioInterval,
  formatTime,
} from '../format.ts';
import { type Markup, markup } from '../markup.ts';
import { formatPercent } from '../measurement-text.ts';
import { describeEvaluations, describeStrategy } from '../parts-text.ts';
import { kindOf } from '../run-text.ts';
import type { RunView } from '../run-view.ts';
import { evaluationLink } from './parts.ts';

/** The first screen: what was done, by how much, how sure, on what device. */

const KIND_WORDS = { measured: 'measured on hardware', predicted: 'predicted by a model, not measured' } as const;

/** The figure in large type and what it claims; where nothing can be claimed, that. */
interface Claim {
  figure: string;
  words: string;
  certainty: string;
}

function predictedCertainty({ best, confirmations }: RunView): string {
  const confirmed = confirmations.at(-1)?.outcome === 'accepted' ? ' It was right again with a fresh seed.' : '';
  return `The model’s interval of the best time is ${formatInterval('predicted', best!.intervalNs)}; ratios near 1 are ties.${confirmed}`;
}

function measuredCertainty({ confirmations }: RunView): string {
  const confirmation = confirmations.at(-1)!;
  const interval = confirmation.intervalRatio
    ? `95 % interval ${formatRatioInterval(confirmation.intervalRatio)}, `
    : '';
  const sanitizer = confirmation.sanitizer ? `; sanitizer: ${confirmation.sanitizer}` : '';
  return `${interval}${confirmation.verdict ?? 'no verdict'} than the start on fresh blocks, ${confirmation.outcome}${sanitizer}.`;
}

function claimOf(view: RunView): Claim {
  const { start, best, speedup, objective } = view;
  if (!start)
    return {
      figure: 'No result',
      words: 'The start has no valid time, so there is nothing to improve on.',
      certainty: '',
    };
  if (!best || best.evaluationId === start.evaluationId)
    return {
      figure: 'No faster kernel',
      words: view.confirmations.some(({ outcome }) => outcome === 'refused')
        ? 'What was kept was not confirmed; the start remains the best.'
        : 'No change was kept; the start remains the best.',
      certainty: '',
    };
  if (speedup === null)
    return {
      figure: 'Not confirmed',
      words: 'A faster time was measured, but not confirmed on fresh blocks, so no speed-up is claimed.',
      certainty: '',
    };
  const { length: count } = objective.workloads;
  const mean = count > 1 ? ` over ${count} workloads (weighted geometric mean)` : '';
  return {
    figure: formatRatio(speedup),
    words: `${best.kind} ${formatRatio(speedup)} faster than the start${mean}`,
    certainty: best.kind === 'measured' ? measuredCertainty(view) : predictedCertainty(view),
  };
}

const fact = (term: string, value: string, small: string | Markup = ''): Markup =>
  markup`<div><dt>${term}</dt><dd><strong>${value}</strong><small>${small}</small></dd></div>\n`;

function timeFact(term: string, time: RunView['start']): Markup | null {
  if (!time) return null;
  const { kind, medianNs, intervalNs, candidate, evaluationId } = time;
  const parameters = formatParameters(candidate.parameters) || 'no parameters';
  return fact(
    term,
    formatTime(kind, medianNs),
    markup`${kind} ${formatInterval(kind, intervalNs)}, ${evaluationLink(evaluationId)}<br>${candidate.kernel} (${parameters})`,
  );
}

function facts(view: RunView): Markup {
  const { start, best, bounds, stop } = view;
  const reached =
    best && bounds
      ? fact(
          best.kind === 'measured' ? 'Of attainable' : 'Of attainable, predicted',
          formatPercent(bounds.attainableNs / best.medianNs),
          describeBounds(bounds),
        )
      : null;
  const { figure, beyond } = describeEvaluations(view);
  return markup`<dl class="facts">${timeFact('Start', start)}${timeFact('Best', best)}${reached}${fact(
    'Evaluations',
    figure,
    markup`${beyond && markup`${beyond}<br>`}${describeStrategy(view.objective)}<br>stopped: ${stop?.reason ?? 'not yet, or the run died'}`,
  )}</dl>`;
}

function whatWasDone({ changes, start, best }: RunView): Markup | null {
  if (!changes || changes.steps.length === 0 || best?.evaluationId === start?.evaluationId) return null;
  const steps = changes.steps.map(
    ({ change, ratio, evaluationId }) =>
      markup`<li>${change} <b>${formatRatio(ratio)}</b> ${evaluationLink(evaluationId)}</li>\n`,
  );
  return markup`<div class="done"><h2 class="muted" style="font-size:.875rem">What was done: ${steps.length} ${
    steps.length === 1 ? 'change' : 'changes'
  } kept, each with its ratio to the best before it</h2><ol class="steps">${steps}</ol></div>`;
}

export function hero(view: RunView): Markup {
  const { problem, workload, device, goal } = view;
  const kind = kindOf(view);
  const { figure, words, certainty } = claimOf(view);
  const isClaim = /^[\d.]+×$/.test(figure);
  return markup`<header class="hero">
<p class="eyebrow">${kind ? markup`<span class="kind ${kind}">${KIND_WORDS[kind]}</span>` : ''}<span>${device.name}</span><span><code>${device.id}</code></span><span>warpsmith run report</span></p>
<h1>${problem.name} <span class="workload">${workload.name}</span></h1>
<p class="muted wrap">${formatParameters(workload.dimensions)}; ${workload.cache} cache</p>
<div class="result"><p class="figure${isClaim ? '' : ' none'}">${figure}</p><div><p class="claim">${words}</p><p class="muted">${certainty}</p>${
    goal ? markup`<p class="muted">Goal: ${goal.text}</p>` : ''
  }</div></div>
${facts(view)}
${whatWasDone(view)}
</header>
`;
}
