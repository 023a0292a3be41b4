/**
 * Colours of reports and charts, light and dark. Blue, amber, teal and magenta stay apart for colour-blind readers, and
 * every mark has a shape of its own. Text colours have a contrast of 4.5 at least with every surface they lie on.
 */
const LIGHT = {
  paper: '#fdfdfb',
  panel: '#f5f5f1',
  ink: '#191b1f',
  muted: '#575d66',
  rule: '#deded8',
  blue: '#0b57d0',
  amber: '#8f5200',
  teal: '#00675b',
  magenta: '#97156f',
  added: '#e2f3e6',
  removed: '#fde8e4',
  addedInk: '#0a5a24',
  removedInk: '#97230f',
};

const DARK: typeof LIGHT = {
  paper: '#14161a',
  panel: '#1d2026',
  ink: '#e9eaec',
  muted: '#a8aeb8',
  rule: '#343941',
  blue: '#8ab4f8',
  amber: '#e8a951',
  teal: '#5cc4b5',
  magenta: '#ee93d0',
  added: '#16301e',
  removed: '#3a1d1a',
  addedInk: '#8fdba6',
  removedInk: '#f5a99b',
};

const declare = (colours: typeof LIGHT): string =>
  Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');

/** Custom properties for both themes; printing is light. */
export const THEME_STYLE = `:root{color-scheme:light dark;${declare(LIGHT)}}
@media screen and (prefers-color-scheme:dark){:root{${declare(DARK)}}}`;

const SERIES_STYLE = ['blue', 'amber', 'teal', 'magenta', 'muted']
  .map((name) => `.chart .dot.${name}{fill:var(--${name})}\n.chart .interval.${name}{stroke:var(--${name})}`)
  .join('\n');

/** How charts are drawn, with the theme's colours. */
export const CHART_STYLE = `.chart{font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:12px}
.chart .label{fill:var(--muted)}
.chart .value{fill:var(--ink);font-weight:600;paint-order:stroke;stroke:var(--paper);stroke-width:3.5px;stroke-linejoin:round}
.chart .grid{stroke:var(--rule);stroke-width:1}
.chart .axis{stroke:var(--muted);stroke-width:1}
.chart .whisker{stroke:var(--muted);stroke-width:1.25;opacity:.75}
.chart .whisker.over{stroke:var(--ink);opacity:1}
.chart .best-so-far{fill:none;stroke:var(--blue);stroke-width:1.75}
.chart .attainable{fill:none;stroke:var(--teal);stroke-width:1.75;stroke-dasharray:6 4}
.chart .veto{fill:none;stroke:var(--magenta);stroke-width:1.75}
.chart .bound{stroke-width:4;stroke-dasharray:none}
.chart .attainable-text,.chart .veto-text{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.chart .attainable-text{fill:var(--teal)}
.chart .veto-text{fill:var(--magenta)}
.chart .bar{fill:var(--blue);opacity:.85}
.chart .bar.harms{fill:var(--amber)}
.chart .mark{stroke-width:1.75}
.chart .kept{fill:var(--blue);stroke:var(--blue)}
.chart .halo{fill:none;stroke:var(--blue)}
.chart .start{fill:var(--ink);stroke:var(--ink)}
.chart .reverted{fill:var(--paper);stroke:var(--amber)}
.chart .tried{fill:var(--paper);stroke:var(--muted)}
.chart .confirmed{fill:var(--teal);stroke:var(--teal)}
.chart .uncounted{fill:none;stroke:var(--muted)}
.chart .failed{fill:none;stroke:var(--amber)}
.chart .strong{fill:var(--ink)}
.chart .interval{stroke-width:3;opacity:.3}
.chart .interval.thin{stroke-width:1;opacity:.6}
.chart .margin{fill:var(--rule);opacity:.5}
${SERIES_STYLE}
.chart .title{fill:var(--ink);font-size:14px;font-weight:600}
.chart .spread{fill:var(--blue);opacity:.18}
.chart .median{fill:none;stroke:var(--blue);stroke-width:1.75}
.chart .reference{fill:none;stroke:var(--muted);stroke-width:1.25;stroke-dasharray:4 3}
.chart .within{stroke:var(--teal);stroke-width:1;stroke-dasharray:2 2}`;
