import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** What it is sorted by; figures stand at the right. */
  readonly value: (row: Row) => string | number | null;
  readonly isFigure?: boolean;
}

interface LongTableProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
}

/** Height of a row, px; style.css has the same. */
const ROW_HEIGHT = 34;
/** Rows drawn beyond those in view. */
const SPARE = 12;
/** Rows that a table shows at once before it scrolls. */
const MOST_IN_VIEW = 20;

type Order = { readonly column: number; readonly isDescending: boolean } | undefined;

/** A table of any length: it draws the rows in view, sorts by a column and filters by words. */
export function LongTable<Row>({ label, rows, columns, keyOf }: LongTableProps<Row>) {
  const [words, setWords] = useState('');
  const [order, setOrder] = useState<Order>();
  const [top, setTop] = useState(0);
  const box = useRef<HTMLElement>(null);
  const shown = useMemo(() => arranged(rows, columns, words, order), [rows, columns, words, order]);
  useEffect(() => {
    if (box.current && box.current.scrollTop > shown.length * ROW_HEIGHT) box.current.scrollTop = 0;
  }, [shown.length]);
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - SPARE);
  const last = Math.min(shown.length, first + MOST_IN_VIEW + 2 * SPARE);
  return (
    <div class="long-table">
      {rows.length > MOST_IN_VIEW / 2 && (
        <label class="filter">
          Rows with{' '}
          <input
            type="search"
            value={words}
            onInput={(event) => setWords(event.currentTarget.value)}
            autocomplete="off"
          />{' '}
          <output>{words === '' ? `${rows.length}` : `${shown.length} of ${rows.length}`}</output>
        </label>
      )}
      <section
        class="scroll"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
        tabIndex={0}
        aria-label={label}
        ref={box}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <table aria-rowcount={shown.length + 1}>
          <thead>
            <tr>
              {columns.map((column, index) => (
                <HeadCell key={column.title} column={column} index={index} order={order} setOrder={setOrder} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Gap rows={first} columns={columns.length} />
            {shown.slice(first, last).map((row, index) => (
              <tr key={keyOf(row)} aria-rowindex={first + index + 2}>
                {columns.map(({ title, cell, isFigure }) => (
                  <td key={title} class={isFigure ? 'number' : undefined}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
            <Gap rows={shown.length - last} columns={columns.length} />
          </tbody>
        </table>
      </section>
    </div>
  );
}

/** Room of rows that are not drawn. */
function Gap({ rows, columns }: { readonly rows: number; readonly columns: number }) {
  if (rows <= 0) return null;
  return (
    <tr class="gap" style={{ height: `${rows * ROW_HEIGHT}px` }}>
      <td colSpan={columns} />
    </tr>
  );
}

interface HeadCellProps<Row> {
  readonly column: Column<Row>;
  readonly index: number;
  readonly order: Order;
  readonly setOrder: (order: Order) => void;
}

function HeadCell<Row>({ column: { title, isFigure }, index, order, setOrder }: HeadCellProps<Row>) {
  const isOwn = order?.column === index;
  const sort = !isOwn ? undefined : order.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={isFigure ? 'number' : undefined} aria-sort={sort}>
      <button
        type="button"
        class="sort"
        onClick={() => setOrder({ column: index, isDescending: isOwn && !order.isDescending })}
      >
        {title}
      </button>
    </th>
  );
}

function arranged<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  words: string,
  order: Order,
): readonly Row[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found =
    wanted.length === 0
      ? rows
      : rows.filter((row) => {
          const text = columns
            .map(({ value }) => value(row) ?? '')
            .join(' ')
            .toLowerCase();
          return wanted.every((word) => text.includes(word));
        });
  if (!order) return found;
  const { value } = columns[order.column]!;
  const sign = order.isDescending ? -1 : 1;
  return [...found].sort((a, b) => compareValues(value(a), value(b), sign));
}

/** What has no value comes last, whichever way. */
function compareValues(a: string | number | null, b: string | number | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
  return sign * String(a).localeCompare(String(b), 'en', { numeric: true });
}
