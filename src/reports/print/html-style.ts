import { CHART_STYLE, THEME_STYLE } from '../charts/chart-style.ts';

const SANS = 'ui-sans-serif,system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif';
const MONO = 'ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace';

const PAGE = `*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 ${SANS};font-variant-numeric:tabular-nums;overflow-wrap:break-word}
a{color:var(--blue);text-underline-offset:.15em;text-decoration-thickness:1px}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--blue);outline-offset:2px;border-radius:2px}
code,pre,kbd{font-family:${MONO};font-size:.875em}
p,ul,ol,dl,table,pre{margin:0}
.page{max-width:76rem;margin:0 auto;padding:0 1.25rem 4rem}
h1,h2,h3{line-height:1.2;text-wrap:balance;margin:0}
h2{font-size:1.375rem;letter-spacing:-.01em}
h3{font-size:1rem}
.muted{color:var(--muted)}
.note{color:var(--muted);max-width:44rem}
.wrap{overflow-wrap:anywhere}`;

const HERO = `.hero{padding:2.25rem 0 1.75rem;border-bottom:1px solid var(--rule)}
.eyebrow{color:var(--muted);font-size:.875rem;display:flex;flex-wrap:wrap;gap:.35rem .75rem;align-items:center}
.kind{display:inline-block;padding:.05rem .55rem;border-radius:1rem;border:1.5px solid var(--ink);color:var(--ink);font-weight:600;font-size:.8125rem}
.kind.predicted{border-style:dashed}
.kind.measured{background:var(--ink);color:var(--paper)}
h1{font-size:clamp(1.5rem,4.5vw,2.125rem);letter-spacing:-.02em;margin:.7rem 0 .1rem;overflow-wrap:anywhere}
h1 .workload{color:var(--muted);font-weight:500}
.result{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1.5rem;margin:1.25rem 0 1rem}
.figure{font-size:clamp(3.25rem,11vw,5rem);font-weight:700;letter-spacing:-.045em;line-height:1;color:var(--blue)}
.figure.none{font-size:clamp(1.75rem,6vw,2.5rem);letter-spacing:-.02em;color:var(--ink)}
.claim{font-size:1.125rem;font-weight:600;max-width:34rem}
.claim+p{max-width:34rem}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.25rem,1fr));gap:.9rem 1.5rem;margin-top:1.4rem}
.facts dt{color:var(--muted);font-size:.8125rem}
.facts dd{margin:0;overflow-wrap:anywhere}
.facts dd strong{font-size:1.125rem;font-weight:650}
.facts small{color:var(--muted);font-size:.8125rem;display:block}
.done{margin-top:1.4rem;max-width:60rem}
.steps{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.4rem;margin-top:.4rem}
.steps li{background:var(--panel);border:1px solid var(--rule);border-radius:.4rem;padding:.2rem .6rem;font-size:.875rem;overflow-wrap:anywhere}
.steps b{font-weight:650}`;

const LAYOUT = `.contents{position:sticky;top:0;padding:1.5rem 0;align-self:start;font-size:.875rem}
.contents ol{list-style:none;padding:0;margin:0}
.contents a{display:block;padding:.2rem 0;color:var(--muted);text-decoration:none}
.contents a:hover{color:var(--blue);text-decoration:underline}
@media (min-width:60rem){.columns{display:grid;grid-template-columns:11rem minmax(0,1fr);gap:0 2.5rem}}
@media (max-width:59.99rem){.contents{position:static;padding:1rem 0 0}.contents ol{display:flex;flex-wrap:wrap;gap:0 1rem}.contents a{padding:.35rem 0}}
.section{padding:2rem 0 .5rem;scroll-margin-top:.5rem}
.section+.section{border-top:1px solid var(--rule);margin-top:1.5rem}
.section>*+*{margin-top:.9rem}
.section h3{margin-top:1.5rem}`;

const PARTS = `.scroll{overflow-x:auto;max-width:100%;border:1px solid var(--rule);border-radius:.4rem}
table{border-collapse:collapse;font-size:.875rem;line-height:1.4;width:100%}
th,td{text-align:left;vertical-align:top;padding:.45rem .75rem;border-bottom:1px solid var(--rule)}
tbody tr:last-child>*{border-bottom:0}
th{color:var(--muted);font-weight:600;white-space:nowrap;background:var(--panel)}
td.number,th.number{text-align:right;white-space:nowrap}
td.words{min-width:18rem}
td.plain{white-space:nowrap}
tr.strong td{font-weight:600}
tr:target{background:var(--panel);outline:2px solid var(--blue);outline-offset:-2px}
.chart{display:block;max-width:100%;height:auto}
.chart.glyph{display:inline-block;vertical-align:-.3em;flex:none}
.wide .chart,.narrow .chart{width:100%}
.narrow{display:none}
@media (max-width:40rem){.wide{display:none}.narrow{display:block}}
.legend{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;font-size:.8125rem;color:var(--muted);list-style:none;padding:0}
.legend li{display:flex;align-items:center;gap:.3rem}
details{border:1px solid var(--rule);border-radius:.4rem}
details+details{margin-top:.4rem}
summary{padding:.5rem .75rem;cursor:pointer;overflow-wrap:anywhere;font-size:.9375rem}
details[open]>summary{border-bottom:1px solid var(--rule)}
details>.scroll{border:0;border-radius:0}
details>.inside{padding:.75rem}
.list{padding-left:1.2rem}
.list li{overflow-wrap:anywhere}
.list li+li{margin-top:.35rem}
.finding{border-left:3px solid var(--rule);padding:.1rem 0 .1rem .9rem}
.finding+.finding{margin-top:1rem}
.finding h4{margin:0;font-size:1rem;line-height:1.35}
.finding dl{display:grid;grid-template-columns:6rem minmax(0,1fr);gap:.2rem .75rem;font-size:.875rem;margin-top:.3rem}
@media (max-width:40rem){.finding dl{grid-template-columns:minmax(0,1fr);gap:0}.finding dd+dt{margin-top:.35rem}}
dt{color:var(--muted)}
dd{margin:0;overflow-wrap:anywhere}
.pair{display:grid;grid-template-columns:minmax(0,1fr);gap:1.5rem 2.5rem}
@media (min-width:75rem){.pair{grid-template-columns:repeat(2,minmax(0,1fr))}}
.meter{display:block;height:.5rem;border-radius:.25rem;background:var(--rule);min-width:7rem;overflow:hidden}
.meter i{display:block;height:100%;background:var(--blue)}
.command{background:var(--panel);border:1px solid var(--rule);border-radius:.4rem;padding:.75rem .9rem;white-space:pre-wrap;overflow-wrap:anywhere}
.diff{line-height:1.45;padding:.4rem 0;font-size:.8125rem;tab-size:4;width:max-content;min-width:100%}
.diff span{display:block;padding:0 .75rem;white-space:pre}
.diff .file{font-weight:650;padding-top:.5rem;padding-bottom:.2rem}
.diff .place{color:var(--muted);padding-top:.3rem}
.diff .added{background:var(--added);color:var(--addedInk)}
.diff .removed{background:var(--removed);color:var(--removedInk)}
footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--rule);font-size:.8125rem;color:var(--muted);overflow-wrap:anywhere}
@media print{.contents{display:none}.columns{display:block}body{font-size:11pt}.section,.finding,tr{break-inside:avoid-page}.scroll{overflow:visible}details::details-content{content-visibility:visible;display:block}}`;

/** Everything the page looks like; nothing is loaded from anywhere. */
export const STYLE = [THEME_STYLE, PAGE, HERO, LAYOUT, PARTS, CHART_STYLE].join('\n');
