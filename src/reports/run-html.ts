import {
  changesSection,
  environmentSection,
  findingsSection,
  ledgerSection,
  negativeSection,
  reproductionSection,
} from './html/evidence-sections.ts';
import { hero } from './html/hero.ts';
import { type Section, sectionMarkup } from './html/parts.ts';
import {
  ablationSection,
  adviceSection,
  evaluationsSection,
  optionsSection,
  progressionSection,
  rooflineSection,
  workloadsSection,
} from './html/search-sections.ts';
import { STYLE } from './html/style.ts';
import { type Markup, markup } from './markup.ts';
import { headline } from './run-text.ts';
import type { RunView } from './run-view.ts';

/** In the order a reader wants them: result, how it came about, what it rests on, what else was found. */
const SECTIONS: readonly ((view: RunView) => Section)[] = [
  progressionSection,
  ablationSection,
  changesSection,
  rooflineSection,
  workloadsSection,
  findingsSection,
  negativeSection,
  optionsSection,
  adviceSection,
  evaluationsSection,
  ledgerSection,
  environmentSection,
  reproductionSection,
];

/** No script, no network, no form: the file is only looked at. Styles are its own. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

const contents = (sections: readonly Section[]): Markup =>
  markup`<nav class="contents" aria-label="Contents"><ol>${sections.map(({ id, title }) => markup`<li><a href="#${id}">${title}</a></li>`)}</ol></nav>`;

function warnings({ complete, tornLastLine }: RunView): Markup {
  const lines = [
    complete ? [] : ['The log has no end: the run is still going, or died. This is how far it came.'],
    tornLastLine ? ['The last line of the event log was cut off; it is left out.'] : [],
  ].flat();
  return markup`${lines.map((line) => markup`<p class="note"><strong>${line}</strong></p>`)}`;
}

/** The report of a run as one HTML file that needs nothing else. */
export function runHtml(view: RunView): string {
  const sections = SECTIONS.map((section) => section(view));
  const { problem, device, runId, startedAt, finishedAt } = view;
  // The style holds no text of elsewhere; escaping it would break it.
  const style: Markup = { markup: `<style>\n${STYLE}\n</style>` };
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="warpsmith">
<meta name="description" content="${headline(view)}">
<title>${problem.name} on ${device.name} – warpsmith</title>
${style}
</head>
<body>
<div class="page">
${hero(view)}
${warnings(view)}
<div class="columns">
${contents(sections)}
<main>
${sections.map(sectionMarkup)}
</main>
</div>
<footer>Run ${runId}, ${startedAt} to ${finishedAt ?? '–'}. Written by warpsmith from the run’s event log.</footer>
</div>
</body>
</html>
`.markup;
}
