/*
 * Sorts a table by a column and filters its rows, each a body of its own. It only adds: without it every row is there, in
 * its order. What is shown is what is sorted by, a figure with its unit.
 */
(() => {
  const UNITS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  const FIGURE = /(?:^|[^\w.])(-?[\d,]*\.?\d+)\s*(ns|µs|ms|s|k|M|G|T)?/;
  const cellValue = (row, column) => {
    const text = row.rows[0].cells[column].textContent.trim();
    const [, figure, unit] = FIGURE.exec(text) ?? [];
    return { text, figure: figure === undefined ? null : figure.replaceAll(',', '') * (UNITS[unit] ?? 1) };
  };
  /* What has no figure comes last, whichever way. */
  const compare = (a, b, isNumeric, sign) => {
    if (!isNumeric) return sign * a.text.localeCompare(b.text, 'en', { numeric: true });
    return (a.figure === null) - (b.figure === null) || sign * (a.figure - b.figure);
  };
  const sortable = (table, rows) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.textContent === '') return;
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener('click', () => {
        const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
        const values = new Map(rows.map((row) => [row, cellValue(row, column)]));
        const isNumeric = head.classList.contains('number');
        table.append(...rows.toSorted((a, b) => compare(values.get(a), values.get(b), isNumeric, sign)));
      });
    });
  };
  const filterable = (table, rows) => {
    const box = table.closest('.scroll');
    const label = document.createElement('label');
    const field = document.createElement('input');
    const count = document.createElement('output');
    field.type = 'search';
    field.autocomplete = 'off';
    label.className = 'filter';
    label.append('Rows with ', field, ' ', count);
    box.before(label);
    const show = () => {
      const words = field.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) shown += 1;
      }
      count.textContent = field.value === '' ? '' : `${shown} of ${rows.length}`;
    };
    field.addEventListener('input', show);
    addEventListener('hashchange', () => {
      if (!table.querySelector(':target')?.hidden) return;
      field.value = '';
      show();
    });
  };
  for (const table of document.querySelectorAll('table')) {
    const rows = [...table.tBodies];
    if (rows.length > 2) sortable(table, rows);
    if (rows.length > 11) filterable(table, rows);
  }
})();
