import type { WarpTrace, WarpTurn } from '../../src/server/wire.ts';

const LANES = 32;
const LEFT = 46;
const TOP = 18;
const LANE_HEIGHT = 6;
/** Px of one warp instruction, at most and at least. */
const STEP = { most: 6, least: 0.25 };
const WIDEST = 1600;

interface Span extends WarpTurn {
  readonly at: number;
}

/** Turns that follow one another with the same lanes and lines are one. */
function spansOf(turns: readonly WarpTurn[]): Span[] {
  const spans: Span[] = [];
  let at = 0;
  for (const turn of turns) {
    const last = spans.at(-1);
    if (last && last.lanes === turn.lanes && lineOf(last) === lineOf(turn))
      spans[spans.length - 1] = { ...last, instructions: last.instructions + turn.instructions };
    else spans.push({ ...turn, at });
    at += turn.instructions;
  }
  return spans;
}

const lineOf = ({ lines }: WarpTurn): number => lines[0]?.line ?? 0;
const isActive = (lanes: number, lane: number): boolean => ((lanes >>> lane) & 1) === 1;

/** Consecutive lanes that take part, as first and count. */
function stripesOf(lanes: number): { first: number; count: number }[] {
  const stripes: { first: number; count: number }[] = [];
  for (let lane = 0; lane < LANES; lane++) {
    if (!isActive(lanes, lane)) continue;
    const last = stripes.at(-1);
    if (last && last.first + last.count === lane) last.count += 1;
    else stripes.push({ first: lane, count: 1 });
  }
  return stripes;
}

/** Which lanes of a warp take part, over its instructions: 32 lanes down, time across. Gaps are lanes that wait. */
export function Divergence({ trace, onLine }: { readonly trace: WarpTrace; readonly onLine: (line: number) => void }) {
  const spans = spansOf(trace.turns);
  const total = trace.turns.reduce((sum, { instructions }) => sum + instructions, 0);
  const used = trace.turns.reduce((sum, { instructions, lanes }) => sum + instructions * countLanes(lanes), 0);
  const step = Math.max(STEP.least, Math.min(STEP.most, WIDEST / Math.max(1, total)));
  const [width, height] = [LEFT + total * step + 4, TOP + LANES * LANE_HEIGHT + 4];
  const average = total === 0 ? 0 : used / total;
  return (
    <figure class="lanes">
      <figcaption>
        {total} warp instructions, <strong>{average.toFixed(1)} of 32 lanes</strong> take part on average
        {!trace.isWhole && '; the warp goes on after that'}
      </figcaption>
      <div class="scroll">
        <svg
          class="chart grid"
          role="img"
          aria-label={`Lanes of the warp over ${total} instructions; ${average.toFixed(1)} of 32 on average`}
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
        >
          <text class="label" x={LEFT - 6} y={12} text-anchor="end">
            lane ↓
          </text>
          <text class="label" x={LEFT} y={12}>
            instructions →
          </text>
          {Array.from({ length: LANES / 8 }, (_, i) => (
            <text key={i} class="label" x={LEFT - 6} y={TOP + i * 8 * LANE_HEIGHT + LANE_HEIGHT + 2} text-anchor="end">
              {i * 8}
            </text>
          ))}
          <rect class="field" x={LEFT} y={TOP} width={Math.max(1, total * step)} height={LANES * LANE_HEIGHT} />
          {spans.map((span, index) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: a shortcut; the editor’s cursor does the same by keyboard
            <g
              key={span.at}
              class={index % 2 === 0 ? 'even' : 'odd'}
              onClick={() => lineOf(span) > 0 && onLine(lineOf(span))}
            >
              <title>{`line ${lineOf(span)}: ${span.instructions} instructions, ${countLanes(span.lanes)} lanes`}</title>
              {stripesOf(span.lanes).map(({ first, count }) => (
                <rect
                  key={first}
                  class={span.lanes === 0xffff_ffff ? 'alone' : 'conflict1'}
                  x={LEFT + span.at * step}
                  y={TOP + first * LANE_HEIGHT}
                  width={Math.max(0.3, span.instructions * step)}
                  height={count * LANE_HEIGHT}
                />
              ))}
            </g>
          ))}
        </svg>
      </div>
    </figure>
  );
}

function countLanes(lanes: number): number {
  let count = 0;
  for (let lane = 0; lane < LANES; lane++) if (isActive(lanes, lane)) count++;
  return count;
}
