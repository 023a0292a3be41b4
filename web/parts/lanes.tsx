import { useState } from 'preact/hooks';
import { formatFigure } from '../../src/reports/format.ts';
import type { TracedRequest, WarpTrace } from '../../src/server/wire.ts';

const LANES = 32;
const BANKS = 32;
const WORD_BYTES = 4;
const SECTOR_BYTES = 32;
const CELL = 11;
/** Room for what stands above them. */
const LEAST_COLUMNS = 8;
const LEFT = 46;
const TOP = 18;

interface LanesProps {
  readonly trace: WarpTrace;
  readonly file: string;
  readonly line: number;
  readonly onLine: (line: number) => void;
}

/** Requests of one line, one of them drawn lane by lane: which banks, or which sectors, each lane asks for. */
export function Lanes({ trace, file, line, onLine }: LanesProps) {
  const requests = trace.requests.filter(
    ({ source, space }) => source?.file === file && source.line === line && space !== 'local',
  );
  const [chosen, setChosen] = useState(0);
  const request = requests[Math.min(chosen, requests.length - 1)];
  if (!request) {
    const others = [
      ...new Set(trace.requests.flatMap(({ source }) => (source?.file === file ? [source.line] : []))),
    ].sort((a, b) => a - b);
    return (
      <p class="note">
        Line {line} makes no request to memory. Lines that do:{' '}
        {others.map((other) => (
          <button key={other} type="button" class="link" onClick={() => onLine(other)}>
            {other}
          </button>
        ))}
      </p>
    );
  }
  return (
    <figure class="lanes">
      <figcaption>
        Line {line}: <code>{request.instruction}</code>, {request.lanes.length} lanes × {request.bytes} B
        {request.buffer && (
          <>
            {' '}
            of <code>{request.buffer}</code>
          </>
        )}
        : <strong>{describeCost(request)}</strong>
      </figcaption>
      {requests.length > 1 && (
        <label class="slider">
          Request {Math.min(chosen, requests.length - 1) + 1} of {requests.length}
          <input
            type="range"
            min="0"
            max={requests.length - 1}
            value={chosen}
            onInput={(event) => setChosen(Number(event.currentTarget.value))}
          />
        </label>
      )}
      <div class="scroll">{request.space === 'global' ? <Sectors {...request} /> : <Banks {...request} />}</div>
    </figure>
  );
}

function describeCost({ space, units, conflicts, lanes, bytes }: TracedRequest): string {
  if (space !== 'global') return `${units} wavefronts, ${conflicts} of them for bank conflicts`;
  const used = (lanes.length * bytes) / (units * SECTOR_BYTES);
  return `${units} sectors, ${formatFigure(Math.min(1, used) * 100)} % of their bytes asked for`;
}

/** Words of 4 bytes that a lane asks for. */
const wordsOf = (address: number, bytes: number): number[] =>
  Array.from({ length: Math.max(1, Math.ceil(bytes / WORD_BYTES)) }, (_, i) => Math.floor(address / WORD_BYTES) + i);

/** 32 lanes down, 32 banks across. A bank that must deliver several words has them in other colours. */
function Banks({ lanes, addresses, bytes }: TracedRequest) {
  const wordsInBank = new Map<number, number[]>();
  const cells = lanes.flatMap((lane, index) =>
    wordsOf(addresses[index]!, bytes).map((word) => {
      const bank = word % BANKS;
      const words = wordsInBank.get(bank) ?? [];
      wordsInBank.set(bank, words);
      if (!words.includes(word)) words.push(word);
      return { lane, bank, word };
    }),
  );
  return (
    <Grid columns={BANKS} label="bank" describe={`${cells.length} words in ${wordsInBank.size} banks`}>
      {cells.map(({ lane, bank, word }) => {
        const words = wordsInBank.get(bank)!;
        const className = words.length > 1 ? `conflict${words.indexOf(word) % 4}` : 'alone';
        return (
          <Cell
            key={`${lane} ${word}`}
            row={lane}
            column={bank}
            className={className}
            title={`lane ${lane}: word ${word} in bank ${bank}, ${words.length} words there`}
          />
        );
      })}
    </Grid>
  );
}

/** 32 lanes down, each sector that is touched across, with the part of it that a lane asks for. */
function Sectors({ lanes, addresses, bytes }: TracedRequest) {
  const sectorsOf = (address: number): number[] => {
    const first = Math.floor(address / SECTOR_BYTES);
    const last = Math.floor((address + bytes - 1) / SECTOR_BYTES);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  };
  const sectors = [...new Set(addresses.flatMap(sectorsOf))].sort((a, b) => a - b);
  const columnOf = new Map(sectors.map((sector, column) => [sector, column]));
  return (
    <Grid columns={sectors.length} label="sector" describe={`${lanes.length} lanes in ${sectors.length} sectors`}>
      {lanes.flatMap((lane, index) =>
        sectorsOf(addresses[index]!).map((sector) => (
          <Cell
            key={`${lane} ${sector}`}
            row={lane}
            column={columnOf.get(sector)!}
            className="alone"
            title={`lane ${lane}: bytes ${addresses[index]} to ${addresses[index]! + bytes - 1}`}
          />
        )),
      )}
    </Grid>
  );
}

interface GridProps {
  readonly columns: number;
  readonly label: string;
  readonly describe: string;
  readonly children: preact.ComponentChildren;
}

function Grid({ columns, label, describe, children }: GridProps) {
  const width = LEFT + Math.max(columns, LEAST_COLUMNS) * CELL + 4;
  const height = TOP + LANES * CELL + 4;
  return (
    <svg
      class="chart grid"
      role="img"
      aria-label={describe}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      <text class="label" x={LEFT - 6} y={12} text-anchor="end">
        lane ↓
      </text>
      <text class="label" x={LEFT} y={12}>
        {label} →
      </text>
      {Array.from({ length: LANES / 8 }, (_, i) => (
        <text key={i} class="label" x={LEFT - 6} y={TOP + i * 8 * CELL + CELL - 1} text-anchor="end">
          {i * 8}
        </text>
      ))}
      <rect class="field" x={LEFT} y={TOP} width={columns * CELL} height={LANES * CELL} />
      {children}
    </svg>
  );
}

function Cell({ row, column, className, title }: { row: number; column: number; className: string; title: string }) {
  return (
    <rect class={className} x={LEFT + column * CELL} y={TOP + row * CELL} width={CELL - 1} height={CELL - 1}>
      <title>{title}</title>
    </rect>
  );
}
