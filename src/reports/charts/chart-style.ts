import { readFileSync } from 'node:fs';

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

/** How charts are drawn, with the theme's colours. */
export const CHART_STYLE = readFileSync(new URL('./chart.css', import.meta.url), 'utf8').trimEnd();
