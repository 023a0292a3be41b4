import { CHART_STYLE, THEME_STYLE } from '../charts/chart-style.ts';

const SANS = 'ui-sans-serif,system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif';
const MONO = 'ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace';

const PAGE = `*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 ${SANS};font-variant-numeric:tabular-nums;overflow-wrap:break-word}
a{color:var(--blue);text-underline-offset:.15em;text-decoration-thickness:1px}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--blue);outline-offset:2px;border-radius:2px}
code,pre{font-family:${MONO};font-size:.875em}
p,ul,ol,dl,table,pre,h1,h2,h3{margin:0}
h1,h2,h3{line-height:1.2;text-wrap:balance}
h1{font-size:clamp(1.5rem,4.5vw,2.125rem);letter-spacing:-.02em;overflow-wrap:anywhere}
h2{font-size:1.375rem;letter-spacing:-.01em}
h3{font-size:1rem}
.page{max-width:90rem;margin:0 auto;padding:0 1.25rem 4rem}
.note,.dim,dt{color:var(--muted)}
.note,.result p{max-width:46rem}
.good{color:var(--addedInk)}
.bad{color:var(--removedInk)}
.warn{color:var(--amber)}
.hero{padding:2.25rem 0 1.75rem;border-bottom:1px solid var(--rule)}
.result{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1.5rem}
.result .figure{font-size:clamp(2.25rem,9vw,4.5rem);font-weight:700;letter-spacing:-.045em;line-height:1;color:var(--blue)}
.result .figure+p{flex:1 1 20rem;font-size:1.125rem;font-weight:600}`;

const LAYOUT = `.contents{position:sticky;top:0;padding:1.5rem 0;align-self:start;font-size:.875rem}
.contents ol{list-style:none;padding:0}
.contents a{display:block;padding:.2rem 0;color:var(--muted);text-decoration:none}
.contents a:hover{color:var(--blue);text-decoration:underline}
@media (min-width:60rem){.columns{display:grid;grid-template-columns:11rem minmax(0,1fr);gap:0 2.5rem}}
@media (max-width:59.99rem){.contents{position:static;padding:1rem 0 0}.contents ol{display:flex;flex-wrap:wrap;gap:0 1rem}.contents a{padding:.35rem 0}}
.section{padding:2rem 0 .5rem;scroll-margin-top:.5rem}
.section+.section{border-top:1px solid var(--rule);margin-top:1.5rem}
.hero>*+*,.section>*+*,.inside>*+*{margin-top:.9rem}
.section h3{margin-top:1.5rem}`;

const PARTS = `.scroll{overflow-x:auto;max-width:100%;border:1px solid var(--rule);border-radius:.4rem}
table{border-collapse:collapse;font-size:.875rem;line-height:1.4;width:100%}
th,td{text-align:left;vertical-align:top;padding:.4rem .5rem;overflow-wrap:break-word}
tbody{border-top:1px solid var(--rule)}
th{color:var(--muted);font-weight:600;background:var(--panel)}
td.number,th.number{text-align:right}
td.number{white-space:nowrap}
td.words{overflow-wrap:anywhere;min-width:7rem}
.below td{padding-top:0;color:var(--muted);overflow-wrap:anywhere}
.part{margin-right:1rem}
.part::before{content:attr(data-title) ": "}
.strong td{font-weight:600}
.strong .below td{font-weight:400}
tbody:target{background:var(--panel);outline:2px solid var(--blue);outline-offset:-2px}
[hidden]{display:none!important}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;margin:0;text-align:inherit;cursor:pointer;text-decoration:underline dotted;text-underline-offset:.2em}
th button:focus-visible,.filter input:focus-visible{outline:2px solid var(--blue);outline-offset:2px;border-radius:2px}
[aria-sort] button::after{content:" ▲";font-size:.7em}
[aria-sort=descending] button::after{content:" ▼"}
.filter{display:block;font-size:.875rem;color:var(--muted)}
.filter input{font:inherit;color:var(--ink);background:var(--panel);border:1px solid var(--rule);border-radius:.3rem;padding:.2rem .4rem;max-width:16rem}
@media (max-width:48rem){table,tbody{display:block}
thead{display:none}
thead+tbody{border-top:0}
tr{display:flex;flex-wrap:wrap;gap:.3rem .75rem;padding:.5rem .6rem}
tr.below{padding-top:0}
td{flex:1 1 8rem;padding:0;text-align:left!important;min-width:0;overflow-wrap:anywhere}
td.words,.below td{flex-basis:100%}
td.number{white-space:normal}
.part{display:block}
td[data-title]:not([data-title=""])::before{display:block;content:attr(data-title);color:var(--muted);font-weight:400;font-size:.75rem;line-height:1.2}}
.chart{display:block;max-width:100%;height:auto}
.chart.glyph{display:inline-block;vertical-align:-.3em;flex:none}
.wide .chart,.narrow .chart{width:100%}
.narrow{display:none}
@media (max-width:40rem){.wide{display:none}.narrow{display:block}}
.chart .bar.binds{fill:var(--amber)}
.chart .heat{fill:var(--blue)}
.chart .setting{fill:none;stroke:var(--blue);stroke-width:1.5;stroke-linejoin:round}
.chart .setting.fastest{stroke:var(--amber);stroke-width:3}
.legend{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;font-size:.8125rem;color:var(--muted);list-style:none;padding:0}
.legend li{display:flex;align-items:center;gap:.3rem}
details{border:1px solid var(--rule);border-radius:.4rem}
details+details{margin-top:.4rem}
summary{padding:.5rem .75rem;cursor:pointer;overflow-wrap:anywhere;font-size:.9375rem}
details[open]>summary{border-bottom:1px solid var(--rule)}
.inside{padding:.75rem}
.list{padding-left:1.2rem}
.list li,dd{overflow-wrap:anywhere}
.list li+li{margin-top:.35rem}
dl{display:grid;grid-template-columns:minmax(6rem,max-content) minmax(0,1fr);gap:.3rem 1.25rem}
dt{max-width:14rem}
dd{margin:0}
@media (max-width:40rem){dl{grid-template-columns:minmax(0,1fr);gap:0}dd+dt{margin-top:.4rem}}
.command{background:var(--panel);padding:.75rem .9rem;white-space:pre-wrap;overflow-wrap:anywhere}
.diff{line-height:1.45;padding:.4rem 0;font-size:.8125rem;tab-size:4;width:max-content;min-width:100%}
.diff span{display:block;padding:0 .75rem;white-space:pre}
.diff .file{font-weight:650}
.diff .place{color:var(--muted);padding-top:.3rem}
.diff .added{background:var(--added);color:var(--addedInk)}
.diff .removed{background:var(--removed);color:var(--removedInk)}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--rule);font-size:.8125rem;color:var(--muted);overflow-wrap:anywhere}
@media print{.contents,.filter{display:none}.columns{display:block}body{font-size:11pt}.section,tr{break-inside:avoid-page}.scroll{overflow:visible}details::details-content{content-visibility:visible;display:block}}`;

/** Everything a page looks like; nothing is loaded from anywhere. */
export const STYLE = [THEME_STYLE, PAGE, LAYOUT, PARTS, CHART_STYLE].join('\n');
